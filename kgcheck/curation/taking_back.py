"""Taking back what was decided about many findings at once."""

from collections.abc import Iterator

from sqlalchemy import select

from kgcheck.curation.decisions import Choice, Decisions, Made
from kgcheck.ledger.causes import FOUND
from kgcheck.ledger.decisions import Action, Decision
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.rows import finding_of
from kgcheck.ledger.tables import FINDING
from kgcheck.model import Finding

_TOGETHER = 500


def take_back(ledger: Ledger, first: int, count: int, action: Action, by: str) -> list[Made]:
    """See Workspace.take_back."""
    decisions = Decisions(ledger)
    # Read first: what is decided from here on counts, and is not taken back.
    last = decisions.table.newest()
    together = [
        one
        for one in decisions.table.newest_first(first + count, count)
        if one.number >= first and one.by == by and one.action is action
    ]
    newest = decisions.current(one.fingerprint for one in together)
    standing = [one for one in together if newest[one.fingerprint].number == one.number]
    choice = Choice(action=Action.REOPEN, by=by)
    return decisions.decide(_findings(ledger, standing), choice, last=last) if standing else []


def _findings(ledger: Ledger, decisions: list[Decision]) -> Iterator[Finding]:
    """Read the findings of decisions, as they were then: one by one they would take minutes."""
    for start in range(0, len(decisions), _TOGETHER):
        some = decisions[start : start + _TOGETHER]
        named = FINDING.c.fingerprint.in_([one.fingerprint for one in some])
        query = select(*FOUND).where(FINDING.c.run.in_({one.run for one in some}), named)
        runs = {one.fingerprint: one.run for one in some}
        with ledger.database.reading() as connection:
            for row in connection.execute(query).all():
                if runs[row.fingerprint] == row.run:
                    yield finding_of(row)
