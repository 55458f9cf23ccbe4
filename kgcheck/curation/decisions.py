"""What was decided about findings, and whether it still counts.

A decision belongs to a finding and to its basis. When the basis changes, the finding comes back as reopened.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from itertools import islice

from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.decisions import Action, Decision, DecisionTable, latest_decisions
from kgcheck.ledger.ledger import Ledger, Run, in_order
from kgcheck.ledger.rows import finding_of
from kgcheck.ledger.tables import FINDING
from kgcheck.model import Finding, Value

__all__ = ["Action", "Decided", "Decision", "Decisions", "Standing"]


_TOGETHER = 500


class Standing(StrEnum):
    """Where a finding stands by what was decided about it."""

    OPEN = "open"
    REOPENED = "reopened"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DEFERRED = "deferred"


_OF = {
    Action.ACCEPT: Standing.ACCEPTED,
    Action.REJECT: Standing.REJECTED,
    Action.DEFER: Standing.DEFERRED,
    Action.REOPEN: Standing.OPEN,
}


class Decided(Value):
    """Where a finding stands, and the decision that made it so.

    Of a reopened one that is the decision about what it was before; of an open one, one that took a decision back or
    whose day has come.
    """

    standing: Standing
    decision: Decision | None = None


class Decisions:
    """The decisions in a ledger.

    Args:
        ledger: Open, for writing too where something is to be decided.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.table = DecisionTable(ledger.database)

    def current(self, fingerprints: Iterable[str]) -> dict[str, Decision]:
        """The newest decision about each finding, whatever its basis was; what nobody decided is left out."""
        return {decision.fingerprint: decision for decision in self.table.of(fingerprints)}

    def standing(self, bases: Mapping[str, str], today: date | None = None) -> dict[str, Decided]:
        """Where findings stand.

        Args:
            bases: The present basis of each, by fingerprint.
            today: The day in UTC, unless it is another.

        Returns:
            By fingerprint, all of them.
        """
        about: dict[str, list[Decision]] = defaultdict(list)
        for decision in self.table.of(bases):
            about[decision.fingerprint].append(decision)
        day = today or datetime.now(UTC).date()
        return {name: standing_of(about[name], basis, day) for name, basis in bases.items()}

    def beside(self, findings: Iterable[Finding], today: date | None = None) -> dict[str, Decided]:
        """Where findings stand, by fingerprint."""
        return self.standing({finding.fingerprint: basis_of(finding) for finding in findings}, today)

    def accepted(self, run: Run) -> Iterator[tuple[Finding, Decision]]:
        """The findings of a run that were accepted as they are now, each with the decision, in the order of reports.

        Args:
            run: The run.

        Yields:
            A finding and the decision that counts.
        """
        latest = latest_decisions()
        same = (latest.c.fingerprint == FINDING.c.fingerprint) & (latest.c.basis == FINDING.c.basis)
        query = in_order(run.id).join(latest, same).where(latest.c.action == Action.ACCEPT.value)
        with self._ledger.database.reading() as connection:
            rows = iter(connection.execute(query.add_columns(latest.c.number.label("decision"))))
            while some := list(islice(rows, _TOGETHER)):
                decisions = self.table.numbered([row.decision for row in some])
                yield from ((finding_of(row), decisions[row.decision]) for row in some)


def standing_of(decisions: Iterable[Decision], basis: str, today: date) -> Decided:
    """Where a finding stands.

    Args:
        decisions: All about it, the oldest first.
        basis: Its own, now.
        today: A deferral that ends on this day or before has ended.

    Returns:
        The standing, with the newest decision about the basis, or the newest of all where none is about it.
    """
    known = list(decisions)
    present = [d for d in known if d.basis == basis]
    if not known:
        return Decided(standing=Standing.OPEN)
    if not present:
        # Taken back: nothing is left of it that could be reopened.
        is_open = known[-1].action is Action.REOPEN
        return Decided(standing=Standing.OPEN if is_open else Standing.REOPENED, decision=known[-1])
    last = present[-1]
    if last.action is Action.DEFER and last.until and last.until <= today:
        return Decided(standing=Standing.OPEN, decision=last)
    return Decided(standing=_OF[last.action], decision=last)
