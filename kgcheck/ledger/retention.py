"""Runs that need not be kept any more, taken out of the ledger with all that is only theirs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, select

from kgcheck.ledger.causes import CONSEQUENCE
from kgcheck.ledger.comparisons import COMPARED, COMPARISON, compared_with
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.tables import FINDING, HANDED, KEY, METADATA, PIECE, PLACE, RELEASE, RUN, TALLY, UNSETTLED

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database

_OF_A_RUN = (COMPARED, COMPARISON, CONSEQUENCE, PLACE, KEY, UNSETTLED, FINDING, TALLY, PIECE, HANDED, RELEASE)
"""Tables of what a run found and did. Decisions are about findings of any run, and stay."""


def needed(ledger: Ledger) -> set[str]:
    """Runs that later ones need: the newest of each store and options, its base of comparison, and unfinished ones."""
    found: set[str] = set()
    newest: dict[tuple[str, str], Run] = {}
    for run in ledger.runs():
        if not run.finished:
            found |= {run.id, run.compared_with or run.id}
        elif not run.is_check:
            newest.setdefault((run.store_id, repr(sorted(run.options.items()))), run)
    with ledger.database.reading() as connection:
        before = {compared_with(connection, run.id) for run in newest.values()}
        referenced = _referenced(connection)
    found |= {run.id for run in newest.values()} | {name for name in before if name}
    return found | {run.compared_with for run in newest.values() if run.compared_with} | referenced


def forget(database: "Database", runs: Iterable[str]) -> int:
    """Take runs out of the ledger, each all or nothing."""
    count = 0
    for name in runs:
        # One at a time: others who write wait no longer than for one.
        with database.writing() as connection:
            for table in _OF_A_RUN:
                connection.execute(delete(table).where(table.c.run == name))
            count += connection.execute(delete(RUN).where(RUN.c.id == name)).rowcount
    return count


def _referenced(connection: Connection) -> set[str]:
    """Runs that something else in the ledger is about."""
    found: set[str] = set()
    for table in METADATA.tables.values():
        for column in table.columns if table not in _OF_A_RUN else ():
            if any(key.references(RUN) for key in column.foreign_keys):
                found |= {name for name in connection.scalars(select(column).distinct()) if name}
    return found
