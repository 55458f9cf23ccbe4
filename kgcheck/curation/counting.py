"""What a job counts of a run: what is new or reopened, and what a decision has settled."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import func, select

from kgcheck.curation.compare import ComparedFinding, diff_of
from kgcheck.curation.decisions import Action, DecisionState
from kgcheck.curation.thresholds import Counted
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import latest_decisions
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.tables import FINDING
from kgcheck.model import CheckType, Finding, Outcome, Reason, Tally


class NewFindings(NamedTuple):
    """What is new in a run, or reopened: how many of each kind, and some of them, the worst first."""

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
    """Findings of a run that were rejected as they are, or deferred to a later day: they do not fail it.

    Args:
        ledger: Where the run is.
        run: The run.

    Returns:
        How many of each kind.
    """
    latest = latest_decisions()
    columns = [FINDING.c[name] for name in ("type", "subject_label", "object_label", "relation", "outcome", "reason")]
    same = (latest.c.fingerprint == FINDING.c.fingerprint) & (latest.c.basis == FINDING.c.basis)
    today = datetime.now(UTC).date()
    waits = (latest.c.action == Action.DEFER.value) & (latest.c.until.is_(None) | (latest.c.until > today))
    query = select(*columns, func.count().label("count_")).select_from(FINDING.join(latest, same))
    query = query.where(FINDING.c.run == run.id, (latest.c.action == Action.REJECT.value) | waits).group_by(*columns)
    with ledger.database.reading() as connection:
        return [
            Counted(
                CheckType(row.type),
                _labels(row.subject_label, row.object_label),
                row.relation,
                Outcome(row.outcome),
                Reason(row.reason),
                row.count_,
            )
            for row in connection.execute(query)
        ]


def new_findings(ledger: Ledger, run: Run, shown: int) -> NewFindings:
    """What is new in a run, against the run before of the same store and options, or reopened after a decision.

    Args:
        ledger: Where the run is.
        run: The run.
        shown: So many examples.

    Returns:
        The counts and the examples.
    """
    counts = Counter[Counted]()
    examples: list[ComparedFinding] = []
    for one in diff_of(ledger, after=run).findings((ComparisonState.NEW, ComparisonState.CHANGED)):
        is_new = one.state is ComparisonState.NEW and one.decided.state is DecisionState.OPEN
        if one.finding is None or not (is_new or one.decided.state is DecisionState.REOPENED):
            continue
        counts[_kind(one.finding)] += 1
        if len(examples) < shown:
            examples.append(one)
    return NewFindings([replace(kind, count=count) for kind, count in counts.items()], counts.total(), examples)


def _kind(finding: Finding) -> Counted:
    task, verdict = finding.task, finding.verdict
    labels = _labels(task.subject.label, task.object.label if task.object else None)
    return Counted(task.type, labels, task.relation, verdict.outcome, verdict.reason, 1)


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
        was = f", reopened: {decision.action.value} by {decision.by}" if _is_reopened(one) and decision else ""
        rows.append(
            {
                "finding": finding.fingerprint[:8],
                "outcome": finding.verdict.outcome.value,
                "reason": finding.verdict.reason.value + was,
                "what": str(finding.task),
                "names": ", ".join(filter(None, finding.names)),
                "proposal": proposal,
            }
        )
    return tuple(rows)


def _is_reopened(one: ComparedFinding) -> bool:
    return one.decided.state is DecisionState.REOPENED
