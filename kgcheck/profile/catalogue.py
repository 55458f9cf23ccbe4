"""Models of checks in graph.toml: sources that decide ids, attributes, scores and edges."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from kgcheck.model import Reason, Tier, Value, World

PARENT = "parent"
"""Name in a snapshot for the links of every hierarchy, from a term to the one above it."""


_OTHER_NAMES = ("symbol",)


class Authority(Value):
    """Issuer of the identifiers of a label."""

    source: str = Field(default="", description="empty: nobody who could be asked, so that existence is not checked")
    namespace: str | None = Field(default=None, description="under which of its namespaces the source files them")
    pattern: str | None = Field(default=None, description="form of the ids that the source issues")
    other: str | None = Field(default=None, description="who issues the ids of any other form")
    is_partial: bool = Field(default=False, description="nobody is asked about an id that the source does not know")


class LinkedValue(Value):
    """A source whose links say the value: the heads of those that end at the node."""

    source: str
    link: str = Field(description="what the links are called in a snapshot")


class AttributeCheck(Value):
    """Value of a reference source that an attribute must equal."""

    source: str = Field(default="", description="empty: whoever issues the id")
    reference: str
    every: bool = Field(default=False, description="the list must hold every name of the reference")
    exact: bool = Field(default=False, description="no folding of case, space and Unicode")
    synonyms: bool = Field(default=False, description="a synonym of the name, or the symbol, is as good")
    otherwise: LinkedValue | None = Field(default=None, description="who decides where the source has no value")

    @property
    def stated_as(self) -> tuple[str, ...]:
        """Attributes of the source whose values count."""
        return (self.reference, *(_OTHER_NAMES if self.synonyms else ()))


class ScoreCheck(Value):
    """Check of how far a score may lie from that of the source which an edge cites."""

    property: str = "score"
    cited: str = Field(description="the source as edges name it")
    most: float = Field(gt=0, description="the largest difference that is none")


class EdgeCheck(Value):
    """Rule by which one reference source decides an edge."""

    source: str
    link: str = Field(default="", description="what a snapshot calls the source's links; by default as the graph does")
    world: World
    tier: Tier
    match: Literal["exact", "either_order", "descendant"] = "exact"
    ontology: str | None = None
    threshold: float | None = None
    both_ends_mapped: bool = False
    score: ScoreCheck | None = None
    channels: str | None = Field(
        default=None,
        description="the source as edges cite it with a channel, `NAME (channel)`: silence of that channel is closed",
    )
    optional: bool = Field(default=False, description="where no file of the source was read, nothing is missing")
    note: str = ""


class State(StrEnum):
    """The life of an identifier at the source that issues it.

    Where one release gives an id several, the first of this order counts.
    """

    CURRENT = "current"
    DELETED = "deleted"
    DEMERGED = "demerged"
    MERGED = "merged"
    OBSOLETE = "obsolete"
    SECONDARY = "secondary"
    PREVIOUS = "previous"
    WITHDRAWN = "withdrawn"
    RETIRED = "retired"
    SUPERSEDED = "superseded"
    DROPPED = "dropped"
    ALIAS = "alias"


STATE_REASONS: dict[State, Reason] = {
    State.CURRENT: Reason.CONFIRMED,
    State.MERGED: Reason.ID_MERGED,
    State.DEMERGED: Reason.ID_DEMERGED,
    State.DELETED: Reason.ID_DELETED,
    State.OBSOLETE: Reason.ID_OBSOLETE,
    State.SECONDARY: Reason.ID_SECONDARY,
    State.PREVIOUS: Reason.ID_PREVIOUS,
    State.WITHDRAWN: Reason.ID_WITHDRAWN,
    State.ALIAS: Reason.ID_ALIAS,
    State.RETIRED: Reason.ID_RETIRED,
    State.SUPERSEDED: Reason.ID_SUPERSEDED,
    # An earlier release knew the id and the newest complete one does not list it.
    State.DROPPED: Reason.ID_OBSOLETE,
}
"""Meaning of each state of an identifier for the node that carries it."""

NAMING = (State.PREVIOUS, State.ALIAS)
"""States of a name of something else, which may become an id of its own in a later release."""
