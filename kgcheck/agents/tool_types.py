"""Pydantic models of the arguments and the results of the agents' tools."""

from typing import Any

from pydantic import Field

from kgcheck.evidence.lookups import LookupResult
from kgcheck.graph.store import Direction, Reading
from kgcheck.literature.documents import Passage
from kgcheck.model import CheckTask, Evidence, Gap, Identifier, Ref, Triple, Value
from kgcheck.profile.reference_files import NetworkType
from kgcheck.questions.answer import Edge

Path = tuple[Edge, ...]
"""Edges from a node back to where the way to it began."""


class NodeArguments(Value):
    """A node by label and id."""

    label: str
    id: str


class NodeResult(Value):
    """Presence of a node in the graph, and its properties."""

    found: bool
    properties: dict[str, Any] = {}


class NameArguments(Value):
    """A name, of nodes of one label or of any."""

    name: str
    label: str | None = None


class NamedNodesResult(Value):
    """Ids of the nodes that carry the name, or have it as their id, by label."""

    ids: dict[str, tuple[str, ...]]


class SimilarIdsResult(Value):
    """Ids of the label, the most similar one first."""

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

    @property
    def own(self) -> tuple[dict[str, Any], ...]:
        """Those in the order of the triple."""
        return self.edges[: len(self.edges) - self.turned]


class NodePairArguments(Value):
    """Two nodes, in any order."""

    one: Ref
    other: Ref


class RelationEdges(EdgesResult):
    """A triple, and the properties of every edge that states it."""

    triple: Triple
    cut_off: bool = Field(default=False, description="whether there are more edges than those shown")


class RelationsResult(Value):
    """Every relation that there may be between two nodes, in either direction; one without edges is not there."""

    relations: tuple[RelationEdges, ...]
    missing: tuple[Ref, ...] = Field(default=(), description="which of the two nodes the graph does not have")


class NeighbourArguments(Value):
    """One step from a node along a relation, outwards or inwards (both where order means nothing), to a label."""

    node: Ref
    relation: str
    direction: Direction
    label: str


class SharedArguments(Value):
    """One step from each of several nodes, to nodes that all of them reach."""

    nodes: tuple[Ref, ...] = Field(min_length=2, max_length=10)
    relation: str
    direction: Direction
    label: str


class ShownNode(Value):
    """A node by its id, with its name where it has one."""

    id: str
    name: str | None = None


class NodesResult(Value):
    """Nodes of one label, of how many; `cut_off` where not all of them are shown."""

    total: int
    nodes: tuple[ShownNode, ...]
    cut_off: bool
    # No part of what is shown: for whoever asks afterwards what an answer rests on.
    paths: tuple[Path, ...] = Field(default=(), exclude=True, description="how each node was reached")


class IdsArguments(Value):
    """Nodes by their ids, whatever their label."""

    ids: tuple[str, ...] = Field(min_length=1, max_length=10)


class NodeCounts(Value):
    """A node, and how many nodes it reaches: along each relation, or of each label."""

    node: Ref
    outgoing: dict[str, int] = {}
    incoming: dict[str, int] = {}
    labels: dict[str, int] = {}


class NodeCountsResult(Value):
    """Counts of each node; ids that no node has are missing."""

    nodes: tuple[NodeCounts, ...]
    missing: tuple[str, ...] = ()


class IdsStepArguments(IdsArguments):
    """One step from each of several nodes along a relation, outwards or inwards."""

    relation: str
    direction: Direction


class IdsNeighbourArguments(IdsStepArguments):
    """The same, to nodes of a label."""

    label: str


class NodeNeighbours(NodesResult):
    """Nodes one step from a node."""

    node: Ref


class NeighbourListsResult(Value):
    """Nodes that each of several nodes reaches; ids that no node has are missing."""

    nodes: tuple[NodeNeighbours, ...]
    missing: tuple[str, ...] = ()


class ListsArguments(Value):
    """Lists of ids."""

    lists: tuple[tuple[str, ...], ...] = Field(min_length=1, max_length=10)


class IdListResult(Value):
    """Ids in the order of the first list that has them."""

    total: int
    ids: tuple[str, ...]


class CypherArguments(Value):
    """A reading Cypher statement; `$name` parameters are not supported, write values as literals."""

    query: str = Field(max_length=4000)


class CypherResult(Value):
    """Rows of a statement, and whether there were more."""

    rows: tuple[dict[str, Any], ...]
    cut_off: bool
    # No part of what is shown: which of the values the statement reads, and which its writer put in.
    reading: Reading | None = Field(default=None, exclude=True, description="the statement as it was sent")


class ReferenceArguments(Value):
    """A task to look up in the reference sources."""

    task: CheckTask


class ReferenceResult(Value):
    """Evidence of the sources on a task, and those that could not be looked at."""

    task: CheckTask
    evidence: tuple[Evidence, ...]
    gaps: tuple[Gap, ...]


class AccessionArguments(Value):
    """An identifier of the database that issues it."""

    accession: Identifier


class PairArguments(Value):
    """Two identifiers of one database, and the network: functional links, or physical ones alone."""

    one: Identifier
    other: Identifier
    network: NetworkType = "functional"


class LiteratureArguments(Value):
    """An edge by the labels and ids of its ends."""

    triple: Triple


class LiteratureResult(LookupResult):
    """Sentences that name both ends of an edge and say such a thing; data, whatever they say."""

    triple: Triple
    claim: str = Field(default="", description="the edge in words")
    passages: tuple[Passage, ...] = ()
    retracted: tuple[str, ...] = ()
