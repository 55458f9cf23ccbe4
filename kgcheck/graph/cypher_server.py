"""What the two Neo4j stores share: everything but the way a statement is sent."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Self

import pyarrow as pa

from kgcheck.errors import StoreError, StoreMissing
from kgcheck.graph.queries import Catalogue, hop_places, label_place, pattern_places, projection, quoted, values
from kgcheck.graph.schema import Label, Pattern, Property, Schema
from kgcheck.graph.store import (
    META_LABEL,
    NO_ID,
    Counts,
    Direction,
    Hop,
    Properties,
    StrayEdge,
    brought_to,
    check_meta,
    check_names,
    plain,
    read_hop,
    with_as_text,
)
from kgcheck.graph.store import edge_schema as edge_columns
from kgcheck.graph.store import node_schema as node_columns
from kgcheck.model import Ref, Triple

SCAN_ROWS = 50_000
Row = Sequence[Any]
"""What a statement returns, in the order of its RETURN."""
Rows = Generator[Row, None, None]


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
    def _read(self, text: str, parameters: dict[str, Any]) -> Rows:
        """Rows of a reading statement, streamed."""

    @abstractmethod
    def _write(self, text: str, parameters: dict[str, Any]) -> list[Row]:
        """Run a writing statement in a transaction of its own."""

    @abstractmethod
    def query(self, text: str, limit: int, timeout_s: float) -> list[Properties]:
        """See GraphStore."""

    @abstractmethod
    def close(self) -> None:
        """See GraphStore."""

    def check(self, *, create: bool) -> None:
        """Refuse a server that holds another graph.

        Args:
            create: It is opened for a load, so that it may be empty.

        Raises:
            StoreSchema: It holds another graph.
            StoreMissing: It holds nothing.
            StoreError: Its last load is not finished.
        """
        labels = [row[0] for row in self._rows("labels")]
        if not labels and not create:
            raise StoreMissing(f"there is no graph at {self.name}", f"load one: kgcheck load DIR --store {self.name}")
        check_meta(self.name, self.meta(), self.schema, to_write=create)
        check_names(self.name, [name for name in labels if name != META_LABEL], self.schema)

    def node(self, ref: Ref) -> Properties | None:
        """See GraphStore."""
        label = self.schema.label(ref.label)
        return self.nodes(label, [ref.id]).get(ref.id)

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        """See GraphStore."""
        rows = self._rows("nodes_by_ids", label_place(label), ids=ids) if ids else []
        return {node["id"]: {"id": node["id"]} | plain(node, label.properties) for (node,) in rows}

    def ids_named(self, label: Label, name: str, limit: int) -> list[str]:
        """See GraphStore."""
        if "name" not in label.properties:
            return []
        return [str(id_) for (id_,) in self._rows("nodes_by_name", label_place(label), name=name, limit=limit)]

    def edges(self, triple: Triple) -> list[Properties]:
        """See GraphStore."""
        pattern = self.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        rows = self._rows("edges_between", pattern_places(pattern), head_id=triple.head.id, tail_id=triple.tail.id)
        return [plain(edge, pattern.properties) for (edge,) in rows]

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        """See GraphStore."""
        statement = "tails" if direction == "out" else "heads"
        return [str(id_) for (id_,) in self._rows(statement, pattern_places(pattern), id=ref.id, limit=limit)]

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        """See GraphStore."""
        rows = self._rows(f"hops_{direction}", hop_places(pattern), ids=ids) if ids else []
        return [read_hop(row, pattern) for row in rows]

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        """See GraphStore."""
        places = label_place(label) | {"properties": projection("n", label.properties)}
        rows = self._read(self._cypher.text("scan_nodes", **places), {})
        return _tables(rows, 1, label.properties, with_as_text(node_columns(label)))

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        """See GraphStore."""
        places = pattern_places(pattern) | {"values": values("r", pattern.properties)}
        rows = _by_edge(self._read(self._cypher.text("scan_edges", **places), {}))
        return _tables(rows, 2, pattern.properties, with_as_text(edge_columns(pattern)))

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        """See GraphStore."""
        found: list[StrayEdge] = []
        for relation in self.schema.relation_types:
            allowed = [[p.head, p.tail] for p in self.schema.patterns(relation)]
            rows = self._rows(
                "stray_edges", {"relation": quoted(relation)}, allowed=allowed, limit=max(0, limit - len(found))
            )
            for head_labels, head, tail_labels, tail in rows:
                found.append(
                    StrayEdge(
                        head_label=self._shown(head_labels),
                        head_id=NO_ID if head is None else str(head),
                        relation=relation,
                        tail_label=self._shown(tail_labels),
                        tail_id=NO_ID if tail is None else str(tail),
                    )
                )
        return found

    def counts(self) -> Counts:
        """See GraphStore."""
        nodes = {s.name: int(self._rows("count_nodes", label_place(s))[0][0]) for s in self.schema.labels}
        edges = {str(p): int(self._rows("count_edges", pattern_places(p))[0][0]) for p in self.schema.relations}
        return Counts(nodes=nodes, edges=edges)

    def meta(self) -> dict[str, str]:
        """See GraphStore."""
        return {key: value for key, value in self._rows("meta_get")}

    def set_meta(self, key: str, value: str) -> None:
        """See GraphStore."""
        self._write(self._cypher.text("meta_set"), {"key": key, "value": value})

    def prepare(self) -> None:
        """See GraphStore."""
        self._write(self._cypher.text("create_meta_constraint"), {})
        for label in self.schema.labels:
            name = quoted(f"kgcheck_{label.name}_id")
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

    def _shown(self, labels: list[str]) -> str:
        """The one label of a node to name it by."""
        known = [name for name in self.schema.label_names if name in labels]
        return (known or sorted(labels) or [""])[0]

    def _write_batches(
        self,
        text: str,
        rows: pa.Table,
        keys: tuple[str, ...],
        properties: Mapping[str, Property],
        keep_null: bool = False,
    ) -> None:
        for batch in rows.to_batches(self._batch_rows):
            payload = [
                {k: row[k] for k in keys}
                | {"properties": {p: row[p] for p in properties if keep_null or row[p] is not None}}
                for row in batch.to_pylist()
            ]
            written = self._write(text, {"rows": payload})[0][0]
            if written != len(payload):
                raise StoreError(
                    f"the server {self.name} wrote {written} of {len(payload)} rows: nodes have vanished meanwhile",
                    "run the same command again",
                )


def _by_edge(heads: Rows) -> Rows:
    with closing(heads):
        for head, edges in heads:
            for edge in edges:
                yield (head, *edge)


def _tables(rows: Rows, keys: int, properties: Mapping[str, Property], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows as Arrow tables of at most SCAN_ROWS, each value brought to the type that the schema gives it."""
    # Closed here and not when it is collected: a caller that stops early must not leave a transaction open.
    with closing(rows):
        while held := list(islice(rows, SCAN_ROWS)):
            columns = list(zip(*held, strict=True))
            typed: list[Sequence[Any]] = [[NO_ID if v is None else str(v) for v in c] for c in columns[:keys]]
            for spec, column in zip(properties.values(), columns[keys:], strict=True):
                typed.append([None if v is None else brought_to(spec.type, v) for v in column])
            typed.append(_as_text(properties, columns[keys:], len(held)))
            arrays = [pa.array(c, f.type) for c, f in zip(typed, schema, strict=True)]
            yield pa.Table.from_arrays(arrays, schema=schema)


def _as_text(properties: Mapping[str, Property], values: Sequence[Sequence[Any]], rows: int) -> list[list[str] | None]:
    """The names of the numeric properties that each row holds as text."""
    found: list[list[str] | None] = [None] * rows
    for (name, spec), column in zip(properties.items(), values, strict=True):
        if spec.type in ("integer", "number"):
            for i, value in enumerate(column):
                if isinstance(value, str):
                    found[i] = [*(found[i] or ()), name]
    return found
