"""Compare two runs (RunDiff): findings that are new, changed, fixed, gone or were not looked at."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import ColumnElement, CompoundSelect, Connection, Row, select

from kgcheck import clock
from kgcheck.choices import THRESHOLDS, chosen
from kgcheck.curation.decisions import version_of
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, UsageError
from kgcheck.ledger.comparisons import (
    ComparedPart,
    ComparisonState,
    ComparisonTable,
    Pair,
    compared_with,
    comparison_of,
    run_before,
)
from kgcheck.ledger.decisions import CurrentDecision, DecisionState, DecisionTable, decided_about, is_due, state_column
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.rows import batches, finding_of
from kgcheck.ledger.tables import FINDING
from kgcheck.model import Finding, TallyMark, Value
from kgcheck.report.comparison import ALONE, ComparisonSummary, moved_parts
from kgcheck.rules import remarks

if TYPE_CHECKING:
    from sqlalchemy import URL

    from kgcheck.ledger.place import LedgerPlace

SETTLED = (DecisionState.REJECTED.value, DecisionState.DEFERRED.value)
"""Decisions for which a finding fails no run."""

_SHOWN_FIRST = "new changed unchecked fixed gone still".split()
"""The states in the order in which findings are listed."""


class ComparedFinding(Value):
    """A finding with what became of it.

    ``finding`` is as the later run has it, or as it was last found where that did not find it.
    """

    fingerprint: str
    state: ComparisonState | None = Field(description="None where neither of the two runs has it")
    why: str = Field(default="", description="of that state, where there is more to say")
    finding: Finding
    decided: CurrentDecision
    consequences: int = Field(default=0, description="findings of the run that follow from it")
    basis: str = Field(default="", description="what decisions about it belong to, now")

    @property
    def version(self) -> str:
        """Another text when its basis or the decision that counts is another."""
        return version_of(self.basis, self.decided)

    def as_row(self) -> dict[str, Any]:
        decision = self.decided.decision
        return {
            "state": self.state,
            "why": self.why,
            "decision_state": self.decided.state.value,
            "decision": decision.model_dump(mode="json", exclude={"fingerprint"}) if decision else None,
            "inherited": self.decided.is_inherited,
            "consequences": self.consequences,
            **self.finding.as_row(),
        }


class RunDiff:
    """Comparison of the findings of two runs. It is read from the ledger whenever it is asked."""

    def __init__(self, ledger: "LedgerPlace | URL", before: Run | None, after: Run) -> None:
        self.before = before
        self.after = after
        self.before_id = before.id if before else None
        self.pair = Pair(self.before_id or "", after.id)
        self._ledger = ledger

    @property
    def counts(self) -> Counter[ComparisonState]:
        with self.opened() as ledger:
            counts = ComparisonTable(ledger.database).counts(self.pair)
            return Counter({ComparisonState(name): count for name, count in counts.items()})

    def state_of(self, fingerprint: str) -> ComparisonState | None:
        return self.states([fingerprint]).get(fingerprint)

    def states(self, fingerprints: Iterable[str]) -> dict[str, ComparisonState]:
        """The states of many findings at once; those that neither run has are left out."""
        with self.opened() as ledger:
            return ComparisonTable(ledger.database).states(self.pair, fingerprints)

    def fails(self, fail_on: str, today: date | None = None) -> bool:
        """Tell whether findings of the later run are at or over a threshold.

        What was rejected as it is now, or deferred to a later day, does not count, and no remark does.
        """
        if fail_on == "never":
            return False
        with self.opened() as ledger, ledger.database.reading() as connection:
            found = comparison_of(connection, self.pair).present()
            counts = self.unsettled(found, today or clock.today(), only_new=fail_on == "new")
            query = select(found.of.c.fingerprint).select_from(found.rows).where(found.where, counts)
            query = query.where(found.of.c.reason.not_in(remarks()))
            if fail_on == "refuted":
                query = query.where(found.of.c.severity == TallyMark.REFUTED.severity)
            return connection.execute(query.limit(1)).first() is not None

    def unsettled(self, found: ComparedPart, day: date, *, only_new: bool = True) -> ColumnElement[bool]:
        """Findings that no decision has settled; of them those that are new, or came back after one."""
        decided = state_column(found.of, found.basis, day)
        counts = decided.not_in(SETTLED)
        if not only_new:
            return counts
        came_back = (found.state == ComparisonState.CHANGED.value) & (decided == DecisionState.REOPENED.value)
        if self.before:
            came_back |= is_due(found.of, found.basis, self.before.started.date(), day)
        return counts & ((found.state == ComparisonState.NEW.value) | came_back)

    def exit_code(self, fail_on: str = "never") -> int:
        """1 for findings at or over a threshold (see `fails`), else 0; UnknownName where there is no such threshold."""
        return EXIT_FINDINGS if self.fails(chosen("threshold", fail_on, THRESHOLDS)) else EXIT_CLEAN

    def as_row(self) -> dict[str, Any]:
        counts = {state.value: count for state, count in self.counts.items()}
        return {"before": self.before_id, "after": self.after.id, "counts": counts, "parts": self.part_rows()}

    def part_rows(self) -> list[dict[str, Any]]:
        """Parts of the graph that have more or less than before: nodes, edges, sources, namespaces."""
        return [one._asdict() for one in moved_parts(self.before, self.after)]

    def lines(self) -> list[str]:
        counts, line = self.counts, f"run {self.after.id}"
        line += f" against {self.before.id}" if self.before else ", the first of this store and these options"
        numbers = ", ".join(f"{counts[state]:,} {state.value}" for state in ComparisonState)
        found = [f"{line}: {numbers}"]
        if self.before and self.before.releases != self.after.releases:
            found.append("  the references are others than those of the run before")
        return found

    def findings(self, states: Collection[str] = (), *, limit: int | None = None) -> Iterator[ComparedFinding]:
        with self.opened() as ledger, ledger.database.reading() as connection:
            rows = (
                row
                for state in _SHOWN_FIRST
                if not states or state in states
                for part in self.parts(connection, (state,))
                for row in connection.execute(part.select().where(part.state == state))
            )
            yield from self.read(ledger, islice(rows, limit))

    def parts(
        self,
        connection: Connection,
        states: Collection[str] = (),
        fingerprints: CompoundSelect[tuple[str]] | None = None,
    ) -> tuple[ComparedPart, ComparedPart]:
        """The findings of the later run, in these states or this select alone, and those that it did not find."""
        comparison = comparison_of(connection, self.pair)
        return comparison.present(states, fingerprints), comparison.absent()

    def read(self, ledger: Ledger, rows: Iterable[Row[Any]]) -> Iterator[ComparedFinding]:
        """The findings of rows that `ComparedPart.select` selects."""
        table, today = DecisionTable(ledger.database), clock.today()
        for some in batches(rows, 500):
            decided = table.states(((row.run, row.fingerprint, row.decided_basis or "") for row in some), today)
            for row in some:
                yield ComparedFinding(
                    fingerprint=row.fingerprint,
                    state=ComparisonState(row.state),
                    why=row.why or "",
                    finding=finding_of(row),
                    decided=decided[row.fingerprint],
                    consequences=row.consequences,
                    basis=row.decided_basis or "",
                )

    def opened(self) -> Ledger:
        return Ledger(self._ledger, create=False)


def diff_of(ledger: Ledger, before: str | Run | None = None, after: str | Run | None = None) -> RunDiff:
    """Two runs side by side."""
    later = after if isinstance(after, Run) else ledger.run(after or "latest")
    runs = ledger.runs()
    if before:
        earlier: Run | None = before if isinstance(before, Run) else ledger.run(before)
    else:
        with ledger.database.reading() as connection:
            name = compared_with(connection, later.id)
        earlier = ledger.run(name) if name else run_before(runs, later)
    for run in filter(None, (earlier, later)):
        if run.is_check:
            raise UsageError(
                f"run {run.id} is a check of one thing, and audits are compared", "kgcheck runs lists them"
            )
    # A store that was moved is the same one, as is a release of the same graph.
    if earlier and earlier.store_id != later.store_id and earlier.store != later.store:
        raise UsageError(
            f"run {earlier.id} is of the store {earlier.store}, and run {later.id} of {later.store}",
            "two runs of one store can be compared",
        )
    order = [run.id for run in runs]
    if earlier and order.index(earlier.id) <= order.index(later.id):
        raise UsageError(f"run {earlier.id} is not before run {later.id}", "name the earlier run first")
    return RunDiff(ledger.place, earlier, later)


def comparison_summary(ledger: Ledger, run: Run) -> ComparisonSummary:
    """Return the states of the findings of a run, and the decisions about them, for a report."""
    if run.is_check:
        return ALONE
    diff, causes = diff_of(ledger, after=run), ledger.consequences(run)
    with ledger.database.reading() as connection:
        comparison = comparison_of(connection, diff.pair)
        # Most are alike, and about most nothing was decided: only what is otherwise is read.
        here, most = comparison.present(), comparison.most.value
        columns = here.of.c.fingerprint, here.state.label("state")
        others = select(*columns).select_from(here.rows).where(here.where, here.state != most)
        states = {row.fingerprint: row.state for row in connection.execute(others)}
        about = comparison.present(fingerprints=decided_about(run.id)).named()
        lost = comparison.absent().named().where(FINDING.c.fingerprint.in_(decided_about(None)))
        found = [row for query in (about, lost) for row in connection.execute(query)]
    return ComparisonSummary(
        before=diff.before_id,
        most=most,
        states=states,
        decisions=DecisionTable(ledger.database).states(found, clock.today()),
        left=_left(ledger, diff),
        consequences=lambda name: ledger.following(run, name) if name in causes else (),
        counts={state.value: count for state, count in diff.counts.items()},
        parts=moved_parts(diff.before, run),
    )


def _left(ledger: Ledger, diff: RunDiff) -> Iterator[tuple[Finding, str]]:
    with ledger.database.reading() as connection:
        absent = comparison_of(connection, diff.pair).absent().select()
        for one in diff.read(ledger, connection.execute(absent)):
            yield one.finding, str(one.state)
