"""A ledger in a SQLite file (WAL): all that only SQLite knows."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DatabaseError
from sqlalchemy.schema import CreateTable

from kgcheck.errors import InputError, LedgerError
from kgcheck.inputs import LONGEST_LINE, read_only_address
from kgcheck.ledger.engines import shared_engine
from kgcheck.ledger.settling import settle
from kgcheck.ledger.tables import KEY, PLACE, UNSETTLED
from kgcheck.outputs import close_to_others, make_folder, make_private_file

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

_ANOTHER = "name another ledger with --ledger"


class SqliteFile:
    """The file under a ledger."""

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

    def reading(self) -> dict[str, Any]:
        return {"kgcheck_begin": "BEGIN"}

    def reading_once(self) -> dict[str, Any]:
        return {"kgcheck_begin": ""}

    def writing(self) -> dict[str, Any]:
        # A writer asks for the lock at once: one that reads first cannot wait for another writer later.
        return {"kgcheck_begin": _WRITE}

    def lock(self, connection: Connection, *, alone: bool) -> None:
        """BEGIN IMMEDIATE has it."""

    def prepare(self) -> None:
        """Make the file one with a write-ahead log."""
        # Not in a transaction: SQLite would refuse. The mode is kept in the file.
        with self.engine.connect().execution_options(kgcheck_begin="") as connection, connection.begin():
            connection.exec_driver_sql(f"PRAGMA page_size = {_PAGE_BYTES}")
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def format(self, connection: Connection) -> int | None:
        if not _number(connection, "SELECT count(*) FROM sqlite_master"):
            return None
        if _number(connection, "PRAGMA application_id") != APPLICATION:
            raise LedgerError(f"{self.name} is a database of another program, not a ledger", _ANOTHER)
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
        where, message = self.name, str(error.orig)
        match message:
            case "database or disk is full" | "disk I/O error":
                return LedgerError(
                    f"cannot write to the ledger {where}: the disk is full or failing ({message})",
                    "nothing was half-written: free space, then do the same again; kgcheck audit --resume goes on with "
                    "an audit that kgcheck runs lists as cut off",
                )
            case "file is not a database" | "database disk image is malformed":
                return LedgerError(f"{where} is not a ledger: {message}", _ANOTHER)
            case "string or blob too big":
                return LedgerError(f"the ledger {where} holds an entry of more than {LONGEST_LINE >> 20} MiB", _ANOTHER)
            case "attempt to write a readonly database" | "unable to open database file":
                return LedgerError(f"the ledger {where} cannot be written or opened: {message}", _ANOTHER)
            case "database is locked":
                return LedgerError(
                    f"another process has been writing to {where} for over {_WAIT_S} s", "wait until it ends"
                )
            case _:
                return LedgerError(f"the ledger {where} cannot be used: {message}", _ANOTHER)


def _check_place(where: Path, create: bool) -> None:
    if where.is_dir():
        raise LedgerError(f"{where} is a folder, and a ledger is a file", f"name a file: {where / 'ledger.sqlite'}")
    if create:
        try:
            make_folder(where.parent, secret=True)
        except OSError as error:
            raise LedgerError(f"cannot make {where.parent}: {error.strerror}", _ANOTHER) from error
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
        hint = error.hint if isinstance(error, InputError) else _ANOTHER
        raise LedgerError(f"the ledger cannot be read: {error}", hint) from error
    if not address:
        return URL.create("sqlite", database=str(where.absolute()))
    name, _, query = address.partition("?")
    return URL.create("sqlite", database=name, query={**dict(parse_qsl(query)), "uri": "true"})


def _configure(connection: Any, _record: Any) -> None:
    # SQLAlchemy's recipe for transactions that begin where the code says so.
    connection.isolation_level = None
    pragmas = (
        "synchronous = FULL",
        "foreign_keys = ON",
        f"busy_timeout = {_WAIT_S * 1000}",
        f"cache_size = -{_READING_KB}",
    )
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
    # A ledger may come from anybody.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)


def _engine(address: URL) -> Engine:
    # Each thread that reads has a connection, and one more for each list that it is going through.
    engine = create_engine(address, pool_size=_KEPT, max_overflow=-1, pool_use_lifo=True)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "checkin", _spare)
    if address.query:
        event.listen(engine, "connect", _settle_aside)
    event.listen(engine, "begin", _begin)
    return engine


def _settle_aside(connection: Any, _record: Any) -> None:
    """Give keys and places, beside a read-only file, to its findings that lack them, while it is open."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if UNSETTLED.name not in names or not connection.execute(f"SELECT 1 FROM {UNSETTLED.name}").fetchall():
        return
    # A temporary table is found before one of the same name in the file.
    for table in (KEY, PLACE, UNSETTLED):
        made = str(CreateTable(table, include_foreign_key_constraints=[]).compile(dialect=sqlite.dialect()))
        connection.execute(made.replace("CREATE TABLE", "CREATE TEMPORARY TABLE", 1))
        order = ", ".join(column.name for column in table.primary_key.columns)
        connection.execute(f"INSERT INTO temp.{table.name} SELECT * FROM main.{table.name} ORDER BY {order}")
    with create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool).connect() as opened:
        settle(opened)


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


def _number(connection: Connection, text: str) -> int:
    return int(connection.exec_driver_sql(text).scalar_one())
