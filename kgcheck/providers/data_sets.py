"""DataSetRecord and DataSetRepository: the interface of all repositories of data sets."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

RecordState = Literal["found", "missing", "not_shown"]
"""``missing``: the repository has no such record. ``not_shown``: it shows none, and one that is private looks alike."""

LATER_PUBLIC = "it exists and is not public"
"""Beside ``found`` of a data set of which nothing else is shown."""


class DataSetRecord(NamedTuple):
    """Record of a data set in a repository.

    ``remark`` is what is odd about it: that it is private, until when, that it was withdrawn.
    """

    id: str
    state: RecordState
    source: str
    retrieved_at: datetime
    repository: str = ""
    title: str = ""
    description: str = ""
    species: tuple[str, ...] = ()
    assay: str = ""
    samples: int | None = None
    papers: tuple[str, ...] = ()
    url: str = ""
    remark: str = ""


class DataSetRepository(Protocol):
    """A repository in which data sets are looked up."""

    name: str

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        """Look up what the repository states of data sets."""
