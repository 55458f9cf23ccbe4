"""Sentences of papers as they are shown: exact, and with where they stand."""

from datetime import datetime

from pydantic import Field

from kgcheck.model import Value

SOURCE = "literature"


class Passage(Value):
    """A sentence of a paper, with where it stands in the abstract: ``abstract[start:end] == quote``."""

    document: str
    title: str = ""
    year: int | None = None
    url: str = ""
    start: int
    end: int
    quote: str


class Passages(Value):
    """What a search for an edge shows."""

    claim: str
    release: str
    built_at: datetime
    passages: tuple[Passage, ...] = ()
    retracted: tuple[str, ...] = Field(default=(), description="papers that say such a thing and do not count")
