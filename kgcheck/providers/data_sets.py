"""What every repository of data sets gives: what it states of one, that it has none, or that it shows none."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

RecordState = Literal["found", "missing", "not_shown"]
"""``missing``: the repository has no such record. ``not_shown``: it shows none, and one that is private looks alike."""

LATER_PUBLIC = "it exists and is not public"
"""Beside ``found`` of a data set of which nothing else is shown."""


class DataSetRecord(NamedTuple):
    """What a repository states of a data set.

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
        """What it states of data sets."""
