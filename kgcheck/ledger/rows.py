"""Convert runs, findings and tallies to rows of the ledger's tables, and back."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.run import PinnedRelease, Run
from kgcheck.model import (
    Change,
    ChangeKind,
    CheckTask,
    CheckType,
    Finding,
    Outcome,
    Ref,
    Tally,
    Target,
    Verdict,
    kept_reason,
)

T = TypeVar("T")

_Row = Any
"""A row of SQLAlchemy: its columns are attributes."""


def run_row(run: Run) -> dict[str, Any]:
    """A run as a row of the table run."""
    return {name: getattr(run, name) for name in Run.model_fields if name != "releases"}


def run_of(row: _Row, releases: Sequence[_Row]) -> Run:
    """The run of a row of run and of those of run_release."""
    pinned = (PinnedRelease(**{name: getattr(r, name) or "" for name in PinnedRelease.model_fields}) for r in releases)
    known = {name: getattr(row, name) for name in Run.model_fields if name != "releases"}
    return Run(**(known | {"made_with": row.made_with or {}}), releases=tuple(pinned))


class FindingRows:
    """Findings as rows of the table finding, ready to be written: in the order of FINDING_COLUMNS, JSON as text."""

    def __init__(self, batches: Iterable[list[tuple[Any, ...]]]) -> None:
        self.batches = batches


def finding_row(run: str, finding: Finding) -> dict[str, Any]:
    """A finding as a row of the table finding."""
    verdict, is_ranked = finding.verdict, finding.task.type is CheckType.POTENTIAL
    score = next((e.score for e in verdict.evidence[:1]), None) or 0.0
    return {
        **finding_columns(finding),
        "run": run,
        "basis": basis_of(finding),
        "severity": finding.mark.severity,
        "by_confidence": -verdict.confidence if is_ranked else 0.0,
        "by_score": -score if is_ranked else 0.0,
    }


def finding_columns(finding: Finding) -> dict[str, Any]:
    """A finding by columns of flat tables, as the ledger, Arrow and data frames have them."""
    task, verdict, change = finding.task, finding.verdict, finding.change
    return {
        "run": finding.run,
        "fingerprint": finding.fingerprint,
        "type": task.type.value,
        "subject_label": task.subject.label,
        "subject_id": task.subject.id,
        "subject_name": finding.names[0],
        "relation": task.relation,
        "object_label": task.object.label if task.object else None,
        "object_id": task.object.id if task.object else None,
        "object_name": finding.names[1],
        "attribute": task.attribute,
        "rule": task.rule,
        "value": task.value,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason.value,
        "confidence": verdict.confidence,
        "note": verdict.note,
        "evidence": verdict.evidence,
        "gaps": verdict.missing,
        "change_kind": change.kind.value if change else None,
        "change_to": change.to if change else None,
        "change_because": change.because if change else None,
        "change_candidates": change.candidates if change else (),
    }


def finding_of(row: _Row) -> Finding:
    """The finding of a row."""
    task = task_of(row)
    verdict = Verdict(
        outcome=Outcome(row.outcome),
        reason=kept_reason(row.type, row.reason),
        confidence=row.confidence,
        evidence=row.evidence,
        missing=row.gaps,
        note=row.note,
    )
    change = None
    if row.change_kind is not None:
        kind, candidates = ChangeKind(row.change_kind), row.change_candidates
        change = Change(kind=kind, to=row.change_to, candidates=candidates, because=row.change_because or "")
    return Finding(
        run=row.run,
        fingerprint=row.fingerprint,
        task=task,
        verdict=verdict,
        change=change,
        names=(row.subject_name, row.object_name),
        cause=getattr(row, "cause", None),
    )


def task_of(row: _Row) -> CheckTask:
    """The task of a row of the table finding."""
    tail = Ref(label=row.object_label, id=row.object_id) if row.object_id is not None else None
    return CheckTask(
        type=CheckType(row.type),
        subject=Ref(label=row.subject_label, id=row.subject_id),
        relation=row.relation,
        object=tail,
        attribute=row.attribute,
        rule=row.rule,
        value=row.value,
    )


def tally_row(run: str, piece: str, tally: Tally) -> dict[str, Any]:
    """A tally of a piece of a run as a row of the table tally."""
    row = {"run": run, "piece": piece, **dict(tally), **dict(tally.target)}
    return {name: value for name, value in row.items() if name != "target"}


def tally_of(row: _Row) -> Tally:
    """The tally of a row of the table tally."""
    return Tally(
        type=CheckType(row.type),
        target=Target(**{name: getattr(row, name) for name in Target.model_fields}),
        outcome=Outcome(row.outcome),
        reason=kept_reason(row.type, row.reason),
        sources=row.sources,
        gaps=row.gaps,
        by_team=row.by_team,
        count=row.count_,
    )


def batches(items: Iterable[T], size: int = 5_000) -> Iterator[list[T]]:
    """Yield items in lists, some thousands at a time."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
