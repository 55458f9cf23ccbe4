"""Sessions of browsers: each belongs to a token, and ends with it."""

from datetime import datetime, timedelta

from sqlalchemy import Column, ForeignKey, String, Table, delete, insert, select, update

from kgcheck.ledger.tables import METADATA, LedgerTable, UtcTime, read_row
from kgcheck.ledger.users import TOKEN, TokenEntry
from kgcheck.model import Value

SESSION = Table(
    "service_session",
    METADATA,
    Column("digest", String, primary_key=True, comment="SHA-256 of what the cookie holds, which is kept nowhere"),
    Column("token", ForeignKey("service_token.id"), nullable=False),
    Column("csrf", String, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False, comment="pushed on while it is used, up to its longest time"),
    Column("ended", UtcTime),
)

_KEPT = timedelta(days=30)
"""Retention of a session that has ended, for whoever looks what happened."""


class SessionEntry(Value):
    """A session as the ledger knows it: never what the cookie holds."""

    digest: str
    token: str
    csrf: str
    created: datetime
    expires: datetime
    ended: datetime | None = None


class SessionTable(LedgerTable):
    """Reads and writes sessions."""

    def add(self, session: SessionEntry) -> None:
        """Write down a new session, and forget those that ended long ago."""
        with self._database.writing() as connection:
            connection.execute(delete(SESSION).where(SESSION.c.expires < session.created - _KEPT))
            connection.execute(insert(SESSION).values(session.model_dump()))

    def one(self, digest: str) -> tuple[SessionEntry, TokenEntry] | None:
        """The session of that digest with its token, whatever their state."""
        with self._database.reading() as connection:
            row = connection.execute(select(SESSION).where(SESSION.c.digest == digest)).one_or_none()
            if row is None:
                return None
            session = read_row(SessionEntry, row)
            return session, read_row(
                TokenEntry, connection.execute(select(TOKEN).where(TOKEN.c.id == session.token)).one()
            )

    def push_on(self, digest: str, until: datetime) -> None:
        """Let a session that is used last longer."""
        with self._database.writing(alone=False) as connection:
            connection.execute(update(SESSION).where(SESSION.c.digest == digest).values(expires=until))

    def end(self, digest: str, at: datetime) -> None:
        with self._database.writing() as connection:
            mine = (SESSION.c.digest == digest) & SESSION.c.ended.is_(None)
            connection.execute(update(SESSION).where(mine).values(ended=at))
