"""What a model that answers questions may do: the forms of its own tools, and of its answer."""

from pydantic import Field

from kgcheck.graph.store import Direction
from kgcheck.model import Ref, Value


class Find(Value):
    """Nodes that carry a name, of one label or of any."""

    name: str
    label: str | None = None


class NodeOf(Value):
    """Whether a node exists, and its attributes."""

    label: str
    id: str


class EdgesOf(Value):
    """Relations between two nodes, in either order."""

    one: Ref
    other: Ref


class Neighbours(Value):
    """Nodes one step from a node along a relation (out) or against it (in)."""

    node: Ref
    relation: str
    direction: Direction
    label: str


class Shared(Value):
    """Nodes that all of several nodes have one step away."""

    nodes: tuple[Ref, ...] = Field(min_length=2, max_length=10)
    relation: str
    direction: Direction
    label: str


class Final(Value):
    """The answer: ids of one label, a number, or whether it holds."""

    understood: bool = True
    label: str | None = None
    ids: tuple[str, ...] = ()
    count: int | None = None
    holds: bool | None = Field(default=None, description="of a yes or no question: whether the graph says so")
