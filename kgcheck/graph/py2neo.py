"""An adapter over a py2neo Graph that the caller already holds. py2neo is end-of-life and never a dependency of kgcheck."""

from collections.abc import Iterator
from typing import Any, Protocol

from kgcheck.errors import StoreUnavailable
from kgcheck.graph.cypher_server import CypherServerStore, Row
from kgcheck.graph.schema import Schema


class Graph(Protocol):
    """The part of ``py2neo.Graph`` that is used."""

    def run(self, cypher: str, parameters: dict[str, Any] | None = None) -> Any:
        """Run a statement in a transaction of its own, and give a cursor."""

    def query(self, cypher: str, parameters: dict[str, Any] | None = None) -> Any:
        """Run a reading statement, and give a cursor."""


class Py2neoStore(CypherServerStore):
    """A graph behind a py2neo Graph; closing the store leaves the Graph to its owner.

    Args:
        graph: An open ``py2neo.Graph``.
        schema: Profile of the graph.
        check: Refuse a server that holds another graph.

    Raises:
        StoreSchema: The server holds another graph.
    """

    backend = "py2neo"

    def __init__(self, graph: Graph, schema: Schema, *, check: bool = True) -> None:
        super().__init__(f"py2neo:{graph}", schema)
        self._graph = graph
        if check:
            self.check()

    def close(self) -> None:
        """See GraphStore."""

    def _read(self, text: str, parameters: dict[str, Any]) -> Iterator[Row]:
        try:
            cursor = self._graph.query(text, parameters)
            names = cursor.keys()
            yield from (dict(zip(names, record, strict=True)) for record in cursor)
        except ConnectionError as error:
            raise StoreUnavailable(f"{self.name} stopped answering: {error}") from error

    def _write(self, text: str, parameters: dict[str, Any]) -> None:
        try:
            self._graph.run(text, parameters)
        except ConnectionError as error:
            raise StoreUnavailable(f"{self.name} stopped answering: {error}") from error
