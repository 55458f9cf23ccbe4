"""Steps of patch operations (set, make or drop a node or an edge), each of which can be undone.

They are tried on a `DraftGraph`, whose changes only it knows, so that what does not fit leaves nothing half done.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, NamedTuple, assert_never

from pydantic import Field, TypeAdapter

from kgcheck.curation.operations import AddEdge, Merge, Operation, Repoint, Retire, SetValue
from kgcheck.graph.changes import EdgeState, Editable, NodeState, NotAsExpected, digest
from kgcheck.graph.marks import CHANGED, CHANGED_AT, CHANGED_BY, MARKS, RETIRED, RETIRED_AT
from kgcheck.graph.store import Properties, brought_to
from kgcheck.graph.symmetry import orders
from kgcheck.model import Ref, Triple, Value
from kgcheck.profile.schema import KEY, PropertyType, Schema
from kgcheck.visible import visible


class SetNode(Value):
    """Other values of some properties of a node; None where there is none."""

    step: Literal["set_node"] = "set_node"
    ref: Ref
    before: dict[str, Any]
    after: dict[str, Any]


class SetEdge(Value):
    """Other values of some properties of an edge, which is known by all of its properties."""

    step: Literal["set_edge"] = "set_edge"
    triple: Triple
    properties: dict[str, Any] = Field(description="all of them, before")
    before: dict[str, Any]
    after: dict[str, Any]


class WholeNode(Value):
    """A node that is made, or taken away."""

    step: Literal["add_node", "drop_node"]
    ref: Ref
    properties: dict[str, Any]
    also: tuple[str, ...] = ()


class WholeEdge(Value):
    """An edge that is made, or taken away."""

    step: Literal["add_edge", "drop_edge"]
    triple: Triple
    properties: dict[str, Any]


Step = Annotated[SetNode | SetEdge | WholeNode | WholeEdge, Field(discriminator="step")]

STEPS: TypeAdapter[tuple[Step, ...]] = TypeAdapter(tuple[Step, ...])


class DraftGraph:
    """A graph as it would be after some changes, which only it knows."""

    def __init__(self, base: Editable) -> None:
        self.schema: Schema = base.schema
        self._base = base
        self._nodes: dict[Ref, NodeState | None] = {}
        self._edges: dict[Triple, list[EdgeState]] = {}
        self._at: dict[Ref, list[Triple]] = {}
        self._whole: set[Ref] = set()
        self._made = 0

    def node(self, ref: Ref) -> NodeState | None:
        if ref not in self._nodes:
            self._nodes[ref] = self._base.node(ref)
        return self._nodes[ref]

    def edges(self, triple: Triple) -> list[EdgeState]:
        return list(self._known(triple))

    def edges_of(self, ref: Ref) -> list[EdgeState]:
        if ref not in self._whole:
            of_base: dict[Triple, list[EdgeState]] = {}
            for edge in self._base.edges_of(ref):
                of_base.setdefault(edge.triple, []).append(edge)
            for triple, edges in of_base.items():
                self._know(triple, edges)
            self._whole.add(ref)
        return [edge for triple in self._at.get(ref, ()) for edge in self._edges[triple]]

    def set_node(self, ref: Ref, values: Properties) -> None:
        node = self.node(ref)
        if node is None:
            raise NotAsExpected(f"{ref} is not there")
        self._nodes[ref] = node._replace(properties=updated(node.properties, values))

    def set_edge(self, edge: EdgeState, values: Properties) -> None:
        known = self._known(edge.triple)
        known[known.index(edge)] = edge._replace(properties=updated(edge.properties, values))

    def add_node(self, node: NodeState) -> None:
        self._nodes[node.ref] = node

    def add_edge(self, triple: Triple, properties: Properties) -> None:
        self._made += 1
        self._known(triple).append(EdgeState(triple, updated({}, properties), f"new {self._made} {id(self)}"))

    def drop_node(self, ref: Ref) -> None:
        self._nodes[ref] = None

    def drop_edge(self, edge: EdgeState) -> None:
        self._known(edge.triple).remove(edge)

    def _known(self, triple: Triple) -> list[EdgeState]:
        if triple not in self._edges:
            self._know(triple, self._base.edges(triple))
        return self._edges[triple]

    def _know(self, triple: Triple, edges: list[EdgeState]) -> None:
        if triple not in self._edges:
            self._edges[triple] = edges
            for end in {triple.head, triple.tail}:
                self._at.setdefault(end, []).append(triple)


def updated(properties: Properties, values: Properties) -> Properties:
    """Properties with some of them set, or taken away by None."""
    return {k: v for k, v in (properties | values).items() if v is not None}


def do(step: Step, graph: Editable) -> None:
    """Do one step, if what it touches is as it was to be."""
    match step:
        case SetNode():
            node = graph.node(step.ref)
            if node is None or digest(some(node.properties, step.before)) != digest(step.before):
                raise NotAsExpected(f"{step.ref} is not as it was")
            graph.set_node(step.ref, step.after)
        case SetEdge():
            graph.set_edge(_found(graph, step.triple, step.properties), step.after)
        case WholeNode(step="add_node"):
            if graph.node(step.ref) is not None:
                raise NotAsExpected(f"{step.ref} is there already")
            graph.add_node(NodeState(step.ref, dict(step.properties), step.also))
        case WholeNode():
            node = graph.node(step.ref)
            if node is None or digest(node.properties) != digest(step.properties) or node.also != step.also:
                raise NotAsExpected(f"{step.ref} is not as it was")
            if graph.edges_of(step.ref):
                raise NotAsExpected(f"{step.ref} has edges")
            graph.drop_node(step.ref)
        case WholeEdge(step="add_edge"):
            for end in (step.triple.head, step.triple.tail):
                if graph.node(end) is None:
                    raise NotAsExpected(f"{end} is not there")
            graph.add_edge(step.triple, dict(step.properties))
        case WholeEdge():
            graph.drop_edge(_found(graph, step.triple, step.properties))
        case _:
            assert_never(step)


def inverse(step: Step) -> Step:
    """The step that undoes one."""
    match step:
        case SetNode(ref=ref, before=before, after=after):
            return SetNode(ref=ref, before=after, after=before)
        case SetEdge(triple=triple, before=before, after=after):
            return SetEdge(triple=triple, properties=updated(step.properties, after), before=after, after=before)
        case WholeNode():
            return step.model_copy(update={"step": "drop_node" if step.step == "add_node" else "add_node"})
        case WholeEdge():
            return step.model_copy(update={"step": "drop_edge" if step.step == "add_edge" else "add_edge"})
        case _:
            assert_never(step)


def do_all(steps: Sequence[Step], graph: Editable) -> None:
    """Do several steps, all or none."""
    draft = DraftGraph(graph)
    for step in steps:
        do(step, draft)
    for step in steps:
        do(step, graph)


def touched(steps: Iterable[Step]) -> set[Ref]:
    """The nodes that steps touch, or whose edges they touch."""
    found: set[Ref] = set()
    for step in steps:
        found |= {step.ref} if isinstance(step, SetNode | WholeNode) else {step.triple.head, step.triple.tail}
    return found


def some(properties: Properties, names: Iterable[str]) -> Properties:
    """Some of the properties; None where there is none."""
    return {name: properties.get(name) for name in names}


def _found(graph: Editable, triple: Triple, properties: Properties) -> EdgeState:
    wanted = digest(properties)
    for edge in graph.edges(triple):
        if digest(edge.properties) == wanted:
            return edge
    raise NotAsExpected(f"the edge {triple} is not as it was")


ABSENT = "absent"


class Stamp(NamedTuple):
    """Time and author of the application of a patch."""

    at: str
    by: str


def expectations(operation: Operation, graph: Editable) -> dict[str, str]:
    """Return the present state of all that an operation touches."""
    what = operation.what
    if isinstance(what, Triple):
        of_what = _stating(graph, what) if isinstance(operation, AddEdge) else active(graph.edges(what))
        found = {str(what): _of_edges(of_what)}
        if isinstance(operation, AddEdge):
            found |= {str(end): presence(graph, end) for end in (what.head, what.tail)}
        elif isinstance(operation, Repoint) and operation.moved:
            found[str(operation.into)] = presence(graph, operation.into)
            found[f"{operation.moved} (there already)"] = _of_edges(_stating(graph, operation.moved))
        return found
    nodes = (what, operation.into) if isinstance(operation, Merge | Repoint) else (what,)
    states = {ref: graph.node(ref) for ref in nodes}
    found = {str(ref): digest(node.properties, seen=True) if node else ABSENT for ref, node in states.items()}
    if isinstance(operation, SetValue):
        return found
    edges = active(graph.edges_of(what))
    found[f"edges of {what}"] = _of_edges(edges)
    if isinstance(operation, Merge | Repoint):
        meeting = {_replaced(e.triple, what, operation.into) for e in edges}
        found[f"edges of {operation.into} that they meet"] = _of_edges([e for t in meeting for e in _stating(graph, t)])
    return found


def steps_of(operation: Operation, graph: Editable, stamp: Stamp, *, delete: bool = False) -> tuple[Step, ...]:
    """Work out the steps of an operation, if the graph is as it expects."""
    _check_values(operation, graph.schema)
    found = expectations(operation, graph)
    for what in (*operation.expected, *found):
        if found.get(what) != operation.expected.get(what):
            raise NotAsExpected(f"{what} is not as it was when the patch was made")
    work = _Work(operation, DraftGraph(graph), stamp, delete)
    match operation:
        case SetValue():
            work.set_value(operation)
        case Merge():
            work.merge(operation.what, operation.into, new=False)
        case Repoint(what=Ref()):
            work.merge(operation.old, operation.into, new=True)
        case Repoint(what=Triple() as triple):
            work.repoint(operation, triple)
        case Retire():
            work.retire(operation)
        case AddEdge():
            work.add(operation)
    return tuple(work.steps)


def meetings(steps: Iterable[Step]) -> str:
    """Describe the fate of edges that cannot stand where they would come to; empty if all can."""
    edges = [step for step in steps if isinstance(step, SetEdge) or step.step == "add_edge"]
    folded = sum(isinstance(step, SetEdge) and RETIRED not in step.after for step in edges)
    moved = sum(step.step == "add_edge" for step in edges)
    looped = len(edges) - 2 * (moved + folded)
    counts = {
        "folded into one that is there already": folded,
        "retired, for it would lead from a node to itself": looped,
    }
    return "; ".join(f"{n} {'edge' if n == 1 else 'edges, each'} {how}" for how, n in counts.items() if n)


def _check_values(operation: Operation, schema: Schema) -> None:
    """Refuse what no patch writes: what the profile does not describe, the marks of curation, text that hides."""
    what = operation.what
    if isinstance(operation, Repoint) and visible(operation.to) != operation.to:
        raise NotAsExpected("the new id has characters that nobody sees")
    if not isinstance(operation, SetValue | AddEdge):
        return
    values = {operation.attribute: operation.to} if isinstance(operation, SetValue) else operation.properties
    if isinstance(what, Ref):
        described, own = schema.label(what.label).properties, {KEY, schema.label(what.label).key, *MARKS}
    else:
        described, own = schema.pattern(what.head.label, what.relation, what.tail.label).properties, set(MARKS)
    for name, value in values.items():
        if name in own or name not in described:
            raise NotAsExpected(f"{name} is no property of {what} that a patch may set")
        if value is not None and not _is_writable(described[name].type, value):
            raise NotAsExpected(
                f"the {name} of {what} would be no {described[name].type}, or text that hides something"
            )


def _is_writable(kind: PropertyType, value: object) -> bool:
    if kind == "strings":
        return isinstance(value, list) and all(_is_writable("string", one) for one in value)
    if kind == "string":
        return isinstance(value, str) and visible(value, layout=True) == value
    return type(value) in (int, float) and brought_to(kind, value) == value


class _Work:
    """One operation under way on a draft, with the steps so far."""

    def __init__(self, operation: Operation, draft: DraftGraph, stamp: Stamp, delete: bool) -> None:
        self._draft = draft
        self._delete = delete
        self._changed = {CHANGED: operation.finding, CHANGED_AT: stamp.at, CHANGED_BY: stamp.by}
        self._retired = {RETIRED: operation.finding, RETIRED_AT: stamp.at}
        self.steps: list[Step] = []

    def set_value(self, operation: SetValue) -> None:
        what, name = operation.what, operation.attribute
        if isinstance(what, Ref):
            self._set_node(self._present(what), {name: operation.to})
            return
        kind = self._draft.schema.pattern(what.head.label, what.relation, what.tail.label).properties[name].type
        wrong = [
            e
            for e in self._active(what)
            if same_value(kind, e.properties.get(name), operation.was)
            and operation.source in (None, e.properties.get("source"))
        ]
        if not wrong:
            raise NotAsExpected(f"no edge {what} has the {name} that is wrong")
        for edge in wrong:
            self._set_edge(edge, {name: operation.to} | self._changed)

    def merge(self, node_ref: Ref, into: Ref, *, new: bool) -> None:
        node, other = self._present(node_ref), self._draft.node(into)
        if node_ref == into:
            raise NotAsExpected(f"{node_ref} is that node already")
        if new:
            if other is not None:
                raise NotAsExpected(f"{into} is there already")
            kept = {k: v for k, v in node.properties.items() if k not in MARKS}
            properties = self._written_node(node._replace(properties=kept)) | self._changed
            self._do(WholeNode(step="add_node", ref=into, properties=properties, also=node.also))
        else:
            self._present(into)
        edges = active(self._draft.edges_of(node_ref))
        moves = [(edge, _replaced(edge.triple, node_ref, into)) for edge in edges]
        own: dict[Triple, list[EdgeState]] = {}
        for _, triple in moves:
            there = next((own[t] for t in orders(self._draft.schema, triple) if t in own), None)
            own[triple] = there if there is not None else _stating(self._draft, triple)
        for edge, triple in moves:
            self._move(edge, triple, own[triple])
        self._retire_node(node_ref)

    def repoint(self, operation: Repoint, edge: Triple) -> None:
        self._present(operation.into)
        moved = operation.moved
        if moved is None or moved == edge:
            raise NotAsExpected(f"{edge} has that end already")
        own = _stating(self._draft, moved)
        for one in self._active(edge):
            self._move(one, moved, own)

    def retire(self, operation: Retire) -> None:
        what = operation.what
        if isinstance(what, Ref):
            self._present(what)
            for edge in active(self._draft.edges_of(what)):
                self._retire_edge(edge)
            self._retire_node(what)
            return
        kept: set[str] = set()
        edges = self._active(what)
        for edge in edges:
            alike = digest(edge.properties, seen=True)
            if operation.but_one and alike not in kept:
                kept.add(alike)
            else:
                self._retire_edge(edge)
        if not self.steps:
            raise NotAsExpected(f"no two edges {what} are alike")

    def add(self, operation: AddEdge) -> None:
        what = operation.what
        for end in (what.head, what.tail):
            self._present(end)
        if _stating(self._draft, what):
            raise NotAsExpected(f"the edge {what} is there already")
        self._do(WholeEdge(step="add_edge", triple=what, properties={**operation.properties, **self._changed}))

    def _present(self, ref: Ref) -> NodeState:
        node = self._draft.node(ref)
        if node is None or node.retired:
            raise NotAsExpected(f"{ref} is {'retired' if node else 'not there'}")
        return node

    def _active(self, triple: Triple) -> list[EdgeState]:
        edges = self._draft.edges(triple)
        if not active(edges):
            raise NotAsExpected(f"the edge {triple} is {'retired' if edges else 'not there'}")
        return active(edges)

    def _move(self, edge: EdgeState, triple: Triple, own: list[EdgeState]) -> None:
        """An edge to other ends: as a new one, or folded into one that says the same by the same source."""
        pattern = self._draft.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        source, loops = edge.properties.get("source"), triple.head == triple.tail and not pattern.loops
        at = next((i for i, e in enumerate(own) if e.properties.get("source") == source), None)
        if not loops and at is not None:
            values = _together(own[at].properties, edge.properties) | self._changed
            self._set_edge(own[at], values)
            own[at] = own[at]._replace(properties=updated(own[at].properties, values))
        elif not loops:
            plain = {k: v for k, v in edge.properties.items() if k not in MARKS}
            properties = _written(f"the edge {edge.triple}", plain) | self._changed
            self._do(WholeEdge(step="add_edge", triple=triple, properties=properties))
        self._retire_edge(edge)

    def _retire_edge(self, edge: EdgeState) -> None:
        if self._delete:
            properties = _written(f"the edge {edge.triple}", edge.properties)
            self._do(WholeEdge(step="drop_edge", triple=edge.triple, properties=properties))
        else:
            self._set_edge(edge, self._retired | self._changed)

    def _retire_node(self, ref: Ref) -> None:
        node = self._present(ref)
        if not self._delete:
            self._set_node(node, self._retired)
            return
        # Those that were retired before go with it.
        for edge in self._draft.edges_of(ref):
            self._retire_edge(edge)
        self._do(WholeNode(step="drop_node", ref=ref, properties=self._written_node(node), also=node.also))

    def _written_node(self, node: NodeState) -> Properties:
        """The properties of a node that can be made again just as it is."""
        if not set(node.also) <= set(self._draft.schema.label(node.ref.label).also):
            raise NotAsExpected(f"{node.ref} has a label that the profile does not describe")
        return _written(str(node.ref), node.properties)

    def _set_node(self, node: NodeState, values: Properties) -> None:
        values = values | self._changed
        before = _written(str(node.ref), some(node.properties, values))
        self._do(SetNode(ref=node.ref, before=before, after=values))

    def _set_edge(self, edge: EdgeState, values: Properties) -> None:
        before = _written(f"the edge {edge.triple}", edge.properties)
        self._do(SetEdge(triple=edge.triple, properties=before, before=some(before, values), after=values))

    def _do(self, step: Step) -> None:
        do(step, self._draft)
        self.steps.append(step)


def active(edges: Iterable[EdgeState]) -> list[EdgeState]:
    """The edges that are not retired, in an order that does not change."""
    return sorted((e for e in edges if not e.retired), key=lambda e: (str(e.triple), digest(e.properties)))


def _stating(graph: Editable, triple: Triple) -> list[EdgeState]:
    """The edges that state a triple and are not retired, in either order where order means nothing."""
    return active(edge for stated in orders(graph.schema, triple) for edge in graph.edges(stated))


def presence(graph: Editable, ref: Ref) -> str:
    """Return the state of a node, or an end of an edge, of which nothing else matters: there, retired or absent."""
    node = graph.node(ref)
    return ABSENT if node is None else "retired" if node.retired else "there"


def same_value(kind: Any, value: Any, other: Any) -> bool:
    """Tell whether two values of a property are the same, one of which may be written as another type."""
    if value in _EMPTY or other in _EMPTY:
        return value in _EMPTY and other in _EMPTY
    return bool(value == other or (brought_to(kind, value) == brought_to(kind, other) is not None))


_EMPTY: tuple[object, ...] = (None, "", [])


def _of_edges(edges: Iterable[EdgeState]) -> str:
    lines = sorted(
        f"{e.triple.head} {e.triple.relation} {e.triple.tail} {digest(e.properties, seen=True)}" for e in edges
    )
    return digest({"edges": lines}) if lines else ABSENT


def _replaced(triple: Triple, old: Ref, new: Ref) -> Triple:
    head, tail = (new if end == old else end for end in (triple.head, triple.tail))
    return Triple(head=head, relation=triple.relation, tail=tail)


def _together(kept: Properties, folded: Properties) -> Properties:
    """Values that an edge takes over from one folded into it: texts and lists of both, and those lacking."""
    values: Properties = {}
    for name, value in folded.items():
        own = kept.get(name)
        if name in MARKS or own == value:
            continue
        if own in _EMPTY:
            values[name] = value
        elif isinstance(own, list) and isinstance(value, list):
            values[name] = list(dict.fromkeys([*own, *value]))
        elif isinstance(own, str) and isinstance(value, str) and value not in ("", *own.split("; ")):
            values[name] = f"{own}; {value}"
    return {name: value for name, value in values.items() if value != kept.get(name)}


def _written(owner: str, properties: Properties) -> Properties:
    """Properties that can be written down exactly, to be put back some day."""
    with suppress(TypeError, ValueError):
        if digest(json.loads(json.dumps(properties))) == digest(properties):
            return properties
    raise NotAsExpected(f"{owner} has a value that cannot be written down exactly")
