"""The rules of the search, as the file ``corpus/protocols/search.toml`` has them."""

from functools import cache
from typing import Literal

from pydantic import Field

from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

ConceptKind = Literal["subject", "facet", "method"]
"""What a search is about, a side of it, or how something is done and with which data."""


class SearchLimits(Value):
    """How much is searched."""

    queries: int = Field(gt=0)
    results: int = Field(gt=0, le=200)
    terms: int = Field(gt=0)
    whole: int = Field(ge=0)
    judged: int = Field(gt=0)


class LikenessScale(Value):
    """From which value on a paper is like the objective at all, and from which as like as can be."""

    none: float = Field(ge=0)
    full: float = Field(gt=0)


class PaperRules(Value):
    """What the degree of a paper is made of."""

    kept: int = Field(ge=1, le=5)
    named: float
    likeness: float
    methods: float
    data_sets: float
    other_species: float
    no_methods: float
    vectors: LikenessScale
    words: LikenessScale
    concepts: dict[ConceptKind, float]


class DataSetRules(Value):
    """What a data set must have to be usable."""

    samples: int = Field(ge=0)


class SearchWords(Value):
    """Words by what they are taken for."""

    generic: frozenset[str]
    data: tuple[str, ...]
    methods: tuple[str, ...]
    no_methods: tuple[str, ...]


class KnownMethod(Value):
    """A method or a kind of data: words of papers, and words of repositories."""

    name: str
    words: tuple[str, ...] = Field(min_length=1)
    data: tuple[str, ...]


class SearchRules(Value):
    """The file."""

    limits: SearchLimits
    papers: PaperRules
    data_sets: DataSetRules
    words: SearchWords
    species: dict[str, tuple[str, ...]]
    methods: tuple[KnownMethod, ...]


@cache
def search_rules() -> SearchRules:
    """The rules that are shipped."""
    return read_value(resource_dir("corpus") / "protocols" / "search.toml", SearchRules)
