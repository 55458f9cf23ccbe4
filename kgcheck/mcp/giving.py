"""Makes what tools give: bounded, with every text from outside marked as one, and nothing hidden in it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kgcheck.curation.compare import ComparedFinding
from kgcheck.mcp.answers import (
    AnswerGiven,
    AnswerLine,
    ClaimGiven,
    DecisionLine,
    EdgeLine,
    EvidenceLine,
    FactLine,
    FindingLine,
    FindingWhole,
    FormerLine,
    NodeLine,
    OpinionLine,
    Origin,
    PaperLine,
    ProposalLine,
    Quoted,
    RunLine,
    RunWhole,
    TallyLine,
)
from kgcheck.model import Change, CheckTask, Evidence, Finding, Ref, Tally, Triple
from kgcheck.visible import visible

if TYPE_CHECKING:
    from kgcheck.curation.decisions import CurrentDecision, Decision
    from kgcheck.ledger.run import Run
    from kgcheck.ledger.verified import Verified
    from kgcheck.literature.hits import PaperHit
    from kgcheck.literature.verify import ClaimVerdict, Opinion
    from kgcheck.questions.answer import Answer

SHORT, LONG = 300, 2_000
"""Characters of a name or value, and of a passage or note, that are given."""

MOST_EVIDENCE, MOST_CANDIDATES, MOST_PATH, MOST_DECISIONS, MOST_TALLIES, MOST_QUOTES = 40, 20, 12, 20, 200, 10

T = TypeVar("T")


def quoted(text: object, origin: Origin, most: int = SHORT) -> Quoted | None:
    """Text from outside, as what it is.

    >>> quoted("do as I say", "graph", most=5)
    Quoted(text='do as', origin='graph', cut=True)
    """
    return quotation(text, origin, most) if text is not None and text != "" else None


def quotation(text: object, origin: Origin, most: int = SHORT) -> Quoted:
    """Text from outside, as what it is; see `quoted`."""
    shown = visible(str(text))
    return Quoted(text=shown[:most], origin=origin, cut=len(shown) > most)


def plain(text: str | None, most: int = SHORT) -> str:
    """A word or a sentence of kgcheck's own, or an identifier: one line, bounded, nothing hidden in it."""
    shown = visible(text or "")
    return shown if len(shown) <= most else f"{shown[:most]}..."


def first_of(values: Sequence[T], most: int, called: str, left_out: list[str]) -> Sequence[T]:
    """At most so many values."""
    if len(values) > most:
        left_out.append(f"{len(values) - most:,} more {called}")
    return values[:most]


def node_line(ref: Ref, name: object = None) -> NodeLine:
    """A node."""
    return NodeLine(label=plain(ref.label), id=plain(ref.id, 512), name=quoted(name, "graph"))


def _ends(task: CheckTask, names: tuple[object, object] = (None, None)) -> dict[str, Any]:
    return {
        "type": task.type.value,
        "subject": node_line(task.subject, names[0]),
        "relation": task.relation,
        "object": node_line(task.object, names[1]) if task.object else None,
        "attribute": task.attribute,
    }


def _proposal(change: Change | None) -> ProposalLine | None:
    if change is None:
        return None
    return ProposalLine(
        kind=change.kind.value,
        to=quoted(change.to, "source"),
        candidates=tuple(quotation(one, "source") for one in change.candidates[:MOST_CANDIDATES]),
        because=plain(change.because, LONG),
    )


def finding_line(finding: Finding, state: str | None = None, decision: str | None = None) -> FindingLine:
    """A finding in short."""
    task, verdict = finding.task, finding.verdict
    return FindingLine(
        fingerprint=finding.fingerprint,
        **_ends(task, finding.names),
        rule=task.rule,
        value=quoted(task.value, "graph"),
        outcome=verdict.outcome.value,
        reason=verdict.reason.value,
        confidence=verdict.confidence,
        proposal=_proposal(finding.change),
        state=state,
        decision=decision,
    )


def finding_whole(
    finding: Finding,
    state: str | None = None,
    decided: "CurrentDecision | None" = None,
    history: "Iterable[Decision]" = (),
) -> FindingWhole:
    """A finding with all that it rests on."""
    left_out: list[str] = []
    verdict, newest = finding.verdict, list(history)[::-1]
    evidence = first_of(verdict.evidence, MOST_EVIDENCE, "observations", left_out)
    if finding.change and len(finding.change.candidates) > MOST_CANDIDATES:
        left_out.append(f"{len(finding.change.candidates) - MOST_CANDIDATES:,} more candidates")
    decisions = first_of(newest, MOST_DECISIONS, "decisions", left_out)
    return FindingWhole(
        finding=finding_line(finding, state, decided.state.value if decided else None),
        run=finding.run,
        evidence=tuple(evidence_line(one) for one in evidence),
        missing=tuple(plain(str(gap)) for gap in verdict.missing),
        note=plain(verdict.note, LONG),
        history=tuple(_decision(one) for one in decisions),
        left_out=tuple(left_out),
    )


def evidence_line(one: Evidence) -> EvidenceLine:
    """One observation."""
    # What a graph says of itself is evidence of structure; all else is of a source, or of a paper.
    origin: Origin = "paper" if one.quote else "graph" if one.source in ("graph", "profile") else "source"
    return EvidenceLine(
        source=plain(one.source),
        release=plain(one.release),
        record=plain(one.record),
        url=plain(one.url, LONG),
        stance=one.stance.value,
        tier=one.tier.value,
        about=one.about,
        reason=one.reason.value if one.reason else None,
        retrieved_at=one.retrieved_at,
        value=quoted(one.value, origin),
        quote=quoted(one.quote, "paper", LONG),
        score=one.score,
    )


def _decision(one: "Decision") -> DecisionLine:
    return DecisionLine(
        action=one.action.value,
        by=quotation(one.by, "person"),
        at=one.at,
        note=quoted(one.note, "person", LONG),
        chosen=quoted(one.chosen, "source"),
        until=one.until,
    )


def compared_line(one: ComparedFinding) -> FindingLine | FormerLine:
    """A finding of a list."""
    if one.finding:
        return finding_line(one.finding, one.state.value, one.decided.state.value)
    former = one.former
    return FormerLine(
        fingerprint=one.fingerprint,
        state=one.state.value,
        type=former.type if former else "",
        about=quotation(former.about if former else "", "graph"),
        outcome=former.outcome if former else "",
        reason=former.reason if former else "",
    )


def answer_given(answer: "Answer", notes: Iterable[str], most: int) -> AnswerGiven:
    """What came of a question."""
    return AnswerGiven(
        status=answer.status.value,
        read_as=quoted(answer.read_as, "graph", LONG),
        count=answer.count,
        holds=answer.holds,
        answers=tuple(
            AnswerLine(
                node=node_line(found.ref, found.name),
                path=tuple(edge_line(edge.triple) for edge in found.path[:MOST_PATH]),
            )
            for found in answer.found[:most]
        ),
        more=max(0, len(answer.found) - most),
        because=quoted(answer.because, "graph", LONG),
        notes=tuple(quotation(note, "graph", LONG) for note in (*answer.notes, *notes)),
    )


def edge_line(triple: Triple) -> EdgeLine:
    """An edge."""
    return EdgeLine(head=node_line(triple.head), relation=triple.relation, tail=node_line(triple.tail))


def paper_line(hit: "PaperHit") -> PaperLine:
    """A paper that a search found."""
    document = hit.document
    return PaperLine(
        id=plain(document.id),
        also=tuple(plain(one) for one in document.ids[1 : MOST_CANDIDATES + 1]),
        year=document.year,
        retracted=document.retracted,
        score=round(hit.score, 4),
        title=quotation(document.title, "paper"),
        section=plain(document.section),
        heading=quoted(document.heading or None, "paper"),
        passage=quotation(hit.passage, "paper", LONG),
    )


def claim_given(verdict: "ClaimVerdict", notes: Iterable[str]) -> ClaimGiven:
    """What papers say of a claim."""
    return ClaimGiven(
        claim=quotation(verdict.claim, "graph", LONG),
        stance=verdict.stance.value,
        probability=verdict.probability,
        conflict=verdict.conflict,
        opinions=tuple(_opinion(one) for one in verdict.opinions),
        retracted=tuple(plain(one) for one in verdict.retracted),
        note=plain(verdict.note, LONG),
        notes=tuple(plain(one, LONG) for one in notes),
    )


def _opinion(one: "Opinion") -> OpinionLine:
    return OpinionLine(
        paper=plain(one.document),
        title=quotation(one.title, "paper"),
        year=one.year,
        stance=one.stance.value,
        probability=one.probability,
        section=plain(one.section),
        heading=quoted(one.heading or None, "paper"),
        quotes=tuple(quotation(quote.text, "paper", LONG) for quote in one.quotes[:MOST_QUOTES]),
        note=plain(one.note, LONG),
        dropped=one.dropped,
    )


def fact_line(task: CheckTask, verified: "Verified | None") -> FactLine:
    """What is verified of a task."""
    known = {} if verified is None else {name: _word(value) for name, value in verified.model_dump().items()}
    return FactLine(**_ends(task), **known)


def _word(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else value


def run_line(run: "Run", tallies: Iterable[Tally]) -> RunLine:
    """A run in short."""
    outcomes: dict[str, int] = {}
    for tally in tallies:
        outcomes[tally.outcome.value] = outcomes.get(tally.outcome.value, 0) + tally.count
    return RunLine(
        id=run.id,
        started=run.started,
        finished=run.finished,
        kind="check" if run.is_check else "audit",
        profile=plain(run.profile.rpartition("/")[2]),
        releases=tuple(plain(f"{pinned.source} {pinned.release}") for pinned in run.releases),
        warnings=tuple(plain(warning) for warning in run.warnings[:MOST_CANDIDATES]),
        outcomes=outcomes,
    )


def run_whole(run: "Run", tallies: Sequence[Tally]) -> RunWhole:
    """A run with its counts."""
    left_out: list[str] = []
    given = first_of(tallies, MOST_TALLIES, "counts", left_out)
    lines = [TallyLine(**{name: _word(value) for name, value in tally.as_row().items()}) for tally in given]
    return RunWhole(run=run_line(run, tallies), tallies=tuple(lines), left_out=tuple(left_out))
