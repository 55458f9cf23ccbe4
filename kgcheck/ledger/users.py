"""Users of a service: tokens, of which only a digest is kept, with a name and a role."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Index, Integer, String, Table, insert, select, update

from kgcheck.ledger.tables import METADATA, LedgerTable, UtcTime, read_row
from kgcheck.model import Value

TOKEN = Table(
    "service_token",
    METADATA,
    Column("number", Integer, primary_key=True, comment="in the order in which they were made"),
    Column("id", String, unique=True, nullable=False, comment="the part of a token that is no secret"),
    Column("name", String, nullable=False, comment="what decisions of its bearer are by"),
    Column("role", String, nullable=False),
    Column("digest", String, nullable=False, comment="SHA-256 of the whole token, which is kept nowhere"),
    Column("created", UtcTime, nullable=False),
    Column("created_by", String, nullable=False),
    Column("expires", UtcTime, comment="NULL where it does not"),
    Column("revoked", UtcTime),
    Column("last_used", UtcTime, comment="to some minutes"),
    Index("service_token_by_name", "name"),
)


class Role(StrEnum):
    """Role of a user; each role may do what those before it may."""

    VIEWER = "viewer"
    CURATOR = "curator"
    ADMIN = "admin"

    def may(self, needed: "Role") -> bool:
        """Return whether this role is enough.

        >>> Role.CURATOR.may(Role.VIEWER), Role.CURATOR.may(Role.ADMIN)
        (True, False)
        """
        order = list(Role)
        return order.index(self) >= order.index(needed)


class TokenEntry(Value):
    """A token as the ledger knows it: never the token itself."""

    id: str
    name: str
    role: Role
    digest: str
    created: datetime
    created_by: str
    expires: datetime | None = None
    revoked: datetime | None = None
    last_used: datetime | None = None

    def state(self, now: datetime) -> str:
        if self.revoked:
            return "revoked"
        return "expired" if self.expires and self.expires <= now else "active"

    def as_row(self, now: datetime) -> dict[str, Any]:
        """The token in the flat form that `--format json` prints."""
        return {**self.model_dump(mode="json", exclude={"digest"}), "state": self.state(now)}


class TokenTable(LedgerTable):
    """Reads and writes tokens."""

    def add(self, token: TokenEntry) -> None:
        with self._database.writing() as connection:
            connection.execute(insert(TOKEN).values(token.model_dump()))

    def all(self) -> list[TokenEntry]:
        """All tokens, also those that have ended, in the order in which they were made."""
        with self._database.reading() as connection:
            return [read_row(TokenEntry, row) for row in connection.execute(select(TOKEN).order_by(TOKEN.c.number))]

    def one(self, name: str) -> TokenEntry | None:
        """The token of that id, whatever its state."""
        with self._database.reading() as connection:
            row = connection.execute(select(TOKEN).where(TOKEN.c.id == name)).one_or_none()
            return read_row(TokenEntry, row) if row else None

    def there_are_any(self) -> bool:
        """Return whether there ever was a token: revoking the last one does not open the door."""
        with self._database.reading() as connection:
            return connection.execute(select(TOKEN.c.number).limit(1)).first() is not None

    def revoke(self, names: list[str], at: datetime) -> None:
        with self._database.writing() as connection:
            mine = TOKEN.c.id.in_(names) & TOKEN.c.revoked.is_(None)
            connection.execute(update(TOKEN).where(mine).values(revoked=at))

    def used(self, name: str, at: datetime) -> None:
        with self._database.writing(alone=False) as connection:
            connection.execute(update(TOKEN).where(TOKEN.c.id == name).values(last_used=at))
