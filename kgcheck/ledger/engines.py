"""SQLite and PostgreSQL backends of a ledger: SQLAlchemy engines, connections and locks.

Everybody in this process who has the same database open shares one engine: it is dear to make, and keeps connections.

The last one who lets it go closes it, as if each had one alone: a file that nobody has open has no log beside it.
"""

import os
import sqlite3
from collections.abc import Callable, Hashable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from sqlalchemy import URL, Connection, Engine, String, create_engine, event, inspect, select, text
from sqlalchemy.exc import DatabaseError

from kgcheck.cleartext import NAMED, is_cleartext_host, refuse_cleartext
from kgcheck.errors import InputError, LedgerError, MissingExtra
from kgcheck.inputs import LONGEST_LINE, read_only_address
from kgcheck.ledger.place import LedgerPlace, LedgerServer
from kgcheck.ledger.tables import METADATA, VERSION, JsonText
from kgcheck.outputs import close_to_others, make_folder, make_private_file

_open: dict[Hashable, list[Engine]] = {}
"""The engine of a database, once for each who has it."""
_lock = Lock()


def shared_engine(database: Hashable, make: Callable[[], Engine]) -> Engine:
    """The engine of a database, to be let go with `let_go`."""
    with _lock:
        # A process that was forked must not touch connections of the one before.
        users = _open.setdefault((os.getpid(), database), [])
        users.append(users[0] if users else make())
        return users[0]


def let_go(engine: Engine) -> None:
    """Close the connections of an engine when nobody else has it."""
    with _lock:
        for database, users in list(_open.items()):
            if engine in users:
                users.remove(engine)
                if users:
                    return
                del _open[database]
    engine.dispose()


def _begin_anew() -> None:
    global _lock
    _lock = Lock()


os.register_at_fork(after_in_child=_begin_anew)


APPLICATION = 0x6B676331
"""SQLite's application id of the file ("kgc1"): no other program's database is taken for a ledger."""

_WRITE = "BEGIN IMMEDIATE"

_WAIT_S = 30
"""Seconds to wait for another process that is writing."""

_WRITING_KB = 64 * 1024
"""Memory for pages while something is written: with less, many findings write pages of the indexes more than once."""

_READING_KB = 4 * 1024
"""Memory for pages otherwise: a service has dozens of connections, and the system keeps pages of the file for all."""

_KEPT = 16
"""Connections that are kept for who reads next; as many more as are wanted at a time."""

_PAGE_BYTES = 8_192
"""Page size of a new file.

A page of SQLite's own size has place for eight findings, and half the time goes into pages.
"""

_LOG_PAGES = 4_000
"""Pages that are written to the log before they go into the file: those of many pieces go there once."""

ANOTHER = "name another ledger with --ledger"


class SqliteFile:
    """The file under a ledger."""

    reading: ClassVar[dict[str, Any]] = {"kgcheck_begin": "BEGIN"}
    reading_once: ClassVar[dict[str, Any]] = {"kgcheck_begin": ""}
    # A writer asks for the lock at once: one that reads first cannot wait for another writer later.
    writing: ClassVar[dict[str, Any]] = {"kgcheck_begin": _WRITE}

    def __init__(self, where: Path, *, create: bool) -> None:
        self.name = str(where)
        self._closed_to_others = [where.with_name(where.name + end) for end in ("", "-wal", "-shm")] if create else []
        _check_place(where, create)
        address = _address(where, create)
        try:
            file = where.stat()
        except OSError:
            # There is nothing yet that another could have open.
            self.engine: Engine = _engine(address)
        else:
            self.engine = shared_engine((address, file.st_dev, file.st_ino), lambda: _engine(address))

    def lock(self, connection: Connection, *, alone: bool) -> None:
        """BEGIN IMMEDIATE has it."""

    def prepare(self) -> None:
        # Not in a transaction: SQLite would refuse. The mode is kept in the file.
        with self.engine.connect().execution_options(kgcheck_begin="") as connection, connection.begin():
            connection.exec_driver_sql(f"PRAGMA page_size = {_PAGE_BYTES}")
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def format(self, connection: Connection) -> int | None:
        if not _number(connection, "SELECT count(*) FROM sqlite_master"):
            return None
        if _number(connection, "PRAGMA application_id") != APPLICATION:
            raise LedgerError(f"{self.name} is a database of another program, not a ledger", ANOTHER)
        for path in self._closed_to_others:
            # Not before: a file of a folder of somebody else may name any file for a ledger.
            close_to_others(path)
        return _number(connection, "PRAGMA user_version")

    def finish(self, connection: Connection, format_: int) -> None:
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
        connection.exec_driver_sql(f"PRAGMA user_version = {format_}")

    def after_a_run(self, connection: Connection) -> None:
        """SQLite goes by the keys alone."""

    def about(self, connection: Connection) -> tuple[str, int]:
        pages, size = (_number(connection, f"PRAGMA {name}") for name in ("page_count", "page_size"))
        return f"SQLite {sqlite3.sqlite_version}", pages * size

    def in_words(self, error: DatabaseError) -> LedgerError:
        message = str(error.orig)
        words, hint = _OF_SQLITE.get(message, _UNUSABLE)
        return LedgerError(words.format(where=self.name, message=message, wait=_WAIT_S), hint)


_UNUSABLE = "the ledger {where} cannot be used: {message}", ANOTHER
_BUSY = "another process has been writing to {where} for over {wait} s", "wait until it ends"
_OF_SQLITE = {
    **dict.fromkeys(
        ("database or disk is full", "disk I/O error"),
        (
            "cannot write to the ledger {where}: the disk is full or failing ({message})",
            "nothing was half-written: free space, then do the same again; kgcheck audit --resume goes on with "
            "an audit that kgcheck runs lists as cut off",
        ),
    ),
    **dict.fromkeys(
        ("file is not a database", "database disk image is malformed"),
        ("{where} is not a ledger: {message}", ANOTHER),
    ),
    **dict.fromkeys(
        ("attempt to write a readonly database", "unable to open database file"),
        ("the ledger {where} cannot be written or opened: {message}", ANOTHER),
    ),
    "string or blob too big": (f"the ledger {{where}} holds an entry of more than {LONGEST_LINE >> 20} MiB", ANOTHER),
    "database is locked": _BUSY,
}
"""Meanings of errors of SQLite, and what to do next."""


def _check_place(where: Path, create: bool) -> None:
    if where.is_dir():
        raise LedgerError(f"{where} is a folder, and a ledger is a file", f"name a file: {where / 'ledger.sqlite'}")
    if create:
        try:
            make_folder(where.parent, secret=True)
        except OSError as error:
            raise LedgerError(f"cannot make {where.parent}: {error.strerror}", ANOTHER) from error
        # What SQLite puts beside it gets the rights of the file. Where none can be made, it says why.
        with suppress(OSError):
            if not where.exists():
                make_private_file(where)
    elif not where.exists():
        raise LedgerError(f"there is no ledger at {where}", "kgcheck audit makes one; --ledger names another")


def _address(where: Path, create: bool) -> URL:
    """Return the address of the file; in a folder in which nothing may be written, it is only read."""
    try:
        address = None if create else read_only_address(where)
    except (InputError, OSError) as error:
        hint = error.hint if isinstance(error, InputError) else ANOTHER
        raise LedgerError(f"the ledger cannot be read: {error}", hint) from error
    if not address:
        return URL.create("sqlite", database=str(where.absolute()))
    name, _, query = address.partition("?")
    return URL.create("sqlite", database=name, query={**dict(parse_qsl(query)), "uri": "true"})


def _configure(connection: Any, _record: Any) -> None:
    # SQLAlchemy's recipe for transactions that begin where the code says so.
    connection.isolation_level = None
    # A ledger may come from anybody: its schema is not trusted.
    pragmas = ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF", f"cache_size = -{_READING_KB}")
    for pragma in (*pragmas, f"busy_timeout = {_WAIT_S * 1000}", f"wal_autocheckpoint = {_LOG_PAGES}"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)


def _engine(address: URL) -> Engine:
    # Each thread that reads has a connection, and one more for each list that it is going through.
    engine = create_engine(address, pool_size=_KEPT, max_overflow=-1, pool_use_lifo=True)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "checkin", _spare)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    begin = connection.get_execution_options()["kgcheck_begin"]
    if begin == _WRITE:
        connection.exec_driver_sql(f"PRAGMA cache_size = -{_WRITING_KB}")
        connection.info[_WRITE] = True
    if begin:
        connection.exec_driver_sql(begin)


def _spare(connection: Any, record: Any) -> None:
    """Take the memory for writing back."""
    if connection and record.info.pop(_WRITE, False):
        connection.execute(f"PRAGMA cache_size = -{_READING_KB}")


def _number(connection: Connection, statement: str) -> int:
    return int(connection.exec_driver_sql(statement).scalar_one())


_LOCK = APPLICATION
"""Names the lock of ledgers among the advisory locks of a database; each schema has one of its own."""

_CONNECTION = {
    "connect_timeout": "10",
    # A server that has gone without a word is noticed after two minutes, not after hours.
    "keepalives_idle": "60",
    "keepalives_interval": "15",
    "keepalives_count": "4",
}

_WITH_TLS = ("require", "verify-ca", "verify-full")

_LIMITED = "wait until others end, or let it take more: max_connections, ALTER ROLE ... CONNECTION LIMIT"
_GO_ON = "nothing was half-written: when it is back, kgcheck audit --resume goes on with a run that kgcheck runs lists"


class PostgresDatabase:
    """The database under a ledger, in the schema that is searched first."""

    reading: ClassVar[dict[str, Any]] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    reading_once: ClassVar[dict[str, Any]] = {"isolation_level": "READ COMMITTED", "postgresql_readonly": True}
    writing: ClassVar[dict[str, Any]] = {"isolation_level": "READ COMMITTED", "postgresql_readonly": False}

    def __init__(self, server: LedgerServer) -> None:
        if find_spec("psycopg") is None:
            raise MissingExtra("a ledger on PostgreSQL", "postgres")
        self.name = str(server)
        url = server.url()
        given = {name: value for name, value in _CONNECTION.items() if name not in url.query}

        def make() -> Engine:
            # A connection that was broken while nothing was asked is made anew, unseen.
            checked = {"pool_pre_ping": True, "hide_parameters": True}
            given.update(_tls_options(url, server.cleartext_hosts))
            engine = create_engine(url, connect_args=given, max_overflow=-1, **checked)
            event.listen(engine, "connect", _configure_server)
            return engine

        try:
            self.engine = shared_engine(url, make)
        except ImportError as error:
            raise MissingExtra("a ledger on PostgreSQL", "postgres") from error

    def lock(self, connection: Connection, *, alone: bool) -> None:
        kind = "" if alone else "_shared"
        of_schema = text(f"SELECT pg_advisory_xact_lock{kind}(:lock, hashtext(current_schema()))")
        connection.execute(of_schema, {"lock": _LOCK})

    def prepare(self) -> None:
        """Nothing is to be made before the tables are."""

    def format(self, connection: Connection) -> int | None:
        there = set(inspect(connection).get_table_names())
        if VERSION.name in there:
            written = connection.execute(select(VERSION.c.version_num)).scalars().all()
            if len(written) == 1 and written[0].isdecimal():
                return int(written[0])
            raise LedgerError(f"{self.name} does not say of which format its ledger is", ANOTHER)
        if taken := there & set(METADATA.tables):
            raise LedgerError(
                f"{self.name} holds tables of another program: {', '.join(sorted(taken))}",
                "name a database or a schema of its own",
            )
        return None

    def finish(self, connection: Connection, format_: int) -> None:
        for table in METADATA.sorted_tables:
            words = [column for column in table.columns if isinstance(column.type, (String, JsonText))]
            quoted = connection.dialect.identifier_preparer.quote
            changes = [
                f'ALTER COLUMN {quoted(c.name)} TYPE {c.type.compile(connection.dialect)} COLLATE "C"' for c in words
            ]
            connection.exec_driver_sql(f"ALTER TABLE {quoted(table.name)} {', '.join(changes)}")

    def after_a_run(self, connection: Connection) -> None:
        """Let the server look at what was added: by what it knew before, it takes tables of millions for small ones."""
        connection.exec_driver_sql("ANALYZE finding, finding_key, finding_place, compared")

    def about(self, connection: Connection) -> tuple[str, int]:
        sizes = text(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname = ANY(:names)"
        )
        size = connection.execute(sizes, {"names": list(METADATA.tables)}).scalar_one()
        version = connection.exec_driver_sql("SHOW server_version").scalar_one()
        return f"PostgreSQL {version}", int(size)

    def in_words(self, error: DatabaseError) -> LedgerError:
        stated = str(error.orig).strip().partition("\n")[0]
        state = getattr(error.orig, "sqlstate", None) or ""
        if known := _OF_POSTGRES.get(state):
            words, hint = known
        elif error.connection_invalidated:
            words, hint = "the connection to the ledger {where} broke: {message}", _GO_ON
        elif "NUL" in stated and "0x00" in stated:
            words = "a text with the character NUL cannot be written to the ledger {where}: PostgreSQL has none"
            hint = "take it out of the graph, or keep the ledger in a file"
        elif state:
            words, hint = _UNUSABLE
        else:
            # Of opening a connection, for which psycopg has no state.
            words, stated = "cannot open the ledger {where}: {message}", " ".join(str(error.orig).split())
            hint = next(hint for part, hint in _UNOPENED if part in stated)
        return LedgerError(words.format(where=self.name, message=stated, wait=_WAIT_S), hint)


_FAILING = "the server of the ledger {where} is out of room or failing: {message}", _GO_ON
_ENDED = "the server of the ledger {where} ended the connection: {message}", _GO_ON
_FORBIDDEN = "the ledger {where} may not be written or read by this user: {message}", "ask for the right to"
_OF_POSTGRES = {
    **dict.fromkeys(("53100", "53200", "58030"), _FAILING),
    **dict.fromkeys(
        ("53300", "53400"), ("the server of the ledger {where} takes no more connections: {message}", _LIMITED)
    ),
    "57014": (
        "the server of the ledger {where} ended a statement that took too long: {message}",
        "raise its statement_timeout for this user: ALTER ROLE ... SET statement_timeout",
    ),
    "55P03": _BUSY,
    **dict.fromkeys(("42501", "25006"), _FORBIDDEN),
    **dict.fromkeys("57P01 57P02 57P03 08000 08003 08006 08001 08004".split(), _ENDED),
}
"""Meanings of states of PostgreSQL, and what to do next."""

_SIGN_IN = "set KGCHECK_LEDGER_USER and KGCHECK_LEDGER_PASSWORD, or PGUSER, PGPASSWORD or PGPASSFILE"
_UNOPENED = (
    # A limit names the role, too, whose password is in order.
    *((part, _LIMITED) for part in ("too many", "connection slots")),
    *((part, _SIGN_IN) for part in ("authentication", "password", "role")),
    ("does not support SSL", f"set up TLS there, or {NAMED}"),
    ("does not exist", "make the database first: createdb"),
    ("", "is the server up, and is that its address?"),
)
"""Advice by a part of the message where no connection is opened."""


def _tls_options(url: URL, named: str) -> dict[str, str]:
    """Options with which a password, also one that only libpq knows, goes nowhere in the clear where it may not."""
    from psycopg.pq import Conninfo

    known = {option.keyword.decode(): (option.val or b"").decode() for option in Conninfo.get_defaults()}
    known.update({name: str(value) for name, value in url.get_dialect()().create_connect_args(url)[1].items()})
    # An empty host, a path and an abstract name are sockets of this machine.
    hosts = [host for host in (known["hostaddr"] or known["host"]).split(",") if host and host[0] not in "/@"]
    clear = [host for host in hosts if not is_cleartext_host(host, named)]
    if not clear or known["sslmode"] in _WITH_TLS:
        return {}
    if known["sslmode"] != "prefer":
        # What libpq prefers by default is asked for; what somebody wrote is not overruled.
        refuse_cleartext(clear[0], named, "write sslmode=verify-full")
    return {"sslmode": "require"}


def _configure_server(connection: Any, _record: Any) -> None:
    autocommit, connection.autocommit = connection.autocommit, True
    connection.execute(f"SET lock_timeout = '{_WAIT_S}s'")
    # Times in the ledger are in UTC, without a zone; words are compared as they are.
    connection.execute("SET timezone = 'UTC'")
    connection.autocommit = autocommit


Backend = SqliteFile | PostgresDatabase
"""Kind of database, with what it does in its own way."""


def open_backend(where: LedgerPlace | URL, create: bool) -> Backend:
    """The database of a place."""
    if isinstance(where, Path):
        return SqliteFile(where, create=create)
    return PostgresDatabase(LedgerServer.of(where) if isinstance(where, URL) else where)
