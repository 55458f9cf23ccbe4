"""Compare two runs (RunDiff): findings that are new, changed, fixed, gone or were not looked at."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import ColumnElement, CompoundSelect, Connection, FromClause, Row, Select, select

from kgcheck import clock
from kgcheck.choices import THRESHOLDS, chosen
from kgcheck.curation.decisions import version_of
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, UsageError
from kgcheck.ledger.causes import FOUND, count_consequences
from kgcheck.ledger.comparisons import (
    ComparisonState,
    ComparisonTable,
    Pair,
    Present,
    compared_with,
    comparison_of,
    decided_basis,
    present,
    run_before,
    state_of,
)
from kgcheck.ledger.decisions import CurrentDecision, DecisionState, DecisionTable, decided_about, is_due, state_column
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.rows import batches, finding_of
from kgcheck.ledger.tables import FINDING, KEY
from kgcheck.model import Finding, TallyMark, Value
from kgcheck.report.comparison import ALONE, ComparisonSummary, Left, moved_parts
from kgcheck.rules import remarks

if TYPE_CHECKING:
    from sqlalchemy import URL

    from kgcheck.ledger.place import LedgerPlace

_TOGETHER = 500
SETTLED = (DecisionState.REJECTED.value, DecisionState.DEFERRED.value)
"""Decisions for which a finding fails no run."""

SHOWN_FIRST = (
    ComparisonState.NEW,
    ComparisonState.CHANGED,
    ComparisonState.UNCHECKED,
    ComparisonState.FIXED,
    ComparisonState.GONE,
    ComparisonState.STILL,
)
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
        self._ledger = ledger
        self.pair = Pair(before.id if before else "", after.id)

    @property
    def counts(self) -> Counter[ComparisonState]:
        with self._opened() as (_, table):
            return Counter({ComparisonState(name): count for name, count in table.counts(self.pair).items()})

    def state_of(self, fingerprint: str) -> ComparisonState | None:
        return self.states([fingerprint]).get(fingerprint)

    def states(self, fingerprints: Iterable[str]) -> dict[str, ComparisonState]:
        """The states of many findings at once; those that neither run has are left out."""
        with self._opened() as (_, table):
            return table.states(self.pair, fingerprints)

    def fails(self, fail_on: str, today: date | None = None) -> bool:
        """Tell whether findings of the later run are at or over a threshold.

        What was rejected as it is now, or deferred to a later day, does not count, and no remark does.
        """
        day = today or clock.today()
        if fail_on == "never":
            return False
        with self._opened() as (ledger, _), ledger.database.reading() as connection:
            found = present(comparison_of(connection, self.pair))
            query = select(found.of.c.fingerprint).select_from(found.rows)
            query = query.where(found.where, self.unsettled(found, day, only_new=fail_on == "new"))
            query = query.where(found.of.c.reason.not_in(remarks()))
            if fail_on == "refuted":
                query = query.where(found.of.c.severity == TallyMark.REFUTED.severity)
            return connection.execute(query.limit(1)).first() is not None

    def unsettled(self, found: Present, day: date, *, only_new: bool = True) -> ColumnElement[bool]:
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

    @property
    def before_id(self) -> str | None:
        return self.before.id if self.before else None

    def findings(self, states: Collection[str] = (), *, limit: int | None = None) -> Iterator[ComparedFinding]:
        with self._opened() as (ledger, _):
            rows = (row for state in SHOWN_FIRST if not states or state in states for row in self.rows(ledger, state))
            yield from self.read(ledger, islice(rows, limit))

    def rows(self, ledger: Ledger, state: ComparisonState) -> Iterator[Row[Any]]:
        """Rows of the findings in a state, as `read` takes them."""
        with ledger.database.reading() as connection:
            here, found = self.present_rows(connection, (state,))
            yield from connection.execute(here.where(found.state == state.value))
            lost, of_state = self.absent_rows(connection)
            yield from connection.execute(lost.where(of_state == state.value))

    def present_rows(
        self,
        connection: Connection,
        states: Collection[ComparisonState] = (),
        fingerprints: CompoundSelect[tuple[str]] | None = None,
    ) -> tuple[Select[Any], Present]:
        """The findings of the later run, in the order of reports."""
        found = present(comparison_of(connection, self.pair), {state.value for state in states}, fingerprints)
        query = select(*FOUND).select_from(found.rows).where(found.where).order_by(*found.order)
        query = query.add_columns(count_consequences(found.of).label("consequences"))
        named = found.of.c.fingerprint.label("named"), found.state.label("state"), found.basis.label("decided_basis")
        return query.add_columns(*named, found.became.c.why), found

    def absent_rows(self, connection: Connection) -> tuple[Select[Any], ColumnElement[Any]]:
        """The findings of the earlier run that the later one did not find, by fingerprint."""
        comparison = comparison_of(connection, self.pair)
        lost = comparison.rows
        there = (KEY.c.fingerprint == lost.c.fingerprint) & (KEY.c.run == lost.c.found_in)
        named = lost.c.fingerprint.label("named"), lost.c.state, lost.c.basis.label("decided_basis")
        rows = lost.join(KEY, there).join(FINDING, FINDING.c.number == KEY.c.finding)
        query = select(*FOUND, count_consequences(FINDING).label("consequences"), *named, lost.c.why)
        query = query.select_from(rows)
        return query.where(comparison.is_own, ~lost.c.is_there).order_by(lost.c.fingerprint), lost.c.state

    def join_finding(
        self, connection: Connection, link: FromClause, fingerprint: ColumnElement[str], name: str, *, is_there: bool
    ) -> tuple[FromClause, FromClause, ColumnElement[Any], ColumnElement[Any]]:
        """Join a finding of the later run, or one that it did not find: the rows, the finding, its state and basis."""
        comparison, key, of = comparison_of(connection, self.pair), KEY.alias(f"{name}_key"), FINDING.alias(name)
        if is_there:
            rows = link.join(key, (key.c.run == self.pair.after) & (key.c.fingerprint == fingerprint))
            state, basis = state_of(comparison, of), decided_basis(of.c.run, of.c.fingerprint)
        else:
            lost, is_lost = comparison.lost(f"{name}_lost")
            rows = link.join(lost, is_lost & (lost.c.fingerprint == fingerprint))
            rows = rows.join(key, (key.c.run == lost.c.found_in) & (key.c.fingerprint == lost.c.fingerprint))
            state, basis = lost.c.state, lost.c.basis
        return rows.join(of, of.c.number == key.c.finding), of, state, basis

    @property
    def most_are(self) -> ComparisonState:
        """The state of all findings of the later run but of those that are written down."""
        return ComparisonState.STILL if self.before else ComparisonState.NEW

    def read(self, ledger: Ledger, rows: Iterable[Row[Any]]) -> Iterator[ComparedFinding]:
        table, today = DecisionTable(ledger.database), clock.today()
        for some in batches(rows, _TOGETHER):
            decided = table.states(map(_named, some), today)
            for row in some:
                yield ComparedFinding(
                    fingerprint=row.named,
                    state=ComparisonState(row.state),
                    why=row.why or "",
                    finding=finding_of(row),
                    decided=decided[row.named],
                    consequences=row.consequences,
                    basis=row.decided_basis or "",
                )

    def opened(self) -> Ledger:
        return Ledger(self._ledger, create=False)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Ledger, ComparisonTable]]:
        with Ledger(self._ledger, create=False) as ledger:
            yield ledger, ComparisonTable(ledger.database)


def diff_of(ledger: Ledger, before: str | Run | None = None, after: str | Run | None = None) -> RunDiff:
    """Two runs side by side."""
    later = ledger.run(after or "latest") if not isinstance(after, Run) else after
    if isinstance(before, Run):
        earlier: Run | None = before
    elif before:
        earlier = ledger.run(before)
    else:
        with ledger.database.reading() as connection:
            name = compared_with(connection, later.id)
        earlier = ledger.run(name) if name else run_before(ledger.runs(), later)
    _check(earlier, later, ledger)
    return RunDiff(ledger.place, earlier, later)


def _check(earlier: Run | None, later: Run, ledger: Ledger) -> None:
    for run in filter(None, (earlier, later)):
        if run.is_check:
            raise UsageError(
                f"run {run.id} is a check of one thing, and audits are compared", "kgcheck runs lists them"
            )
    if not earlier:
        return
    # A store that was moved is the same one, as is a release of the same graph.
    if earlier.store_id != later.store_id and earlier.store != later.store:
        raise UsageError(
            f"run {earlier.id} is of the store {earlier.store}, and run {later.id} of {later.store}",
            "two runs of one store can be compared",
        )
    order = [run.id for run in ledger.runs()]
    if order.index(earlier.id) <= order.index(later.id):
        raise UsageError(f"run {earlier.id} is not before run {later.id}", "name the earlier run first")


def _named(row: Row[Any]) -> tuple[str, str, str]:
    """A finding as decisions are looked up for it."""
    return row.run, row.named, row.decided_basis or ""


def comparison_summary(ledger: Ledger, run: Run) -> ComparisonSummary:
    """Return the states of the findings of a run, and the decisions about them, for a report."""
    if run.is_check:
        return ALONE
    diff = diff_of(ledger, after=run)
    beside = _Beside(ledger, diff)
    counts = {state.value: count for state, count in diff.counts.items()}
    return ComparisonSummary(
        before=diff.before_id,
        state=beside.state,
        decided=beside.decided,
        left=beside.left(),
        follows=beside.follows,
        following=beside.following,
        counts=counts,
        parts=moved_parts(diff.before, run),
    )


class _Beside:
    """Standing of findings, most of it alike: only what is otherwise is read, when it is first asked for."""

    def __init__(self, ledger: Ledger, diff: RunDiff) -> None:
        self._ledger = ledger
        self._diff = diff
        self._most = diff.most_are.value

    def state(self, finding: Finding) -> str | None:
        state = self._states.get(finding.fingerprint, self._most)
        if self.decided(finding).state is DecisionState.REOPENED and state != ComparisonState.UNCHECKED.value:
            return DecisionState.REOPENED.value
        return state

    def decided(self, finding: Finding) -> CurrentDecision:
        return self._decided.get(finding.fingerprint) or CurrentDecision()

    def follows(self, finding: Finding) -> bool:
        if finding.cause is None:
            return False
        state, of_cause = (self._states.get(name, self._most) for name in (finding.fingerprint, finding.cause))
        current = self.decided(finding)
        return state == of_cause and (current.is_inherited or current.decision is None)

    def following(self, finding: Finding) -> list[Finding]:
        if finding.fingerprint not in self._consequences:
            return []
        return [one for one in self._ledger.following(self._diff.after, finding.fingerprint) if self.follows(one)]

    def left(self) -> Iterator[Left]:
        with self._ledger.database.reading() as connection:
            query, _ = self._diff.absent_rows(connection)
            for one in self._diff.read(self._ledger, connection.execute(query)):
                yield Left(one.finding, str(one.state))

    @cached_property
    def _states(self) -> dict[str, str]:
        with self._ledger.database.reading() as connection:
            query, found = self._diff.present_rows(connection)
            columns = found.of.c.fingerprint, found.state.label("state")
            rows = connection.execute(query.order_by(None).with_only_columns(*columns).where(found.state != self._most))
            return {row.fingerprint: row.state for row in rows}

    @cached_property
    def _decided(self) -> dict[str, CurrentDecision]:
        """The states of the findings of which something was decided, or of whose causes."""
        with self._ledger.database.reading() as connection:
            here, _ = self._diff.present_rows(connection, fingerprints=decided_about(self._diff.after.id))
            lost, _ = self._diff.absent_rows(connection)
            lost = lost.where(lost.selected_columns.named.in_(decided_about(None)))
            found: list[Select[Any]] = []
            for query in (here, lost):
                c = query.selected_columns
                found.append(query.order_by(None).with_only_columns(c.run, c.named, c.decided_basis))
            rows = [row for query in found for row in connection.execute(query)]
        return DecisionTable(self._ledger.database).states(map(_named, rows), clock.today())

    @cached_property
    def _consequences(self) -> Counter[str]:
        return self._ledger.consequences(self._diff.after)
