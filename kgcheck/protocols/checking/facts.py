"""The facts of a protocol again: what the newest audit found of them, and whether the graph still has them."""

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Protocol

from kgcheck.ledger.verified import Verified
from kgcheck.model import Change, CheckTask, CheckType, Outcome, Reason, Ref
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, remarked
from kgcheck.protocols.protocol import StudyFact, StudyProtocol

OUTDATED = frozenset(
    {
        Reason.ID_MERGED,
        Reason.ID_DEMERGED,
        Reason.ID_DELETED,
        Reason.ID_PREVIOUS,
        Reason.ID_WITHDRAWN,
        Reason.ID_OBSOLETE,
        Reason.ID_SECONDARY,
        Reason.ID_RETIRED,
        Reason.ID_SUPERSEDED,
        Reason.UNKNOWN_ID,
        Reason.ENDPOINT_MERGED,
        Reason.ENDPOINT_DELETED,
        Reason.ENDPOINT_UNKNOWN,
    }
)
"""Reasons that speak against an id, and not against what is stated of it."""


class FactWorld(Protocol):
    """Where facts are looked up."""

    def judged(self, task: CheckTask) -> Verified | None:
        """What the newest run found that looked at it; None where none did."""

    def there(self, task: CheckTask) -> bool | None:
        """Whether the graph has it; None where there is no graph."""

    def change(self, task: CheckTask) -> Change | None:
        """The repair that its newest finding proposes; None where there is none."""

    def releases(self) -> Mapping[str, frozenset[str]]:
        """Releases of the references as they are now, by source; of one that is not here, none."""


def fact_remarks(protocol: StudyProtocol, world: FactWorld) -> list[StudyRemarked]:
    """What became of the facts of a protocol."""
    remarks = []
    resting = protocol.steps_by_ground()
    for fact in protocol.facts:
        steps = resting.get(fact.id, ())
        found = _remark(fact, world, is_ground=bool(steps))
        remarks += [found.model_copy(update={"step": step}) for step in steps or ("",)]
    return remarks


def _remark(fact: StudyFact, world: FactWorld, *, is_ground: bool) -> StudyRemarked:
    now = world.judged(fact.task)
    if now and _is_older(now, fact):
        # Another ledger, or a copy of an earlier day: what it holds was known when the protocol was made.
        now = None
    if outdated := next(_outdated_ends(fact, world, now), None):
        return outdated
    if fact.verified and world.there(fact.task) is False and (now is None or now.outcome is Outcome.SUPPORTED):
        return _of(StudyRemark.FACT_GONE, fact, now, "the graph does not have it")
    if now is None:
        kind = StudyRemark.FACT_NOT_LOOKED_SINCE if fact.outcome else StudyRemark.FACT_NOT_LOOKED
        return _of(kind, fact, now, "no newer run looked at it" if fact.outcome else "no run looked at it")
    found = f"{now.outcome.value} ({now.reason.value}) by run {now.run}"
    if not is_ground and not fact.verified and now.outcome is fact.outcome:
        # It is named as what it is, say among what was left out.
        return _of(StudyRemark.FACT_AS_STATED, fact, now, found)
    match now.outcome:
        case Outcome.SUPPORTED:
            newer = world.releases().get(now.source or "", frozenset())
            if newer and now.release not in newer:
                shown = ", ".join(sorted(newer))
                return _of(
                    StudyRemark.FACT_STALE, fact, now, f"{now.source} is {shown} now; judged by {now.release or '?'}"
                )
            return _of(StudyRemark.FACT_VERIFIED, fact, now, found)
        case Outcome.UNAVAILABLE:
            return _of(StudyRemark.FACT_UNAVAILABLE, fact, now, found, unavailable=True)
        case Outcome.REFUTED:
            kind = StudyRemark.FACT_REFUTED if fact.verified else StudyRemark.FACT_FALSE
            return _of(kind, fact, now, found, repair=_repair(fact.task, world))
        case Outcome.INSUFFICIENT:
            kind = StudyRemark.FACT_UNVERIFIED if fact.verified else StudyRemark.FACT_UNDECIDED
            return _of(kind, fact, now, found)


def _outdated_ends(fact: StudyFact, world: FactWorld, now: Verified | None) -> Iterator[StudyRemarked]:
    """That the fact itself, or a node that it is about, was refuted since for its id."""
    if not fact.verified:
        return
    ends: list[tuple[CheckTask, Verified | None]] = [(fact.task, now)]
    if fact.task.type is not CheckType.EXISTENCE:
        tasks = [
            CheckTask(type=CheckType.EXISTENCE, subject=ref) for ref in (fact.task.subject, fact.task.object) if ref
        ]
        ends += [(task, world.judged(task)) for task in tasks]
    for task, judged in ends:
        if not judged or _is_older(judged, fact):
            continue
        if judged.outcome is Outcome.REFUTED and judged.reason in OUTDATED:
            note = f"{_named(task)}: {judged.reason.value.replace('_', ' ')}, by run {judged.run}"
            yield _of(StudyRemark.FACT_ID_OUTDATED, fact, judged, note, of=task, repair=_repair(task, world))


def _of(
    kind: StudyRemark,
    fact: StudyFact,
    now: Verified | None,
    note: str,
    *,
    of: CheckTask | None = None,
    repair: str = "",
    unavailable: bool = False,
) -> StudyRemarked:
    stated = f"{fact.id} {fact.stated!r}"
    source = (now.source, now.release, now.record) if now else (fact.source, fact.release, fact.record)
    return remarked(
        kind,
        f"{stated}: {note}",
        about=fact.id,
        finding=(of or fact.task).fingerprint if now else fact.finding,
        rests_on=" ".join(part for part in source if part),
        unavailable=unavailable,
        **({"repair": repair} if repair else {}),
    )


def _is_older(judged: Verified, fact: StudyFact) -> bool:
    """Whether a judgement was there when the fact was stated; times without a zone are of UTC."""
    times = [at if at.tzinfo else at.replace(tzinfo=UTC) for at in (judged.at, fact.at or judged.at)]
    return times[0] < times[1]


def _repair(task: CheckTask, world: FactWorld) -> str:
    """The repair of the finding in words, where it proposes one that names something."""
    change = world.change(task)
    if change and change.to:
        return f"{change.kind.value.replace('_', ' ')}: {change.to}"
    if change and change.candidates:
        return f"choose one of {', '.join(change.candidates[:5])}"
    return ""


def _named(task: CheckTask) -> str:
    subject: Ref = task.subject
    return str(subject) if task.type is CheckType.EXISTENCE else str(task)
