"""Two runs of a store side by side: what is new, still there, changed, fixed, gone, or was not looked at."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select

from kgcheck.curation.decisions import Decided, Decisions
from kgcheck.errors import UsageError
from kgcheck.ledger.comparisons import (
    COMPARED,
    OPEN,
    ComparisonState,
    ComparisonTable,
    FormerFinding,
    Pair,
    absent,
    compared_with,
    present,
    run_before,
)
from kgcheck.ledger.ledger import Ledger, Run, in_order
from kgcheck.ledger.rows import finding_of
from kgcheck.ledger.tables import FINDING
from kgcheck.model import Finding, Outcome, Value

__all__ = ["ComparedFinding", "ComparisonState", "RunDiff", "diff_of"]

if TYPE_CHECKING:
    from sqlalchemy import URL

    from kgcheck.ledger.place import LedgerPlace

_TOGETHER = 500
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

    ``finding`` is as the later run has it, or as it was last found where that did not find it; None where the ledger
    keeps no more of it than ``former`` has.
    """

    fingerprint: str
    state: ComparisonState
    finding: Finding | None = None
    former: FormerFinding | None = None
    decided: Decided

    @property
    def why(self) -> str:
        """Why it is in that state, where there is more to say."""
        return self.former.why if self.former else ""

    def as_row(self) -> dict[str, Any]:
        """The flat form that `kgcheck diff --format json` prints."""
        known = self.finding.as_row() if self.finding else self.former.model_dump() if self.former else {}
        decision = self.decided.decision
        return {
            "state": self.state.value,
            "why": self.why,
            "standing": self.decided.standing.value,
            "decision": decision.model_dump(mode="json", exclude={"fingerprint"}) if decision else None,
            **{name: value for name, value in known.items() if name not in ("state", "why")},
        }


class RunDiff:
    """What became of the findings of one run in a later one. It is read from the ledger whenever it is asked.

    Args:
        ledger: Where the runs are.
        before: The earlier run; None where there is none, so that everything is new.
        after: The later one.
    """

    def __init__(self, ledger: "LedgerPlace | URL", before: Run | None, after: Run) -> None:
        self.before = before
        self.after = after
        self._ledger = ledger
        self._pair = Pair(before.id if before else "", after.id)

    @property
    def counts(self) -> Counter[ComparisonState]:
        """How many findings are in each state."""
        with self._opened() as (_, table):
            return Counter({ComparisonState(name): count for name, count in table.counts(self._pair).items()})

    def state_of(self, fingerprint: str) -> ComparisonState | None:
        """The state of a finding; None where neither run has it."""
        return self.states([fingerprint]).get(fingerprint)

    def states(self, fingerprints: Iterable[str]) -> dict[str, ComparisonState]:
        """The states of many findings at once; those that neither run has are left out."""
        with self._opened() as (_, table):
            return table.states(self._pair, fingerprints)

    def findings(
        self, states: Collection[ComparisonState] = (), *, limit: int | None = None
    ) -> Iterator[ComparedFinding]:
        """Findings with what became of them, the new ones first.

        Args:
            states: Only these; all if empty.
            limit: At most so many.

        Yields:
            A finding.
        """
        left = limit
        with self._opened() as (ledger, _):
            for state in SHOWN_FIRST:
                if states and state not in states:
                    continue
                for one in islice(self._in_state(ledger, state), left):
                    yield one
                    left = None if left is None else left - 1

    def _in_state(self, ledger: Ledger, state: ComparisonState) -> Iterator[ComparedFinding]:
        with ledger.database.reading() as connection:
            is_kept = compared_with(connection, self.after.id) == self._pair.before
            for part in (self._present(state, is_kept=is_kept), self._absent(state, is_kept=is_kept)):
                rows = iter(connection.execute(part))
                while some := list(islice(rows, _TOGETHER)):
                    yield from self._beside(ledger, state, some)

    def _present(self, state: ComparisonState, *, is_kept: bool) -> Any:
        states = present(self._pair, is_kept=is_kept).subquery("present")
        query = in_order(self.after.id, map(Outcome, OPEN)).join(states, states.c.fingerprint == FINDING.c.fingerprint)
        return _with_kept(query, states, self.after.id).where(states.c.state == state.value)

    def _absent(self, state: ComparisonState, *, is_kept: bool) -> Any:
        states = absent(self._pair, is_kept=is_kept).subquery("absent")
        there = (FINDING.c.fingerprint == states.c.fingerprint) & (FINDING.c.run == states.c.found_in)
        query = select(FINDING).select_from(states).outerjoin(FINDING, there)
        query = _with_kept(query, states, self.after.id).where(states.c.state == state.value)
        return query.order_by(FINDING.c.severity, FINDING.c.type, FINDING.c.reason, states.c.fingerprint)

    def _beside(self, ledger: Ledger, state: ComparisonState, rows: Sequence[Row[Any]]) -> Iterator[ComparedFinding]:
        # What could not be looked at this time stands as it stood when it could.
        is_former = state is ComparisonState.UNCHECKED
        bases = {row.named: (row.former_basis if is_former else row.basis or row.former_basis) or "" for row in rows}
        decided = Decisions(ledger).standing(bases)
        for row in rows:
            former = None
            if row.kept_state is not None:
                names = ("type", "subject_label", "relation", "object_label", "outcome", "reason", "basis", "about")
                kept = {name: getattr(row, f"kept_{name}") for name in (*names, "state", "why", "found_in")}
                former = FormerFinding(fingerprint=row.named, **kept)
            finding = finding_of(row) if row.fingerprint is not None else None
            yield ComparedFinding(
                fingerprint=row.named, state=state, finding=finding, former=former, decided=decided[row.named]
            )

    @contextmanager
    def _opened(self) -> Iterator[tuple[Ledger, ComparisonTable]]:
        with Ledger(self._ledger, create=False) as ledger:
            yield ledger, ComparisonTable(ledger.database)


def diff_of(ledger: Ledger, before: str | Run | None = None, after: str | Run | None = None) -> RunDiff:
    """Two runs side by side.

    Args:
        ledger: Where they are.
        before: The earlier one; unless named, the one that the later one was compared with when it ended, or the run
            before of the same store and options.
        after: The later one; the latest audit, unless named.

    Returns:
        What became of the findings.

    Raises:
        UnknownName: There is no such run.
        UsageError: They are of two stores, or are no audits, or the earlier one is the later one.
    """
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
    if earlier.store != later.store:
        raise UsageError(
            f"run {earlier.id} is of the store {earlier.store}, and run {later.id} of {later.store}",
            "two runs of one store can be compared",
        )
    order = [run.id for run in ledger.runs()]
    if order.index(earlier.id) <= order.index(later.id):
        raise UsageError(f"run {earlier.id} is not before run {later.id}", "name the earlier run first")


def _with_kept(query: Any, states: Any, run: str) -> Any:
    """A query with the state's columns, and with what the later run wrote of a finding, where it wrote something."""
    here = (COMPARED.c.fingerprint == states.c.fingerprint) & (COMPARED.c.run == run)
    kept = [c.label(f"kept_{c.name}") for c in COMPARED.columns if c.name not in ("fingerprint", "run")]
    named = states.c.fingerprint.label("named"), states.c.former_basis, states.c.found_in
    return query.outerjoin(COMPARED, here).add_columns(*named, *kept)
