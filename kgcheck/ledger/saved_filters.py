"""SavedFilterTable: filters of findings that users saved under a name, in the ledger."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from kgcheck.errors import UsageError
from kgcheck.ledger.tables import LedgerTable, read_row, table_of
from kgcheck.model import Value

MOST = 50
"""Filters of one person."""


class SavedFilter(Value):
    """A filter under the name that somebody gave it."""

    by: str
    name: str
    filter: dict[str, Any]
    at: datetime


SAVED_FILTER = table_of("saved_filter", SavedFilter, key=("by", "name"))


class SavedFilterTable(LedgerTable):
    """Reads and writes saved filters."""

    def of(self, by: str) -> list[SavedFilter]:
        query = select(SAVED_FILTER).where(SAVED_FILTER.c.by == by).order_by(SAVED_FILTER.c.name)
        with self._database.reading() as connection:
            return [read_row(SavedFilter, row) for row in connection.execute(query)]

    def save(self, saved: SavedFilter) -> None:
        """Keep a filter, in place of the person's own of the same name."""
        with self._database.writing() as connection:
            self._delete(connection, saved.by, saved.name)
            count = select(func.count()).where(SAVED_FILTER.c.by == saved.by)
            if connection.execute(count).scalar_one() >= MOST:
                raise UsageError(f"{saved.by} has {MOST} saved filters", "remove one first")
            connection.execute(insert(SAVED_FILTER).values(saved.model_dump()))

    def remove(self, by: str, name: str) -> None:
        with self._database.writing() as connection:
            self._delete(connection, by, name)

    @staticmethod
    def _delete(connection: Connection, by: str, name: str) -> None:
        connection.execute(delete(SAVED_FILTER).where(SAVED_FILTER.c.by == by, SAVED_FILTER.c.name == name))
