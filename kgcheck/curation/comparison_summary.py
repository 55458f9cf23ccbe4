"""Standing of the findings of a run for reports: what became of them, and what was decided."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property

from kgcheck import clock
from kgcheck.curation.compare import RunDiff, diff_of
from kgcheck.curation.decisions import (
    Cause,
    CurrentDecision,
    Decisions,
    DecisionState,
    inherited,
    standing_of,
)
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import Decision
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import Finding
from kgcheck.report.comparison import ALONE, ComparisonSummary, Decided, Left


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
    )


class _Beside:
    """Standing of findings, most of it alike: only what is otherwise is read, when it is first asked for."""

    def __init__(self, ledger: Ledger, diff: RunDiff) -> None:
        self._ledger = ledger
        self._diff = diff
        self._most = diff.most_are.value
        self._today = clock.today()

    def state(self, finding: Finding) -> str | None:
        state, _ = self._states.get(finding.fingerprint, (self._most, None))
        if self._current(finding).state is DecisionState.REOPENED and state != ComparisonState.UNCHECKED.value:
            return DecisionState.REOPENED.value
        return state

    def decided(self, finding: Finding) -> Decided | None:
        current = self._current(finding)
        if not (decision := current.decision):
            return None
        stands = current.state not in (DecisionState.OPEN, DecisionState.REOPENED)
        until = str(decision.until or "")
        return Decided(decision.action.value, decision.by, decision.at, decision.note, until, stands)

    def follows(self, finding: Finding) -> bool:
        if finding.cause is None:
            return False
        state, of_cause = (
            self._states.get(name, (self._most, None))[0] for name in (finding.fingerprint, finding.cause)
        )
        current = self._current(finding)
        return state == of_cause and (current.is_inherited or current.decision is None)

    def following(self, finding: Finding) -> list[Finding]:
        if finding.fingerprint not in self._consequences:
            return []
        return [one for one in self._ledger.following(self._diff.after, finding.fingerprint) if self.follows(one)]

    def left(self) -> Iterator[Left]:
        with self._ledger.database.reading() as connection:
            query, _ = self._diff.absent_rows(connection)
            for one in self._diff.read(self._ledger, connection.execute(query)):
                if one.finding:
                    yield Left(one.finding, str(one.state))

    def _current(self, finding: Finding) -> CurrentDecision:
        decisions = self._decisions.get(finding.fingerprint, [])
        of_cause = self._decisions.get(finding.cause) if finding.cause else None
        if not (decisions or of_cause):
            return CurrentDecision(state=DecisionState.OPEN)
        _, kept = self._states.get(finding.fingerprint, (None, None))
        basis = kept or basis_of(finding)
        own = standing_of(decisions, basis, self._today)
        cause = self._causes.get(finding.cause or "")
        if not (of_cause and cause) or any(decision.basis == basis for decision in decisions):
            return own
        return inherited(own, standing_of(of_cause, cause.basis, self._today), cause)

    @cached_property
    def _states(self) -> dict[str, tuple[str, str | None]]:
        """State and basis of the findings that are not as most are."""
        with self._ledger.database.reading() as connection:
            query, found = self._diff.present_rows(connection)
            columns = found.of.c.fingerprint, found.state.label("state"), query.selected_columns.decided_basis
            rows = connection.execute(query.order_by(None).with_only_columns(*columns).where(found.state != self._most))
            return {row.fingerprint: (row.state, row.decided_basis) for row in rows}

    @cached_property
    def _consequences(self) -> Counter[str]:
        return self._ledger.consequences(self._diff.after)

    @cached_property
    def _causes(self) -> dict[str, Cause]:
        """The findings of the run that somebody decided about, with what decisions about them belong to."""
        run = self._diff.after.id
        return Decisions(self._ledger).causes((name, run, name) for name in self._decisions)

    @cached_property
    def _decisions(self) -> dict[str, list[Decision]]:
        found: dict[str, list[Decision]] = defaultdict(list)
        for decision in Decisions(self._ledger).table.all():
            found[decision.fingerprint].append(decision)
        return found
