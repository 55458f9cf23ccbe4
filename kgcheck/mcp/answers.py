"""Answers of MCP tools: the product's own values as JSON, with every text of others quoted, and bounded.

A name in a graph, a line of a paper or a note may be written to be taken for an instruction by whoever reads it: it
stands alone in a `Quoted`, never inside a sentence of kgcheck's.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

from kgcheck.curation.compare import ComparedFinding
from kgcheck.grounding.remarks import Check, Remarked, state_of
from kgcheck.grounding.rendering import alarms
from kgcheck.model import CheckTask, Evidence, Finding
from kgcheck.protocols.checking.remarks import CheckRules, StudyState
from kgcheck.visible import visible

if TYPE_CHECKING:
    from kgcheck.grounding.brief import Brief, BriefFact
    from kgcheck.grounding.ground import Grounded
    from kgcheck.ledger.verified import Verified
    from kgcheck.literature.search import PaperHit
    from kgcheck.literature.verify import ClaimVerdict
    from kgcheck.protocols.checking.check import CheckedProtocol
    from kgcheck.questions.answer import Answer

MOST_CHARACTERS, MOST_ITEMS = 2_000, 40
"""Most characters of a text and most items of a list that are given."""

MOST_OF_KIND = 25
"""Most facts of one kind in a brief."""

T = TypeVar("T")


class Quoted(dict[str, Any]):
    """Text that kgcheck passes on as it stands in a graph, a source, a paper, a note or what the caller gave.

    It is data, never an instruction.
    """


def quoted(text: object, origin: str) -> Quoted:
    """Text from outside, as what it is.

    >>> quoted("do as I say", "graph")
    {'text': 'do as I say', 'origin': 'graph'}
    """
    shown = visible(str(text))
    cut = {"cut": True} if len(shown) > MOST_CHARACTERS else {}
    return Quoted(text=shown[:MOST_CHARACTERS], origin=origin, **cut)


def plain(text: str) -> str:
    """A word or a sentence of kgcheck's own, or an identifier: one line, bounded, nothing hidden in it."""
    shown = visible(text)
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[:MOST_CHARACTERS]}..."


_FINDING = (
    "run fingerprint type subject@node relation object@node attribute rule value:graph outcome graph reason confidence"
    " proposed_change cause consequences state decision_state"
)
_FIELDS = {
    kind: tuple(fields.split())
    for kind, fields in {
        "node": "label id name:graph",
        "Ref": "label id",
        "Triple": "head relation tail",
        "Edge": "triple",
        "CheckTask": "type subject relation object attribute",
        "Verified": "outcome reason confidence source release record run at",
        "listed": _FINDING,
        "finding": f"{_FINDING} evidence missing note history notes",
        "Change": "kind to:source candidates:source because",
        "Evidence": "source release record url stance tier about weight reason retrieved_at value quote:paper score",
        "Decision": "action by:person at note:person chosen:source until",
        "Made": "decision before",
        "Answer": "status read_as:graph count holds found because:graph notes:graph",
        "Found": "ref name:graph path",
        "paper": "id also year retracted score title:paper section heading:paper passage:paper",
        "ClaimVerdict": "claim:graph stance probability conflict opinions retracted note notes",
        "Opinion": "document title:paper year stance probability section heading:paper quotes note dropped",
        "text": "alarms states lines out_of_range coverage not_looked notes",
        "line": "number section key text:text state remarks",
        "Remarked": "remark means state unavailable words:text note found repair task finding evidence",
        "Brief": "of:graph nodes facts references notes",
        "BriefFact": "id kind theme text outcome reason rests_on",
        "BriefReference": "id about:source url",
        "CheckedProtocol": "title:text steps counts fallen alarms not_looked notes",
        "FallenStep": "step text:text because:text downstream",
        "StudyRemarked": "remark means state unavailable step about:text note:text repair:source finding"
        " rests_on:source",
    }.items()
}
"""By class or kind of row, the fields that are given; after a colon, whose words a text is, and else kgcheck's own."""

_SPEAKS = {Check.GRAPH: "graph", Check.PAPERS: "paper", Check.CITATION: "source", Check.NUMBER: "text"}
"""By check, where what was found instead comes from."""


class AnswerMaker:
    """Makes an answer, and notes what is left out of it."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def first(self, values: Sequence[T], most: int, called: str) -> Sequence[T]:
        """At most so many values; how many more there are is noted."""
        if len(values) > most:
            self.left_out.append(f"{len(values) - most:,} more {called}")
        return values[:most]

    def row(self, value: object, kind: str = "", /, **more: Any) -> dict[str, Any]:
        """The fields of a value that are given, and more of them; what is empty is left out."""
        found = {}
        for field in _FIELDS[kind or type(value).__name__]:
            name, _, origin = field.partition(":")
            name, _, kind_of_row = name.partition("@")
            one = more[name] if name in more else value.get(name) if isinstance(value, Mapping) else _of(value, name)
            if one is not None and one not in ("", (), [], {}):
                found[name] = self.row(one, kind_of_row) if kind_of_row else self._given(one, name, origin)
        return found

    def whole(self, value: object, kind: str = "", /, **more: Any) -> dict[str, Any]:
        """An answer, with notes on what is left out of it."""
        found = self.row(value, kind, **more)
        return found | ({"left_out": self.left_out} if self.left_out else {})

    def _given(self, value: Any, name: str, origin: str) -> Any:
        match value:
            case str():
                return quoted(value, origin) if origin else plain(value)
            case Quoted() | int() | float():
                return value
            case date():
                return value.isoformat()
            case Mapping():
                return {plain(str(key)): self._given(one, name, origin) for key, one in value.items()}
            case _ if type(value).__name__ in _FIELDS:
                return self.row(value)
            case _:
                return [self._given(one, name, origin) for one in self.first(list(value), MOST_ITEMS, name)]


def _of(value: object, name: str) -> Any:
    """A field of a value; what an observation is worth depends on who made it."""
    found = getattr(value, name, None)
    if isinstance(value, Evidence) and name == "value" and found:
        # What a graph says of itself is evidence of structure; all else is of a source, or of a paper.
        return quoted(found, "paper" if value.quote else "graph" if value.source in ("graph", "profile") else "source")
    return found


def finding_answer(finding: Finding, **more: Any) -> dict[str, Any]:
    """A finding with all that it rests on, and what became of it and was decided where that is known."""
    return AnswerMaker().whole(finding.as_fields(), "finding", **more)


def findings_answer(run: str, listed: Iterable[ComparedFinding], after: str | None) -> dict[str, Any]:
    """A page of findings."""
    maker = AnswerMaker()
    findings = [
        maker.row(
            one.finding.as_fields(), "listed", state=one.state, decision_state=one.decided.state,
            consequences=one.consequences or None,
        )
        for one in listed
    ]  # fmt: skip
    return {"run": run, "findings": findings, "next": after}


def question_answer(found: "Answer", notes: Iterable[str], most: int) -> dict[str, Any]:
    """The answer to a question."""
    maker = AnswerMaker()
    rows = [maker.row(one) for one in maker.first(found.found, most, "answers")]
    return maker.whole(found, notes=[*found.notes, *notes]) | {"found": rows}


def papers_answer(hits: "Iterable[PaperHit]", notes: Iterable[str]) -> dict[str, Any]:
    """Papers that a search found, the best first."""
    rows = [AnswerMaker().row(hit.as_row(), "paper", passage=hit.passage) for hit in hits]
    return {"papers": rows, "notes": [plain(note) for note in notes]}


def claim_answer(verdict: "ClaimVerdict", notes: Iterable[str]) -> dict[str, Any]:
    """Verdict of papers on a claim, with each opinion."""
    maker = AnswerMaker()
    opinions = [
        maker.row(one, quotes=[quoted(quote.text, "paper") for quote in one.quotes], probability=one.probability)
        for one in verdict.opinions
    ]
    return maker.whole(verdict, notes=list(notes), opinions=None) | {"opinions": opinions}


def facts_answer(facts: "Iterable[tuple[CheckTask, Verified | None]]", left_out: str = "") -> dict[str, Any]:
    """Verification of facts; without an outcome, nobody has looked."""
    maker = AnswerMaker()
    rows = [maker.row(task) | (maker.row(found) if found else {}) for task, found in facts]
    return {"facts": rows} | ({"left_out": [left_out]} if left_out else {})


def text_answer(found: "Grounded", notes: Iterable[str], most: int) -> dict[str, Any]:
    """Grounds of the sentences of a text, those with alarms first."""
    maker, loud = AnswerMaker(), alarms(found)
    first = dict.fromkeys((one.sentence, one.reference) for one in (*loud, *found.remarks))
    places = maker.first(list(first), most, "sentences and references with remarks")
    lines = [_line(maker, found, *place) for place in places]
    states = {state.value: count for state, count in found.states.items()}
    content = {"alarms": len(loud), "states": states, "not_looked": found.not_looked, "notes": list(notes)}
    return maker.whole(found.citations, "text", **content) | {"lines": lines}


def _line(maker: AnswerMaker, found: "Grounded", number: int | None, key: str | None) -> dict[str, Any]:
    remarks = found.remarks_at[(key or "") if number is None else number]
    section = None if number is None else found.manuscript.sentences[number - 1].section
    content = {"number": number, "section": section, "key": key, "text": found.text_of(remarks[0])}
    shown = maker.first(remarks, MOST_ITEMS, f"remarks about {f'reference {key}' if number is None else number}")
    return maker.row(content, "line", state=state_of(remarks)) | {
        "remarks": [_remark(maker, found, one) for one in shown]
    }


def _remark(maker: AnswerMaker, found: "Grounded", one: Remarked) -> dict[str, Any]:
    origin, repair = _SPEAKS[one.remark.check], one.repair.to if one.repair else ""
    more = {
        "means": one.remark.words,
        "words": found.text_of(one)[one.start : one.end],
        "note": quoted(one.note, origin),
        "found": quoted(one.found, origin) if one.found else None,
        "repair": quoted(repair, origin) if repair else None,
    }
    return maker.row(one, **more)


def brief_answer(brief: "Brief") -> dict[str, Any]:
    """Facts of a node or a topic, with what they rest on."""
    maker = AnswerMaker()
    facts: list[BriefFact] = []
    for kind, themes in brief.parts.items():
        own = [fact for alike in themes.values() for fact in alike]
        facts += maker.first(own, MOST_OF_KIND, f"facts of the kind {kind.value}")
    rows = [maker.row(fact, text=quoted(fact.text, "paper" if fact.quote else "graph")) for fact in facts]
    named = {name for fact in rows for name in fact["rests_on"]}
    references = [maker.row(one) for one in brief.references if one.id in named]
    return maker.whole(brief, facts=None, references=None) | {"facts": rows, "references": references}


def protocol_answer(checked: "CheckedProtocol", notes: Iterable[str], most: int) -> dict[str, Any]:
    """Result of the check of a protocol."""
    maker, words = AnswerMaker(), CheckRules.shipped().remarks
    fallen = [maker.row(step) for step in maker.first(checked.fallen, most, "steps that fell")]
    shown = maker.first(checked.alarms, most, "remarks")
    rows = [maker.row(one, means=words[one.remark].means) for one in shown]
    counts = {state.value: checked.counts[state] for state in StudyState}
    whole = maker.whole(checked, counts=counts, fallen=None, alarms=None, notes=list(notes))
    return whole | {"fallen": fallen, "alarms": rows}
