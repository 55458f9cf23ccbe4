"""The typed tools of the team. Every brain uses the same ones; their arguments are checked before anything runs.

A tool reads; none writes. Results are values of the model, so that a verdict rests on them and not on anybody's words.
Evidence comes from `reference_look_up` alone; what the look-ups beside it show is to be read, and decides nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from kgcheck.agents.outside import AccessionArguments, LiteratureArguments, LiteratureResult, Outside, PairArguments
from kgcheck.agents.transcript import Role
from kgcheck.errors import StoreError, StoreUnavailable, UnknownName, UsageError, nearest
from kgcheck.evidence.lookups import EntryResult, LifecycleResult, PairResult
from kgcheck.evidence.source import ReferenceSource
from kgcheck.graph.store import SUBSET, Direction, GraphStore
from kgcheck.graph.symmetry import directions, edges_stating, orders
from kgcheck.model import CheckTask, CheckType, Evidence, Gap, Ref, Triple, Value
from kgcheck.profile.schema import Schema

_NEIGHBOUR_LIMIT = 100
_NAME_LIMIT = 5
_ROW_LIMIT = 100
_CYPHER_SECONDS = 10.0


class NodeArguments(Value):
    """A node by label and id."""

    label: str
    id: str


class NodeResult(Value):
    """Whether the graph has the node, and its properties."""

    found: bool
    properties: dict[str, Any] = {}


class NameArguments(Value):
    """A name that nodes of a label may carry."""

    label: str
    name: str


class IdsResult(Value):
    """Ids of nodes, in order."""

    ids: tuple[str, ...]


class EdgeArguments(Value):
    """A triple by the labels and ids of its ends."""

    head: Ref
    relation: str
    tail: Ref


class EdgesResult(Value):
    """Properties of every edge that states the triple, in either order where order means nothing."""

    edges: tuple[dict[str, Any], ...]
    turned: int = Field(default=0, description="how many of them, the last ones, are stated in the other order")


class NodesArguments(Value):
    """Two nodes, in any order."""

    one: Ref
    other: Ref


class Between(EdgesResult):
    """A triple, and the properties of every edge that states it."""

    triple: Triple


class RelationsResult(Value):
    """Every relation that there may be between two nodes, in either direction; one without edges is not there."""

    relations: tuple[Between, ...]


class NeighbourArguments(Value):
    """One step from a node along a relation, outwards or inwards (both where order means nothing), to a label."""

    node: Ref
    relation: str
    direction: Direction
    label: str


class ReferenceArguments(Value):
    """A task to look up in the reference sources."""

    task: CheckTask


class ReferenceResult(Value):
    """What the sources say of a task, and which could not be asked."""

    task: CheckTask
    evidence: tuple[Evidence, ...]
    gaps: tuple[Gap, ...]


class CypherArguments(Value):
    """A reading Cypher statement; `$name` parameters are not supported, write values as literals."""

    query: str = Field(max_length=4000)


class CypherResult(Value):
    """Rows of a statement, and whether there were more."""

    rows: tuple[dict[str, Any], ...]
    cut_off: bool


class Tool(NamedTuple):
    """A tool: who may use it, what it takes, what it does."""

    name: str
    role: Role
    purpose: str
    arguments: type[BaseModel]
    run: Callable[[Any], BaseModel]


class Toolbox:
    """The tools over one graph and its reference sources.

    Args:
        store: The graph.
        source: The reference sources.
        outside: What shows entries, pairs and papers; without it, those tools answer that they are not available.
    """

    def __init__(self, store: GraphStore, source: ReferenceSource, outside: Outside | None = None) -> None:
        self.schema: Schema = store.schema
        self._store = store
        self._source = source
        out = outside or Outside()
        kg, validation = Role.KG, Role.VALIDATION
        cypher = f"rows of a Cypher statement of your own: {SUBSET}"
        self._tools = {
            tool.name: tool
            for tool in (
                Tool("kg_node", kg, "a node of the graph with its properties", NodeArguments, self._node),
                Tool("kg_ids_by_name", kg, "ids of the nodes that carry a name", NameArguments, self._ids_by_name),
                Tool("kg_similar_ids", kg, "ids like one that does not exist", NodeArguments, self._similar_ids),
                Tool("kg_edges", kg, "every edge that states a triple", EdgeArguments, self._edges),
                Tool("kg_relations", kg, "how two nodes are related, either way", NodesArguments, self._relations),
                Tool("kg_neighbours", kg, "nodes one step away", NeighbourArguments, self._neighbours),
                Tool("kg_cypher", kg, cypher, CypherArguments, self._cypher),
                Tool("reference_look_up", validation, "what the sources say", ReferenceArguments, self._look_up),
                Tool("uniprot_entry", validation, "what UniProt says of a protein", AccessionArguments, out.entry),
                Tool("uniprot_lifecycle", validation, "what became of an accession", AccessionArguments, out.lifecycle),
                Tool("string_pair", validation, "whether STRING links two proteins", PairArguments, out.pair),
                Tool("literature_search", validation, "what papers say of an edge", LiteratureArguments, out.papers),
            )
        }

    def tools(self, role: Role) -> list[Tool]:
        """The tools that a role may use."""
        return [tool for tool in self._tools.values() if tool.role is role]

    def call(self, role: Role, name: str, arguments: dict[str, Any]) -> BaseModel:
        """Use a tool.

        Args:
            role: Who uses it.
            name: The tool.
            arguments: Checked against the tool's model before it runs.

        Returns:
            The tool's typed result.

        Raises:
            UnknownName: The role has no such tool.
            UsageError: The arguments do not fit.
        """
        allowed = {tool.name: tool for tool in self.tools(role)}
        if name not in allowed:
            raise UnknownName(f"tool of the {role.value}", name, allowed)
        try:
            checked = allowed[name].arguments.model_validate(arguments)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or name}: {e['msg']}" for e in error.errors())
            raise UsageError(f"arguments of {name} do not fit: {wrong}") from error
        return allowed[name].run(checked)

    def _node(self, asked: NodeArguments) -> NodeResult:
        properties = self._store.node(self.schema.ref(asked.label, asked.id))
        return NodeResult(found=properties is not None, properties=properties or {})

    def _ids_by_name(self, asked: NameArguments) -> IdsResult:
        return IdsResult(ids=tuple(self._store.ids_named(self.schema.label(asked.label), asked.name, _NAME_LIMIT)))

    def _similar_ids(self, asked: NodeArguments) -> IdsResult:
        tables = self._store.scan_nodes(self.schema.label(asked.label))
        ids = [str(i) for table in tables for i in table.column("id").to_pylist()]
        return IdsResult(ids=tuple(nearest(asked.id, ids)))

    def _edges(self, asked: EdgeArguments) -> EdgesResult:
        self.schema.pattern(asked.head.label, asked.relation, asked.tail.label)
        triple = Triple(head=asked.head, relation=asked.relation, tail=asked.tail)
        return EdgesResult.model_validate(self._stating(triple))

    def _relations(self, asked: NodesArguments) -> RelationsResult:
        for end in (asked.one, asked.other):
            self.schema.label(end.label)
        ways = ((asked.one, asked.other), (asked.other, asked.one))
        meant = [
            Triple(head=head, relation=p.type, tail=tail)
            for head, tail in dict.fromkeys(ways)
            for p in self.schema.relations
            if (p.head, p.tail) == (head.label, tail.label)
        ]
        found = (Between.model_validate({"triple": t, **self._stating(t)}) for t in meant)
        return RelationsResult(relations=tuple(found))

    def _stating(self, triple: Triple) -> dict[str, Any]:
        """The fields of EdgesResult."""
        own, *other = (self._store.edges(t) for t in orders(self.schema, triple))
        turned = [edge for edges in other for edge in edges]
        return {"edges": (*own, *turned), "turned": len(turned)}

    def _neighbours(self, asked: NeighbourArguments) -> IdsResult:
        ends = (asked.node.label, asked.label)
        head, tail = ends if asked.direction == "out" else reversed(ends)
        pattern = self.schema.pattern(head, asked.relation, tail)
        ways = directions(pattern, asked.direction)
        reached = [self._store.neighbours(asked.node, pattern, way, _NEIGHBOUR_LIMIT) for way in ways]
        return IdsResult(ids=tuple(sorted({i for ids in reached for i in ids})[:_NEIGHBOUR_LIMIT]))

    def _cypher(self, asked: CypherArguments) -> CypherResult:
        # The tables of a grammar: half a second that only those wait for who write statements.
        from kgcheck.graph.reading import read_statement

        reading = read_statement(asked.query, self.schema, self._store.backend)
        try:
            rows = self._store.query(reading, _ROW_LIMIT + 1, _CYPHER_SECONDS)
        except StoreUnavailable as error:
            if "too long" not in error.message:
                raise
            raise UsageError(f"the statement took over {_CYPHER_SECONDS:.0f} seconds", "ask for less") from error
        except StoreError as error:
            # A statement that the store cannot run is the writer's mistake.
            raise UsageError(error.message, error.hint) from error
        return CypherResult(rows=tuple(rows[:_ROW_LIMIT]), cut_off=len(rows) > _ROW_LIMIT)

    def _look_up(self, asked: ReferenceArguments) -> ReferenceResult:
        task = asked.task
        cited: list[str] = []
        if task.type is CheckType.TRIPLE and task.relation and task.object:
            triple = Triple(head=task.subject, relation=task.relation, tail=task.object)
            stated = edges_stating(self._store, triple)
            cited = [str(edge["source"]) if edge.get("source") else "" for edge in stated]
        evidence, gaps = self._source.observe(task, cited)
        return ReferenceResult(task=asked.task, evidence=evidence, gaps=gaps)


RESULTS: dict[str, type[BaseModel]] = {
    "kg_node": NodeResult,
    "kg_ids_by_name": IdsResult,
    "kg_similar_ids": IdsResult,
    "kg_edges": EdgesResult,
    "kg_relations": RelationsResult,
    "kg_neighbours": IdsResult,
    "kg_cypher": CypherResult,
    "reference_look_up": ReferenceResult,
    "uniprot_entry": EntryResult,
    "uniprot_lifecycle": LifecycleResult,
    "string_pair": PairResult,
    "literature_search": LiteratureResult,
}
"""What each tool gives."""
