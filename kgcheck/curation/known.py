"""One finding, looked at: where it stands, and the runs that have it."""

from collections.abc import Callable
from datetime import datetime

from pydantic import Field
from sqlalchemy import select

from kgcheck.agents.request import resolve_request
from kgcheck.curation.compare import ComparedFinding, diff_of
from kgcheck.curation.decisions import Decisions
from kgcheck.errors import UnknownName
from kgcheck.ledger.causes import consequences_of
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.ledger import Ledger, of_any_run
from kgcheck.ledger.rows import finding_of
from kgcheck.ledger.tables import FINDING, KEY, RUN
from kgcheck.model import Change, Finding, Outcome, Reason, Value
from kgcheck.questions.resolver import NameResolver


class KnownFinding(ComparedFinding):
    """A finding as the newest run has it that does; its state is that of the newest audit of its store."""

    finding: Finding


class Occurrence(Value):
    """A run that has a finding, and what it was there."""

    run: str
    started: datetime
    outcome: Outcome
    reason: Reason
    confidence: float
    value: str | None = Field(default=None, description="what the graph said")
    change: Change | None = Field(default=None, description="what was proposed")
    carried_from: str | None = Field(default=None, description="the run that made it, where this one carried it over")


def find(ledger: Ledger, name: str, resolver: Callable[[], NameResolver]) -> Finding:
    """The finding of a fingerprint, its beginning, or the words of a check, in the newest run that has it."""
    if " " not in name.strip():
        return ledger.finding(name)
    request = resolve_request([name], resolver())
    known = ledger.known([task.fingerprint for task in request.tasks])
    if not known:
        raise UnknownName("finding about", request.text, [], "kgcheck check looks now; kgcheck findings lists them all")
    return max(map(ledger.finding, sorted(known)), key=lambda finding: finding.run)


def known_finding(ledger: Ledger, fingerprint: str) -> KnownFinding:
    """The finding of a fingerprint, or its beginning, in the newest run that has it, and where it stands."""
    finding = ledger.finding(fingerprint)
    decisions = Decisions(ledger)
    bases = decisions.bases([finding])
    name = finding.fingerprint
    decided = decisions.beside([finding])
    with ledger.database.reading() as connection:
        consequences = consequences_of(connection, finding.run, [name])
    return KnownFinding(
        fingerprint=name,
        finding=finding,
        state=_state(ledger, name, finding.run),
        decided=decided[name],
        consequences=consequences[name],
        basis=bases[name],
    )


def occurrences(ledger: Ledger, fingerprint: str, limit: int) -> list[Occurrence]:
    """The runs that have a finding, the newest first."""
    name = ledger.finding(fingerprint).fingerprint
    numbers = select(KEY.c.finding).where(of_any_run(KEY.c.fingerprint == name))
    query = select(FINDING, RUN.c.started.label("run_started")).join(RUN, RUN.c.id == FINDING.c.run)
    query = query.where(FINDING.c.number.in_(numbers))
    query = query.order_by(RUN.c.number.desc()).limit(limit)
    with ledger.database.reading() as connection:
        rows = connection.execute(query).all()
    found = []
    for row in rows:
        finding = finding_of(row)
        found.append(
            Occurrence(
                run=finding.run,
                started=row.run_started,
                outcome=finding.verdict.outcome,
                reason=finding.verdict.reason,
                confidence=finding.verdict.confidence,
                value=finding.task.value,
                change=finding.change,
                carried_from=finding.carried_from,
            )
        )
    return found


def _state(ledger: Ledger, fingerprint: str, run: str) -> ComparisonState | None:
    runs = ledger.runs()
    store = next(r.store_id for r in runs if r.id == run)
    newest = next((r for r in runs if r.store_id == store and not r.is_check), None)
    return diff_of(ledger, after=newest).state_of(fingerprint) if newest else None
