"""Measures what ``kgcheck ground`` says of changed results and references: ``python -m benchmarks.ground_results``.

Damages the sentences of PLOS papers by kind (a unit, a direction, a denial, a number of a table, a number that is said
twice, a symbol) and the journals, volumes and pages of their lists, and counts the faults that are remarked at their
place, and the alarms in undamaged copies, in JATS and Markdown. Papers are split by the hash of their names: rules may
be read against the one half, ``looked``, and are only measured on the other. There is no graph; the bibliography is of
the lists of all papers. Faults were written before the rules for them.
"""

import argparse
import hashlib
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.ground_damage import papers_of
from benchmarks.ground_faults import Edited, Fault, Target
from benchmarks.ground_jats import Paper, words_of
from benchmarks.ground_score import ALARMS, Located, Places, alarms_of, locate
from benchmarks.ground_sentences import changed, numbers
from kgcheck.grounding.ground import ground
from kgcheck.grounding.manuscripts.reading import read_manuscript
from kgcheck.literature.bibliography import Bibliography, build_bibliography
from kgcheck.settings import Settings

_OTHER_UNITS = {
    **{"mg": ("g", "ng"), "g": ("mg", "kg"), "kg": ("g",), "ng": ("mg",), "h": ("min", "days"), "min": ("h", "s")},
    **{"hours": ("days", "minutes"), "minutes": ("hours",), "days": ("weeks", "h"), "weeks": ("months", "days")},
    **{"months": ("years", "weeks"), "years": ("months", "weeks"), "nM": ("mM",), "mM": ("nM", "M"), "mm": ("cm",)},
    **{"cm": ("mm",), "nm": ("mm",), "km": ("m",), "ml": ("l",), "mL": ("L",), "%": ("-fold",), "kDa": ("Da",)},
    **{"\u00b5g": ("mg", "ng"), "\u03bcg": ("mg", "ng"), "\u00b5M": ("mM", "nM"), "\u03bcM": ("mM", "nM")},
    **{"\u00b5m": ("mm", "nm"), "\u03bcm": ("mm", "nm"), "\u00b5l": ("ml",), "\u03bcl": ("ml",), "\u00b0C": ("K", "%")},
}
_UNIT = re.compile(
    rf"(?<=\d)\s?(?P<unit>{'|'.join(map(re.escape, sorted(_OTHER_UNITS, key=len, reverse=True)))})(?!\w)"
)
_OPPOSITES = {
    "increased": "decreased", "increase": "decrease", "increases": "decreases", "higher": "lower", "greater": "smaller",
    "reduced": "increased", "reduction": "increase", "decreased": "increased", "decrease": "increase",
    "lower": "higher",
    "up-regulated": "down-regulated", "upregulated": "downregulated", "positively": "negatively", "more": "fewer",
    "enhanced": "reduced", "elevated": "reduced", "larger": "smaller", "longer": "shorter", "faster": "slower",
}  # fmt: skip
_DIRECTION = re.compile(rf"(?<![\w-])(?:{'|'.join(_OPPOSITES)})(?![\w-])")
_DENIALS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(was|were|is|are) not (significant(?:ly)?|associated|correlated|different)\b"), r"\1 \2"),
    (re.compile(r"\b(was|were|is|are) (significant(?:ly)?|associated|correlated)\b"), r"\1 not \2"),
    (re.compile(r"\b(showed|found|observed) (?:no) (significant|difference|association|effect)"), r"\1 a \2"),
    (re.compile(r"\b(did) not (affect|alter|change|differ|increase|reduce)\b"), r"\1 \2"),
    (re.compile(r"\bsignificantly (increased|reduced|decreased|higher|lower|different)\b"), r"not significantly \1"),
)
_SYMBOL = re.compile(r"(?<![\w/-])(?=[A-Z0-9]*\d)[A-Z][A-Z0-9]{3,7}(?![\w/-])")
_TABLE = re.compile(r"\bTables?\s(\d{1,2})\b")
_READ = ("abstract", "results", "discussion", "conclusion", "other", "introduction")
_FOUND = {"journal": "journal_differs", "volume": "volume_differs", "page": "pages_differ"}
KINDS = ("unit", "direction", "denial", "table", "said_twice", "symbol", *_FOUND)
TOGETHER = 3
"""Faults of a copy, each in a paragraph or an entry of its own."""


def half_of(paper: Paper) -> str:
    """The half that a paper belongs to, by the hash of its name."""
    return ("looked", "measured")[hashlib.sha256(paper.name.encode()).digest()[0] % 2]


def _sentences(paper: Paper) -> Iterator[tuple[Any, str]]:
    for passage in (*paper.abstract, *paper.passages):
        if passage.section in _READ:
            yield passage, passage.text


def _targets(kind: str, paper: Paper) -> Iterator[Target]:
    """Where a fault of a kind can be made; ``value`` is what will stand there."""
    if kind in _FOUND:
        for number, entry in enumerate(paper.references):
            if entry.find(".//source") is not None and entry.find(".//article-title") is not None:
                yield Target(entry=number)
    elif kind in ("table", "said_twice"):
        yield from _number_targets(kind, paper)
    else:
        whole = " ".join("".join(e.itertext()) for e in paper.tree.iterfind(".//body"))
        symbols = Counter(_SYMBOL.findall(whole))
        for passage, text in _sentences(paper):
            if kind == "symbol" or kind == "unit" or passage.section != "introduction":
                for start, end, value in _words(kind, text, symbols):
                    yield Target(passage.number, start=start, end=end, value=value)


def _words(kind: str, text: str, symbols: Counter[str]) -> Iterator[tuple[int, int, str]]:
    if kind == "unit":
        for found in _UNIT.finditer(text):
            for other in _OTHER_UNITS[found["unit"]]:
                yield (*found.span("unit"), other)
    elif kind == "direction":
        for found in _DIRECTION.finditer(text):
            yield (*found.span(), _OPPOSITES[found[0]])
    elif kind == "denial":
        for pattern, by in _DENIALS:
            for found in pattern.finditer(text):
                yield (*found.span(), found.expand(by))
    else:
        yield from ((*found.span(), "?") for found in _SYMBOL.finditer(text) if symbols[found[0]] >= 3)


def _number_targets(kind: str, paper: Paper) -> Iterator[Target]:
    cells = _cells(paper)
    texts = " ".join(text for _, text in _sentences(paper))
    standing = Counter(re.findall(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-]|[.,]\d)", texts))
    for passage, text in _sentences(paper):
        for start, end, number in numbers(passage):
            first, last = passage.sentence_at(start)
            named = _TABLE.search(text[first:last])
            in_table = named is not None and number in cells[named[1]]
            twice = standing[number] == 2 and passage.section != "other"
            telling = len(number.replace(".", "").replace(",", "").lstrip("0")) > 1
            if telling and (in_table if kind == "table" else twice):
                yield Target(passage.number, start=start, end=end, value="#")


def _cells(paper: Paper) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for wrap in paper.tree.iter("table-wrap"):
        label = re.search(r"\d+", words_of(wrap.find("label")))
        for cell in wrap.iter("td") if label else ():
            found[label[0]].update(re.findall(r"\d[\d,]*(?:\.\d+)?", words_of(cell)))
    return found


def _misspelt(symbol: str, of: random.Random) -> str:
    at = of.randrange(len(symbol) - 1)
    swapped = symbol[:at] + symbol[at + 1] + symbol[at] + symbol[at + 2 :]
    return swapped if swapped != symbol and swapped[0].isalpha() else symbol[:1] + symbol[2:]


def _damage(edited: Edited, kind: str, target: Target, journals: list[str]) -> Fault | None:
    of = edited.of
    if target.passage is None:
        return _damage_entry(edited, kind, target, journals)
    passage = edited.passages[target.passage]
    slot = passage.slot_at(target.start, target.end)
    if slot is None:
        return None
    before, after = passage.text[target.start : target.end], target.value
    if after == "#":
        after = changed(before, of, edited.in_paper) if of.random() < 0.5 else _scaled(before, of, edited.in_paper)
    elif after == "?":
        after = _misspelt(before, of)
    if not after or after == before:
        return None
    slot.replace(target.start, target.end, after)
    return edited.fault_in(target, kind, target.start, before, after)


def _scaled(number: str, of: random.Random, text: str) -> str:
    """A number of another size, written with as many decimals."""
    places = len(number.partition(".")[2])
    for _ in range(20):
        made = f"{float(number.replace(',', '')) * of.choice((0.5, 0.6, 0.7, 0.8, 1.25, 1.4, 1.6, 2)):.{places}f}"
        if not re.search(rf"(?<![\d.,]){re.escape(made)}(?!\d|[.,]\d)", text):
            return made
    return ""


def _damage_entry(edited: Edited, kind: str, target: Target, journals: list[str]) -> Fault | None:
    entry = edited.references[target.entry or 0]
    element = entry.find(f".//{ {'journal': 'source', 'volume': 'volume', 'page': 'fpage'}[kind] }")
    before = words_of(element)
    if not before or (kind != "journal" and not before.isdigit()):
        return None
    if kind == "journal":
        after = edited.of.choice([j for j in journals if j[:1].casefold() != before[:1].casefold()])
    else:
        after = str(int(before) + edited.of.choice((3, 7, 11, 20, 40)))
        last = entry.find(".//lpage")
        if kind == "page" and last is not None and words_of(last).isdigit():
            last.text = str(int(words_of(last)) + int(after) - int(before))
    for child in list(element):
        element.remove(child)
    element.text = after
    return edited.fault_of(target, kind, before, after)


def make(paper: Paper, folder: Path, seed: int, journals: list[str], each: int) -> list[dict[str, Any]]:
    """Write the copies of a paper: two undamaged, and damaged ones with their faults."""
    of = random.Random(f"{seed} {paper.name}")  # noqa: S311
    made: list[dict[str, Any]] = []

    def write(copy: Paper, form: str, faults: list[Fault]) -> None:
        path = folder / f"{paper.name}-{len(made)}.{'xml' if form == 'jats' else 'md'}"
        copy.write(path, form)
        row = {"file": str(path), "paper": paper.name, "form": form, "entries": len(paper.references)}
        made.append(row | {"faults": [vars(f) for f in faults]})

    for form in ("jats", "markdown"):
        write(paper, form, [])
    queue: list[tuple[str, Target]] = []
    for kind in KINDS:
        targets = list(_targets(kind, paper))
        queue += [(kind, t) for t in of.sample(targets, min(each, len(targets)))]
    of.shuffle(queue)
    while queue:
        edited = Edited(paper, of, [], [])
        faults: list[Fault] = []
        taken: set[tuple[str, int]] = set()
        for kind, target in list(queue):
            if len(faults) < TOGETHER and not target.places & taken:
                queue.remove((kind, target))
                taken |= target.places
                if fault := _damage(edited, kind, target, journals):
                    faults.append(fault)
        if faults:
            write(edited.paper, ("jats", "markdown")[len(made) % 2], faults)
    return made


def _check(row: dict[str, Any], bibliography: str) -> dict[str, Any]:
    works = Bibliography(Path(bibliography))
    try:
        return ground(read_manuscript(Path(row["file"])), [], works).as_row()
    finally:
        works.close()


def _checked(task: tuple[dict[str, Any], str]) -> dict[str, Any]:
    row, bibliography = task
    report = _check(row, bibliography)
    alarms = list(alarms_of(report))
    places = Places(report)
    texts = {f"s{s['number']}": s for s in report["sentences"]}
    texts |= {f"r{n}": r for n, r in enumerate(report["references"], 1)}

    def shown(place: str) -> list[str]:
        item = texts[place]
        notes = [r["note"] for r in item["remarks"] if r["state"] in ALARMS]
        return [item["text"][:700], *notes]

    found = []
    faulty: set[str] = set()
    for fault in row["faults"]:
        at: Located = locate(fault, places, row["entries"])
        faulty |= {at.own} | at.also
        wanted = _FOUND.get(fault["kind"], "")
        here = [a for a in alarms if a.place == at.own and (not wanted or a.remark == wanted)]
        states = {
            r["remark"]
            for r in texts.get(at.own, {"remarks": []})["remarks"]
            if r["state"] in ("verified", "supported")
        }
        how = "found" if here else "supported" if states else "silent" if at.own else "unread"
        found.append(
            {k: fault[k] for k in ("kind", "before", "after", "sentence")}
            | {"how": how, "as": [a.remark for a in here]}
        )
    strange = [(a.remark, *shown(a.place)) for a in alarms if a.place not in faulty]
    supported = sum(any(r["remark"] == "number_verified" for r in s["remarks"]) for s in report["sentences"])
    return row | {"found": found, "strange": strange, "sentences": len(report["sentences"]), "supported": supported}


def main() -> None:
    """Make the copies, check them, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--half", choices=("looked", "measured"), default="looked")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=3, help="faults of a kind in a paper, at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the alarms where nothing is wrong (of ``looked``)")
    asked = parser.parse_args()
    papers = papers_of(asked.data, "all")
    journals = sorted(
        {words_of(e.find(".//source")) for p in papers for e in p.references if e.find(".//article-title") is not None}
        - {""}
    )
    folder = asked.folder / f"{asked.half}-{asked.seed}"
    if not (folder / "copies.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            r for p in papers if half_of(p) == asked.half for r in make(p, folder, asked.seed, journals, asked.each)
        ]
        (folder / "copies.json").write_text(json.dumps(rows), encoding="utf-8")
    rows = json.loads((folder / "copies.json").read_text(encoding="utf-8"))
    bibliography = asked.folder / "bibliography.duckdb"
    if not bibliography.exists():
        build_bibliography(asked.data / "fulltext" / "plos", bibliography, Settings())
    with ProcessPoolExecutor(asked.jobs) as pool:
        checked = list(pool.map(_checked, [(row, str(bibliography)) for row in rows]))
    (folder / "checked.json").write_text(json.dumps(checked, ensure_ascii=False, indent=1), encoding="utf-8")
    sys.stdout.write(_table(checked))
    if asked.show and asked.half == "looked":
        for row in checked:
            if not row["faults"]:
                for remark, *texts in row["strange"]:
                    sys.stdout.write(f"\n{row['form']} {row['paper']} {remark}\n  " + "\n  ".join(texts) + "\n")


def _table(checked: list[dict[str, Any]]) -> str:
    lines = ["| kind | faults | found | silent | supported | unread |", "| --- | --- | --- | --- | --- | --- |"]
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for row in checked:
        for fault in row["found"]:
            kinds[fault["kind"]][fault["how"]] += 1
    for kind in KINDS:
        n = kinds[kind]
        lines.append(f"| {kind} | {n.total()} | {n['found']} | {n['silent']} | {n['supported']} | {n['unread']} |")
    for form in ("jats", "markdown"):
        clean = [row for row in checked if row["form"] == form and not row["faults"]]
        sentences = sum(row["sentences"] for row in clean)
        alarms = Counter(a[0] for row in clean for a in row["strange"])
        supported = sum(row["supported"] for row in clean)
        rate = 200 * alarms.total() / max(sentences, 1)
        lines.append(
            f"\n{form}: {len(clean)} papers, {sentences} sentences, {alarms.total()} alarms, {rate:.2f} in 200"
        )
        lines.append(f"{dict(alarms)}; {supported} sentences with number_verified")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
