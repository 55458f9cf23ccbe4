"""Answers of tools about whole texts: a grounded text, a brief, a checked protocol; alarms first."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from kgcheck.grounding.remarks import Check, Remarked, state_of
from kgcheck.grounding.rendering import alarms
from kgcheck.mcp.answers import (
    LONG,
    AnswerField,
    EvidenceLine,
    Given,
    NodeLine,
    Notes,
    Origin,
    Passage,
    Quoted,
    answer,
    fields_of,
    first_of,
    quoted,
)
from kgcheck.protocols.checking.remarks import StudyState, check_rules

if TYPE_CHECKING:
    from kgcheck.grounding.brief import Brief, BriefFact
    from kgcheck.grounding.ground import Grounded
    from kgcheck.protocols.checking.check import CheckedProtocol, FallenStep

MOST_REMARKS, MOST_OBSERVATIONS, MOST_OF_KIND, MOST_GROUNDS, MOST_STEPS = 10, 5, 25, 20, 50
"""Remarks about one sentence, evidence of one remark, facts of a kind, what one of them rests on, and steps."""

_SPEAKS: dict[Check, Origin] = {
    Check.GRAPH: "graph",
    Check.PAPERS: "paper",
    Check.CITATION: "source",
    Check.NUMBER: "text",
}
"""By check, where what was found instead comes from."""

TextPart = Annotated[Quoted, AnswerField("text", LONG)]
Name = Annotated[Quoted | None, AnswerField("text")]
Reasons = Annotated[dict[str, str], AnswerField(characters=LONG)]


class RemarkLine(Given):
    """A remark about a sentence or a reference, with what it rests on."""

    remark: str
    means: str = Field(description="the remark in words")
    state: str
    unavailable: bool = Field(default=False, description="it could not be looked: no verdict on the text")
    words: Name = Field(default=None, description="the words that it is about")
    note: Quoted
    found: Quoted | None = Field(default=None, description="what stands in their place elsewhere")
    repair: Quoted | None = Field(default=None, description="words that would put it right in their place")
    subject: NodeLine | None = None
    relation: str | None = None
    object: NodeLine | None = None
    attribute: str | None = None
    finding: str = Field(default="", description="fingerprint; `explain` takes it")
    evidence: tuple[EvidenceLine, ...] = ()


class RemarkedLine(Given):
    """A sentence or a reference of the text with all remarks about it."""

    number: int | None = Field(default=None, description="of a sentence, from 1, headings not counted")
    section: str | None = None
    key: str | None = Field(default=None, description="of a reference")
    text: TextPart
    state: str
    remarks: tuple[RemarkLine, ...]


class TextGiven(Given):
    """Grounding of a text: what its sentences rest on."""

    alarms: int = Field(description="remarks that somebody should look at")
    states: dict[str, int] = Field(
        description="sentences by state: contradicted; unsupported (looked, and nothing says so); supported (papers say"
        " so); verified (the audited graph holds it); not_checkable (nothing in it can be looked up)"
    )
    lines: tuple[RemarkedLine, ...] = Field(
        description="sentences and references with remarks, those with alarms first"
    )
    out_of_range: float | None = Field(default=None, description="share of citations that the list does not have")
    coverage: float | None = Field(default=None, description="share of its references that the text cites")
    not_looked: Reasons = Field(default={}, description="by check, why nothing was looked at there")
    notes: Notes = ()
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here, and how much of it")


class BriefLine(Given):
    """A sentence of a brief, with what it rests on."""

    id: str
    kind: str = Field(
        description="verified; paper_for, paper_against or paper_on (a paper states, denies or speaks of it);"
        " contested; refuted; missing (from the graph); unverified"
    )
    theme: str
    text: Quoted
    outcome: str | None = None
    reason: str | None = None
    rests_on: Notes = Field(description="finding by fingerprint, source with release and record, id of paper")


class BriefReferenceLine(Given):
    """Reference that sentences of a brief rest on."""

    id: Passage
    about: Annotated[Quoted, AnswerField("source")]
    url: Passage = ""


class BriefGiven(Given):
    """Brief of what is known of a node or a topic."""

    of: Annotated[Quoted, AnswerField("graph", LONG)]
    nodes: tuple[NodeLine, ...] = ()
    facts: tuple[BriefLine, ...]
    references: tuple[BriefReferenceLine, ...] = ()
    notes: Notes = ()
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here, and how much of it")


class FallenLine(Given):
    """A step that fell: what it rests on held when the protocol was made, and does not now."""

    step: str
    text: TextPart
    because: Annotated[tuple[Quoted, ...], AnswerField("text")] = Field(
        description="ids of its facts and passages that fell"
    )
    downstream: tuple[str, ...] = Field(default=(), description="steps that use what comes of it")


SourcePassage = Annotated[Quoted | None, AnswerField("source", LONG)]


class StudyRemarkLine(Given):
    """A remark about a step of a protocol."""

    remark: str
    means: str = Field(description="the remark in words")
    state: str = Field(description="fallen, wrong, lacking or open")
    unavailable: bool = Field(default=False, description="it could not be looked: no verdict on the protocol")
    step: str = ""
    about: Name = None
    note: Annotated[Quoted | None, AnswerField("text", LONG)] = None
    repair: SourcePassage = None
    finding: str = Field(default="", description="fingerprint; `explain` takes it")
    rests_on: SourcePassage = None


class ProtocolGiven(Given):
    """Result of checking a protocol."""

    title: Annotated[Quoted, AnswerField("text")]
    steps: int
    counts: dict[str, int] = Field(description="remarks by state: fallen, wrong, lacking, open, holds")
    fallen: tuple[FallenLine, ...]
    alarms: tuple[StudyRemarkLine, ...] = Field(description="all remarks but those that hold, the worst first")
    not_looked: Reasons = Field(default={}, description="by what, why it was not looked at")
    notes: Notes = ()
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here, and how much of it")


def text_given(found: "Grounded", notes: Iterable[str], most: int) -> TextGiven:
    """Build the answer about what the sentences of a text rest on."""
    left_out: list[str] = []
    loud = alarms(found)
    first = dict.fromkeys((one.sentence, one.reference) for one in (*loud, *found.remarks))
    places = first_of(list(first), most, "sentences and references with remarks", left_out)
    content = {
        "alarms": len(loud),
        "states": {state.value: count for state, count in found.states.items()},
        "lines": [_remarked(found, *place, left_out) for place in places],
        **fields_of(TextGiven, found.citations),
        "not_looked": dict(found.not_looked),
        "notes": list(notes),
    }
    return answer(TextGiven, content, left_out)


def _remarked(found: "Grounded", number: int | None, key: str | None, left_out: list[str]) -> dict[str, Any]:
    remarks = found.remarks_at[(key or "") if number is None else number]
    about = f"remarks about {f'reference {key}' if number is None else f'sentence {number}'}"
    return {
        "number": number,
        "section": None if number is None else found.manuscript.sentences[number - 1].section,
        "key": key,
        "text": found.text_of(remarks[0]),
        "state": state_of(remarks).value,
        "remarks": [_remark(found, one, left_out) for one in first_of(remarks, MOST_REMARKS, about, left_out)],
    }


def _remark(found: "Grounded", one: Remarked, left_out: list[str]) -> dict[str, Any]:
    origin = _SPEAKS[one.check]
    return {
        **fields_of(RemarkLine, one),
        **fields_of(RemarkLine, one.task),
        "means": one.remark.rule.words,
        "words": found.text_of(one)[one.start : one.end],
        "note": quoted(one.note, origin, LONG),
        "found": quoted(one.found, origin, LONG) if one.found else None,
        "repair": quoted(one.repair.to, origin) if one.repair and one.repair.to else None,
        "evidence": first_of(one.evidence, MOST_OBSERVATIONS, f"observations of a remark {one.remark.value}", left_out),
    }


def brief_given(brief: "Brief") -> BriefGiven:
    """Build the answer about what is known of a node or a topic."""
    left_out: list[str] = []
    facts: list[BriefFact] = []
    for kind, themes in brief.parts.items():
        own = [fact for alike in themes.values() for fact in alike]
        facts += first_of(own, MOST_OF_KIND, f"facts of the kind {kind.value}", left_out)
    lines = [_fact(fact, left_out) for fact in facts]
    named = {name for line in lines for name in line["rests_on"]}
    references = [one for one in brief.references if one.id in named]
    return answer(BriefGiven, fields_of(BriefGiven, brief, facts=lines, references=references), left_out)


def _fact(fact: "BriefFact", left_out: list[str]) -> dict[str, Any]:
    grounds = first_of(fact.rests_on, MOST_GROUNDS, f"ids that {fact.id} rests on", left_out)
    text = quoted(fact.text, "paper" if fact.quote else "graph", LONG)
    return fields_of(BriefLine, fact, text=text, rests_on=grounds)


def protocol_given(checked: "CheckedProtocol", notes: Iterable[str], most: int) -> ProtocolGiven:
    """Build the answer about a protocol that was checked."""
    left_out: list[str] = []
    fallen = [_fallen(step, left_out) for step in first_of(checked.fallen, most, "steps that fell", left_out)]
    remarks = [
        fields_of(StudyRemarkLine, one, means=check_rules().remarks[one.remark].means)
        for one in first_of(checked.alarms, most, "remarks", left_out)
    ]
    counts = {state.value: checked.counts[state] for state in StudyState}
    more = {"counts": counts, "fallen": fallen, "alarms": remarks, "notes": list(notes)}
    return answer(ProtocolGiven, fields_of(ProtocolGiven, checked, **more), left_out)


def _fallen(step: "FallenStep", left_out: list[str]) -> dict[str, Any]:
    because = first_of(step.because, MOST_GROUNDS, f"grounds of {step.step} that fell", left_out)
    after = first_of(step.downstream, MOST_STEPS, f"steps that use what comes of {step.step}", left_out)
    return fields_of(FallenLine, step, because=because, downstream=after)
