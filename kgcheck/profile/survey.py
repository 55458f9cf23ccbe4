"""Models of a graph survey: labels, relations and properties, with counts."""

from pydantic import Field

from kgcheck.model import Value
from kgcheck.profile.schema import KeyType, PropertyType


class PropertySurvey(Value):
    """A property as some nodes or edges hold it."""

    name: str
    type: PropertyType
    filled: int


class LabelSurvey(Value):
    """The nodes of a label."""

    name: str
    nodes: int
    also: tuple[str, ...] = ()
    key: str = ""
    key_type: KeyType = "string"
    ids: tuple[str, ...] = ()
    properties: tuple[PropertySurvey, ...] = ()


class RelationSurvey(Value):
    """The edges of a type between two labels."""

    type: str
    head: str
    tail: str
    edges: int
    loops: int = 0
    mutual: int = 0
    properties: tuple[PropertySurvey, ...] = ()


class GraphSurvey(Value):
    """Survey of a graph."""

    store: str
    profile: str = ""
    labels: tuple[LabelSurvey, ...]
    relations: tuple[RelationSurvey, ...]
    left_out: tuple[str, ...] = Field(default=())
    own_keys: bool = False
