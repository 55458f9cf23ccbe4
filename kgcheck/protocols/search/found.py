"""Results of a search for an objective: papers and data sets, each with its degree or use, and why."""

from typing import Literal

from pydantic import Field

from kgcheck.literature.papers import WholePaper
from kgcheck.model import Value
from kgcheck.protocols.protocol import Objective, StudyDataSet
from kgcheck.protocols.search.queries import SearchQuery

SearchPlace = Literal["pubmed", "pmc", "europepmc", "geo", "index"]
"""``index``: the local literature index."""


class FoundPaper(Value):
    """A paper that was found; ``whole`` says that its sections are here, and not its abstract alone."""

    paper: WholePaper
    places: tuple[SearchPlace, ...]
    queries: tuple[int, ...] = Field(description="numbers of the queries that found it, from 1")
    degree: int = Field(ge=1, le=5, description="how helpful it is")
    relevance: float = Field(default=0.0, description="likeness to the objective, by vectors or by words")
    reasons: tuple[str, ...] = ()
    judged_by: str = "rules"
    kept: bool = False
    whole: bool = False


class FoundDataSet(Value):
    """A data set that was found."""

    data_set: StudyDataSet
    description: str = ""
    papers: tuple[str, ...] = Field(default=(), description="ids of the papers that its record names")
    queries: tuple[int, ...] = ()
    usable: bool = False
    reasons: tuple[str, ...] = ()
    judged_by: str = "rules"


class UnsearchedPlace(Value):
    """A place that could not be looked at, for a query or, with the number 0, for something else."""

    place: SearchPlace
    query: int
    reason: str


class StudySearch(Value):
    """Results of a search for an objective, as ``search.json`` has them."""

    format: int = Field(default=1, description="a reader refuses a newer one")
    objective: Objective
    day: str = Field(description="the day that the answers are of")
    queries: tuple[SearchQuery, ...]
    queries_by: str = "rules"
    papers: tuple[FoundPaper, ...] = ()
    data_sets: tuple[FoundDataSet, ...] = ()
    unsearched: tuple[UnsearchedPlace, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[FoundPaper, ...]:
        """The papers that are helpful, the most helpful first."""
        return tuple(p for p in self.papers if p.kept)

    @property
    def usable(self) -> tuple[FoundDataSet, ...]:
        """The data sets that can be used."""
        return tuple(d for d in self.data_sets if d.usable)
