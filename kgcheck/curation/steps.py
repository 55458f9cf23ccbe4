"""The small steps that operations come to, each with what was before, so that each can be undone.

They are tried on a `DraftGraph`, whose changes only it knows, so that what does not fit leaves nothing half done.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, TypeAdapter

from kgcheck.graph.changes import EdgeState, Editable, NodeState, NotAsExpected, digest
from kgcheck.graph.store import Properties
from kgcheck.model import Ref, Triple, Value
from kgcheck.profile.schema import Schema


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


class AddedNode(Value):
    """A node that is made."""

    step: Literal["add_node"] = "add_node"
    ref: Ref
    properties: dict[str, Any]
    also: tuple[str, ...] = ()


class AddedEdge(Value):
    """An edge that is made."""

    step: Literal["add_edge"] = "add_edge"
    triple: Triple
    properties: dict[str, Any]


class DroppedNode(Value):
    """A node that is taken away."""

    step: Literal["drop_node"] = "drop_node"
    ref: Ref
    properties: dict[str, Any]
    also: tuple[str, ...] = ()


class DroppedEdge(Value):
    """An edge that is taken away."""

    step: Literal["drop_edge"] = "drop_edge"
    triple: Triple
    properties: dict[str, Any]


Step = Annotated[SetNode | SetEdge | AddedNode | AddedEdge | DroppedNode | DroppedEdge, Field(discriminator="step")]

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
        case AddedNode():
            if graph.node(step.ref) is not None:
                raise NotAsExpected(f"{step.ref} is there already")
            graph.add_node(NodeState(step.ref, dict(step.properties), step.also))
        case AddedEdge():
            for end in (step.triple.head, step.triple.tail):
                if graph.node(end) is None:
                    raise NotAsExpected(f"{end} is not there")
            graph.add_edge(step.triple, dict(step.properties))
        case DroppedNode():
            node = graph.node(step.ref)
            if node is None or digest(node.properties) != digest(step.properties) or node.also != step.also:
                raise NotAsExpected(f"{step.ref} is not as it was")
            if graph.edges_of(step.ref):
                raise NotAsExpected(f"{step.ref} has edges")
            graph.drop_node(step.ref)
        case DroppedEdge():
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
        case AddedNode(ref=ref, properties=properties, also=also):
            return DroppedNode(ref=ref, properties=properties, also=also)
        case DroppedNode(ref=ref, properties=properties, also=also):
            return AddedNode(ref=ref, properties=properties, also=also)
        case AddedEdge(triple=triple, properties=properties):
            return DroppedEdge(triple=triple, properties=properties)
        case DroppedEdge(triple=triple, properties=properties):
            return AddedEdge(triple=triple, properties=properties)
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
        match step:
            case SetNode(ref=ref) | AddedNode(ref=ref) | DroppedNode(ref=ref):
                found.add(ref)
            case SetEdge(triple=triple) | AddedEdge(triple=triple) | DroppedEdge(triple=triple):
                found |= {triple.head, triple.tail}
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
