"""Place of a ledger: a SQLite file or a PostgreSQL address, its password in the environment."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from kgcheck.errors import UsageError
from kgcheck.redact import carries_credentials, is_secret_path

if TYPE_CHECKING:
    from pydantic import SecretStr
    from sqlalchemy import URL

    from kgcheck.settings import Settings

_SCHEMES = ("postgresql", "postgres")
_EXAMPLE = "an address looks like postgresql://localhost:5432/kgcheck"
_SEVERAL = "name servers of one ledger as postgresql:///DATABASE?host=ONE,OTHER&port=5432,5432"
_WITH_CREDENTIALS = (
    "the address of a ledger must not carry credentials",
    "set KGCHECK_LEDGER_USER and KGCHECK_LEDGER_PASSWORD instead, or PGUSER, PGPASSWORD or PGPASSFILE",
)
_PARAMETERS = {
    *("application_name", "channel_binding", "connect_timeout", "gssencmode", "host", "options", "port"),
    *("sslcert", "sslcrl", "sslkey", "sslmode", "sslrootcert", "target_session_attrs"),
}
"""Parameters of a connection that hold no secret."""


@dataclass(frozen=True)
class LedgerServer:
    """A PostgreSQL database that keeps a ledger."""

    address: str
    user: str | None = None
    password: "SecretStr | None" = None
    cleartext_hosts: str = ""

    def __str__(self) -> str:
        return self.address

    @classmethod
    def of(cls, url: "URL") -> "LedgerServer":
        """The server of an address of SQLAlchemy, with what it holds of credentials."""
        from pydantic import SecretStr
        from sqlalchemy import URL

        bare = URL.create("postgresql", None, None, url.host, url.port, url.database, url.query)
        password = SecretStr(str(url.password)) if url.password else None
        return cls(bare.render_as_string(), url.username, password)

    def url(self) -> "URL":
        from sqlalchemy import URL

        parts = urlsplit(self.address)
        return URL.create(
            "postgresql+psycopg",
            self.user,
            self.password.get_secret_value() if self.password else None,
            unquote(parts.hostname) if parts.hostname else None,
            parts.port,
            unquote(parts.path.removeprefix("/")),
            dict(parse_qsl(parts.query)),
        )


LedgerPlace = Path | LedgerServer
"""Place of a ledger."""


def checked_place(name: str) -> str:
    """Return the name of a ledger, unless it is neither a path nor the address of a database.

    A message has no part of an address that may hold a password.

    >>> checked_place("postgresql://localhost/kgcheck")
    'postgresql://localhost/kgcheck'
    """
    if "://" not in name:
        if name.startswith(tuple(f"{scheme}:/" for scheme in _SCHEMES)) and "@" not in name:
            # A Path has one slash left of an address.
            raise UsageError("the address of a ledger is text, not a path", _EXAMPLE)
        if is_secret_path(name) and not os.path.exists(name):
            raise UsageError(*_WITH_CREDENTIALS)
        return name
    if carries_credentials(name):
        raise UsageError(*_WITH_CREDENTIALS)
    try:
        parts = urlsplit(name)
        usable = not parts.fragment and (parts.port is None or parts.port > 0)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise UsageError("the ledger is not an address", _SEVERAL if "," in name else _EXAMPLE) from None
    parameters = dict(pairs)
    if len(parameters) < len(pairs):
        raise UsageError("the address of a ledger has a parameter twice, and one would not count", _SEVERAL)
    if parts.scheme not in _SCHEMES:
        raise UsageError(f"no ledger is kept in {parts.scheme}://", f"name a file; {_EXAMPLE}")
    if odd := set(parameters) - _PARAMETERS:
        raise UsageError(
            f"the address of a ledger cannot have {', '.join(sorted(odd))}",
            f"it may have {', '.join(sorted(_PARAMETERS))}",
        )
    if not usable or not parts.path.strip("/") or "/" in parts.path.strip("/"):
        raise UsageError("the address of the ledger names no database, or more than one", _EXAMPLE)
    return name


def ledger_place(name: str | Path, settings: "Settings") -> LedgerPlace:
    """The place of a ledger that was named."""
    text = checked_place(str(name))
    if "://" not in text:
        return Path(text)
    return LedgerServer(text, settings.ledger_user, settings.ledger_password, settings.cleartext_hosts)


def is_same_place(one: LedgerPlace, other: LedgerPlace) -> bool:
    """Return whether two names are surely of one ledger."""
    if isinstance(one, Path) and isinstance(other, Path):
        return one.resolve() == other.resolve()
    return str(one) == str(other)


def folder_beside(place: "Path | LedgerServer | URL", name: str, home: Path) -> Path:
    """Name the folder of files that go with a ledger: beside its file, or in a home folder where it is on a server."""
    return place.with_name(f"{place.name}.{name}") if isinstance(place, Path) else home / name
