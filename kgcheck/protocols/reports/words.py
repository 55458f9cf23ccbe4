"""The words of the readers of methods, as ``corpus/protocols/*.toml`` has them, and patterns made of them."""

import re
from collections.abc import Iterable
from functools import cache

from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.protocols.protocol import ItemKind
from kgcheck.resources import resource_dir

MOST_CHARACTERS = 5_000
"""Of a sentence that are read: what is longer is a table or a list of references that lost its form."""


class StepVerbs(Value):
    """Verbs by what becomes of their object, each a text of words."""

    makes: str
    takes: str


class StepPlaces(Value):
    """Words of work at a bench and of computing."""

    wet: str
    dry: str


class StepWords(Value):
    """The file ``steps.toml``."""

    states: str
    active_states: str
    no_participles: str
    irregular: str
    irregular_past: str
    present: tuple[str, ...]
    orders: tuple[str, ...]
    people: str
    people_verbs: str
    things: str
    things_verbs: str
    settings: tuple[str, ...]
    perfect: str
    permits: str
    not_steps: tuple[str, ...]
    not_headings: str
    headings: str
    no_studies: tuple[str, ...]
    items: dict[ItemKind, tuple[str, ...]]
    verbs: StepVerbs
    places: StepPlaces
    species: dict[str, tuple[str, ...]]


class ParameterWords(Value):
    """The file ``parameters.toml``."""

    nouns: str
    direct: str
    results: str
    counted: str
    many: str
    stop: str
    default: tuple[str, ...]
    units: dict[str, tuple[str, ...]]
    kinds: dict[str, tuple[str, ...]]


class AmbiguousNames(Value):
    """Names of software that are also other words, and what must stand beside them."""

    names: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


class TechniqueNames(Value):
    """Names with which things are done and that are no software, as one text."""

    names: str


class SoftwareKinds(Value):
    """Words for software, and what is no name of one."""

    words: tuple[str, ...]
    stop: str
    not_software: str


class SoftwareWords(Value):
    """The file ``software.toml``."""

    known: tuple[str, ...]
    near: dict[str, tuple[str, ...]]
    ambiguous: AmbiguousNames
    kinds: SoftwareKinds
    techniques: TechniqueNames


class StatisticWords(Value):
    """The file ``statistics.toml``: by name, how each is written."""

    tests: dict[str, tuple[str, ...]]
    corrections: dict[str, tuple[str, ...]]
    models: dict[str, tuple[str, ...]]
    effects: dict[str, tuple[str, ...]]


class ReferabilityRules(Value):
    """The file ``referability.toml``."""

    full_relevance: float
    full_cosine: float
    full_detail: float
    parameter: float
    tool: float
    version: float
    statistic: float
    data_set: float
    relevance: float
    unrelated: float
    most_unrelated: int
    wet_share: float


@cache
def step_words() -> StepWords:
    """The words of steps."""
    return read_value(resource_dir("corpus") / "protocols" / "steps.toml", StepWords)


@cache
def parameter_words() -> ParameterWords:
    """The words of parameters."""
    return read_value(resource_dir("corpus") / "protocols" / "parameters.toml", ParameterWords)


@cache
def software_words() -> SoftwareWords:
    """The names of software."""
    return read_value(resource_dir("corpus") / "protocols" / "software.toml", SoftwareWords)


@cache
def statistic_words() -> StatisticWords:
    """The names of statistics."""
    return read_value(resource_dir("corpus") / "protocols" / "statistics.toml", StatisticWords)


@cache
def referability_rules() -> ReferabilityRules:
    """How referability is reckoned."""
    return read_value(resource_dir("corpus") / "protocols" / "referability.toml", ReferabilityRules)


def either(spellings: Iterable[str]) -> str:
    """A pattern of any of some spellings, the longest first; a ``*`` at the end stands for the rest of a word."""
    longest = sorted(set(spellings), key=len, reverse=True)
    return "|".join(re.escape(s[:-1]) + r"\w{0,20}" if s.endswith("*") else re.escape(s) for s in longest)
