"""The database under the ledger: its file, its transactions, and its errors in words that help.

What only SQLite knows stands here and in kgcheck.ledger.migration, and nowhere else.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy import URL, Connection, create_engine, event, inspect
from sqlalchemy.exc import DatabaseError, IntegrityError, SQLAlchemyError

from kgcheck.errors import InputError, LedgerError
from kgcheck.inputs import LONGEST_LINE, read_only_address
from kgcheck.ledger import decisions as _decisions  # noqa: F401  (its tables)
from kgcheck.ledger.migration import migrate
from kgcheck.ledger.tables import FORMAT, METADATA

APPLICATION = 0x6B676331
"""What SQLite writes at the head of the file ("kgc1"), so that no other program's database is taken for a ledger."""

_WAIT_S = 30
"""How long to wait for another process that is writing."""

_CACHE_KB = 64 * 1024
"""Memory for pages of the file: with less, a piece of many findings writes pages of its indexes more than once."""

_ANOTHER = "name another ledger with --ledger"


class Database:
    """A database with the tables of the ledger: one SQLite file (WAL), or a PostgreSQL database.

    A file of format 1 is brought to the present format, whole or not at all.

    Args:
        where: The file, or the address of a database that is there.
        create: Make the file when it is missing, and the tables when there are none.

    Raises:
        LedgerError: It is missing and must not be made, is no ledger, is one of another format, or cannot be opened.
    """

    def __init__(self, where: Path | URL, *, create: bool) -> None:
        self.where = where
        self._is_file = isinstance(where, Path)
        if isinstance(where, Path):
            _check_place(where, create)
            self._engine = create_engine(_address(where, create))
            event.listen(self._engine, "connect", _configure)
            event.listen(self._engine, "begin", _begin)
        else:
            self._engine = create_engine(where)
        try:
            if self._is_new():
                self._make(create)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads; what others write meanwhile is not seen.

        Yields:
            The connection.

        Raises:
            LedgerError: The database refuses.
        """
        with self._connected("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, all or nothing; other writers wait until it ends.

        Yields:
            The connection.

        Raises:
            LedgerError: The database refuses; nothing was written.
        """
        # A writer asks for the lock at once: one that reads first cannot wait for another writer later.
        with self._connected("BEGIN IMMEDIATE") as connection:
            yield connection

    def close(self) -> None:
        """Close the file."""
        self._engine.dispose()

    def _is_new(self) -> bool:
        if not self._is_file:
            with self.reading() as connection:
                return not inspect(connection).has_table("finding")
        with self.reading() as connection:
            tables = _pragma(connection, "SELECT count(*) FROM sqlite_master")
            application = _pragma(connection, "PRAGMA application_id")
            version = _pragma(connection, "PRAGMA user_version")
        if not tables:
            return True
        if application != APPLICATION:
            raise LedgerError(f"{self.where} is a database of another program, not a ledger", _ANOTHER)
        if version == 1:
            self._bring_forward()
        elif version != FORMAT:
            raise LedgerError(
                f"{self.where} is a ledger of format {version}, and this kgcheck reads {FORMAT}", _ANOTHER
            )
        return False

    def _bring_forward(self) -> None:
        """From format 1 to the present one, in one transaction; another process may have done it meanwhile."""
        try:
            with self.writing() as connection:
                if _pragma(connection, "PRAGMA user_version") == 1:
                    migrate(connection)
                    connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")
        except ValueError as error:
            raise LedgerError(
                f"the ledger {self.where} is of format 1 and holds what cannot be brought to format {FORMAT}: {error}",
                _ANOTHER,
            ) from error

    def _make(self, create: bool) -> None:
        if not create:
            raise LedgerError(f"{self.where} is not a ledger: it is empty", _ANOTHER)
        if self._is_file:
            # Not in a transaction: SQLite would refuse. The mode is kept in the file.
            with self._connected("") as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        with self.writing() as connection:
            METADATA.create_all(connection)
            if self._is_file:
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
                connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def _connected(self, begin: str) -> Iterator[Connection]:
        try:
            with self._engine.connect().execution_options(kgcheck_begin=begin) as connection, connection.begin():
                yield connection
        except IntegrityError as error:
            raise LedgerError(
                f"the ledger {self.where} already has this part of the run",
                "another process is working on the same run, or the graph changed: start a new run without --resume",
            ) from error
        except DatabaseError as error:
            raise _in_words(self.where, str(error.orig)) from error
        except SQLAlchemyError as error:
            raise LedgerError(f"the ledger {self.where} cannot be used: {error}") from error


def _check_place(where: Path, create: bool) -> None:
    if where.is_dir():
        raise LedgerError(f"{where} is a folder, and a ledger is a file", f"name a file: {where / 'ledger.sqlite'}")
    if create:
        try:
            where.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(f"cannot make {where.parent}: {error.strerror}", _ANOTHER) from error
    elif not where.exists():
        raise LedgerError(f"there is no ledger at {where}", "kgcheck audit makes one; --ledger names another")


def _address(where: Path, create: bool) -> URL:
    """Where SQLite finds the file; in a folder in which nothing may be written, it is only read."""
    try:
        address = None if create else read_only_address(where)
    except (InputError, OSError) as error:
        hint = error.hint if isinstance(error, InputError) else _ANOTHER
        raise LedgerError(f"the ledger cannot be read: {error}", hint) from error
    if not address:
        return URL.create("sqlite", database=str(where))
    name, _, query = address.partition("?")
    return URL.create("sqlite", database=name, query={**dict(parse_qsl(query)), "uri": "true"})


def _in_words(where: Path | URL, message: str) -> LedgerError:
    match message:
        case "database or disk is full" | "disk I/O error":
            return LedgerError(
                f"cannot write to the ledger {where}: the disk is full or failing ({message})",
                "nothing was half-written: free space; kgcheck audit --resume goes on with a run that kgcheck runs lists",
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


def _configure(connection: Any, _record: Any) -> None:
    # SQLAlchemy's recipe for transactions that begin where the code says so.
    connection.isolation_level = None
    pragmas = (
        "synchronous = FULL",
        "foreign_keys = ON",
        f"busy_timeout = {_WAIT_S * 1000}",
        f"cache_size = -{_CACHE_KB}",
    )
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
    # A ledger may come from anybody.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)


def _begin(connection: Connection) -> None:
    begin = connection.get_execution_options()["kgcheck_begin"]
    if begin:
        connection.exec_driver_sql(begin)


def _pragma(connection: Connection, text: str) -> int:
    return int(connection.exec_driver_sql(text).scalar_one())
