"""Record of actions through a service, by whom and with what outcome. Rows are added, never changed.

Nothing of what was sent stands here but the names in a path: no body, no token, no question.
"""

from datetime import datetime

from sqlalchemy import Column, Index, Integer, String, Table, Text, insert, select

from kgcheck.ledger.tables import METADATA, LedgerTable, UtcTime, read_row
from kgcheck.model import Value

ACTION = Table(
    "service_action",
    METADATA,
    Column("number", Integer, primary_key=True, comment="in the order in which they came into this ledger"),
    Column("at", UtcTime, nullable=False),
    Column("name", String, nullable=False, comment="who; empty where nobody was known"),
    Column("role", String, nullable=False),
    Column("address", String, nullable=False, comment="from where"),
    Column("method", String, nullable=False),
    Column("route", String, nullable=False, comment="the path with its places not filled"),
    Column("object", Text, nullable=False, comment="what stood in the places"),
    Column("status", Integer, nullable=False),
    Index("service_action_by_name", "name", "number"),
)


class ActionEntry(Value):
    """One thing that somebody did, or tried to do."""

    at: datetime
    name: str = ""
    role: str = ""
    address: str = ""
    method: str
    route: str
    object: str = ""
    status: int
    number: int = 0


class ActionTable(LedgerTable):
    """Adds to the record of actions, and reads it."""

    def add(self, action: ActionEntry) -> None:
        with self._database.writing(alone=False) as connection:
            connection.execute(insert(ACTION).values(action.model_dump(exclude={"number"})))

    def newest(self, limit: int, *, before: int | None = None, name: str | None = None) -> list[ActionEntry]:
        query = select(ACTION).order_by(ACTION.c.number.desc()).limit(limit)
        query = query.where(ACTION.c.number < before) if before is not None else query
        query = query.where(ACTION.c.name == name) if name is not None else query
        with self._database.reading() as connection:
            return [read_row(ActionEntry, row) for row in connection.execute(query)]
