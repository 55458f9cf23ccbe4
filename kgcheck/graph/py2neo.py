"""Py2neoStore: a graph store over a py2neo Graph that the caller already holds.

py2neo is end-of-life: an extra of kgcheck, and never a dependency of its core.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from kgcheck.errors import MissingExtra, StoreUnavailable, StoreUnguarded
from kgcheck.graph.neo4j import server_error
from kgcheck.graph.reads import Row
from kgcheck.graph.server import CypherServerStore, Rows
from kgcheck.graph.store import Properties, Reading
from kgcheck.profile.schema import Schema

try:
    from py2neo import errors as py2neo_errors
except ImportError as error:
    raise MissingExtra("a graph behind py2neo", "py2neo") from error

_BROKEN = (
    py2neo_errors.ConnectionUnavailable,
    py2neo_errors.ConnectionBroken,
    py2neo_errors.ConnectionLimit,
    py2neo_errors.ServiceUnavailable,
    py2neo_errors.WriteServiceUnavailable,
    py2neo_errors.ProtocolError,
    OSError,
)


class Graph(Protocol):
    """The part of ``py2neo.Graph`` that is used."""

    def run(self, cypher: str, parameters: dict[str, Any] | None = None) -> Any:
        """Run a statement in a transaction of its own, and give a cursor."""

    def query(self, cypher: str, parameters: dict[str, Any] | None = None) -> Any:
        """Run a reading statement, and give a cursor."""


class Py2neoStore(CypherServerStore):
    """A graph behind a py2neo Graph; closing the store leaves the Graph to its owner.

    py2neo itself may wait without end for a connection to a server that has gone, and holds the whole result of a scan
    in memory: use Neo4jStore where that matters.
    """

    backend = "py2neo"

    def __init__(self, graph: Graph, schema: Schema, *, create: bool = False, with_retired: bool = False) -> None:
        super().__init__(f"py2neo:{graph}", schema, with_retired=with_retired)
        self._graph = graph
        self.check(self._labels(), create=create)

    def close(self) -> None:
        """See GraphStore."""

    def _read(self, text: str, parameters: dict[str, Any]) -> Rows:
        with self._mapped():
            cursor = self._graph.query(text, parameters)
            while cursor.forward():
                yield cursor.current.values()

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        """Refuse a statement from outside: py2neo knows no limit of time, and takes all rows before it gives one."""
        raise StoreUnguarded(
            f"statements of a model are not run over {self.name}: py2neo limits neither time nor rows",
            "open the graph by its address: bolt://HOST:7687",
        )

    def _write(self, text: str, parameters: dict[str, Any]) -> list[Row]:
        with self._mapped():
            return [record.values() for record in self._graph.run(text, parameters)]

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except py2neo_errors.Neo4jError as error:
            raise server_error(self.name, error.code, error.message, error.should_retry()) from error
        except _BROKEN as error:
            raise StoreUnavailable(f"{self.name} stopped answering: {error}", "run the same command again") from error
