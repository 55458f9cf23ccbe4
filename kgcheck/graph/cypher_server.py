"""What the two Neo4j stores share: everything but the way a statement is sent."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import pyarrow as pa

from kgcheck.graph.queries import Catalogue, label_place, pattern_places, projection, quoted
from kgcheck.graph.schema import Label, Pattern, Property, Schema
from kgcheck.graph.store import (
    AS_TEXT,
    NO_ID,
    Counts,
    Direction,
    Properties,
    check_meta,
    check_names,
    plain,
    with_as_text,
)
from kgcheck.graph.store import edge_schema as edge_columns
from kgcheck.graph.store import node_schema as node_columns
from kgcheck.model import Ref, Triple

SCAN_ROWS = 50_000
Row = Mapping[str, Any]


class CypherServerStore(ABC):
    """A graph on a Neo4j server.

    Args:
        name: Address, without credentials.
        schema: Profile of the graph.
        batch_rows: Rows in one writing statement.
    """

    backend = "neo4j"

    def __init__(self, name: str, schema: Schema, *, batch_rows: int = 10_000) -> None:
        self.schema = schema
        self.name = name
        self._cypher = Catalogue("neo4j")
        self._batch_rows = batch_rows

    @abstractmethod
    def _read(self, text: str, parameters: dict[str, Any]) -> Iterator[Row]:
        """Rows of a reading statement, streamed."""

    @abstractmethod
    def _write(self, text: str, parameters: dict[str, Any]) -> None:
        """Run a writing statement in a transaction of its own."""

    @abstractmethod
    def close(self) -> None:
        """See GraphStore."""

    def check(self) -> None:
        """Refuse a server that holds another graph.

        Raises:
            StoreSchema: It does.
        """
        check_meta(self.name, self.meta(), self.schema)
        check_names(self.name, [r["name"] for r in self._rows("labels") if r["name"] != "KgcheckStore"], self.schema)

    def node(self, ref: Ref) -> Properties | None:
        """See GraphStore."""
        rows = self._rows("node", label_place(self.schema.label(ref.label)), id=ref.id)
        return plain(rows[0]["node"]) if rows else None

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        """See GraphStore."""
        rows = self._rows("nodes_by_ids", label_place(label), ids=ids)
        return {row["node"]["id"]: plain(row["node"]) for row in rows}

    def ids_named(self, label: Label, name: str, limit: int) -> list[str]:
        """See GraphStore."""
        if "name" not in label.properties:
            return []
        return [row["id"] for row in self._rows("nodes_by_name", label_place(label), name=name, limit=limit)]

    def edges(self, triple: Triple) -> list[Properties]:
        """See GraphStore."""
        pattern = self.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        rows = self._rows(
            "edges_between", pattern_places(pattern), head_id=triple.head.id, tail_id=triple.tail.id
        )
        return [plain(row["edge"]) for row in rows]

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        """See GraphStore."""
        statement = "tails" if direction == "out" else "heads"
        return [row["id"] for row in self._rows(statement, pattern_places(pattern), id=ref.id, limit=limit)]

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        """See GraphStore."""
        places = label_place(label) | {"properties": projection("n", label.properties)}
        rows = self._read(self._cypher.text("scan_nodes", **places), {})
        return _tables(rows, ("id",), label.properties, node_columns(label))

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        """See GraphStore."""
        places = pattern_places(pattern) | {"properties": projection("r", pattern.properties)}
        rows = self._read(self._cypher.text("scan_edges", **places), {})
        return _tables(rows, ("head", "tail"), pattern.properties, edge_columns(pattern))

    def counts(self) -> Counts:
        """See GraphStore."""
        nodes = {s.name: int(self._rows("count_nodes", label_place(s))[0]["n"]) for s in self.schema.labels}
        edges = {str(p): int(self._rows("count_edges", pattern_places(p))[0]["n"]) for p in self.schema.relations}
        return Counts(nodes=nodes, edges=edges)

    def meta(self) -> dict[str, str]:
        """See GraphStore."""
        if "KgcheckStore" not in [r["name"] for r in self._rows("labels")]:
            return {}
        return {row["key"]: row["value"] for row in self._rows("meta_get")}

    def set_meta(self, key: str, value: str) -> None:
        """See GraphStore."""
        self._write(self._cypher.text("meta_set"), {"key": key, "value": value})

    def prepare(self) -> None:
        """See GraphStore."""
        self._write(self._cypher.text("create_meta_constraint"), {})
        for label in self.schema.labels:
            name = quoted(f"kgcheck_{label.name.lower()}_id")
            self._write(self._cypher.text("create_constraint", **label_place(label), name=name), {})
        self._write(self._cypher.text("await_indexes"), {})

    def add_nodes(self, label: Label, rows: pa.Table) -> None:
        """See GraphStore."""
        self._write_batches(self._cypher.text("create_nodes", **label_place(label)), rows, ("id",), label.properties)

    def update_nodes(self, label: Label, rows: pa.Table) -> None:
        """See GraphStore."""
        text = self._cypher.text("update_nodes", **label_place(label))
        self._write_batches(text, rows, ("id",), label.properties, keep_null=True)

    def add_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        """See GraphStore."""
        text = self._cypher.text("create_edges", **pattern_places(pattern))
        self._write_batches(text, rows, ("head", "tail"), pattern.properties)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _rows(self, statement: str, places: dict[str, str] | None = None, **parameters: Any) -> list[Row]:
        return list(self._read(self._cypher.text(statement, **(places or {})), parameters))

    def _write_batches(
        self,
        text: str,
        rows: pa.Table,
        keys: tuple[str, ...],
        properties: Iterable[str],
        keep_null: bool = False,
    ) -> None:
        wanted = list(properties)
        for batch in rows.to_batches(self._batch_rows):
            payload = [
                {k: row[k] for k in keys}
                | {"properties": {p: row[p] for p in wanted if keep_null or row[p] is not None}}
                for row in batch.to_pylist()
            ]
            self._write(text, {"rows": payload})


def _tables(
    rows: Iterable[Row], keys: tuple[str, ...], properties: Mapping[str, Property], schema: pa.Schema
) -> Iterator[pa.Table]:
    """Rows as Arrow tables of at most SCAN_ROWS, each value brought to the type that the schema gives it."""
    held: list[dict[str, Any]] = []
    for row in rows:
        held.append(_typed(row, keys, properties))
        if len(held) == SCAN_ROWS:
            yield pa.Table.from_pylist(held, schema=with_as_text(schema))
            held = []
    yield pa.Table.from_pylist(held, schema=with_as_text(schema))


def _typed(row: Row, keys: tuple[str, ...], properties: Mapping[str, Property]) -> dict[str, Any]:
    typed: dict[str, Any] = {k: NO_ID if row[k] is None else str(row[k]) for k in keys}
    as_text: list[str] = []
    for name, spec in properties.items():
        value = row[name]
        if isinstance(value, str) and spec.type in ("integer", "number"):
            as_text.append(name)
        typed[name] = None if value is None else _brought_to(spec.type, value)
    typed[AS_TEXT] = as_text or None
    return typed


def _brought_to(kind: str, value: Any) -> Any:
    match kind:
        case "strings":
            return [str(v) for v in value] if isinstance(value, list) else [str(value)]
        case "string":
            return value if isinstance(value, str) else str(value)
        case _:
            try:
                return float(value) if kind == "number" else int(float(value))
            except (TypeError, ValueError, OverflowError):
                return None
