"""Read and change single nodes and edges in one transaction, on either kind of store; digests.

`kgcheck.graph.store` reads what a profile describes, and leaves out what is retired; here stands all that a store has
of one node or edge, the marks of curation included. Statements are those of the catalogue.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError

from kgcheck.graph.marks import CHANGED, CHANGED_AT, CHANGED_BY, RETIRED, RETIRED_AT
from kgcheck.graph.queries import Catalogue, label_place, labels_place, pattern_places, quoted
from kgcheck.graph.store import STATE, Properties, new_state
from kgcheck.model import Ref, Triple
from kgcheck.profile.schema import KEY, Pattern, Schema

Run = Callable[[str, dict[str, Any]], Iterable[Sequence[Any]]]
"""Sends a statement with its parameters, and gives its rows."""


class NotAsExpected(Exception):
    """A node or an edge is not such that a change fits it; nothing was written."""


class NodeState(NamedTuple):
    """All that a store has of a node: its properties but for the key, without nulls, and its further labels."""

    ref: Ref
    properties: Properties
    also: tuple[str, ...] = ()

    @property
    def retired(self) -> bool:
        return RETIRED in self.properties


class EdgeState(NamedTuple):
    """All that a store has of an edge. The key names it until the transaction ends."""

    triple: Triple
    properties: Properties
    key: str = ""

    @property
    def retired(self) -> bool:
        return RETIRED in self.properties


class ChangedStore(Protocol):
    """A store whose nodes and edges are changed one by one."""

    schema: Schema
    backend: str
    name: str

    def prepare_records(self) -> None:
        """Make ready for what is written down beside the graph."""

    def statements(self, *, write: bool) -> AbstractContextManager[Run]:
        """Open a sender of statements; writes are one transaction, undone if the block ends with an error."""


class Editable(Protocol):
    """Nodes and edges that are read whole and changed one by one."""

    schema: Schema

    def node(self, ref: Ref) -> NodeState | None:
        """A node, retired or not; NotAsExpected where several share the id."""

    def edges(self, triple: Triple) -> list[EdgeState]:
        """Every parallel edge that states the triple, retired or not."""

    def edges_of(self, ref: Ref) -> list[EdgeState]:
        """Every edge that begins or ends at a node; NotAsExpected where one is of a kind that no profile describes."""

    def set_node(self, ref: Ref, values: Properties) -> None:
        """Set some properties of a node; None takes one away."""

    def set_edge(self, edge: EdgeState, values: Properties) -> None:
        """Set some properties of an edge; None takes one away."""

    def add_node(self, node: NodeState) -> None:
        """Make a node."""

    def add_edge(self, triple: Triple, properties: Properties) -> None:
        """Make an edge."""

    def drop_node(self, ref: Ref) -> None:
        """Take a node away that has no edge."""

    def drop_edge(self, edge: EdgeState) -> None:
        """Take an edge away."""


def digest(properties: Mapping[str, Any], *, seen: bool = False) -> str:
    """32 hexadecimal digits of the properties of a node or an edge.

    >>> digest({"a": 1, "b": None}) == digest({"a": 1}), digest({"a": 1}) == digest({"a": 1.0})
    (True, False)
    """
    left_out = (CHANGED, CHANGED_AT, CHANGED_BY, RETIRED_AT) if seen else ()
    values = {k: v for k, v in properties.items() if v is not None and k not in left_out}
    text = json.dumps(values, sort_keys=True, default=lambda v: {type(v).__name__: str(v)})
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class StoreChanges:
    """The nodes and edges of a store, over what sends its statements."""

    def __init__(self, store: ChangedStore, run: Run) -> None:
        self.schema = store.schema
        self._name = store.name
        self._on_server = store.backend != "embedded"
        self._cypher = Catalogue("neo4j", self.schema.labels) if self._on_server else Catalogue("embedded")
        self._run = run
        self._changed: set[str] = set()
        self._locks = False

    def node(self, ref: Ref) -> NodeState | None:
        label = self.schema.label(ref.label)
        rows = self._rows("whole_node", label_place(label), id=ref.id)
        if len(rows) > 1:
            raise NotAsExpected(f"{len(rows)} nodes are {ref}")
        for node, labels in rows:
            own = label.key if self._on_server else KEY
            return NodeState(ref, _properties(node, own), tuple(sorted(set(labels) - {ref.label})))
        return None

    def edges(self, triple: Triple) -> list[EdgeState]:
        places = pattern_places(self.schema.pattern(triple.head.label, triple.relation, triple.tail.label))
        ends = {"head_id": triple.head.id, "tail_id": triple.tail.id}
        if self._locks:
            self._rows("update_lock_between", places, **ends)
        rows = self._rows("whole_edges", places, **ends)
        return [EdgeState(triple, _properties(edge), str(key)) for edge, key in rows]

    def edges_of(self, ref: Ref) -> list[EdgeState]:
        found: dict[tuple[str, str], EdgeState] = {}
        label = self.schema.label(ref.label)
        if self._locks:
            self._rows("update_lock_edges", label_place(label), id=ref.id)
        for side in ("out", "in"):
            degrees = {r: int(n) for r, n in self._rows(f"degrees_{side}", label_place(label), id=ref.id)}
            mine = 0
            for pattern in self.schema.relations:
                # A statement only for what is there: most nodes have edges of few of the relations.
                if pattern.type not in degrees or ref.label != (pattern.head if side == "out" else pattern.tail):
                    continue
                for other, edge, key in self._rows(f"whole_edges_{side}", pattern_places(pattern), id=ref.id):
                    triple = _triple(ref, pattern, other, outwards=side == "out")
                    mine += 1
                    found[str(pattern), str(key)] = EdgeState(triple, _properties(edge), str(key))
            if sum(degrees.values()) != mine:
                raise NotAsExpected(f"{ref} has edges of a kind that the profile does not describe")
        return list(found.values())

    def set_node(self, ref: Ref, values: Properties) -> None:
        self._changed.add(ref.label)
        self._write("update_one_node", label_place(self.schema.label(ref.label)), "n", values, {"id": ref.id})

    def set_edge(self, edge: EdgeState, values: Properties) -> None:
        self._write("update_one_edge", self._changing(edge.triple), "r", values, self._edge(edge))

    def add_node(self, node: NodeState) -> None:
        label = self.schema.label(node.ref.label)
        if not set(node.also) <= set(label.also):
            raise NotAsExpected(f"{node.ref} has a label that the profile does not describe")
        if self._on_server and label.key_type == "integer" and str(_number(node.ref.id)) != node.ref.id:
            raise NotAsExpected(f"{node.ref}: keys of {label.name} are whole numbers there")
        place = labels_place(label.model_copy(update={"also": node.also}))
        self._changed.add(label.name)
        self._write("create_one_node", place, "n", node.properties, {"id": node.ref.id})

    def add_edge(self, triple: Triple, properties: Properties) -> None:
        ends = {"head_id": triple.head.id, "tail_id": triple.tail.id}
        self._write("create_one_edge", self._changing(triple), "r", properties, ends)

    def drop_node(self, ref: Ref) -> None:
        self._changed.add(ref.label)
        self._done(self._rows("remove_one_node", label_place(self.schema.label(ref.label)), id=ref.id))

    def drop_edge(self, edge: EdgeState) -> None:
        self._done(self._rows("remove_one_edge", self._changing(edge.triple), **self._edge(edge)))

    # What kgcheck writes down beside the graph

    def record(self, key: str) -> str | None:
        return next((value for (value,) in self._rows("record_get", {}, key=key)), None)

    def records(self, prefix: str) -> list[str]:
        return [key for (key,) in self._rows("record_keys", {}, prefix=prefix)]

    def set_record(self, key: str, value: str) -> None:
        """Write something down; on a server, others who write under the key wait until the transaction ends."""
        self._rows("meta_set", {}, key=key, value=value)

    def drop_record(self, key: str) -> None:
        self._rows("remove_record", {}, key=key)

    def renew_states(self) -> None:
        """Put what was changed in a fresh state: the last that a transaction does."""
        # On a server the next who does so waits until this transaction ends, and holds by then all that it will.
        if self._changed:
            keys = [STATE + name for name in sorted(self._changed)]
            self._rows("set_state", {}, keys=keys, value=new_state())

    def lock(self, refs: Iterable[Ref]) -> None:
        """Keep others on a server from changing nodes, and edges that are read from here on, in this transaction."""
        if not self._on_server:
            return
        self._locks = True
        # In one order for all, so that two who lock do not wait for each other.
        for ref in sorted(set(refs), key=lambda r: (r.label, r.id)):
            label = self.schema.label(ref.label)
            self._rows("update_lock", label_place(label) | {"key": quoted(label.key)}, id=ref.id)

    def _changing(self, triple: Triple) -> dict[str, str]:
        """The places of the pattern of a triple, an edge of which is changed."""
        pattern = self.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        self._changed.add(str(pattern))
        return pattern_places(pattern)

    def _edge(self, edge: EdgeState) -> dict[str, Any]:
        key = edge.key if self._on_server else int(edge.key)
        return {"head_id": edge.triple.head.id, "tail_id": edge.triple.tail.id, "key": key}

    def _write(
        self, statement: str, places: dict[str, str], variable: str, values: Properties, more: dict[str, Any]
    ) -> None:
        """Send a statement that sets properties: as one map on a server, one by one where columns have types."""
        if self._on_server:
            self._done(self._rows(statement, places, values=values, **more))
            return
        numbered = {f"value{i}": value for i, value in enumerate(values.values())}
        setting = statement in ("update_one_node", "update_one_edge")
        sign, prefix = ("=", f"{variable}.") if setting else (":", "")
        pairs = [f"{prefix}{quoted(name)} {sign} ${value}" for name, value in zip(values, numbered, strict=True)]
        if statement == "create_one_node":
            pairs.insert(0, "id: $id")
        self._done(self._rows(statement, places | {"values": ", ".join(pairs)}, **numbered, **more))

    def _rows(self, statement: str, places: dict[str, str], **parameters: Any) -> list[Sequence[Any]]:
        return list(self._run(self._cypher.text(statement, **places), parameters))

    def _done(self, rows: list[Sequence[Any]]) -> None:
        if [int(n) for (n,) in rows] != [1]:
            raise NotAsExpected(f"{self._name} has changed meanwhile")


def _properties(value: Mapping[str, Any], key: str = KEY) -> Properties:
    # The embedded store puts what is its own under names with a line before them.
    own = ("_ID", "_LABEL", "_SRC", "_DST")
    return {k: v for k, v in dict(value).items() if v is not None and k != key and k not in own}


def _number(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 19 else None


def _triple(ref: Ref, pattern: Pattern, other: Any, *, outwards: bool) -> Triple:
    if not isinstance(other, str):
        raise NotAsExpected(f"{ref} has an edge to a node whose id is no text")
    try:
        end = Ref(label=pattern.tail if outwards else pattern.head, id=other)
    except ValidationError:
        raise NotAsExpected(f"{ref} has an edge to a node whose id cannot be named") from None
    head, tail = (ref, end) if outwards else (end, ref)
    return Triple(head=head, relation=pattern.type, tail=tail)
