"""GraphStore overlay with one seeded change of a node or an edge, for one benchmark item.

Nothing is written. Every reading method of `GraphStore` shows the change; a method that cannot (statements that a model
writes) is refused, so that none shows the graph as it was.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Never, Self, cast

import pyarrow as pa
from pydantic import model_validator

from kgcheck.closing import Closing
from kgcheck.errors import StoreError
from kgcheck.graph.store import NO_ID, Counts, Direction, GraphStore, Hop, Properties, StrayEdge, plain
from kgcheck.graph.symmetry import orders
from kgcheck.model import Ref, Triple, Value
from kgcheck.profile.schema import Label, Pattern

Pair = tuple[str, str]


class Seed(Value):
    """A change of the graph that holds for one item.

    ``set_value`` gives a property of a node another value, ``add_edge`` and ``drop_edge`` are of one edge (parallel
    ones go together, and where order means nothing those of the other order), ``move_edge`` lets it end at ``to``,
    and ``rename_node`` gives a node another id, with all its edges.
    """

    kind: Literal["set_value", "add_edge", "drop_edge", "move_edge", "rename_node"]
    ref: Ref | None = None
    attribute: str | None = None
    value: str | None = None
    triple: Triple | None = None
    to: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        wanted = {
            "set_value": (self.ref, self.attribute, self.value),
            "add_edge": (self.triple,),
            "drop_edge": (self.triple,),
            "move_edge": (self.triple, self.to),
            "rename_node": (self.ref, self.to),
        }[self.kind]
        if None in wanted:
            raise ValueError(f"a seed {self.kind} does not say what it changes")
        return self


class _Overlay(Closing):
    """A store that can only be read; what a change does not touch is the store's own."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self.schema, self.backend, self.name = store.schema, store.backend, store.name
        self.with_retired = store.with_retired

    def node(self, ref: Ref) -> Properties | None:
        return self.nodes(self.schema.label(ref.label), [ref.id]).get(ref.id)

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        return self._store.nodes(label, ids)

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        return self._store.scan_nodes(label)

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        """See GraphStore; a seeded edge is never one."""
        return self._store.stray_edges(limit)

    def store_id(self) -> str:
        return self._store.store_id()

    def state(self) -> str | None:
        """See GraphStore; a change of one item is nothing to go on from."""
        return None

    def unknown(self) -> dict[str, int]:
        """See GraphStore; a change is of what the profile describes."""
        return self._store.unknown()

    def query(self, *_: Any, **__: Any) -> Never:
        """Refuse a statement: it would be asked of the graph as it was."""
        raise StoreError("statements are not run on a graph that is changed for one item", "use the other tools")

    def meta(self) -> dict[str, str]:
        return self._store.meta()

    def _refuse(self, *_: Any) -> Never:
        raise StoreError("a graph that is changed for one item cannot be written", "open the store itself")

    set_meta = prepare = changing = add_nodes = update_nodes = add_edges = remove_edges = remove_nodes = _refuse

    def close(self) -> None:
        self._store.close()


class _Changed(_Overlay):
    """One value, or one edge, is another."""

    def __init__(self, store: GraphStore, seed: Seed) -> None:
        super().__init__(store)
        self._seed = seed
        self._dropped: dict[str, set[Pair]] = {}
        self._added: dict[str, list[tuple[Pair, Properties]]] = {}
        if seed.triple is None:
            return
        pattern = self.schema.pattern(seed.triple.head.label, seed.triple.relation, seed.triple.tail.label)
        edges: list[Properties] = [{"source": "seeded"} if "source" in pattern.properties else {}]
        if seed.kind != "add_edge":
            gone = orders(self.schema, seed.triple)
            edges = [edge for triple in gone for edge in store.edges(triple)]
            self._dropped[str(pattern)] = {(t.head.id, t.tail.id) for t in gone}
        if seed.kind != "drop_edge":
            pair = (seed.triple.head.id, seed.to or seed.triple.tail.id)
            self._added[str(pattern)] = [(pair, plain(edge, pattern.properties)) for edge in edges]

    def _value(self, label: str, id_: str, name: str) -> Any:
        """The seeded value of a property, or None where it is the store's."""
        seed = self._seed
        if seed.kind != "set_value" or seed.ref != Ref(label=label, id=id_) or seed.attribute != name:
            return None
        several = self.schema.label(label).properties[name].type == "strings"
        return [seed.value] if several else seed.value

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        stored = self._store.nodes(label, ids)
        name = self._seed.attribute or ""
        return {
            id_: properties | ({name: value} if (value := self._value(label.name, id_, name)) is not None else {})
            for id_, properties in stored.items()
        }

    def edges(self, triple: Triple) -> list[Properties]:
        pattern, pair = _placed(self, triple)
        stored = [] if pair in self._dropped.get(pattern, ()) else self._store.edges(triple)
        return stored + [dict(edge) for at, edge in self._added.get(pattern, ()) if at == pair]

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        dropped, added = self._dropped.get(str(pattern), set()), self._added.get(str(pattern), [])
        found = set(self._store.neighbours(ref, pattern, direction, limit + len(dropped)))
        found -= {_other(pair, direction) for pair in dropped if _near(pair, direction) == ref.id}
        found |= {_other(pair, direction) for pair, _ in added if _near(pair, direction) == ref.id}
        return sorted(found)[:limit]

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        dropped = {(_near(p, direction), _other(p, direction)) for p in self._dropped.get(str(pattern), ())}
        stored = [hop for hop in self._store.hops(ids, pattern, direction) if (hop.start, hop.end) not in dropped]
        wanted = set(ids)
        return stored + [
            Hop(_near(pair, direction), _other(pair, direction), dict(edge))
            for pair, edge in self._added.get(str(pattern), ())
            if _near(pair, direction) in wanted
        ]

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        ref, name = self._seed.ref, self._seed.attribute
        for table in self._store.scan_nodes(label):
            if ref and name and ref.label == label.name and name in table.column_names:
                ids, column = table.column("id").to_pylist(), table.column(name).to_pylist()
                changed = [
                    self._value(label.name, i, name) if i == ref.id else v for i, v in zip(ids, column, strict=True)
                ]
                at = table.column_names.index(name)
                table = table.set_column(at, table.schema.field(at), pa.array(changed, table.schema.field(at).type))
            yield table

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        dropped = self._dropped.get(str(pattern), set())
        added = [
            dict(zip(("head", "tail"), pair, strict=True)) | edge for pair, edge in self._added.get(str(pattern), ())
        ]
        table = None
        for table in self._store.scan_edges(pattern):
            pairs = zip(table.column("head").to_pylist(), table.column("tail").to_pylist(), strict=True)
            yield table.filter(pa.array([pair not in dropped for pair in pairs], pa.bool_())) if dropped else table
        if added and table is not None:
            yield pa.Table.from_pylist(added, schema=table.schema)

    def counts(self) -> Counts:
        counts = self._store.counts()
        edges = dict(counts.edges)
        for pattern, gone in self._dropped.items():
            spec = next(p for p in self.schema.relations if str(p) == pattern)
            ends = [(Ref(label=spec.head, id=head), Ref(label=spec.tail, id=tail)) for head, tail in gone]
            edges[pattern] -= sum(len(self._store.edges(Triple(head=h, relation=spec.type, tail=t))) for h, t in ends)
        for pattern, more in self._added.items():
            edges[pattern] = edges.get(pattern, 0) + len(more)
        return Counts(nodes=counts.nodes, edges=edges)


class _Renamed(_Overlay):
    """One node has another id."""

    def __init__(self, store: GraphStore, seed: Seed) -> None:
        super().__init__(store)
        ref, to = seed.ref, seed.to
        if ref is None or to is None or store.node(Ref(label=ref.label, id=to)) is not None:
            raise StoreError(f"a seed renames {ref} to {to}, which the graph has", "choose another id")
        self._label, self._old, self._new = ref.label, ref.id, to

    def _was(self, label: str, id_: str) -> str:
        """The id in the store; for the one that is no more, one that it does not have."""
        if label != self._label or id_ not in (self._old, self._new):
            return id_
        return self._old if id_ == self._new else NO_ID + self._old

    def _now(self, label: str, id_: str) -> str:
        return self._new if (label, id_) == (self._label, self._old) else id_

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        stored = self._store.nodes(label, [self._was(label.name, i) for i in ids])
        return {(now := self._now(label.name, i)): properties | {"id": now} for i, properties in stored.items()}

    def _sorted(self, label: str, ids: Iterable[str]) -> list[str]:
        return sorted(self._now(label, i) for i in ids)

    def edges(self, triple: Triple) -> list[Properties]:
        head, tail = (Ref(label=end.label, id=self._was(end.label, end.id)) for end in (triple.head, triple.tail))
        return self._store.edges(Triple(head=head, relation=triple.relation, tail=tail))

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        former = Ref(label=ref.label, id=self._was(ref.label, ref.id))
        there = pattern.tail if direction == "out" else pattern.head
        found = self._store.neighbours(former, pattern, direction, limit + 1)
        if there == self._label and self._old not in found and len(found) > limit:
            ends = {hop.end for hop in self._store.hops([former.id], pattern, direction)}
            found = [*found, *({self._old} & ends)]
        return self._sorted(there, found)[:limit]

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        here, there = (pattern.head, pattern.tail) if direction == "out" else (pattern.tail, pattern.head)
        stored = self._store.hops([self._was(here, i) for i in ids], pattern, direction)
        return [Hop(self._now(here, h.start), self._now(there, h.end), h.properties) for h in stored]

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        for table in self._store.scan_nodes(label):
            yield self._with_ids(table, "id", label.name)

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        for table in self._store.scan_edges(pattern):
            yield self._with_ids(self._with_ids(table, "head", pattern.head), "tail", pattern.tail)

    def _with_ids(self, table: pa.Table, column: str, label: str) -> pa.Table:
        if label != self._label:
            return table
        at = table.column_names.index(column)
        ids = pa.array([self._now(label, i) for i in table.column(column).to_pylist()], pa.string())
        return table.set_column(at, table.schema.field(at), ids)

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        return [
            edge.model_copy(
                update={
                    "head_id": self._now(edge.head_label, edge.head_id),
                    "tail_id": self._now(edge.tail_label, edge.tail_id),
                }
            )
            for edge in self._store.stray_edges(limit)
        ]

    def counts(self) -> Counts:
        return self._store.counts()


def seeded(store: GraphStore, seed: Seed | None) -> GraphStore:
    """The store as an item sees it."""
    if seed is None:
        return store
    return cast(GraphStore, _Renamed(store, seed) if seed.kind == "rename_node" else _Changed(store, seed))


def _placed(store: _Overlay, triple: Triple) -> tuple[str, Pair]:
    pattern = store.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
    return str(pattern), (triple.head.id, triple.tail.id)


def _near(pair: Pair, direction: Direction) -> str:
    return pair[0] if direction == "out" else pair[1]


def _other(pair: Pair, direction: Direction) -> str:
    return pair[1] if direction == "out" else pair[0]
