"""Database of a ledger: transactions, schema migration (Alembic), and translated errors."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, insert
from sqlalchemy.exc import DatabaseError, IntegrityError, SQLAlchemyError

from kgcheck.errors import LedgerError
from kgcheck.ledger import accounts, calibrations, decisions, paper_claims, patches, work
from kgcheck.ledger.bulk_insert import is_settled, settle
from kgcheck.ledger.engines import ANOTHER, let_go, open_backend
from kgcheck.ledger.place import LedgerPlace
from kgcheck.ledger.tables import FORMAT, METADATA, RELEASED, VERSION

if TYPE_CHECKING:
    from alembic.config import Config


_MODULES = (accounts, calibrations, decisions, paper_claims, patches, work)
"""Modules whose tables belong to a ledger."""


class Database:
    """A database with the tables of the ledger: one SQLite file (WAL), or a PostgreSQL database.

    One of the release before is brought to the present format, whole or not at all.
    """

    def __init__(self, where: LedgerPlace | URL, *, create: bool) -> None:
        self._backend = open_backend(where, create)
        self.where = self._backend.name
        self._is_closed = False
        try:
            self._open(create)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads; what others write meanwhile is not seen. Every finding has its key and place."""
        with self._connected(self._backend.reading) as connection:
            if is_settled(connection):
                yield connection
                return
        with self.writing():
            """It settles them."""
        with self._connected(self._backend.reading) as connection:
            yield connection

    def reading_once(self) -> AbstractContextManager[Connection]:
        """For one statement, and one that reads no findings: nobody need give them keys and places before it."""
        return self._connected(self._backend.reading_once)

    @contextmanager
    def writing(self, *, alone: bool = True) -> Iterator[Connection]:
        """A transaction that writes, all or nothing; other writers wait until it ends."""
        with self._locked(alone=alone) as connection:
            if alone:
                settle(connection)
            yield connection

    def after_a_run(self, connection: Connection) -> None:
        self._backend.after_a_run(connection)

    def about(self, connection: Connection) -> tuple[str, int]:
        return self._backend.about(connection)

    def close(self) -> None:
        """Close the file, unless somebody else in this process has it open."""
        if not self._is_closed:
            self._is_closed = True
            let_go(self._backend.engine)

    def _open(self, create: bool) -> None:
        with self._connected(self._backend.reading) as connection:
            found = self._backend.format(connection)
        if found is None and not create:
            raise LedgerError(
                f"{self.where} is not a ledger: it is empty", f"kgcheck audit makes one of it; or {ANOTHER}"
            )
        if found not in (None, RELEASED, FORMAT):
            reader = "no release writes it: the kgcheck that made it reads it"
            if found > FORMAT:
                reader = "a newer kgcheck reads it"
            elif found < RELEASED:
                reader = f"kgcheck 0.2 brings it to format {RELEASED}, and this one goes on from there"
            known = f"{self.where} is a ledger of format {found}, and this kgcheck reads {FORMAT}"
            raise LedgerError(known, f"{reader}; or {ANOTHER}")
        if found == FORMAT:
            return
        if found is None:
            with self._in_words():
                self._backend.prepare()
        # In one transaction; another process may have done it meanwhile.
        with self._locked(alone=True) as connection:
            there = self._backend.format(connection)
            if there is None:
                METADATA.create_all(connection)
                VERSION.create(connection)
                connection.execute(insert(VERSION).values(version_num=str(FORMAT)))
            elif there == RELEASED:
                from alembic import command

                command.upgrade(configuration(connection), str(FORMAT))
            if there in (None, RELEASED):
                self._backend.finish(connection, FORMAT)

    @contextmanager
    def _locked(self, *, alone: bool) -> Iterator[Connection]:
        with self._connected(self._backend.writing) as connection:
            self._backend.lock(connection, alone=alone)
            yield connection

    @contextmanager
    def _connected(self, options: dict[str, Any]) -> Iterator[Connection]:
        with (
            self._in_words(),
            self._backend.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            raise LedgerError(
                f"the ledger {self.where} already has this part of the run",
                "another process is working on the same run, or the graph changed: start a new run without --resume",
            ) from error
        except DatabaseError as error:
            raise self._backend.in_words(error) from error
        except SQLAlchemyError as error:
            raise LedgerError(f"the ledger {self.where} cannot be used: {error}", ANOTHER) from error


def configuration(connection: Connection) -> "Config":
    """Options of Alembic for a connection."""
    # It takes Alembic a while to be imported, and few ledgers need it.
    from alembic.config import Config

    made = Config()
    # Alembic reads its options as Python's configparser does.
    made.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made
