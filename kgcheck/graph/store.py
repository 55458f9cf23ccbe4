"""Graph store protocols, value types and Arrow schemas; shared reading of values, checks of meta."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable
from uuid import uuid4

import pyarrow as pa
from pydantic import Field

from kgcheck.errors import BudgetExceeded, StoreError, StoreSchema
from kgcheck.model import Ref, Triple, Value
from kgcheck.profile.schema import Label, Pattern, Property, PropertyType, Schema

Properties = dict[str, Any]
Direction = Literal["out", "in"]

NO_ID = "(no id)"
"""Stands for the key of a node that has none, so that the structure check can report it."""

AS_TEXT = "as_text"
"""Extra column of a scan: names of the numeric properties that the store holds as text."""

META_LABEL = "KgcheckStore"
"""Label or table of what a store says about itself."""

LOAD, UNDER_WAY, DONE = "load", "under way", "done"
"""Key and values of what a store says about its last load."""

FORMAT, STORE_FORMAT = "format", 1
"""Key and value of the form in which a store holds a graph; one that does not say is of the first."""

STORE_ID = "store_id"
"""Key of the name that a store keeps wherever it is copied or moved to."""

STATE = "state "
"""Prefix of keys for the state of a label or pattern: a fresh id after each change, empty meanwhile.

Fresh ids and no counter, which would be equal in two copies of a store that were changed apart.
"""

_ARROW: dict[PropertyType, pa.DataType] = {
    "string": pa.string(),
    "strings": pa.list_(pa.string()),
    "integer": pa.int64(),
    "number": pa.float64(),
}


class Counts(Value):
    """Nodes by label and edges by pattern (``Protein ACTS_ON Protein``); parallel edges count each."""

    nodes: dict[str, int] = Field(default_factory=dict)
    edges: dict[str, int] = Field(default_factory=dict)

    @property
    def total_nodes(self) -> int:
        return sum(self.nodes.values())

    @property
    def total_edges(self) -> int:
        return sum(self.edges.values())


class StrayEdge(Value):
    """An edge of a known relation type between labels that no pattern of the schema joins."""

    head_label: str = Field(description="a known label if the node has one; empty if it has none at all")
    head_id: str
    relation: str
    tail_label: str
    tail_id: str


MOST_HOPS = 500_000
"""Edges that may be taken at once; each takes about a kilobyte."""


class Hop(NamedTuple):
    """One edge taken from a node: where from, where to, and the properties of the edge."""

    start: str
    end: str
    properties: Properties


SUBSET = (
    "one statement of MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP and LIMIT over the labels,"
    " relations and properties of the schema; one label a node; CASE, IN, STARTS WITH, ENDS WITH, CONTAINS, IS NULL;"
    " no parameters, subqueries, UNION or procedures"
)
"""Cypher that `kgcheck.graph.reading` accepts, in words for who writes statements."""


class Reading(NamedTuple):
    """A statement that only reads, as it is sent; `kgcheck.graph.reading.read_statement` alone makes one.

    Attributes:
        text: Cypher made of keywords, signs, numbers, quoted names and parameters.
        parameters: The texts of the statement, by the names of the parameters.
        columns: A name for each column of a row.
        labels: Labels that the statement names.
        invents: Its rows hold what its writer put in, and not only what it reads (`kgcheck.graph.bounds`).
        limited: SKIP or LIMIT stands in it, so that how many rows there are is the writer's.
        kept: The same without what is retired, for a store that holds such.
        longest_list: Elements that a list of its rows may have, where the backend is a server.
    """

    text: str
    parameters: dict[str, str]
    columns: tuple[str, ...]
    labels: frozenset[str] = frozenset()
    invents: bool = True
    limited: bool = True
    kept: str = ""
    longest_list: int | None = None

    def leaving_out(self) -> "Reading":
        return self._replace(text=self.kept or self.text)


class LoadTarget(Protocol):
    """Target of a load of a graph. Writes are bulk.

    Every method may raise StoreUnavailable when the store stops answering.
    """

    schema: Schema
    backend: str
    name: str
    with_retired: bool
    """Switch to read what is retired as if it were not; a load looks at both."""

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        """All nodes of a label: columns id, one a property of the schema, and AS_TEXT."""

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        """All edges of a pattern: columns head, tail, one a property of the schema, and AS_TEXT."""

    def counts(self) -> Counts:
        """Count what the store holds of the profile's graph."""

    def meta(self) -> dict[str, str]:
        """Return what kgcheck wrote down about the store; empty for a graph that it did not load."""

    def set_meta(self, key: str, value: str) -> None:
        """Write down one thing about the store."""

    def prepare(self) -> None:
        """Create the tables or constraints of the schema, where missing; a store without an id gets one."""

    def changing(self, names: Iterable[str]) -> AbstractContextManager[None]:
        """While labels and patterns are written to, they are in no state; afterwards, in a fresh one."""

    def add_nodes(self, label: Label, rows: pa.Table) -> None:
        """Add nodes known to be new; columns as `scan_nodes` without AS_TEXT."""

    def update_nodes(self, label: Label, rows: pa.Table) -> None:
        """Set the properties of nodes known to exist."""

    def add_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        """Add edges known to be new, whose ends exist; columns as `scan_edges` without AS_TEXT."""

    def remove_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        """Take away edges known to exist; columns as `add_edges`. Those that state the same go together."""

    def remove_nodes(self, label: Label, rows: pa.Table) -> None:
        """Take away nodes known to exist and to have no edges; of the columns, only id counts."""


class GraphStore(LoadTarget, Protocol):
    """A graph of one profile. All reads are portable; writes are bulk.

    Reads leave out what is retired (`kgcheck.graph.marks`), and the edges of a retired node, unless the store was
    opened to show them. Every method may raise StoreUnavailable when the store stops answering.
    """

    def node(self, ref: Ref) -> Properties | None:
        """Properties of a node, its key included; None if there is no such node."""

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        """Those of the nodes that exist, by id."""

    def edges(self, triple: Triple) -> list[Properties]:
        """Properties of every parallel edge that states the triple."""

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        """Ids at the other end of a pattern, in order, at most `limit`."""

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        """Every edge of a pattern that leaves (``out``) or reaches (``in``) one of the nodes.

        Raises:
            BudgetExceeded: There are more than MOST_HOPS.
        """

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        """At most `limit` rows of a statement from outside, as `read_statement` wrote it anew for this backend."""

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        """Edges of a known relation type whose end labels fit no pattern, in order, at most `limit`."""

    def store_id(self) -> str:
        """The store's own name, wherever it lies; of one without, its database's own id, or else its place."""

    def state(self) -> str | None:
        """The graph as it is now, as JSON by label and pattern: another text after any change. None if unknown.

        On a server, whoever makes the change; an embedded store knows of those that kgcheck makes.
        """

    def unknown(self) -> dict[str, int]:
        """Count what the graph holds that the profile does not describe; see `kgcheck.graph.reads.unknown_names`."""

    def close(self) -> None:
        """Give up connections and locks."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class PlacedStore(Protocol):
    """A store in which every node has a place by number, so that edges are read without the ids of their ends."""

    def scan_places(self, label: Label) -> pa.Table:
        """All nodes of a label, what is retired too: columns place and id."""

    def scan_pairs(self, pattern: Pattern) -> pa.Table:
        """The ends of all edges of a pattern, each by its place: a column number, whose upper half is the head."""


class StatedElement(NamedTuple):
    """A node, or an edge, as a graph states it, with the file and the line where they are known.

    Of a node that no file lists, ``place`` is that of an edge which ends there, and ``is_listed`` is false.
    """

    head: Ref
    relation: str | None
    tail: Ref | None
    properties: Properties
    place: str = ""
    is_listed: bool = True


OWNERS = ("primary_knowledge_source", "aggregator_knowledge_source", "source", "provided_by")
"""Properties that say whose an edge is, the first that is stated."""


Ends = tuple[str, str, str]
"""Head, relation and tail of an edge."""


@runtime_checkable
class StatingStore(Protocol):
    """A graph that knows what its owner stated, by the names that stand in the files."""

    def parts(self) -> dict[str, int]:
        """Count edges by source and ids by namespace, where these are few: ``source X``, ``namespace X``."""

    def stated_nodes(self, ids: Sequence[str]) -> dict[str, list[StatedElement]]:
        """The nodes of some ids, also those of which there is nothing but edges."""

    def stated_edges(self, edges: Sequence[Ends]) -> dict[Ends, list[StatedElement]]:
        """The edges of some heads, relations and tails, by these three as they were given."""


def node_schema(label: Label) -> pa.Schema:
    """Arrow schema of the nodes of a label, without AS_TEXT."""
    return pa.schema([("id", pa.string()), *((n, _ARROW[p.type]) for n, p in label.properties.items())])


def edge_schema(pattern: Pattern) -> pa.Schema:
    """Arrow schema of the edges of a pattern, without AS_TEXT."""
    ends = [("head", pa.string()), ("tail", pa.string())]
    return pa.schema([*ends, *((n, _ARROW[p.type]) for n, p in pattern.properties.items())])


def with_as_text(schema: pa.Schema) -> pa.Schema:
    """The schema of a scan: AS_TEXT appended."""
    return schema.append(pa.field(AS_TEXT, pa.list_(pa.string())))


def plain(value: Mapping[str, Any], properties: Mapping[str, Property]) -> Properties:
    """The known properties of a node or edge of a driver, each of its type where it can be brought to it."""
    present = {name: value[name] for name in properties if value.get(name) is not None}
    return {n: v if (typed := brought_to(properties[n].type, v)) is None else typed for n, v in present.items()}


def read_hops(rows: Iterable[Sequence[Any]], pattern: Pattern) -> list[Hop]:
    """The rows of the statements ``hops_out`` and ``hops_in``, which are asked for one more than may be taken."""
    hops = []
    for start, end, *values in rows:
        present = dict(zip(pattern.properties, values, strict=True))
        known = plain(present, pattern.properties)
        hops.append(Hop(str(start), NO_ID if end is None else str(end), known))
    if len(hops) > MOST_HOPS:
        raise BudgetExceeded(f"a step takes more than {MOST_HOPS:,} edges ({pattern})", "ask about fewer nodes")
    return hops


def one_of_each(nodes: Iterable[Properties]) -> dict[str, Properties]:
    """Nodes by id. Of nodes that share one, each property has the smallest value that is stated, as in an audit."""
    # No load makes such nodes, but a server without the constraint may hold them.
    found: dict[str, Properties] = {}
    for node in nodes:
        present = found.setdefault(node["id"], node)
        if present is not node:
            for name, value in node.items():
                stated = [v for v in (value, present.get(name)) if v is not None]
                # A value that could not be brought to its type may stand beside one that could.
                present[name] = min(stated, key=lambda v: (type(v).__name__, v), default=None)
    return found


def brought_to(kind: PropertyType, value: Any) -> Any:
    """A value of a store that has no types, as the schema wants it; None where it is no number."""
    match kind:
        case "strings":
            return [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
        case "string":
            return value if isinstance(value, str) else str(value)
        case "integer":
            return _whole(value)
        case _:
            return _number(value)


def _number(value: Any) -> float | None:
    # Python alone would also take the text 1_000.
    if isinstance(value, str) and "_" in value:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(value: Any) -> int | None:
    try:
        # Not by way of a float, which holds 53 bits.
        whole = int(value) if isinstance(value, int | str) and "_" not in str(value) else None
    except ValueError:
        whole = None
    if whole is None:
        number = _number(value)
        whole = int(number) if number is not None and number.is_integer() else None
    return whole if whole is not None and abs(whole) < 2**63 else None


def new_state() -> str:
    """A fresh id."""
    return uuid4().hex


def states_in(meta: Mapping[str, str]) -> dict[str, str] | None:
    """The states of labels and patterns in what a store says of itself; None while any of them is being changed."""
    states = {key.removeprefix(STATE): value for key, value in meta.items() if key.startswith(STATE)}
    return None if meta.get(LOAD) == UNDER_WAY or not all(states.values()) else states


def states_text(states: Mapping[str, str]) -> str | None:
    """States as `GraphStore.state` gives them; None where there are none."""
    return json.dumps(states, sort_keys=True) if states else None


def check_meta(name: str, meta: Mapping[str, str], schema: Schema, *, to_write: bool) -> None:
    """Refuse a store of another format, one made for another profile or version of it, or one that is half loaded."""
    check_format(name, meta)
    found = (meta.get("profile"), meta.get("profile_version"))
    wanted = (schema.profile.name, str(schema.profile.version))
    may_read = not to_write and found[0] in schema.profile.reads
    if "profile" in meta and found != wanted and not may_read:
        raise StoreSchema(
            f"the store {name} holds a graph of profile {found[0]!r} version {found[1]},"
            f" not {wanted[0]!r} version {wanted[1]}",
            "name the profile with --profile, or load the graph into a new store",
        )
    if meta.get(LOAD) == UNDER_WAY and not to_write:
        raise StoreError(*unfinished(name))


def check_format(name: str, meta: Mapping[str, str]) -> None:
    """Refuse a store that holds its graph in a form that this version does not know."""
    found = meta.get(FORMAT, "1")
    if found != str(STORE_FORMAT):
        raise StoreSchema(
            f"the store {name} is of format {found[:20]!r}, and this kgcheck knows {STORE_FORMAT}",
            "use the kgcheck that loaded it, or load the graph into a new store",
        )


def unfinished(name: str) -> tuple[str, str]:
    """Message and hint for a store whose last load did not come to its end."""
    return (
        f"the last load into {name} is not finished",
        "wait for it; if it was cut short, run the same kgcheck load again",
    )


def check_names(name: str, labels: list[str], schema: Schema) -> None:
    """Refuse a store that holds nodes, but none of a label that the profile knows."""
    if labels and not set(labels) & set(schema.label_names):
        raise StoreSchema(
            f"the store {name} holds another graph: its labels are {', '.join(sorted(labels)[:8])}",
            f"profile {schema.profile.name!r} expects labels such as {', '.join(schema.label_names[:4])}",
        )
