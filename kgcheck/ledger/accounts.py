"""Accounts of a service: tokens and sessions are made, checked and ended, and no secret of them kept.

A token is ``kgc_`` with the id of its row and 32 random bytes: the id finds the row, and the digests of the whole are
compared in constant time. A session is 32 random bytes, of which the row has the digest.
"""

import hmac
import re
import secrets
from datetime import timedelta
from getpass import getuser
from hashlib import sha256
from typing import NamedTuple
from unicodedata import normalize

from kgcheck import clock
from kgcheck.choices import chosen
from kgcheck.errors import UnknownName, UsageError
from kgcheck.ledger.database import Database
from kgcheck.ledger.sessions import SessionEntry, SessionTable
from kgcheck.ledger.users import Role, TokenEntry, TokenTable

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


class SignedIn(NamedTuple):
    """A session that counts, with whose it is."""

    session: SessionEntry
    token: TokenEntry


class Users:
    """The tokens and sessions in a ledger, for any number of threads."""

    def __init__(self, database: Database) -> None:
        self._tokens = TokenTable(database)
        self._sessions = SessionTable(database)
        self._there_are_any = False

    def there_are_any(self) -> bool:
        """Return whether there ever was a token: revoking the last one does not open the door."""
        # What was so once stays so, and need not be looked up at every request.
        self._there_are_any = self._there_are_any or self._tokens.there_are_any()
        return self._there_are_any

    def add(self, name: str, role: str, *, by: str, expires_in: timedelta | None = None) -> tuple[str, TokenEntry]:
        """Make a token."""
        known = checked_name(name)
        kind = Role(chosen("role", role, [one.value for one in Role]))
        at, id_ = clock.now(), secrets.token_hex(6)
        token = f"kgc_{id_}_{secrets.token_urlsafe(_BYTES)}"
        expires = at + expires_in if expires_in else None
        entry = TokenEntry(
            id=id_, name=known, role=kind, digest=digest_of(token), created=at, created_by=by, expires=expires
        )
        self._tokens.add(entry)
        return token, entry

    def all(self) -> list[TokenEntry]:
        """All tokens, also those that have ended, in the order in which they were made."""
        return self._tokens.all()

    def revoke(self, name: str) -> list[TokenEntry]:
        """End a token, or all of a name, with their sessions."""
        known = [token for token in self._tokens.all() if not token.revoked]
        found = [token for token in known if token.id == name] or [token for token in known if token.name == name]
        if not found:
            names = [one for token in known for one in (token.id, token.name)]
            raise UnknownName("token", name, names, "" if names else "kgcheck token list shows those that were revoked")
        self._tokens.revoke([token.id for token in found], clock.now())
        return found

    def by_token(self, token: str) -> TokenEntry | None:
        """Look up the entry of an active token."""
        form, at = _TOKEN.fullmatch(token), clock.now()
        entry = self._tokens.one(form[1]) if form else None
        same = hmac.compare_digest(digest_of(token), entry.digest if entry else "")
        if not entry or not same or entry.state(at) != "active":
            return None
        if entry.last_used is None or at - entry.last_used >= _SELDOM:
            self._tokens.used(entry.id, at)
        return entry

    def sign_in(self, token: str) -> tuple[str, SignedIn] | None:
        """Begin a session, whose secret is made here and nowhere else."""
        entry = self.by_token(token.strip())
        if entry is None:
            return None
        secret, at = secrets.token_urlsafe(_BYTES), clock.now()
        session = SessionEntry(
            digest=digest_of(secret),
            token=entry.id,
            csrf=secrets.token_urlsafe(_BYTES),
            created=at,
            expires=at + IDLE,
        )
        self._sessions.add(session)
        return secret, SignedIn(session, entry)

    def by_session(self, secret: str) -> SignedIn | None:
        """Look up an active session with its token; one that is used goes on."""
        if not _SESSION.fullmatch(secret):
            return None
        digest, at = digest_of(secret), clock.now()
        found = self._sessions.one(digest)
        if found is None:
            return None
        session, token = found
        over = session.ended or session.expires <= at or at - session.created >= LONGEST
        if not hmac.compare_digest(digest, session.digest) or over or token.state(at) != "active":
            return None
        until = min(at + IDLE, session.created + LONGEST)
        if until - session.expires >= _SELDOM:
            self._sessions.push_on(digest, until)
        return SignedIn(session, token)

    def sign_out(self, digest: str) -> None:
        """End a session."""
        self._sessions.end(digest, clock.now())


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
