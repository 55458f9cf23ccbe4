"""Filters of findings that somebody keeps under a name."""

from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, String, Table, delete, func, insert, select

from kgcheck.errors import UsageError
from kgcheck.ledger.tables import METADATA, JsonText, LedgerTable, UtcTime, read_row
from kgcheck.model import Value

SAVED_FILTER = Table(
    "saved_filter",
    METADATA,
    Column("by", String, primary_key=True, comment="whose it is"),
    Column("name", String, primary_key=True),
    Column("filter", JsonText(dict[str, Any]), nullable=False, comment="a FindingFilter"),
    Column("at", UtcTime, nullable=False),
)

MOST = 50
"""Filters of one person."""


class SavedFilter(Value):
    """A filter under the name that somebody gave it."""

    by: str
    name: str
    filter: dict[str, Any]
    at: datetime


class SavedFilterTable(LedgerTable):
    """Reads and writes saved filters."""

    def of(self, by: str) -> list[SavedFilter]:
        """The filters of a person, by name."""
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
        """Remove a filter of a person, where there is one of that name."""
        with self._database.writing() as connection:
            self._delete(connection, by, name)

    @staticmethod
    def _delete(connection: Connection, by: str, name: str) -> None:
        connection.execute(delete(SAVED_FILTER).where(SAVED_FILTER.c.by == by, SAVED_FILTER.c.name == name))
