"""Five Boolean queries for an objective, and how each is written in the language of each place.

A query is groups of terms: one term of each group must be there. It is kept as that and not as text, so that whoever
made it, a rule or a model, it is balanced, has no other operators, and names no field that a place does not know.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from kgcheck.model import Value
from kgcheck.protocols.objective import Objective
from kgcheck.protocols.search.concepts import LONGEST_TERM, SearchConcept, Synonyms, concepts_of, search_term
from kgcheck.protocols.search.rules import search_rules

SearchTerm = Annotated[str, Field(min_length=2, max_length=LONGEST_TERM)]


class TermGroup(Value):
    """Names of one thing, of which one must be there; ``data`` marks words for data that only papers use."""

    terms: tuple[SearchTerm, ...] = Field(min_length=1, max_length=12)
    data: bool = False

    @field_validator("terms")
    @classmethod
    def _are_plain(cls, terms: tuple[str, ...]) -> tuple[str, ...]:
        for term in terms:
            if search_term(term) != term:
                raise ValueError(f"{term[:40]!r} is no plain term: letters, digits, spaces and hyphens alone")
        return tuple(dict.fromkeys(terms))


class SearchQuery(Value):
    """A query: groups that must all be there."""

    purpose: str = Field(default="", max_length=300)
    groups: tuple[TermGroup, ...] = Field(min_length=1, max_length=5)

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if all(group.data for group in self.groups):
            raise ValueError("it names data alone")
        return self

    @property
    def words(self) -> str:
        """Its terms as plain words, as an index searches them."""
        return " ".join(term for group in self.groups if not group.data for term in group.terms)

    @property
    def pubmed(self) -> str:
        """In the language of PubMed: title and abstract."""
        return _boolean(self.groups, lambda term: f'"{term}"[tiab]')

    @property
    def pmc(self) -> str:
        """In the language of PMC: anywhere in a paper whose text may be taken."""
        return f'{_boolean(self.groups, _quoted)} AND "open access"[filter]'

    @property
    def europepmc(self) -> str:
        """In the language of Europe PMC: title and abstract."""
        return _boolean(self.groups, lambda term: f'TITLE_ABS:"{term}"')

    def geo(self, species: str) -> str:
        """In the language of GEO, which knows no field for both title and summary."""
        of_species = [f'"{plain}"[ORGN]'] if (plain := search_term(species)) else []
        return " AND ".join((_boolean([g for g in self.groups if not g.data], _quoted), *of_species))


def _quoted(term: str) -> str:
    return f'"{term}"'


def _boolean(groups: Sequence[TermGroup], write: Callable[[str], str]) -> str:
    return " AND ".join(f"({' OR '.join(map(write, group.terms))})" for group in groups)


def queries(objective: Objective, synonyms: Synonyms) -> tuple[SearchQuery, ...]:
    """Queries by rules alone."""
    return queries_of(concepts_of(objective, synonyms))


def queries_of(concepts: Sequence[SearchConcept]) -> tuple[SearchQuery, ...]:
    """Queries from what an objective is about."""
    found: dict[frozenset[tuple[str, ...]], SearchQuery] = {}
    for purpose, groups in _combined(concepts):
        query = SearchQuery(purpose=purpose[:300], groups=groups)
        found.setdefault(frozenset(g.terms for g in groups), query)
    return tuple(found.values())[: search_rules().limits.queries]


def _combined(concepts: Sequence[SearchConcept]) -> Iterator[tuple[str, tuple[TermGroup, ...]]]:
    """Combinations in the order of their worth: the subject with each side and method, and methods without it."""
    if not concepts:
        return
    first, *rest = concepts
    subject = TermGroup(terms=first.terms)
    sides = [c for c in rest if c.kind != "method"]
    methods = [c for c in rest if c.kind == "method"]

    def both(*others: SearchConcept) -> tuple[TermGroup, ...]:
        return subject, *(TermGroup(terms=c.terms) for c in others)

    for one in (*sides[:1], *methods[:1], *sides[1:2]):
        yield f"{first.name} and {one.name}", both(one)
    for one, other in zip(sides[:1], (*methods[:1], *sides[1:2]), strict=False):
        yield f"{one.name} and {other.name}, elsewhere", both(one, other)[1:]
    yield f"data of {first.name}", (subject, TermGroup(terms=search_rules().words.data, data=True))
    for one in (*methods[1:], *sides[2:]):
        yield f"{first.name} and {one.name}", both(one)
    yield first.name, (subject,)
