"""ActionTable: append-only log of who did what through a service, in the ledger.

Nothing of what was sent stands here but the names in a path: no body, no token, no question.
"""

from datetime import datetime

from sqlalchemy import Index, insert, select

from kgcheck.ledger.tables import LedgerTable, read_row, table_of
from kgcheck.model import Value


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


ACTION = table_of("service_action", ActionEntry, Index("service_action_by_name", "name", "number"), text=("object",))


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
