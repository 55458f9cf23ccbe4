"""Makes what tools about whole texts give: bounded, alarms first, with every text from outside marked as one."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kgcheck.grounding.remarks import REMARKS, Check, Remarked, state_of
from kgcheck.grounding.rendering import alarms
from kgcheck.mcp.answers import Origin
from kgcheck.mcp.giving import LONG, evidence_line, first_of, node_line, plain, quotation, quoted
from kgcheck.mcp.text_answers import (
    BriefGiven,
    BriefLine,
    BriefReferenceLine,
    FallenLine,
    ProtocolGiven,
    RemarkedLine,
    RemarkLine,
    StudyRemarkLine,
    TextGiven,
)
from kgcheck.protocols.checking.remarks import StudyRemarked, StudyState, check_rules

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


def text_given(found: "Grounded", notes: Iterable[str], most: int) -> TextGiven:
    """What the sentences of a text rest on."""
    left_out: list[str] = []
    loud = alarms(found)
    first = {_place(remarked): None for remarked in loud} | {_place(remarked): None for remarked in found.remarks}
    places = first_of(list(first), most, "sentences and references with remarks", left_out)
    return TextGiven(
        alarms=len(loud),
        states={state.value: count for state, count in found.states.items()},
        lines=tuple(_remarked(found, *place, left_out) for place in places),
        out_of_range=found.citations.out_of_range,
        coverage=found.citations.coverage,
        not_looked=_own(found.not_looked),
        notes=tuple(plain(note, LONG) for note in notes),
        left_out=tuple(left_out),
    )


def _place(remarked: Remarked) -> tuple[int | None, str | None]:
    return remarked.sentence, remarked.reference


def _remarked(found: "Grounded", number: int | None, key: str | None, left_out: list[str]) -> RemarkedLine:
    remarks = found.of_references[key or ""] if number is None else found.of_sentences[number]
    about = f"remarks about {f'reference {plain(key)}' if number is None else f'sentence {number}'}"
    return RemarkedLine(
        number=number,
        section=None if number is None else found.manuscript.sentences[number - 1].section,
        key=None if key is None else plain(key),
        text=quotation(found.text_of(remarks[0]), "text", LONG),
        state=state_of(remarks).value,
        remarks=tuple(_remark(found, one, left_out) for one in first_of(remarks, MOST_REMARKS, about, left_out)),
    )


def _remark(found: "Grounded", one: Remarked, left_out: list[str]) -> RemarkLine:
    origin, task = _SPEAKS[one.check], one.task
    evidence = first_of(one.evidence, MOST_OBSERVATIONS, f"observations of a remark {one.remark.value}", left_out)
    return RemarkLine(
        remark=one.remark.value,
        means=REMARKS[one.remark],
        state=one.state.value,
        unavailable=one.unavailable,
        words=quoted(found.text_of(one)[one.start : one.end], "text"),
        note=quotation(one.note, origin, LONG),
        found=quoted(one.found, origin, LONG),
        repair=quoted(one.repair.to, origin) if one.repair else None,
        subject=node_line(task.subject) if task else None,
        relation=task.relation if task else None,
        object=node_line(task.object) if task and task.object else None,
        attribute=task.attribute if task else None,
        finding=plain(one.finding),
        evidence=tuple(evidence_line(each) for each in evidence),
    )


def brief_given(brief: "Brief") -> BriefGiven:
    """What is known of a node or a topic."""
    left_out: list[str] = []
    facts: list[BriefFact] = []
    for part in brief.parts:
        own = [fact for theme in part.themes for fact in theme.facts]
        facts += first_of(own, MOST_OF_KIND, f"facts of the kind {part.kind.value}", left_out)
    lines = tuple(_fact(fact, left_out) for fact in facts)
    named = {name for line in lines for name in line.rests_on}
    return BriefGiven(
        of=quotation(brief.of, "graph", LONG),
        nodes=tuple(node_line(node) for node in brief.nodes),
        facts=lines,
        references=tuple(
            BriefReferenceLine(id=plain(one.id, LONG), about=quotation(one.about, "source"), url=plain(one.url, LONG))
            for one in brief.references
            if plain(one.id, LONG) in named
        ),
        notes=tuple(plain(note, LONG) for note in brief.notes),
        left_out=tuple(left_out),
    )


def _fact(fact: "BriefFact", left_out: list[str]) -> BriefLine:
    grounds = first_of(fact.rests_on, MOST_GROUNDS, f"ids that {fact.id} rests on", left_out)
    return BriefLine(
        id=fact.id,
        kind=fact.kind.value,
        theme=plain(fact.theme),
        text=quotation(fact.text, "paper" if fact.quote else "graph", LONG),
        outcome=fact.outcome.value if fact.outcome else None,
        reason=fact.reason.value if fact.reason else None,
        rests_on=tuple(plain(name, LONG) for name in grounds),
    )


def protocol_given(checked: "CheckedProtocol", notes: Iterable[str], most: int) -> ProtocolGiven:
    """What was found of a protocol."""
    left_out: list[str] = []
    fallen = first_of(checked.fallen, most, "steps that fell", left_out)
    return ProtocolGiven(
        title=quotation(checked.title, "text"),
        steps=checked.steps,
        counts={state.value: checked.counts[state] for state in StudyState},
        fallen=tuple(_fallen(step, left_out) for step in fallen),
        alarms=tuple(_study_remark(one) for one in first_of(checked.alarms, most, "remarks", left_out)),
        not_looked=_own(checked.not_looked),
        notes=tuple(plain(note, LONG) for note in notes),
        left_out=tuple(left_out),
    )


def _fallen(step: "FallenStep", left_out: list[str]) -> FallenLine:
    because = first_of(step.because, MOST_GROUNDS, f"grounds of {step.step} that fell", left_out)
    after = first_of(step.downstream, MOST_STEPS, f"steps that use what comes of {step.step}", left_out)
    return FallenLine(
        step=step.step,
        text=quotation(step.text, "text", LONG),
        because=tuple(quotation(name, "text") for name in because),
        downstream=tuple(after),
    )


def _study_remark(one: StudyRemarked) -> StudyRemarkLine:
    return StudyRemarkLine(
        remark=one.remark.value,
        means=check_rules().remarks[one.remark].means,
        state=one.state.value,
        unavailable=one.unavailable,
        step=one.step,
        about=quoted(one.about, "text"),
        note=quoted(one.note, "text", LONG),
        repair=quoted(one.repair, "source", LONG),
        finding=plain(one.finding),
        rests_on=quoted(one.rests_on, "source", LONG),
    )


def _own(not_looked: Mapping[str, str]) -> dict[str, str]:
    return {what: plain(why, LONG) for what, why in not_looked.items()}
