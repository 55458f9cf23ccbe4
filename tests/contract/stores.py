"""Stores of every kind to hold the contract against, and what the tests say about them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from py2neo import Graph
from pydantic import SecretStr

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.py2neo import Py2neoStore
from kgcheck.graph.store import GraphStore, Properties, edge_schema, node_schema, with_as_text
from kgcheck.model import Ref, Triple
from kgcheck.profile.schema import Label, Pattern, Schema, load_schema
from kgcheck.settings import Settings
from tests.support.neo4j_fixtures import Neo4jTarget

CKG = load_schema()
PROTEIN, DISEASE, SEQUENCE = CKG.label("Protein"), CKG.label("Disease"), CKG.label("Amino_acid_sequence")
ACTS_ON = CKG.pattern("Protein", "ACTS_ON", "Protein")
IN_DISEASE = CKG.pattern("Protein", "ASSOCIATED_WITH", "Disease")
HAS_PARENT = CKG.pattern("Disease", "HAS_PARENT", "Disease")

Opener = Callable[..., GraphStore]


class Embedded:
    """Opens one file of LadybugDB, which only one may write to at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, schema: Schema = CKG, *, create: bool = False, with_retired: bool = False) -> GraphStore:
        return EmbeddedStore(self.path, schema, create=create, with_retired=with_retired)


class Server:
    """Opens one Neo4j server, and lets a test put there what no store would."""

    def __init__(self, target: Neo4jTarget) -> None:
        self.target = target

    def run(self, cypher: str, **parameters: Any) -> None:
        query: Any = cypher
        with self.target.driver() as driver:
            driver.execute_query(query, parameters)


class Official(Server):
    """Through the driver of Neo4j itself."""

    def __call__(self, schema: Schema = CKG, *, create: bool = False, with_retired: bool = False) -> GraphStore:
        settings = Settings(neo4j_password=SecretStr(self.target.password))
        return Neo4jStore(self.target.uri, schema, settings, create=create, with_retired=with_retired)


class Py2neo(Server):
    """Through py2neo."""

    def __init__(self, target: Neo4jTarget, graph: Graph) -> None:
        super().__init__(target)
        self.graph = graph

    def __call__(self, schema: Schema = CKG, *, create: bool = False, with_retired: bool = False) -> GraphStore:
        return Py2neoStore(self.graph, schema, create=create, with_retired=with_retired)


def nodes_table(label: Label, *rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=node_schema(label))


def edges_table(pattern: Pattern, *rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=edge_schema(pattern))


def add_nodes(store: GraphStore, label: Label, *ids: str) -> None:
    store.add_nodes(label, nodes_table(label, *({"id": i} for i in ids)))


def in_order(rows: Iterable[Properties]) -> list[Properties]:
    """Rows that have no order of their own, to compare."""
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def scanned(tables: Iterator[pa.Table], schema: pa.Schema) -> list[Properties]:
    """The rows of a scan without their nulls, after a look at every table's schema."""
    rows = []
    for table in tables:
        assert table.schema == with_as_text(schema)
        rows += [{k: v for k, v in row.items() if v is not None} for row in table.to_pylist()]
    return in_order(rows)


def all_nodes(store: GraphStore, label: Label) -> list[Properties]:
    return scanned(store.scan_nodes(label), node_schema(label))


def all_edges(store: GraphStore, pattern: Pattern) -> list[Properties]:
    return scanned(store.scan_edges(pattern), edge_schema(pattern))


def triple(head: str, pattern: Pattern, tail: str) -> Triple:
    return Triple(head=Ref(label=pattern.head, id=head), relation=pattern.type, tail=Ref(label=pattern.tail, id=tail))
