"""Counting the findings of a run for a job: new or reopened ones, less those settled by a decision."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import func, select

from kgcheck import clock
from kgcheck.curation.compare import SETTLED, ComparedFinding, diff_of
from kgcheck.curation.facets import FacetKind, facets_of
from kgcheck.curation.findings import list_findings
from kgcheck.curation.thresholds import Counted
from kgcheck.ledger.causes import cause_of
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import DecisionState, decided_about, state_column
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.tables import FINDING
from kgcheck.model import CheckType, Outcome, Tally, kept_reason


class NewFindings(NamedTuple):
    """New and reopened findings of a run: how many of each kind, and some of them, the worst first."""

    counted: list[Counted]
    total: int
    examples: list[ComparedFinding]


def counted_of(tallies: Iterable[Tally]) -> list[Counted]:
    """Every task of a run."""
    return [
        Counted(t.type, _labels(t.target.label, t.target.object_label), t.target.relation, t.outcome, t.reason, t.count)
        for t in tallies
    ]


def settled(ledger: Ledger, run: Run) -> list[Counted]:
    """Findings of a run that do not fail it by themselves.

    They were rejected as they are, or deferred to a later day, or they follow from one that was not.
    """
    decided = state_column(FINDING, FINDING.c.basis, clock.today())
    query = select(*_KIND, func.count().label("count_")).where(FINDING.c.run == run.id, decided.in_(SETTLED))
    query = query.where(FINDING.c.fingerprint.in_(decided_about(run.id)))
    with ledger.database.reading() as connection:
        found = [_counted(row) for row in connection.execute(query.group_by(*_KIND))]
    return found + _followed(ledger, run, lambda kind: kind.decision not in SETTLED)


def new_findings(ledger: Ledger, run: Run, shown: int) -> NewFindings:
    """Count findings new against the run before of the same store and options, or back after a decision."""
    diff, day = diff_of(ledger, after=run), clock.today()
    with ledger.database.reading() as connection:
        rows, found = diff.present_rows(connection)
        is_new = diff.unsettled(found, day)
        query = select(*_KIND, func.count().label("count_")).select_from(found.rows).where(found.where, is_new)
        counted = [_counted(row) for row in connection.execute(query.group_by(*_KIND))]
        is_cause = cause_of(found.of.c.run, found.of.c.fingerprint).is_(None)
        examples = list(connection.execute(rows.where(is_new, is_cause).limit(shown)))
        examples = examples or list(connection.execute(rows.where(is_new).limit(shown)))
    # What follows from something that is new is taken off again.
    counted += [replace(one, count=-one.count) for one in _followed(ledger, run, _is_new)]
    return NewFindings(counted, sum(c.count for c in counted), list(diff.read(ledger, iter(examples))))


def _is_new(kind: FacetKind) -> bool:
    came_back = kind.state == ComparisonState.CHANGED and kind.decision == DecisionState.REOPENED
    return kind.decision not in SETTLED and (kind.state == ComparisonState.NEW or came_back)


def _followed(ledger: Ledger, run: Run, counts: Callable[[FacetKind], bool]) -> list[Counted]:
    """Findings that follow from another one, where both count."""
    pairs = facets_of(list_findings(ledger, run)).pairs
    return [
        replace(_counted_kind(kind, count), cause=_counted_kind(cause, count))
        for (kind, cause), count in pairs.items()
        if counts(kind) and counts(cause)
    ]


def _counted_kind(kind: FacetKind, count: int) -> Counted:
    return Counted(
        CheckType(kind.type or ""),
        _labels(kind.subject_label, kind.object_label),
        kind.relation,
        Outcome(kind.outcome or ""),
        kept_reason(kind.type or "", kind.reason or ""),
        count,
    )


_KIND = [FINDING.c[name] for name in ("type", "subject_label", "object_label", "relation", "outcome", "reason")]


def _counted(row: Any) -> Counted:
    labels = _labels(row.subject_label, row.object_label)
    reason = kept_reason(row.type, row.reason)
    return Counted(CheckType(row.type), labels, row.relation, Outcome(row.outcome), reason, row.count_)


def _labels(*names: str | None) -> tuple[str, ...]:
    return tuple(name for name in names if name)


def example_rows(examples: Sequence[ComparedFinding]) -> tuple[dict[str, str], ...]:
    """Findings as messages show them."""
    rows = []
    for one in examples:
        finding = one.finding
        if finding is None:
            continue
        change = finding.change
        proposal = " ".join(filter(None, (change.kind.value.replace("_", " "), change.to))) if change else ""
        decision = one.decided.decision
        is_reopened = one.decided.state is DecisionState.REOPENED
        was = f", reopened: {decision.action.value} by {decision.by}" if is_reopened and decision else ""
        rows.append(
            {
                "finding": finding.fingerprint[:8],
                "outcome": finding.mark.value,
                "reason": finding.verdict.reason.value + was,
                "what": str(finding.task),
                "names": ", ".join(filter(None, finding.names)),
                "proposal": proposal,
            }
        )
    return tuple(rows)
