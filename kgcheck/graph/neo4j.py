"""The Neo4j store: a server, through the official driver (https://neo4j.com/docs/python-manual/current/)."""

from collections.abc import Iterator
from typing import Any

import neo4j
from neo4j.exceptions import AuthError, ClientError, ConfigurationError, DriverError, Neo4jError, ServiceUnavailable

from kgcheck.errors import KgcheckError, StoreAccess, StoreError, StoreUnavailable
from kgcheck.graph.cypher_server import CypherServerStore, Row
from kgcheck.graph.schema import Schema
from kgcheck.settings import Settings

_FETCH_ROWS = 10_000
_ENVIRONMENT = "set KGCHECK_NEO4J_USER and KGCHECK_NEO4J_PASSWORD"


class Neo4jStore(CypherServerStore):
    """A graph on a Neo4j server.

    Args:
        uri: ``bolt://``, ``neo4j://`` or their ``+s`` forms, without credentials.
        schema: Profile of the graph.
        settings: Credentials, database and time limits.
        check: Refuse a server that holds another graph.

    Raises:
        StoreAccess: Credentials are missing or refused.
        StoreUnavailable: Nothing answers at that address.
        StoreSchema: The server holds another graph.
    """

    def __init__(self, uri: str, schema: Schema, settings: Settings, *, check: bool = True) -> None:
        super().__init__(uri, schema, batch_rows=settings.load_batch_rows)
        password = settings.neo4j_password
        auth = (settings.neo4j_user, password.get_secret_value()) if password else None
        self._timeout_s = settings.query_timeout_s
        self._database = settings.neo4j_database
        try:
            self._driver = neo4j.GraphDatabase.driver(
                uri,
                auth=auth,
                connection_timeout=settings.connect_timeout_s,
                max_transaction_retry_time=30.0,
                notifications_min_severity="OFF",
                user_agent="kgcheck",
            )
        except (ValueError, ConfigurationError) as error:
            raise StoreError(f"{uri!r} is not an address of a Neo4j server: {error}") from error
        try:
            self._driver.verify_connectivity()
            if check:
                self.check()
        except (Neo4jError, DriverError) as error:
            self.close()
            raise self._mapped(error) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """See GraphStore."""
        self._driver.close()

    def _session(self, mode: str) -> neo4j.Session:
        return self._driver.session(database=self._database, default_access_mode=mode, fetch_size=_FETCH_ROWS)

    def _read(self, text: str, parameters: dict[str, Any]) -> Iterator[Row]:
        try:
            # A statement of the catalogue or one made from it: never text from outside.
            query: Any = text
            with (
                self._session(neo4j.READ_ACCESS) as session,
                session.begin_transaction(timeout=self._timeout_s) as transaction,
            ):
                yield from (record.data() for record in transaction.run(query, parameters))
        except (Neo4jError, DriverError) as error:
            raise self._mapped(error) from error

    def _write(self, text: str, parameters: dict[str, Any]) -> None:
        try:
            with self._session(neo4j.WRITE_ACCESS) as session:
                session.execute_write(lambda transaction: transaction.run(text, parameters).consume())
        except (Neo4jError, DriverError) as error:
            raise self._mapped(error) from error

    def _mapped(self, error: Neo4jError | DriverError) -> KgcheckError:
        """One error of the tree for every error of the driver."""
        said = (getattr(error, "message", None) or str(error)).strip()
        match error:
            case AuthError():
                return StoreAccess(f"the server {self.name} refused the credentials: {said}", _ENVIRONMENT)
            case ServiceUnavailable():
                return StoreUnavailable(f"no Neo4j server answers at {self.name}: {said}", "start it, or check --store")
            case Neo4jError() if "Unauthorized" in (error.code or ""):
                return StoreAccess(f"the server {self.name} wants credentials: {said}", _ENVIRONMENT)
            case ClientError() if "TransactionTimedOut" in (error.code or ""):
                return StoreUnavailable(f"a query on {self.name} took too long", "raise KGCHECK_QUERY_TIMEOUT_S")
            case ClientError() if "ConstraintCreationFailed" in (error.code or ""):
                return StoreError(
                    f"the graph on {self.name} has nodes of one label that share an id: {said}",
                    "remove the duplicates, or load into an empty database",
                )
            case Neo4jError() if error.is_retryable():
                return StoreUnavailable(f"the server {self.name} gave up: {said}", "run the same command again")
            case DriverError() if error.is_retryable():
                return StoreUnavailable(f"the connection to {self.name} broke: {said}", "run the same command again")
            case _:
                return StoreError(f"the server {self.name} refused a query: {said}")
