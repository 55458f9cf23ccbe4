"""Users of a service in the ledger: their tokens and sessions, as digests, what they did, and saved filters.

A token is ``kgc_`` with the id of its row and 32 random bytes: the id finds the row, and the digests of the whole are
compared in constant time. A session is 32 random bytes, of which the row has the digest.
"""

import hmac
import re
import secrets
from datetime import datetime, timedelta
from enum import StrEnum
from getpass import getuser
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from pydantic import Field
from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Row,
    Select,
    String,
    delete,
    func,
    insert,
    select,
    update,
)

from kgcheck import clock
from kgcheck.choices import chosen
from kgcheck.errors import UnknownName, UsageError
from kgcheck.ledger.tables import LedgerTable, read_row, table_of
from kgcheck.model import Value

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database


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
    name: str = Field(description="what decisions of its bearer are by")
    role: Role
    digest: str = Field(description="SHA-256 of the whole token, which is kept nowhere")
    created: datetime
    created_by: str
    expires: datetime | None = Field(default=None, description="NULL where it does not")
    revoked: datetime | None = None
    last_used: datetime | None = Field(default=None, description="to some minutes")

    def state(self, now: datetime) -> str:
        if self.revoked:
            return "revoked"
        return "expired" if self.expires and self.expires <= now else "active"

    def as_row(self, now: datetime) -> dict[str, Any]:
        return {**self.model_dump(mode="json", exclude={"digest"}), "state": self.state(now)}


_KEPT = timedelta(days=30)
"""Retention of a session that has ended, for whoever looks what happened."""


TOKEN = table_of(
    "service_token",
    TokenEntry,
    Column("number", Integer, primary_key=True, comment="in the order in which they were made"),
    Column("id", String, unique=True, nullable=False, comment="the part of a token that is no secret"),
    Index("service_token_by_name", "name"),
)


class SessionEntry(Value):
    """A session as the ledger knows it: never what the cookie holds."""

    digest: str = Field(description="SHA-256 of what the cookie holds, which is kept nowhere")
    token: str
    csrf: str
    created: datetime
    expires: datetime = Field(description="pushed on while it is used, up to its longest time")
    ended: datetime | None = None


IDLE = timedelta(hours=2)
"""Lifetime of a session that nobody uses."""

LONGEST = timedelta(hours=12)
"""Longest lifetime of a session."""

_SELDOM = timedelta(minutes=2)
"""Interval at which the use of a token or a session is written down: not at every request."""

_BYTES = 32
_TOKEN = re.compile(r"kgc_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_SESSION = re.compile(r"[A-Za-z0-9_-]{43}")
_NAME = re.compile(r"[^\W_][\w.@+-]{0,63}")


SESSION = table_of(
    "service_session",
    SessionEntry,
    Column("token", ForeignKey("service_token.id"), nullable=False),
    key=("digest",),
)


class SignedIn(NamedTuple):
    """A session that counts, with whose it is."""

    session: SessionEntry
    token: TokenEntry


class Users(LedgerTable):
    """The tokens and sessions in a ledger, for any number of threads."""

    def __init__(self, database: "Database") -> None:
        super().__init__(database)
        self._there_are_any = False

    def there_are_any(self) -> bool:
        """Return whether there ever was a token: revoking the last one does not open the door."""
        # What was so once stays so, and need not be looked up at every request.
        self._there_are_any = self._there_are_any or self._first(select(TOKEN.c.number).limit(1)) is not None
        return self._there_are_any

    def add(self, name: str, role: str, *, by: str, expires_in: timedelta | None = None) -> tuple[str, TokenEntry]:
        known = checked_name(name)
        kind = Role(chosen("role", role, [one.value for one in Role]))
        at, id_ = clock.now(), secrets.token_hex(6)
        token = f"kgc_{id_}_{secrets.token_urlsafe(_BYTES)}"
        expires = at + expires_in if expires_in else None
        entry = TokenEntry(
            id=id_, name=known, role=kind, digest=digest_of(token), created=at, created_by=by, expires=expires
        )
        with self._database.writing() as connection:
            connection.execute(insert(TOKEN).values(entry.model_dump()))
        return token, entry

    def all(self) -> list[TokenEntry]:
        with self._database.reading() as connection:
            return [read_row(TokenEntry, row) for row in connection.execute(select(TOKEN).order_by(TOKEN.c.number))]

    def revoke(self, name: str) -> list[TokenEntry]:
        known = [token for token in self.all() if not token.revoked]
        found = [token for token in known if token.id == name] or [token for token in known if token.name == name]
        if not found:
            names = [one for token in known for one in (token.id, token.name)]
            raise UnknownName("token", name, names, "" if names else "kgcheck token list shows those that were revoked")
        ended = TOKEN.c.id.in_([token.id for token in found]) & TOKEN.c.revoked.is_(None)
        with self._database.writing() as connection:
            connection.execute(update(TOKEN).where(ended).values(revoked=clock.now()))
        return found

    def by_token(self, token: str) -> TokenEntry | None:
        form, at = _TOKEN.fullmatch(token), clock.now()
        row = self._first(select(TOKEN).where(TOKEN.c.id == form[1])) if form else None
        entry = read_row(TokenEntry, row) if row else None
        same = hmac.compare_digest(digest_of(token), entry.digest if entry else "")
        if not entry or not same or entry.state(at) != "active":
            return None
        if entry.last_used is None or at - entry.last_used >= _SELDOM:
            with self._database.writing(alone=False) as connection:
                connection.execute(update(TOKEN).where(TOKEN.c.id == entry.id).values(last_used=at))
        return entry

    def sign_in(self, token: str) -> tuple[str, SignedIn] | None:
        """Begin a session, whose secret is made here and nowhere else."""
        entry = self.by_token(token.strip())
        if entry is None:
            return None
        secret, csrf, at = secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES), clock.now()
        session = SessionEntry(digest=digest_of(secret), token=entry.id, csrf=csrf, created=at, expires=at + IDLE)
        with self._database.writing() as connection:
            connection.execute(delete(SESSION).where(SESSION.c.expires < at - _KEPT))
            connection.execute(insert(SESSION).values(session.model_dump()))
        return secret, SignedIn(session, entry)

    def by_session(self, secret: str) -> SignedIn | None:
        """Look up an active session with its token; one that is used goes on."""
        if not _SESSION.fullmatch(secret):
            return None
        digest, at = digest_of(secret), clock.now()
        row = self._first(select(SESSION).where(SESSION.c.digest == digest))
        owner = row and self._first(select(TOKEN).where(TOKEN.c.id == row.token))
        if row is None or owner is None:
            return None
        session, token = read_row(SessionEntry, row), read_row(TokenEntry, owner)
        over = session.ended or session.expires <= at or at - session.created >= LONGEST
        if not hmac.compare_digest(digest, session.digest) or over or token.state(at) != "active":
            return None
        until = min(at + IDLE, session.created + LONGEST)
        if until - session.expires >= _SELDOM:
            with self._database.writing(alone=False) as connection:
                connection.execute(update(SESSION).where(SESSION.c.digest == digest).values(expires=until))
        return SignedIn(session, token)

    def sign_out(self, digest: str) -> None:
        open_ = (SESSION.c.digest == digest) & SESSION.c.ended.is_(None)
        with self._database.writing() as connection:
            connection.execute(update(SESSION).where(open_).values(ended=clock.now()))

    def _first(self, query: Select[Any]) -> Row[Any] | None:
        with self._database.reading_once() as connection:
            return connection.execute(query).first()


def digest_of(secret: str) -> str:
    """Return the digest that is kept of a secret; whatever was sent has one."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def checked_name(name: str) -> str:
    """The name of somebody, as it goes into decisions and the record of actions.

    >>> checked_name("ada@example.org")
    'ada@example.org'
    """
    known = normalize("NFC", name)
    if not _NAME.fullmatch(known):
        raise UsageError(
            f"{name!r} cannot be the name of a user",
            "up to 64 letters, digits and . @ + - _, beginning with a letter or a digit",
        )
    return known


def whoami() -> str:
    """Return the name of the user, as the system knows it."""
    try:
        return getuser()
    except (KeyError, OSError):
        # A container may run under a number that no name belongs to.
        return "unknown"


class ActionEntry(Value):
    """One thing that somebody did, or tried to do: no more of what was sent than the names in a path."""

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
    """Append-only log of who did what through a service."""

    def add(self, action: ActionEntry) -> None:
        with self._database.writing(alone=False) as connection:
            connection.execute(insert(ACTION).values(action.model_dump(exclude={"number"})))

    def newest(self, limit: int, *, before: int | None = None, name: str | None = None) -> list[ActionEntry]:
        query = select(ACTION).order_by(ACTION.c.number.desc()).limit(limit)
        query = query.where(ACTION.c.number < before) if before is not None else query
        query = query.where(ACTION.c.name == name) if name is not None else query
        with self._database.reading() as connection:
            return [read_row(ActionEntry, row) for row in connection.execute(query)]


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
            connection.execute(delete(SAVED_FILTER).where(_named(saved.by, saved.name)))
            count = select(func.count()).where(SAVED_FILTER.c.by == saved.by)
            if connection.execute(count).scalar_one() >= MOST:
                raise UsageError(f"{saved.by} has {MOST} saved filters", "remove one first")
            connection.execute(insert(SAVED_FILTER).values(saved.model_dump()))

    def remove(self, by: str, name: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(SAVED_FILTER).where(_named(by, name)))


def _named(by: str, name: str) -> ColumnElement[bool]:
    return (SAVED_FILTER.c.by == by) & (SAVED_FILTER.c.name == name)
