"""CypherServerStore: base of the Neo4j and py2neo stores; scans, counts and loads in batches."""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import chain, islice, repeat
from typing import Any, ClassVar, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.errors import StoreError, StoreUnavailable
from kgcheck.graph.marks import MARKS, RETIRED
from kgcheck.graph.queries import (
    Catalogue,
    also,
    fields,
    hop_places,
    label_place,
    labels_place,
    lists,
    pattern_places,
    projection,
    quoted,
    where,
)
from kgcheck.graph.queries import same as same_values
from kgcheck.graph.reads import CatalogueReads, Row, unknown_names
from kgcheck.graph.store import (
    AS_TEXT,
    MOST_HOPS,
    NO_ID,
    Direction,
    Hop,
    Properties,
    Reading,
    StrayEdge,
    brought_to,
    new_state,
    read_hops,
    with_as_text,
)
from kgcheck.graph.store import edge_schema as edge_columns
from kgcheck.graph.store import node_schema as node_columns
from kgcheck.profile.schema import Holder, Label, Pattern, Property, PropertyType, Schema

SCAN_ROWS = 50_000
_SORTED_ROWS = 1_000_000
"""Rows that are sorted at a time."""

HUB_EDGES = 500_000
"""Edges of one node beyond which they come one by one: what a server gathers into lists it holds in memory."""

_TOGETHER = 50
"""Statements that are asked as one."""

_KNOWN_S = 1.0
"""So long a server is taken to hold nothing that is retired, once it was found so."""

_READ_AS: dict[PropertyType, str] = {
    "string": "toStringOrNull({})",
    "strings": "{}",
    "integer": "toIntegerOrNull({})",
    "number": "toFloatOrNull({})",
}
"""A value as `brought_to` reads it, for servers where the types of values are anybody's."""

_T = TypeVar("_T")
_R = TypeVar("_R")
Rows = Generator[Row, None, None]


class CypherServerStore(CatalogueReads):
    """A graph on a Neo4j server."""

    backend = "neo4j"
    _changes: ClassVar[int] = 0
    """Number of times that this process has changed a graph on any server, other than by a load."""

    def __init__(
        self,
        name: str,
        schema: Schema,
        *,
        batch_rows: int = 10_000,
        in_flight: int = 1,
        with_retired: bool = False,
    ) -> None:
        self.schema = schema
        self.name = name
        self.with_retired = with_retired
        self._cypher = Catalogue("neo4j", schema.labels)
        self._batch_rows = batch_rows
        self._in_flight = in_flight
        self._hides = False
        self._known_until = 0.0
        self._known_of = 0

    @abstractmethod
    def _read(self, text: str, parameters: dict[str, Any]) -> Rows:
        """Rows of a reading statement, streamed."""

    @abstractmethod
    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        """See GraphStore."""

    def _labels(self) -> list[str]:
        return [name for (name,) in self._rows("labels")]

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        places = hop_places(pattern) | self._kept("a", "r", "b")
        rows = self._rows(f"hops_{direction}", places, ids=ids, limit=MOST_HOPS + 1) if ids else []
        return read_hops(rows, pattern)

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        places = label_place(label) | {"properties": projection("n", label.properties)} | self._kept("n")
        wanted = with_as_text(node_columns(label))
        # Closed here and not when it is collected: a caller that stops early must not leave a transaction open.
        with closing(self._read(self._cypher.text("scan_nodes", **places), {})) as rows:
            while gathered := list(islice(rows, SCAN_ROWS)):
                ids, *values = zip(*gathered, strict=True)
                yield typed_table([ids], label.properties, values, wanted)

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        wanted = with_as_text(edge_columns(pattern))
        places = pattern_places(pattern)
        # Where a relation leads from this head to several labels, and to this tail from no other head.
        alike = self.schema.patterns(pattern.type)
        by_tail = sum(p.head == pattern.head for p in alike) > 1 and sum(p.tail == pattern.tail for p in alike) == 1
        statement, degrees = ("scan_edges_by_tail", "tails_by_degree") if by_tail else ("scan_edges", "heads_by_degree")
        end, other = ("b", "a") if by_tail else ("a", "b")
        kept = self._kept("r", other)
        values = lists("r", pattern.properties)
        together, alone = (
            self._cypher.text(statement, **places, **kept, gathered=gathered, values=values)
            for gathered in (f"collect({other}) AS others, collect(r) AS rs", f"[{other}] AS others, [r] AS rs")
        )
        found = self._rows(degrees, places | self._kept(end))
        pieces = _pieces(row for row in found if row[1] <= HUB_EDGES)
        hubs = [row[0] for row in found if row[1] > HUB_EDGES]
        read = self._side_by_side(lambda ends: list(self._read(together, {"ends": ends})), pieces)
        with closing(read) as results, closing(self._in_parts(alone, hubs)) as parts:
            # Of a piece, everything may be retired.
            for rows in chain(filter(None, results), parts):
                ends = list(chain.from_iterable(repeat(row[0], row[1]) for row in rows))
                columns = zip(*(row[2:] for row in rows), strict=True)
                others, *listed = (list(chain.from_iterable(column)) for column in columns)
                keys = [others, ends] if by_tail else [ends, others]
                yield typed_table(keys, pattern.properties, listed, wanted)

    def _in_parts(self, text: str, hubs: Sequence[str]) -> Generator[list[Row]]:
        for hub in hubs:
            with closing(self._read(text, {"ends": [hub]})) as rows:
                while gathered := list(islice(rows, SCAN_ROWS)):
                    yield gathered

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        found: list[StrayEdge] = []
        unmarked = also(["a", "r", "b"] if self._hides_some() else [])

        def end(side: str, labels: list[str], key: Any) -> dict[str, str]:
            known = [name for name in self.schema.label_names if name in labels] or sorted(labels) or [""]
            return {f"{side}_label": known[0], f"{side}_id": NO_ID if key is None else str(key)}

        for relation in self.schema.relation_types:
            allowed = [[p.head, p.tail] for p in self.schema.patterns(relation)]
            places = {"relation": quoted(relation), "also": unmarked}
            rows = self._rows("stray_edges", places, allowed=allowed, limit=max(0, limit - len(found)))
            for head_labels, head, tail_labels, tail in rows:
                ends = end("head", head_labels, head) | end("tail", tail_labels, tail)
                found.append(StrayEdge(relation=relation, **ends))
        return found

    def state(self) -> str | None:
        """See GraphStore: anybody may write to a server, and not every way to it says so."""
        return None

    def _own_id(self) -> str:
        # The id of the database, which its address need not tell for long.
        return self._database_id() or self.name

    def _database_id(self) -> str | None:
        try:
            return f"neo4j:{self._rows('database_identity')[0][0]}"
        except StoreUnavailable:
            raise
        except StoreError:
            return None

    def unknown(self) -> dict[str, int]:
        kept = {"node": self._kept("n"), "edge": self._kept("a", "r", "b")}
        nodes, edges = ([(r[0], r[1], int(r[2])) for r in self._rows(f"{of}_shapes", kept[of])] for of in kept)
        return unknown_names(self.schema, nodes, edges)

    def every_node(self) -> Iterator[Row]:
        """All nodes of a graph of any kind: the server's number, labels and properties, streamed."""
        with closing(self._read(self._cypher.text("every_node", **self._kept("n")), {})) as rows:
            yield from rows

    def every_edge(self) -> Iterator[Row]:
        """All edges: the server's numbers of head and tail, type and properties, streamed."""
        with closing(self._read(self._cypher.text("every_edge", **self._kept("a", "r", "b")), {})) as rows:
            yield from rows

    def prepare_records(self) -> None:
        self._execute("create_meta_constraint")
        self._make_states(self._database_id() or new_state())

    def prepare(self) -> None:
        numbered = [label.name for label in self.schema.labels if label.key_type != "string"]
        if numbered:
            raise StoreError(
                f"nodes of {', '.join(numbered)} have numbers for keys in this profile, and a load writes texts",
                "load into an embedded store, or with a profile without key_type",
            )
        # Before anything is written: nodes that share an id are refused here.
        for label in self.schema.labels:
            name = quoted(f"kgcheck_{label.name}_id")
            places = label_place(label) | {"name": name, "key": quoted(label.key)}
            self._write(self._cypher.text("create_constraint", **places), {})
        self.prepare_records()
        self._execute("await_indexes")

    def add_nodes(self, label: Label, rows: pa.Table) -> None:
        properties = fields([label.key, *label.properties])
        text = self._cypher.text("create_nodes", **labels_place(label), properties=properties)
        self._write_rows(label, text, ["id", *label.properties], rows)

    def update_nodes(self, label: Label, rows: pa.Table) -> None:
        text = self._cypher.text("update_nodes", **label_place(label), properties=fields(label.properties, 1))
        self._write_rows(label, text, ["id", *label.properties], rows)

    def add_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        properties = fields(pattern.properties, 2)
        text = self._cypher.text("create_edges", **pattern_places(pattern), properties=properties)
        self._write_rows(pattern, text, ["head", "tail", *pattern.properties], rows)

    def remove_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        properties = pattern.properties.items()
        pairs = [(_READ_AS[p.type].format(f"r.{quoted(n)}"), f"row[{i}]") for i, (n, p) in enumerate(properties, 2)]
        text = self._cypher.text("remove_edges", **pattern_places(pattern), same=same_values(pairs))
        self._write_rows(pattern, text, ["head", "tail", *pattern.properties], rows)

    def remove_nodes(self, label: Label, rows: pa.Table) -> None:
        self._write_rows(label, self._cypher.text("remove_nodes", **label_place(label)), ["id"], rows)

    def _has(self, *names: str) -> bool:
        return True

    def _hidden(self, **names: str) -> list[str]:
        return list(names) if self._hides_some() else []

    def _count_nodes(self, labels: Sequence[Label]) -> list[int]:
        hidden = {"where": where(self._hidden(n=""))}
        return self._numbers([self._cypher.text("count_nodes", **label_place(label), **hidden) for label in labels])

    def _count_edges(self, patterns: Sequence[Pattern]) -> list[int]:
        if self._hides_some():
            return super()._count_edges(patterns)
        # What the server keeps counted names one end alone. Where that is the end of all edges of the relation, the
        # other end alone tells those of the pattern; otherwise every edge is looked at.
        sides = [[("", p.type, ""), (p.head, p.type, ""), ("", p.type, p.tail)] for p in patterns]
        distinct = list(dict.fromkeys(side for three in sides for side in three))
        texts = []
        for head, relation, tail in distinct:
            ends = {place: f":{quoted(label)}" if label else "" for place, label in (("head", head), ("tail", tail))}
            texts.append(self._cypher.text("count_side", relation=quoted(relation), **ends))
        known = dict(zip(distinct, self._numbers(texts), strict=True))
        counted = []
        for pattern, three in zip(patterns, sides, strict=True):
            of_all, from_head, to_tail = (known[side] for side in three)
            one_sided = of_all in (from_head, to_tail)
            counted.append(min(from_head, to_tail) if one_sided else super()._count_edges([pattern])[0])
        return counted

    def _numbers(self, statements: Sequence[str]) -> list[int]:
        """Run statements that return one number each, together: to ask takes longer than to answer."""
        together = (statements[at : at + _TOGETHER] for at in range(0, len(statements), _TOGETHER))
        return [int(n) for some in together for (n,) in self._read("\nUNION ALL ".join(some), {})]

    def _kept(self, *variables: str) -> dict[str, str]:
        """Place ``where``: where nothing was ever retired, a statement stays as quick as without a condition."""
        return {"where": where(variables if self._hides_some() else ())}

    def _hides_some(self) -> bool:
        """Return whether anything was ever retired, and is to be left out."""
        # A server never forgets the name of a property: yes is true for good. No is true until somebody retires
        # something: where that is another process, it is seen a moment later; where it is this one, at once.
        if self.with_retired:
            return False
        changes = CypherServerStore._changes
        if not self._hides and (time.monotonic() >= self._known_until or changes != self._known_of):
            self._hides = bool(self._rows("has_property", name=RETIRED))
            self._known_until, self._known_of = time.monotonic() + _KNOWN_S, changes
        return self._hides

    def _note_change(self) -> None:
        """Something may have been retired: every store of this process asks anew."""
        CypherServerStore._changes += 1

    def _leaving_out(self, reading: Reading) -> Reading:
        return reading.leaving_out() if self._hides_some() else reading

    def _write_rows(self, holder: Holder, text: str, columns: list[str], rows: pa.Table) -> None:
        """Write rows in batches of one transaction each, a few under way at a time.

        By the first column: edges of one head that come together cost half the time of scattered ones.
        """

        def write(batch: pa.RecordBatch) -> None:
            payload = [list(row) for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
            written = self._write(text, {"rows": payload})[0][0]
            if written != len(payload):
                raise StoreError(
                    f"the server {self.name} wrote {written} of {len(payload)} rows: nodes have vanished meanwhile",
                    "run the same command again",
                )

        pieces = (rows.slice(start, _SORTED_ROWS) for start in range(0, rows.num_rows, _SORTED_ROWS))
        batches = (b for p in pieces for b in p.select(columns).sort_by(columns[0]).to_batches(self._batch_rows))
        with self.changing([str(holder)]):
            for _ in self._side_by_side(write, batches):
                pass

    def _side_by_side(self, work: Callable[[_T], _R], pieces: Iterable[_T]) -> Generator[_R]:
        """The results of pieces of work, in order; a few are under way at a time, and no more are held."""
        if self._in_flight == 1:
            yield from map(work, pieces)
            return
        with ThreadPoolExecutor(self._in_flight) as pool:
            waiting: deque[Future[_R]] = deque()
            try:
                for piece in pieces:
                    waiting.append(pool.submit(work, piece))
                    if len(waiting) > self._in_flight:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                # After an error, or when the caller stops early.
                for future in waiting:
                    future.cancel()


def shown(value: Any) -> Any:
    """A value of a row; a node or relationship as the map of its properties, a path as the lists of both."""
    if isinstance(value, list):
        return [shown(v) for v in value]
    if hasattr(value, "element_id") or hasattr(value, "identity"):
        return {name: v for name, v in dict(value).items() if name not in MARKS}
    if hasattr(value, "relationships"):
        return {"nodes": shown(list(value.nodes)), "relationships": shown(list(value.relationships))}
    return value


def _pieces(heads: Iterable[Row]) -> Iterator[list[str]]:
    """Heads, given with their number of edges, in lists of about SCAN_ROWS edges."""
    gathered: list[str] = []
    edges = 0
    for head, degree in heads:
        gathered.append(head)
        edges += degree
        if edges >= SCAN_ROWS:
            yield gathered
            gathered, edges = [], 0
    if gathered:
        yield gathered


Column = Sequence[Any]


def typed_table(
    keys: Sequence[Column], properties: Mapping[str, Property], values: Sequence[Column], schema: pa.Schema
) -> pa.Table:
    """Columns of a scan, each value brought to the type that the schema gives it."""
    arrays = [_key(column) for column in keys]
    as_text: list[list[str] | None] | None = None
    for (name, spec), column in zip(properties.items(), values, strict=True):
        kind = schema.field(name).type
        array = _as_it_stands(column, kind)
        if array is None:
            array = pa.array([None if v is None else brought_to(spec.type, v) for v in column], kind)
            if spec.type in ("integer", "number"):
                as_text = as_text or [None] * len(column)
                for i, value in enumerate(column):
                    if isinstance(value, str):
                        as_text[i] = [*(as_text[i] or ()), name]
        arrays.append(array)
    rows = len(keys[0])
    kind = schema.field(AS_TEXT).type
    arrays.append(pa.nulls(rows, kind) if as_text is None else pa.array(as_text, kind))
    return pa.Table.from_arrays(arrays, schema=schema)


def _key(column: Column) -> pa.Array:
    array = _as_it_stands(column, pa.string())
    if array is None:
        array = pa.array([None if v is None else str(v) for v in column], pa.string())
    return array.fill_null(NO_ID)


def _as_it_stands(column: Column, kind: pa.DataType) -> pa.Array | None:
    """The column as Arrow reads it, or None where a value has another type, which takes a closer look."""
    # Arrow would take a text for a list of its letters.
    if pa.types.is_list(kind) and not all(v is None or isinstance(v, list) for v in column):
        return None
    try:
        array = pa.array(column, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(array), array, pa.scalar(None, kind))
    return array
