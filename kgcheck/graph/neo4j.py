"""The Neo4j store: a server, through the official driver (https://neo4j.com/docs/python-manual/current/)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import neo4j
from neo4j.exceptions import ConfigurationError, DriverError, Neo4jError, ServiceUnavailable
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from kgcheck.cleartext import refuse_cleartext
from kgcheck.errors import KgcheckError, StoreAccess, StoreError, StoreMissing, StoreUnavailable, UsageError
from kgcheck.graph.changes import Run
from kgcheck.graph.reads import Row
from kgcheck.graph.result_limits import TooLargeAnswer, bounded_rows
from kgcheck.graph.server import CypherServerStore, Rows, shown
from kgcheck.graph.store import Properties, Reading, states_in, states_text
from kgcheck.profile.schema import Schema
from kgcheck.settings import Settings

_FETCH_ROWS = 10_000
_GUARDED_ROWS = 16
"""Rows of a statement from outside that the server hands over at a time: what was asked for arrives, wanted or not."""

_RETRY_S = 30.0

_ENDED_BY_THE_SERVER = ("TransactionTimedOut", "LockClientStopped", "LockAcquisitionTimeout", "Transaction.Terminated")
"""In the codes of a transaction that ran for longer than it may; one that waits for a lock may have any of them."""


class Neo4jStore(CypherServerStore):
    """A graph on a Neo4j server."""

    def __init__(
        self,
        uri: str,
        schema: Schema,
        settings: Settings,
        *,
        create: bool = False,
        any_profile: bool = False,
        with_retired: bool = False,
    ) -> None:
        super().__init__(
            uri,
            schema,
            batch_rows=settings.load_batch_rows,
            in_flight=settings.neo4j_in_flight,
            with_retired=with_retired,
        )
        password = settings.neo4j_password
        auth = (settings.neo4j_user, password.get_secret_value()) if password else None
        self._timeout_s = settings.query_timeout_s
        self._database = settings.neo4j_database
        try:
            self._driver = neo4j.GraphDatabase.driver(
                uri,
                auth=auth,
                connection_timeout=settings.connect_timeout_s,
                resolver=_no_cleartext(uri, settings, is_secret=auth is not None),
                notifications_min_severity="OFF",
                user_agent="kgcheck",
            )
        except (ValueError, ConfigurationError) as error:
            raise StoreError(
                f"{uri!r} is not an address of a Neo4j server: {error}", "write it as bolt://HOST:7687"
            ) from error
        try:
            self._driver.verify_connectivity()
            self.check(self._labels(), create=create, any_profile=any_profile)
        except (Neo4jError, DriverError, ValueError) as error:
            self.close()
            raise self._mapped(error) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._driver.close()

    def _session(self, mode: str, fetch_rows: int = _FETCH_ROWS) -> neo4j.Session:
        return self._driver.session(database=self._database, default_access_mode=mode, fetch_size=fetch_rows)

    def _read(self, text: str, parameters: dict[str, Any]) -> Rows:
        # A statement of the catalogue or one made from it: never text from outside.
        query: Any = text
        try:
            with (
                self._session(neo4j.READ_ACCESS) as session,
                session.begin_transaction(timeout=self._timeout_s) as transaction,
            ):
                yield from transaction.run(query, parameters)
        except (Neo4jError, DriverError) as error:
            raise self._mapped(error) from error

    def state(self) -> str | None:
        """See GraphStore: with the server's bookmark, which names the last transaction that changed anything.

        Copies of a cluster may be at different ones, and each is taken for another. A dump that is loaded takes its
        numbers of transactions along: there, only what kgcheck itself writes tells two graphs apart.
        """
        identity: Any = self._cypher.text("identity_get")
        database_identity: Any = self._cypher.text("database_identity")
        try:
            with self._session(neo4j.READ_ACCESS) as session:
                with session.begin_transaction(timeout=self._timeout_s) as transaction:
                    states = states_in({key: value for key, value in transaction.run(identity)})
                    database, created = transaction.run(database_identity).single(strict=True)
                    transaction.commit()
                bookmarks = sorted(session.last_bookmarks().raw_values)
        except Neo4jError:
            # Somebody who may read the graph need not be allowed to ask this.
            return None
        except DriverError as error:
            raise self._mapped(error) from error
        if states is None or not bookmarks:
            return None
        return states_text({**states, self.backend: " ".join([database, created, *bookmarks])})

    def setting(self, name: str) -> str | None:
        """A setting of the server, such as ``db.memory.transaction.max``; None where there is none or it is hidden."""
        try:
            return next((str(value) for (value,) in self._rows("server_setting", name=name)), None)
        except StoreUnavailable:
            raise
        except StoreError:
            # Somebody who may read the graph need not be allowed to ask this.
            return None

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        """See GraphStore. The server must take it for a reading one, too, and is asked in a reading transaction."""
        reading = self._leaving_out(reading)
        explained: Any = f"EXPLAIN {reading.text}"
        query: Any = reading.text
        try:
            with (
                self._session(neo4j.READ_ACCESS, _GUARDED_ROWS) as session,
                session.begin_transaction(timeout=timeout_s) as transaction,
            ):
                if transaction.run(explained, reading.parameters).consume().query_type != "r":
                    raise UsageError("the statement is not a reading one", "use MATCH and RETURN")
                found = (list(map(shown, record)) for record in transaction.run(query, reading.parameters))
                # The server names columns by the text that it was sent.
                rows = bounded_rows(found, limit, reading.longest_list)
                return [dict(zip(reading.columns, row, strict=True)) for row in rows]
        except TooLargeAnswer:
            raise StoreError(f"a statement over {self.name} gave too much", "ask for less") from None
        except (Neo4jError, DriverError) as error:
            if "OutOfMemory" in (getattr(error, "code", None) or ""):
                raise StoreError(f"a statement took too much memory of {self.name}", "ask for less") from error
            raise self._mapped(error) from error

    @contextmanager
    def statements(self, *, write: bool) -> Iterator[Run]:
        """See ChangedStore. The error of a statement says whether the same transaction may succeed later."""
        if not write:
            yield self._read
            return
        try:
            with (
                self._session(neo4j.WRITE_ACCESS) as session,
                session.begin_transaction(timeout=self._timeout_s) as transaction,
            ):

                def run(text: str, parameters: dict[str, Any]) -> list[Row]:
                    query: Any = text
                    return list(transaction.run(query, parameters))

                yield run
                self._commit(transaction)
        except (Neo4jError, DriverError) as error:
            raise self._mapped(error) from error
        finally:
            self._note_change()

    def _write(self, text: str, parameters: dict[str, Any]) -> list[Row]:
        again = Retrying(
            retry=retry_if_exception(_is_undone),
            stop=stop_after_delay(_RETRY_S),
            wait=wait_random_exponential(multiplier=0.5, max=5),
            reraise=True,
        )
        try:
            return again(self._write_once, text, parameters)
        except (Neo4jError, DriverError) as error:
            raise self._mapped(error) from error

    def _write_once(self, text: str, parameters: dict[str, Any]) -> list[Row]:
        query: Any = text
        with (
            self._session(neo4j.WRITE_ACCESS) as session,
            session.begin_transaction(timeout=self._timeout_s) as transaction,
        ):
            rows: list[Row] = list(transaction.run(query, parameters))
            self._commit(transaction)
            return rows

    def _commit(self, transaction: neo4j.Transaction) -> None:
        try:
            transaction.commit()
        except (Neo4jError, DriverError) as error:
            # It may be done: the driver's own retry would then write edges a second time.
            raise StoreUnavailable(
                f"the server {self.name} went away while it committed: {error}", "run the same command again"
            ) from error

    def _mapped(self, error: Exception) -> KgcheckError:
        message = str(getattr(error, "message", None) or error).strip()
        match error:
            case Neo4jError():
                return server_error(self.name, error.code or "", message, error.is_retryable())
            case ServiceUnavailable() | ValueError():
                return StoreUnavailable(
                    f"no Neo4j server answers at {self.name}: {message}", "start it, or check --store"
                )
            case DriverError() if error.is_retryable():
                return StoreUnavailable(f"the connection to {self.name} broke: {message}", "run the same command again")
            case _:
                return StoreError(f"{self.name} cannot be used: {message}")


def _no_cleartext(uri: str, settings: Settings, *, is_secret: bool) -> Callable[[neo4j.Address], list[neo4j.Address]]:
    """A resolver that refuses cleartext, also for members of a cluster that only the server names."""
    is_in_the_clear = is_secret and urlsplit(uri).scheme in ("bolt", "neo4j")

    def check(address: neo4j.Address) -> list[neo4j.Address]:
        if is_in_the_clear:
            refuse_cleartext(
                str(address.host), settings.cleartext_hosts, "write the address with bolt+s:// or neo4j+s://"
            )
        return [address]

    return check


def _is_undone(error: BaseException) -> bool:
    return isinstance(error, Neo4jError | DriverError) and error.is_retryable()


def server_error(name: str, code: str, message: str, retryable: bool) -> KgcheckError:
    """One error of the tree for what a server says."""
    if ".Security." in code:
        if code.endswith("Forbidden"):
            return StoreAccess(
                f"the server {name} does not let this user do that: {message}",
                "ask for the right to, or name another user with KGCHECK_NEO4J_USER",
            )
        return StoreAccess(
            f"the server {name} refused the credentials: {message}", "set KGCHECK_NEO4J_USER and KGCHECK_NEO4J_PASSWORD"
        )
    if any(ended in code for ended in _ENDED_BY_THE_SERVER):
        return StoreUnavailable(
            f"a query on {name} took too long, or waited for what another transaction holds",
            "run the same command again, with a higher KGCHECK_QUERY_TIMEOUT_S",
        )
    if code.endswith("DatabaseNotFound"):
        return StoreMissing(f"the server {name} has no such database: {message}", "set KGCHECK_NEO4J_DATABASE")
    if code.endswith("ConstraintCreationFailed"):
        return StoreError(
            f"the graph on {name} has nodes of one label that share an id: {message}",
            "remove the duplicates, or load into an empty database",
        )
    if code.endswith("IndexAlreadyExists"):
        return StoreError(
            f"the graph on {name} has an index where a load needs a uniqueness constraint: {message}", "drop that index"
        )
    if retryable or ".TransientError." in code or ".DatabaseError." in code:
        return StoreUnavailable(f"the server {name} gave up: {message}", "run the same command again")
    return StoreError(f"the server {name} refused a query: {message}")
