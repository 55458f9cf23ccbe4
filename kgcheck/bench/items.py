"""Items of the KGCheck benchmark: file reader, labels, truth, and the request to the agent team.

``support`` means that the graph's own record agrees with the outside world: the edge is there and confirmed, or it is
not there and not found (BioKGBench, table 15). A seeded item changes the graph for itself alone: every reading method
of a store shows the change, nothing is written, and a method that cannot show it (a model's statements) is refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Never, Self, cast

import pyarrow as pa
from pydantic import AliasChoices, Field, ValidationError, model_validator

from kgcheck.agents.request import Request, TaskType, parse_request, resolve_request
from kgcheck.bench.kgqa import read_rows
from kgcheck.closing import Closing
from kgcheck.errors import InputFormat, KgcheckError, StoreError, UsageError
from kgcheck.graph.store import NO_ID, Counts, Direction, GraphStore, Hop, Properties, StrayEdge, plain
from kgcheck.graph.symmetry import edges_stating, orders
from kgcheck.model import CheckType, GraphState, Outcome, Ref, TallyMark, Triple, Value
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.questions.resolver import NameResolver

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


class _SeededStore(Closing):
    def __init__(self, store: GraphStore, seed: Seed) -> None:
        self._store, self._seed = store, seed
        self.schema, self.backend, self.name = store.schema, store.backend, store.name
        self.with_retired = store.with_retired
        self._renames = seed.kind == "rename_node"
        self._changed, self._dropped, self._added = "", set[Pair](), list[tuple[Pair, Properties]]()
        self._more_edges = 0
        if self._renames and seed.ref and store.node(Ref(label=seed.ref.label, id=seed.to or "")) is not None:
            raise StoreError(f"a seed renames {seed.ref} to {seed.to}, which the graph has", "choose another id")
        if seed.triple is None:
            return
        pattern = self.schema.pattern(seed.triple.head.label, seed.triple.relation, seed.triple.tail.label)
        edges: list[Properties] = [{"source": "seeded"} if "source" in pattern.properties else {}]
        self._changed = str(pattern)
        if seed.kind != "add_edge":
            gone = orders(self.schema, seed.triple)
            edges = [edge for triple in gone for edge in store.edges(triple)]
            self._dropped = {(t.head.id, t.tail.id) for t in gone}
            self._more_edges -= len(edges)
        if seed.kind != "drop_edge":
            pair = (seed.triple.head.id, seed.to or seed.triple.tail.id)
            self._added = [(pair, plain(edge, pattern.properties)) for edge in edges]
            self._more_edges += len(edges)

    def _now(self, label: str, id_: str) -> str:
        """The id of a node of the store in the changed graph."""
        return self._seed.to or "" if self._renames and self._seed.ref == Ref(label=label, id=id_) else id_

    def _was(self, label: str, id_: str) -> str:
        """The id in the store; for the one that is no more, one that it does not have."""
        ref = self._seed.ref
        if not self._renames or ref is None or ref.label != label or id_ not in (ref.id, self._seed.to):
            return id_
        return ref.id if id_ == self._seed.to else NO_ID + ref.id

    def _value(self, label: Label) -> Any:
        """The seeded value of a property of a node of a label; None where there is none."""
        seed = self._seed
        if seed.kind != "set_value" or not seed.ref or seed.ref.label != label.name:
            return None
        return [seed.value] if label.properties[seed.attribute or ""].type == "strings" else seed.value

    def node(self, ref: Ref) -> Properties | None:
        return self.nodes(self.schema.label(ref.label), [ref.id]).get(ref.id)

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        stored = self._store.nodes(label, [self._was(label.name, i) for i in ids])
        found = {(now := self._now(label.name, i)): properties | {"id": now} for i, properties in stored.items()}
        if (value := self._value(label)) is not None and self._seed.ref and self._seed.ref.id in found:
            found[self._seed.ref.id][self._seed.attribute or ""] = value
        return found

    def edges(self, triple: Triple) -> list[Properties]:
        pattern = self.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        return [hop.properties for hop in self.hops([triple.head.id], pattern, "out") if hop.end == triple.tail.id]

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        return sorted({hop.end for hop in self.hops([ref.id], pattern, direction)})[:limit]

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        here, there = (pattern.head, pattern.tail) if direction == "out" else (pattern.tail, pattern.head)
        stored = self._store.hops([self._was(here, i) for i in ids], pattern, direction)
        hops = [Hop(self._now(here, h.start), self._now(there, h.end), h.properties) for h in stored]
        if str(pattern) != self._changed:
            return hops
        kept = [h for h in hops if ((h.start, h.end) if direction == "out" else (h.end, h.start)) not in self._dropped]
        ends = [(pair if direction == "out" else pair[::-1], edge) for pair, edge in self._added]
        added = [Hop(start, end, dict(edge)) for (start, end), edge in ends]
        return kept + [hop for hop in added if hop.start in ids]

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        name, value = self._seed.attribute or "", self._value(label)
        for table in self._store.scan_nodes(label):
            ids = table.column("id").to_pylist()
            if value is not None and self._seed.ref:
                values = zip(ids, table.column(name).to_pylist(), strict=True)
                table = _replaced(table, name, [value if i == self._seed.ref.id else v for i, v in values])
            yield _replaced(table, "id", [self._now(label.name, i) for i in ids]) if self._renames else table

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        table = None
        for table in self._store.scan_edges(pattern):
            heads, tails = table.column("head").to_pylist(), table.column("tail").to_pylist()
            if self._renames:
                table = _replaced(table, "head", [self._now(pattern.head, i) for i in heads])
                table = _replaced(table, "tail", [self._now(pattern.tail, i) for i in tails])
            if str(pattern) == self._changed:
                kept = [pair not in self._dropped for pair in zip(heads, tails, strict=True)]
                table = table.filter(pa.array(kept, pa.bool_()))
            yield table
        if self._added and str(pattern) == self._changed and table is not None:
            rows = [{"head": head, "tail": tail} | edge for (head, tail), edge in self._added]
            yield pa.Table.from_pylist(rows, schema=table.schema)

    def counts(self) -> Counts:
        counts = self._store.counts()
        more = {self._changed: counts.edges.get(self._changed, 0) + self._more_edges} if self._changed else {}
        return Counts(nodes=counts.nodes, edges=dict(counts.edges) | more)

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        """See GraphStore; a seeded edge is never one."""
        return [
            edge.model_copy(
                update={
                    "head_id": self._now(edge.head_label, edge.head_id),
                    "tail_id": self._now(edge.tail_label, edge.tail_id),
                }
            )
            for edge in self._store.stray_edges(limit)
        ]

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


def seeded(store: GraphStore, seed: Seed | None) -> GraphStore:
    """The store as an item sees it."""
    return store if seed is None else cast(GraphStore, _SeededStore(store, seed))


def _replaced(table: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


BenchLabel = Literal["support", "refute"]


def label_of(kind: CheckType, outcome: Outcome) -> BenchLabel | None:
    """Return a verdict in the words of the benchmark, about the graph; None where it cannot tell."""
    match TallyMark.of(kind, outcome).graph:
        case GraphState.AGREES | GraphState.RIGHTLY_ABSENT:
            return "support"
        case GraphState.HAS_IT_WRONGLY | GraphState.LACKS_IT:
            return "refute"
    return None


class Truth(Value):
    """Right answer and its reason; made without the verdict function."""

    source: str = ""
    record: str = ""
    reason: str = ""
    origin: Literal["real", "seeded", "given"] = "given"
    error: str = Field(default="", description="the error put into the graph, by name")
    truth_from: str = Field(
        default="",
        # As the key was called in version 0.1.
        validation_alias=AliasChoices("truth_from", "told_by"),
        description="where the truth is from: a snapshot, or a file of labelled items",
    )


class Item(Value):
    """One thing to check."""

    id: str
    type: TaskType
    instruction: str = ""
    check: tuple[str, ...] = Field(default=(), description="words as kgcheck check takes them")
    label: BenchLabel
    seed: Seed | None = None
    truth: Truth = Truth()


_MARKS = "\"'`\u2018\u2019\u201c\u201d"
"""Quotes that published instructions carry."""

_QUOTED = f"[{_MARKS}]*"
_NODE = re.compile(
    rf"type\s+{_QUOTED}(\w+){_QUOTED}\s*+(?:,\s*+)?(?:with|and)\s+(?:the\s+)?id\s+{_QUOTED}([^\s{_MARKS}]+)"
)
_ATTRIBUTE = re.compile(rf"\b(\w++){_QUOTED}\s+attribute", re.IGNORECASE)
_RELATION = re.compile(r"\b([A-Z]+(?:_[A-Z]+)+)\b")


def read_items(path: Path, schema: Schema) -> list[Item]:
    """Read a file of items: a JSON list or JSON lines.

    An item needs ``label`` and one of ``check`` and ``instruction``; a missing ``id`` is a hash of the item, a missing
    ``type`` is read off the check.
    """
    found: dict[str, Item] = {}
    for number, row in enumerate(read_rows(path), 1):
        try:
            item = _item(row, schema)
        except (ValidationError, KgcheckError) as error:
            why = error.message if isinstance(error, KgcheckError) else str(error.errors()[0]["msg"])
            raise InputFormat(f"{path}, item {number}: {why}", "see docs/agents.md") from error
        found.setdefault(item.id, item)
    return list(found.values())


def _item(row: Mapping[str, Any], schema: Schema) -> Item:
    filled = dict(row)
    if not filled.get("check") and not filled.get("instruction"):
        raise UsageError("an item needs a check or an instruction", "see docs/howto_batches.md")
    key = f"{filled.get('instruction')}|{filled.get('check')}|{filled.get('seed')}"
    filled.setdefault("id", sha256(key.encode()).hexdigest()[:12])
    if "type" not in filled:
        filled["type"] = request_of(Item.model_validate(filled | {"type": TaskType.RELATION}), schema).task_type
    return Item.model_validate(filled)


def request_of(item: Item, schema: Schema, store: GraphStore | None = None) -> Request:
    """Request of an item to the team."""
    if item.check:
        return resolve_request(item.check, NameResolver(schema, store)) if store else parse_request(item.check, schema)
    nodes = _NODE.findall(item.instruction)
    attribute = _ATTRIBUTE.search(item.instruction)
    match nodes:
        case [(label, id_)] if attribute:
            return parse_request(("attribute", label, id_.rstrip(".,;"), attribute[1]), schema)
        case [(label, id_)]:
            return parse_request(("existence", label, id_.rstrip(".,;")), schema)
        case [(head, head_id), (tail, tail_id)]:
            ends = Ref(label=head, id=head_id.rstrip(".,;")), Ref(label=tail, id=tail_id.rstrip(".,;"))
            pattern = _meant(item.instruction, *ends, schema, store)
            return parse_request((ends[0].id, pattern.type, ends[1].id), schema).model_copy(
                update={"patterns": (pattern,)}
            )
    raise UsageError("the instruction does not name nodes by type and id", "give the item a check")


def _meant(text: str, head: Ref, tail: Ref, schema: Schema, store: GraphStore | None) -> Pattern:
    """The relation that an instruction names, else one that the graph has between the nodes, else the first."""
    schema.label(head.label), schema.label(tail.label)
    patterns = [p for p in schema.relations if (p.head, p.tail) == (head.label, tail.label)]
    if not patterns:
        raise UsageError(
            f"no relation joins {head.label} and {tail.label}", "name nodes of labels that the profile joins"
        )
    mentioned = set(_RELATION.findall(text))
    named = [p for p in patterns if p.type in mentioned]
    if named:
        return named[0]
    there = [p for p in patterns if store and edges_stating(store, Triple(head=head, relation=p.type, tail=tail))]
    # Where both are there, the instruction of the benchmark wants the curated one checked.
    return max(there, key=lambda p: p.type.startswith("CURATED")) if there else patterns[0]
