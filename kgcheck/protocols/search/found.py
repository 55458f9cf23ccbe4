"""What a search for an objective found: papers and data sets, each with its degree or use, and why."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from kgcheck.errors import InputFormat
from kgcheck.inputs import read_whole
from kgcheck.literature.papers import WholePaper
from kgcheck.model import Value
from kgcheck.protocols.objective import Objective
from kgcheck.protocols.protocol import StudyDataSet
from kgcheck.protocols.search.queries import SearchQuery

SEARCH_FORMAT = 1
"""Of ``search.json``; a reader refuses a newer one."""

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
    """What was found for an objective, as ``search.json`` has it."""

    format: int = SEARCH_FORMAT
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


def read_search(path: Path) -> StudySearch:
    """Read what a search found.

    Args:
        path: A file ``search.json``.

    Returns:
        The same.

    Raises:
        InputFormat: It is none, or of a newer format.
    """
    try:
        found = StudySearch.model_validate_json(read_whole(path))
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"]))
        raise InputFormat(f"{path} is no search: {where}: {wrong['msg']}"[:300], "make it again") from None
    if found.format > SEARCH_FORMAT:
        raise InputFormat(f"{path} is of the format {found.format}", "use a newer kgcheck, or make it again")
    return found
