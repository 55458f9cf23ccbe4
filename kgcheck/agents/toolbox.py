"""Toolbox: agents' tools over graph and references, their list TOOLS, and each tool's callers.

Prompts, the JSON schemas that models get, the checks of who may call what, replays and docs/agents.md all go by TOOLS.
A tool reads; none writes. Arguments are checked before anything runs, and results are values of the model, so that a
verdict rests on them and not on anybody's words. Evidence comes from `reference_look_up` alone; what the look-ups
beside it show is to be read, and decides nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, get_type_hints

from pydantic import BaseModel, ValidationError

from kgcheck.agents.tool_types import (
    AccessionArguments,
    CypherArguments,
    CypherResult,
    EdgeArguments,
    EdgesResult,
    IdListResult,
    IdsArguments,
    IdsNeighbourArguments,
    IdsStepArguments,
    ListsArguments,
    LiteratureArguments,
    LiteratureResult,
    NameArguments,
    NamedNodesResult,
    NeighbourArguments,
    NeighbourListsResult,
    NodeArguments,
    NodeCounts,
    NodeCountsResult,
    NodeNeighbours,
    NodePairArguments,
    NodeResult,
    NodesResult,
    PairArguments,
    Path,
    ReferenceArguments,
    ReferenceResult,
    RelationEdges,
    RelationsResult,
    SharedArguments,
    ShownNode,
    SimilarIdsResult,
)
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import StoreError, StoreUnavailable, UnknownName, UsageError, nearest
from kgcheck.evidence.lookups import EntryResult, LifecycleResult, PairResult, SourceLookups
from kgcheck.evidence.source import Observed, ReferenceSource, SnapshotSource
from kgcheck.graph.store import SUBSET, Direction, GraphStore
from kgcheck.graph.symmetry import directions, edges_stating, orders
from kgcheck.inputs import wrong_parts
from kgcheck.literature.documents import SOURCE
from kgcheck.model import CheckTask, CheckType, Reason, Ref, Triple
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.questions.answer import Edge
from kgcheck.questions.resolver import NameResolver
from kgcheck.reference.retractions import counted

if TYPE_CHECKING:
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.reference.live import LiveReference

_MISSING = Reason.REFERENCE_MISSING
_NO_SOURCE = "no reference source was given"
_NO_INDEX = "no literature index was given: see --literature"


class Outside:
    """Look-ups of what is there; each says by itself what is not."""

    def __init__(self, lookups: SourceLookups | None = None, reader: "TripleReader | None" = None) -> None:
        self.lookups = lookups
        self.reader = reader

    def reference_entry(self, wanted: AccessionArguments) -> EntryResult:
        """Look up the entry of an identifier."""
        if self.lookups:
            return self.lookups.entry(wanted.accession)
        return EntryResult(accession=wanted.accession, status="not_available", reason=_MISSING, why=_NO_SOURCE)

    def id_lifecycle(self, wanted: AccessionArguments) -> LifecycleResult:
        """Look up what became of an identifier."""
        if self.lookups:
            return self.lookups.lifecycle(wanted.accession)
        return LifecycleResult(accession=wanted.accession, status="not_available", reason=_MISSING, why=_NO_SOURCE)

    def network_link(self, wanted: PairArguments) -> PairResult:
        """Look up whether a network links two identifiers."""
        if self.lookups:
            return self.lookups.pair(wanted.one, wanted.other, wanted.network)
        return PairResult(**wanted.model_dump(), status="not_available", reason=_MISSING, why=_NO_SOURCE)

    def literature_search(self, wanted: LiteratureArguments) -> LiteratureResult:
        """Sentences of papers that say something like an edge."""
        if self.reader is None:
            return LiteratureResult(triple=wanted.triple, status="not_available", reason=_MISSING, why=_NO_INDEX)
        try:
            found = self.reader.passages(wanted.triple)
        except UnknownName as error:
            why = error.in_one_line
            return LiteratureResult(
                triple=wanted.triple, source=SOURCE, status="not_available", reason=Reason.NOT_COVERED, why=why
            )
        return LiteratureResult(
            triple=wanted.triple,
            status="found" if found.passages else "nothing_found",
            why="" if found.passages else "no sentence of this index names both ends and says such a thing",
            source=SOURCE,
            release=found.release,
            retrieved_at=found.built_at,
            claim=found.claim,
            passages=found.passages,
            retracted=found.retracted,
        )


class ListsRetractions(ReferenceSource, Protocol):
    """A reference source that knows of retracted papers."""

    def retracted(self, papers: Iterable[str]) -> set[str]:
        """Return those of some papers that were retracted."""


class WithLiterature:
    """The reference sources, and the papers of an index about edges; retracted ones do not count."""

    def __init__(self, source: ListsRetractions, reader: "TripleReader") -> None:
        self._source = source
        self._reader = reader

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> Observed:
        evidence, gaps = self._source.observe(task, cited)
        triple = task.edge
        if triple is None:
            return evidence, gaps
        return evidence + counted(self._reader.evidence(triple), self._source.retracted), gaps


def with_papers(
    source: SnapshotSource, schema: Schema, live: "LiveReference | None", reader: "TripleReader | None"
) -> tuple[ReferenceSource, Outside]:
    """Return the sources of a team: evidence by one path, and the look-ups beside it."""
    sources = WithLiterature(source, reader) if reader else source
    return sources, Outside(SourceLookups(source, schema, live), reader)


F = TypeVar("F", bound=BaseModel)

MOST_NODES = 200
"""Nodes that one call shows; of more, it says how many there are."""

MOST_EDGES = 200
"""Parallel edges of one triple that a call shows where all relations between two nodes are wanted."""

_MOST_NAMED = 5
_MOST_ROWS = 100
_CYPHER_SECONDS = 10.0


class Tool(NamedTuple):
    """A tool."""

    name: str
    purpose: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    roles: frozenset[AgentRole]
    run: Callable[["Toolbox", Any], BaseModel]


class Toolbox(Outside):
    """The tools over one graph and its reference sources, beside those for the outside world."""

    def __init__(
        self,
        store: GraphStore,
        source: ReferenceSource,
        outside: Outside | None = None,
        resolver: NameResolver | None = None,
    ) -> None:
        super().__init__(*((outside.lookups, outside.reader) if outside else ()))
        self.schema: Schema = store.schema
        self.resolver = resolver or NameResolver(store.schema, store)
        self._store = store
        self._source = source

    def tools(self, role: AgentRole) -> list[Tool]:
        """The tools that a role may use."""
        return [tool for tool in TOOLS.values() if role in tool.roles]

    def call(self, role: AgentRole, name: str, arguments: dict[str, Any]) -> BaseModel:
        """Use a tool."""
        allowed = {tool.name: tool for tool in self.tools(role)}
        if name not in allowed:
            raise UnknownName(f"tool of the {role.value}", name, allowed)
        return allowed[name].run(self, checked_arguments(name, allowed[name].arguments, arguments))

    def node(self, wanted: NodeArguments) -> NodeResult:
        """A node with its properties."""
        properties = self._store.node(self.schema.ref(wanted.label, wanted.id))
        return NodeResult(found=properties is not None, properties=properties or {})

    def find_nodes(self, wanted: NameArguments) -> NamedNodesResult:
        """Nodes that carry a name, or have it as their id; at most five of a label."""
        labels = [self.schema.label(wanted.label).name] if wanted.label else self.schema.label_names
        found = {label: self.resolver.in_graph(label, wanted.name)[:_MOST_NAMED] for label in labels}
        return NamedNodesResult(
            ids={label: tuple(taken.ref.id for taken in nodes) for label, nodes in found.items() if nodes}
        )

    def similar_ids(self, wanted: NodeArguments) -> SimilarIdsResult:
        """Ids like one that does not exist."""
        tables = self._store.scan_nodes(self.schema.label(wanted.label))
        ids = [str(i) for table in tables for i in table.column("id").to_pylist()]
        return SimilarIdsResult(ids=tuple(nearest(wanted.id, ids)))

    def edges(self, wanted: EdgeArguments) -> EdgesResult:
        """Every edge that states a triple."""
        self.schema.pattern(wanted.head.label, wanted.relation, wanted.tail.label)
        triple = Triple(head=wanted.head, relation=wanted.relation, tail=wanted.tail)
        edges, turned = self._stating(triple)
        return EdgesResult(edges=edges, turned=turned)

    def relations(self, wanted: NodePairArguments) -> RelationsResult:
        """Every relation that there may be between two nodes, with its edges."""
        pair = (wanted.one, wanted.other)
        missing = tuple(end for end in pair if self._store.node(self.schema.ref(end.label, end.id)) is None)
        between = (
            Triple(head=head, relation=p.type, tail=tail)
            for head, tail in dict.fromkeys((pair, pair[::-1]))
            for p in self.schema.relations
            if (p.head, p.tail) == (head.label, tail.label)
        )
        return RelationsResult(relations=tuple(map(self._relation_edges, between)), missing=missing)

    def neighbours(self, wanted: NeighbourArguments) -> NodesResult:
        """Nodes one step away."""
        reached = self._reached(wanted.node, wanted)
        return self._shown(wanted.label, {id_: (edge,) for id_, edge in reached.items()})

    def shared_neighbours(self, wanted: SharedArguments) -> NodesResult:
        """Nodes that all of several nodes have one step away."""
        reached = [self._reached(node, wanted) for node in wanted.nodes]
        common = reduce(lambda a, b: {i: e for i, e in a.items() if i in b}, reached)
        return self._shown(wanted.label, {id_: tuple(each[id_] for each in reached) for id_ in common})

    def relations_of(self, wanted: IdsArguments) -> NodeCountsResult:
        """The relations of nodes by their ids, outgoing and incoming, with how many nodes each reaches."""

        def reached(node: Ref, way: Direction) -> dict[str, int]:
            found = {name: self._ends(node, name, way) for name in dict.fromkeys(p.type for p in self.schema.relations)}
            return {name: sum(map(len, ends.values())) for name, ends in found.items() if ends}

        nodes, missing = self._by_id(wanted.ids)
        shown = (NodeCounts(node=node, outgoing=reached(node, "out"), incoming=reached(node, "in")) for node in nodes)
        return NodeCountsResult(nodes=tuple(shown), missing=missing)

    def neighbour_types(self, wanted: IdsStepArguments) -> NodeCountsResult:
        """Labels of the nodes that several nodes reach along a relation."""
        nodes, missing = self._by_id(wanted.ids)
        ends = [(node, self._ends(node, wanted.relation, wanted.direction)) for node in nodes]
        shown = (NodeCounts(node=node, labels={name: len(ids) for name, ids in found.items()}) for node, found in ends)
        return NodeCountsResult(nodes=tuple(shown), missing=missing)

    def neighbours_of(self, wanted: IdsNeighbourArguments) -> NeighbourListsResult:
        """Nodes of a label that each of several nodes reaches along a relation."""
        self.schema.label(wanted.label)
        nodes, missing = self._by_id(wanted.ids)
        shown = []
        for node in nodes:
            fields = {"relation": wanted.relation, "direction": wanted.direction, "label": wanted.label}
            step = NeighbourArguments.model_validate({"node": node, **fields})
            if wanted.label in self._ends(node, wanted.relation, wanted.direction):
                result = self.neighbours(step)
                shown.append(NodeNeighbours(node=node, paths=result.paths, **result.model_dump()))
            elif self._patterns(node, wanted.relation, wanted.direction, wanted.label):
                shown.append(NodeNeighbours(node=node, total=0, nodes=(), cut_off=False))
        return NeighbourListsResult(nodes=tuple(shown), missing=missing)

    def intersection(self, wanted: ListsArguments) -> IdListResult:
        """Ids that all of several lists have."""
        first, *others = wanted.lists
        common = tuple(id_ for id_ in dict.fromkeys(first) if all(id_ in other for other in others))
        return IdListResult(total=len(common), ids=common)

    def union(self, wanted: ListsArguments) -> IdListResult:
        """Ids that any of several lists has."""
        every = tuple(dict.fromkeys(id_ for ids in wanted.lists for id_ in ids))
        return IdListResult(total=len(every), ids=every)

    def _by_id(self, ids: Iterable[str]) -> tuple[list[Ref], tuple[str, ...]]:
        """The nodes of any label that have some ids, and the ids that none has."""
        refs = {id_: [Ref(label=label, id=id_) for label in self.schema.label_names] for id_ in dict.fromkeys(ids)}
        there = {id_: [ref for ref in of_id if self._store.node(ref)] for id_, of_id in refs.items()}
        return [ref for found in there.values() for ref in found], tuple(i for i, found in there.items() if not found)

    def _patterns(self, node: Ref, relation: str, way: Direction, label: str = "") -> list[Pattern]:
        """The patterns of a relation by which a node can reach a label, or any."""
        if relation not in self.schema.relation_types:
            raise UnknownName("relation", relation, self.schema.relation_types)
        ends = [(p, (p.head, p.tail) if way == "out" else (p.tail, p.head)) for p in self.schema.relations]
        return [p for p, (own, far) in ends if p.type == relation and own == node.label and label in ("", far)]

    def _ends(self, node: Ref, relation: str, way: Direction) -> dict[str, set[str]]:
        """Ids one step from a node, by their label."""
        found: dict[str, set[str]] = {}
        for pattern in self._patterns(node, relation, way):
            far = pattern.tail if way == "out" else pattern.head
            for walked in directions(pattern, way):
                ids = {hop.end for hop in self._store.hops([node.id], pattern, walked)}
                if ids:
                    found.setdefault(far, set()).update(ids)
        return found

    def cypher(self, wanted: CypherArguments) -> CypherResult:
        """Rows of a reading statement."""
        # The tables of a grammar: half a second that only those wait for who write statements.
        from kgcheck.graph.reading import read_statement

        reading = read_statement(wanted.query, self.schema, self._store.backend)
        try:
            rows = self._store.query(reading, _MOST_ROWS + 1, _CYPHER_SECONDS)
        except StoreUnavailable as error:
            if "too long" not in error.message:
                raise
            raise UsageError(f"the statement took over {_CYPHER_SECONDS:.0f} seconds", "ask for less") from error
        except StoreError as error:
            # A statement that the store cannot run is the writer's mistake.
            raise UsageError(error.message, error.hint) from error
        return CypherResult(rows=tuple(rows[:_MOST_ROWS]), cut_off=len(rows) > _MOST_ROWS, reading=reading)

    def reference_look_up(self, wanted: ReferenceArguments) -> ReferenceResult:
        """The evidence on a task."""
        task = wanted.task
        cited: list[str] = []
        if task.type in (CheckType.TRIPLE, CheckType.ATTRIBUTE) and task.relation and task.object:
            triple = Triple(head=task.subject, relation=task.relation, tail=task.object)
            stated = edges_stating(self._store, triple)
            cited = [str(edge["source"]) if edge.get("source") else "" for edge in stated]
        evidence, gaps = self._source.observe(task, cited)
        return ReferenceResult(task=task, evidence=evidence, gaps=gaps)

    def _stating(self, triple: Triple) -> tuple[tuple[dict[str, Any], ...], int]:
        """The edges that state a triple, and how many of them, the last ones, do so in the other order."""
        own, *other = (self._store.edges(t) for t in orders(self.schema, triple))
        turned = [edge for edges in other for edge in edges]
        return (*own, *turned), len(turned)

    def _relation_edges(self, triple: Triple) -> RelationEdges:
        edges, turned = self._stating(triple)
        beyond = max(len(edges) - MOST_EDGES, 0)
        return RelationEdges(
            triple=triple, edges=edges[:MOST_EDGES], turned=max(turned - beyond, 0), cut_off=bool(beyond)
        )

    def _reached(self, node: Ref, step: NeighbourArguments | SharedArguments) -> dict[str, Edge]:
        """The ids one step from a node, each with an edge that leads there."""
        ends = (node.label, step.label) if step.direction == "out" else (step.label, node.label)
        pattern = self.schema.pattern(ends[0], step.relation, ends[1])
        # Nothing can be shown of the neighbours of a node that is not there.
        if self._store.node(self.schema.ref(node.label, node.id)) is None:
            raise UsageError(f"the graph has no {node.label} {node.id!r}", "look its id up with find_nodes")
        reached: dict[str, Edge] = {}
        for way in directions(pattern, step.direction):
            for hop in self._store.hops([node.id], pattern, way):
                triple = step_triple(node, step.relation, way, Ref(label=step.label, id=hop.end))
                reached.setdefault(hop.end, Edge(triple=triple, properties=hop.properties))
        return reached

    def _shown(self, label: str, paths: dict[str, Path]) -> NodesResult:
        ids = list(paths)[:MOST_NODES]
        nodes = self._store.nodes(self.schema.label(label), ids) if ids else {}
        return NodesResult(
            total=len(paths),
            nodes=tuple(ShownNode(id=id_, name=nodes.get(id_, {}).get("name")) for id_ in ids),
            cut_off=len(paths) > len(ids),
            paths=tuple(paths[id_] for id_ in ids),
        )


_KG, _VALIDATION, _ASKER = AgentRole.KG, AgentRole.VALIDATION, AgentRole.ASKER


def _tool(run: Callable[[Toolbox, Any], BaseModel], purpose: str, *roles: AgentRole) -> Tool:
    """A tool by the method that it is: its name, and what that takes and gives."""
    forms = get_type_hints(run)
    return Tool(run.__name__, purpose, forms["wanted"], forms["return"], frozenset(roles), run)


_ALL = (
    _tool(Toolbox.node, "whether the graph has a node, and its properties", _KG, _ASKER),
    _tool(Toolbox.find_nodes, "ids of the nodes that carry a name, of one label or of any", _ASKER),
    _tool(Toolbox.similar_ids, "ids like one that does not exist", _KG),
    _tool(
        Toolbox.edges,
        "every edge that states a triple; `turned`: how many, the last ones, in the other order of a symmetric one",
        _KG,
    ),
    _tool(
        Toolbox.relations, "every relation that there may be between two nodes, either way, with its edges", _KG, _ASKER
    ),
    _tool(Toolbox.neighbours, "nodes one step away along a relation (out) or against it (in)", _KG, _ASKER),
    _tool(Toolbox.shared_neighbours, "nodes that all of several nodes have one step away", _ASKER),
    _tool(
        Toolbox.relations_of, "relations of nodes by their ids, outgoing and incoming, with how many nodes each", _ASKER
    ),
    _tool(Toolbox.neighbour_types, "labels of the nodes that several nodes reach along a relation", _ASKER),
    _tool(Toolbox.neighbours_of, "nodes of a label that each of several nodes reaches along a relation", _ASKER),
    _tool(Toolbox.intersection, "ids that all of several lists have", _ASKER),
    _tool(Toolbox.union, "ids that any of several lists has", _ASKER),
    _tool(Toolbox.cypher, f"rows of a Cypher statement of your own: {SUBSET}", _KG, _ASKER),
    _tool(
        Toolbox.reference_look_up,
        "the evidence on the task: snapshot, live services, papers; the only tool that gives any",
        _VALIDATION,
    ),
    _tool(Toolbox.reference_entry, "names, links, organism and papers in the entry of an accession", _VALIDATION),
    _tool(
        Toolbox.id_lifecycle, "what became of an accession: current, merged, demerged, deleted or unknown", _VALIDATION
    ),
    _tool(
        Toolbox.network_link,
        "whether a network links two accessions, with the score and the cut-off of checks",
        _VALIDATION,
    ),
    _tool(
        Toolbox.literature_search,
        "sentences of papers that name both ends of an edge and say such a thing",
        _VALIDATION,
        _ASKER,
    ),
)
TOOLS = {tool.name: tool for tool in _ALL}
"""Every tool by its name."""


PUBLISHED = ("relations_of", "neighbour_types", "neighbours_of", "intersection", "union")
"""Tools of BioKGBench's agents (its appendix D.4.1), which take ids; an asker has either these or the others."""


def checked_arguments(name: str, form: type[F], arguments: Any) -> F:
    """Arguments in the form that a tool takes."""
    try:
        return form.model_validate(arguments)
    except ValidationError as error:
        raise UsageError(f"the arguments of {name} do not fit: {wrong_parts(error, 5)}") from error


def step_triple(node: Ref, relation: str, direction: Direction, other: Ref) -> Triple:
    """The edge of a step from a node to another one."""
    head, tail = (node, other) if direction == "out" else (other, node)
    return Triple(head=head, relation=relation, tail=tail)
