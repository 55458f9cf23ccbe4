"""What a report of ``kgcheck ground`` found of known faults, and what it remarked where nothing is wrong.

Written before the first report was seen. A fault is found strictly when a remark of a kind that names it (STRICT), as
contradicted or unsupported, stands at its sentence or its entry, or, of an entry, at a sentence that cites it; it is
found loosely when any remark does that is contradicted or unsupported.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rapidfuzz import fuzz

STRICT: dict[str, set[str]] = {
    "marker_out_of_range": {"marker_out_of_range"},
    "doi": {"doi_differs"},
    "doi: another work's": {"doi_differs", "title_differs"},  # which of the two is wrong, the entry does not tell
    "year": {"year_differs"},
    "title": {"title_differs"},
    "title: another work's": {"title_differs", "doi_differs", "author_differs", "reference_not_found"},
    "author": {"author_differs"},
    "invented": {"reference_not_found", "reference_unknown"},  # a snapshot of some works cannot know more
    "retracted": {"reference_retracted"},
    "number_results": {"number_differs"},
    "number_text": {"number_differs"},
    "old_symbol": {"symbol_outdated", "id_outdated"},
    "denied": {"edge_denied", "edge_refuted"},
    "exchanged": {"edge_refuted", "edge_unknown", "edge_unverified", "edge_denied"},
    "moved_citation": {"cited_unrelated", "cited_silent", "cited_contradicts"},
}

ALARMS = ("contradicted", "unsupported")

GOALS = {"citation": "0.95", "number": "0.95", "graph": "0.90", "papers": "0.95"}

CHECK_OF = {
    **dict.fromkeys(("marker_out_of_range", "doi", "year", "title", "author", "invented", "retracted"), "citation"),
    **dict.fromkeys(("number_results", "number_text"), "number"),
    **dict.fromkeys(("old_symbol", "denied", "exchanged"), "graph"),
    "moved_citation": "papers",
}
"""Against what a fault of each kind is found; whether a paper says what it is cited for, papers tell."""


class Alarm(NamedTuple):
    """A remark that is contradicted or unsupported, and where."""

    place: str
    """``s`` and the number of the sentence, or ``r`` and the place in the list, from 1."""

    remark: str
    check: str
    state: str


def alarms_of(report: dict[str, Any]) -> Iterator[Alarm]:
    """The alarms of a report.

    Args:
        report: The JSON.

    Yields:
        Each, but not where it could not be looked.
    """
    items = [(f"s{s['number']}", s) for s in report["sentences"]]
    items += [(f"r{n}", r) for n, r in enumerate(report["references"], 1)]
    for place, item in items:
        for remark in item["remarks"]:
            if remark["state"] in ALARMS and not remark.get("unavailable"):
                yield Alarm(place, remark["remark"], remark["check"], remark["state"])


def plain(text: str) -> str:
    """Letters and digits alone: what differs between forms of a file is left out."""
    return re.sub(r"[\W_]+", "", text).lower()


class Places:
    """Finds sentences and entries of a report.

    Args:
        report: The JSON.
    """

    def __init__(self, report: dict[str, Any]) -> None:
        self._sentences = [(f"s{s['number']}", plain(s["text"])) for s in report["sentences"]]
        self._references = [(f"r{n}", r["key"], plain(r["text"])) for n, r in enumerate(report["references"], 1)]

    def sentence(self, anchor: str, core: str = "") -> str:
        """The sentence with some words; an empty text where none has them.

        Args:
            anchor: Words of it.
            core: Those in the middle, which it must have whole where any sentence has.

        Returns:
            Its place.
        """
        wanted, core = plain(anchor), plain(core or anchor)
        having = [(place, text) for place, text in self._sentences if core and core in text]
        scored = [
            (100.0 if wanted in text else fuzz.partial_ratio(wanted, text), place)
            for place, text in having or self._sentences
            if len(text) * 2 > len(wanted)
        ]
        best = max(scored, default=(0.0, ""))
        return best[1] if having or best[0] >= 85 else ""

    def reference(self, key: str, number: int, entries: int, text: str) -> str:
        """An entry: by its key, by its place in a list of the right length, or by what it says."""
        for place, own, _ in self._references:
            if own == key:
                return place
        if len(self._references) == entries:
            return f"r{number}"
        scored = [(fuzz.ratio(plain(text), own), place) for place, _, own in self._references]
        best = max(scored, default=(0.0, ""))
        return best[1] if best[0] >= 80 else ""


class Located(NamedTuple):
    """Where a fault is in a report."""

    own: str
    also: set[str]
    """Sentences that cite the entry; entries that the fault is about, too, where an alarm is no false one."""

    cited: set[str]


def locate(fault: dict[str, Any], places: Places, entries: int) -> Located:
    """Find a fault.

    Args:
        fault: A line of faults.jsonl.
        places: Of the report of its copy.
        entries: Of the list of references.

    Returns:
        Its place, empty where the report does not have the sentence or the entry.
    """
    if fault["place"] == "sentence":
        return Located(places.sentence(fault["anchor"], fault["core"]), set(), set())
    own = places.reference(fault["reference"], fault["number"], entries, fault["anchor"])
    cited = {place for text in fault["cited_in"] if (place := places.sentence(text[:160]))}
    return Located(own, {f"r{n}" for n in fault["touched"]} | cited, cited)


def found(fault: dict[str, Any], at: Located, alarms: Iterable[Alarm]) -> str:
    """How a fault was found.

    Args:
        fault: A line of faults.jsonl.
        at: Where it is.
        alarms: Of its copy.

    Returns:
        ``strict``, ``loose``, ``missed``, or ``unread`` where the report lacks the place.
    """
    if not at.own:
        return "unread"
    here = [a for a in alarms if a.place == at.own or a.place in at.cited]
    names = STRICT.get(f"{fault['kind']}: {fault['variant']}", STRICT[fault["kind"]])
    if any(a.remark in names for a in here):
        return "strict"
    return "loose" if any(a.place == at.own for a in here) else "missed"


class Score:
    """Sums up over the copies of a set."""

    def __init__(self) -> None:
        self.kinds: dict[str, Counter[str]] = {}
        self.forms: dict[tuple[str, str], Counter[str]] = {}
        self.right: Counter[tuple[str, str]] = Counter()
        self.wrong: Counter[tuple[str, str]] = Counter()
        self.wrong_remarks: Counter[tuple[str, str]] = Counter()
        self.false: dict[str, Counter[tuple[str, str]]] = {}
        self.sentences: Counter[str] = Counter()
        self.papers: Counter[str] = Counter()
        self.true_facts: Counter[str] = Counter()
        self.lost_entries: list[str] = []

    def damaged(self, copy: dict[str, Any], faults: list[dict[str, Any]], report: dict[str, Any]) -> None:
        """A damaged copy.

        Args:
            copy: A line of copies.jsonl.
            faults: Those of it.
            report: The JSON.
        """
        alarms = list(alarms_of(report))
        faulty: set[str] = set()
        places = Places(report)
        for fault in faults:
            at = locate(fault, places, copy["entries"])
            faulty |= {at.own} | at.also
            how = found(fault, at, alarms)
            kind = fault["kind"]
            self.kinds.setdefault(kind, Counter())[how] += 1
            self.forms.setdefault((CHECK_OF[kind], copy["form"]), Counter())[how] += 1
        excused = self._facts(copy, report, places, alarms)
        for alarm in alarms:
            if (alarm.place, alarm.check) in excused and alarm.place not in faulty:
                continue
            if alarm.place in faulty:
                self.right[alarm.check, alarm.state] += 1
            else:
                self.wrong[alarm.check, alarm.state] += 1
                self.wrong_remarks[alarm.remark, alarm.state] += 1

    def undamaged(self, copy: dict[str, Any], report: dict[str, Any]) -> None:
        """A copy without faults: every alarm is a false one."""
        alarms = list(alarms_of(report))
        if len(report["references"]) != copy["entries"]:
            self.lost_entries.append(f"{copy['copy']}: {len(report['references'])} of {copy['entries']}")
        excused = self._facts(copy, report, Places(report), alarms)
        group = f"{copy['group']}, {copy['form']}" + (" with results.json" if copy.get("results") else "")
        self.papers[group] += 1
        self.sentences[group] += len(report["sentences"])
        self.false.setdefault(group, Counter()).update(
            (a.remark, a.state) for a in alarms if (a.place, a.check) not in excused
        )

    def _facts(
        self, copy: dict[str, Any], report: dict[str, Any], places: Places, alarms: list[Alarm]
    ) -> set[tuple[str, str]]:
        """Count what became of true facts that were inserted.

        Returns:
            Places and checks that are neither right nor wrong: a mark after such a sentence is of a paper about
            something else.
        """
        excused: set[tuple[str, str]] = set()
        state_of = {f"s{s['number']}": s for s in report["sentences"]}
        for fact in copy.get("facts", []):
            place = places.sentence(fact["anchor"])
            if not place:
                self.true_facts["unread"] += 1
                continue
            if fact["marked"]:
                excused |= {(place, "citation"), (place, "papers")}
            states = {a.state for a in alarms if a.place == place and a.check == "graph"}
            good = any(r["remark"] == "edge_verified" for r in state_of[place]["remarks"])
            self.true_facts[next((s for s in ALARMS if s in states), "verified" if good else "silent")] += 1
        return excused


def wilson(hits: int, of: int) -> str:
    """A share with its 95 % interval by Wilson.

    Args:
        hits: Of them.
        of: All.

    Returns:
        The text; empty where there are none.

    >>> wilson(38, 40), wilson(0, 0)
    ('0.95 (0.83-0.99)', '')
    """
    if not of:
        return ""
    z, p = 1.959964, hits / of
    middle, half = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    low, high = ((middle + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return f"{p:.2f} ({abs(low):.2f}-{high:.2f})"


def tables(score: Score) -> str:
    """All tables in Markdown.

    Args:
        score: Summed up.

    Returns:
        The text.
    """
    parts = [_recall(score), _forms(score), _precision(score), _wrong(score), _false(score), _true_facts(score)]
    if score.lost_entries:
        parts.append("Lists of references read with another length: " + "; ".join(score.lost_entries))
    return "\n\n".join(parts) + "\n"


def _table(head: str, rows: Iterable[Iterable[object]]) -> str:
    lines = [f"| {head} |", "|" + " --- |" * (head.count("|") + 1)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def _recall(score: Score) -> str:
    rows = []
    totals: dict[str, Counter[str]] = {}
    for kind in CHECK_OF:
        if counts := score.kinds.get(kind):
            totals.setdefault(CHECK_OF[kind], Counter()).update(counts)
            rows.append([kind, *_counts(counts), ""])
    rows += [[f"**{check}**", *_counts(counts), GOALS[check]] for check, counts in totals.items()]
    return _table("kind | faults | found | otherwise found | missed | not read | recall | with otherwise | goal", rows)


def _counts(counts: Counter[str]) -> list[object]:
    total, strict = counts.total(), counts["strict"]
    shares = (wilson(strict, total), wilson(strict + counts["loose"], total))
    return [total, strict, counts["loose"], counts["missed"], counts["unread"], *shares]


def _forms(score: Score) -> str:
    rows = [[check, form, *_counts(counts)] for (check, form), counts in sorted(score.forms.items())]
    return _table(
        "against | form | faults | found | otherwise found | missed | not read | recall | with otherwise", rows
    )


def _precision(score: Score) -> str:
    rows = []
    for check, goal in GOALS.items():
        for states in (("contradicted",), ("unsupported",), ALARMS):
            right, wrong = (sum(counts[check, s] for s in states) for counts in (score.right, score.wrong))
            rows.append([check, " or ".join(states), right + wrong, right, wilson(right, right + wrong), goal])
    return _table("alarms of | state | in damaged copies | at a fault | precision | goal", rows)


def _wrong(score: Score) -> str:
    rows = [[remark, state, n] for (remark, state), n in score.wrong_remarks.most_common()]
    return _table("alarm where no fault is, in damaged copies | state | times", rows)


def _false(score: Score) -> str:
    rows: list[list[object]] = []
    for group, counts in score.false.items():
        per = 200 / max(score.sentences[group], 1)
        sums = [sum(n for (_, s), n in counts.items() if s == state) for state in ALARMS]
        named = ", ".join(f"{remark} ({state}) {n}" for (remark, state), n in counts.most_common())
        rates = [f"{n} ({n * per:.2f})" for n in sums]
        rows.append([group, score.papers[group], score.sentences[group], *rates, named])
    return _table(
        "copies without faults | files | sentences | contradicted (in 200) | unsupported (in 200) | which", rows
    )


def _true_facts(score: Score) -> str:
    counts = score.true_facts
    order = ("verified", "silent", "contradicted", "unsupported", "unread")
    return _table(
        "true facts of the graph, inserted | " + " | ".join(order),
        [[counts.total(), *(f"{counts[s]} ({wilson(counts[s], counts.total())})" for s in order)]],
    )
