"""What was seen of a graph whose profile is not known; `kgcheck.graph.survey` looks."""

from pydantic import Field

from kgcheck.model import Value
from kgcheck.profile.schema import KeyType, PropertyType


class PropertySurvey(Value):
    """A property as some nodes or edges hold it.

    Attributes:
        type: The one type that holds all its values.
        filled: How many of those that were looked at have a value.
    """

    name: str
    type: PropertyType
    filled: int


class LabelSurvey(Value):
    """The nodes of a label.

    Attributes:
        also: Labels that all nodes of this one carry, too.
        key: A property of texts or whole numbers that every node has and no two share; empty where there is none.
        ids: Some of its values.
    """

    name: str
    nodes: int
    also: tuple[str, ...] = ()
    key: str = ""
    key_type: KeyType = "string"
    ids: tuple[str, ...] = ()
    properties: tuple[PropertySurvey, ...] = ()


class RelationSurvey(Value):
    """The edges of a type between two labels.

    Attributes:
        loops: Edges from a node to itself.
        mutual: Edges whose ends are joined in the other direction, too.
    """

    type: str
    head: str
    tail: str
    edges: int
    loops: int = 0
    mutual: int = 0
    properties: tuple[PropertySurvey, ...] = ()


class GraphSurvey(Value):
    """What was seen of a graph.

    Attributes:
        profile: The one that kgcheck loaded it with, if it did.
        left_out: What cannot be in a profile, with the reason.
        own_keys: Keys can be called anything: it is on a server.
    """

    store: str
    profile: str = ""
    labels: tuple[LabelSurvey, ...]
    relations: tuple[RelationSurvey, ...]
    left_out: tuple[str, ...] = Field(default=())
    own_keys: bool = False
