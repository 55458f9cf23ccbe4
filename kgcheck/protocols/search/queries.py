"""Build Boolean queries for an objective, and write them for PubMed, PMC and GEO.

A query is groups of terms: one term of each group must be there. It is kept as that and not as text, so that whoever
made it, a rule or a model, it is balanced, has no other operators, and names no field that a place does not know.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from kgcheck.literature.documents import clean
from kgcheck.literature.lexical import stems
from kgcheck.literature.names import naming
from kgcheck.model import Value
from kgcheck.protocols.protocol import Objective
from kgcheck.protocols.rules import ProtocolRules

ConceptKind = Literal["subject", "facet", "method"]
"""Kind of a concept: the subject of a search, a side of it, or the method and data."""


class KnownMethod(Value):
    """A method or a kind of data: words of papers, and words of repositories."""

    name: str
    words: tuple[str, ...]
    data: tuple[str, ...]


class SearchRules(ProtocolRules):
    """Words and limits of searches."""

    file = "search"
    samples: int = Field(description="least samples of a data set that can be used")
    limits: dict[str, int]
    papers: dict[str, float] = Field(description="weights of the parts of a degree, and the scale of likeness")
    concepts: dict[ConceptKind, float]
    words: dict[str, tuple[str, ...]]
    species: dict[str, tuple[str, ...]]
    methods: tuple[KnownMethod, ...]

    @cached_property
    def method_stems(self) -> tuple[tuple[frozenset[str], KnownMethod], ...]:
        """The stems of every word for a method, the longest word first."""
        words = [(word, method) for method in self.methods for word in (method.name, *method.words)]
        words.sort(key=lambda w: -len(w[0]))
        return tuple((parts, method) for word, method in words if (parts := stems(words_of(word))))

    @cached_property
    def generic_stems(self) -> frozenset[str]:
        from bm25s.stopwords import STOPWORDS_EN

        return stems((*STOPWORDS_EN, *self.words["generic"]))


Synonyms = Callable[[str], tuple[str, ...]]
"""Other names of what a text names, as a graph or a snapshot knows them."""

LONGEST_TERM = 80  # characters of a term in a query
_LONGEST_PHRASE = 3  # words
_MEASURE = re.compile(r"\d+(?:[.-]\d+)*[a-z]{0,4}")  # a number, perhaps with its unit
_MOST_PHRASES = 7  # phrases that an objective is taken to be about: more would make each of them count for little
_SYMBOL = 5  # characters up to which a word without a small letter is a symbol, which is matched by its case
_TOKEN = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*|[,;:.()\[\]/]")
_NO_TERM = re.compile(r"[^\w +.'-]|_")


class SearchConcept(Value):
    """Something that is searched for: the first term is what the objective calls it."""

    kind: ConceptKind
    terms: tuple[str, ...] = Field(min_length=1)

    @property
    def name(self) -> str:
        return self.terms[0]

    @cached_property
    def _symbols(self) -> re.Pattern[str] | None:
        return naming(tuple(t for t in self.terms if _is_symbol(t)))

    @cached_property
    def _stems(self) -> tuple[frozenset[str], ...]:
        return tuple(stems(words_of(t)) for t in self.terms if not _is_symbol(t))

    def named_in(self, text: str, text_stems: frozenset[str]) -> bool:
        if any(own and own <= text_stems for own in self._stems):
            return True
        return self._symbols is not None and bool(self._symbols.search(text))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, also those within others that a hyphen joins."""
    return tuple(
        part for word in _TOKEN.findall(text.casefold()) for part in re.split(r"[-'.]", word) if part.isalnum()
    )


def search_term(text: str) -> str:
    """A text as it may stand in quotes in any query language.

    >>> search_term('KIT" OR 1=1 [tiab]*'), search_term("42")
    ('KIT OR 1 1 tiab', '')
    """
    plain = " ".join(_NO_TERM.sub(" ", _plain(text[: 4 * LONGEST_TERM])).split()).strip(".' -+")
    return plain if 2 <= len(plain) <= LONGEST_TERM and any(map(str.isalpha, plain)) else ""


def concepts_of(objective: Objective, synonyms: Synonyms) -> tuple[SearchConcept, ...]:
    """Extract the concepts of an objective: subjects, facets, methods."""
    found: dict[str, SearchConcept] = {}

    def put(kind: ConceptKind, *names: str) -> None:
        """Add a concept, unless it is there under one of its names."""
        terms: dict[str, str] = {}
        for term in filter(None, map(search_term, names)):
            terms.setdefault(term.casefold(), term)
        if terms and not terms.keys() & found.keys():
            kept = tuple(terms.values())[: SearchRules.shipped().limits["terms"]]
            found.update(dict.fromkeys(terms, SearchConcept(kind=kind, terms=kept)))

    for name in objective.about:
        put("subject", name, *synonyms(name))
    for assay in objective.assays:
        method = method_named(assay)
        put("method", assay, *(method.words if method else ()))
    for names in [*_phrases(objective.title), *_phrases(objective.objective)][:_MOST_PHRASES]:
        others = [other for name in names for other in synonyms(name)]
        if method := next(filter(None, map(method_named, names)), None):
            own = stems(words_of(names[0]))
            named = (w for w in (*method.words, method.name) if stems(words_of(w)) <= own)
            put("method", next(named, names[0]), *method.words)
        else:
            put("subject" if others else "facet", *names, *others, *_shorter(names[0]))
    known = list(dict.fromkeys(found.values()))
    # A facet that is some of the words of another concept is none.
    words = {c: [stems(words_of(term)) for term in c.terms] for c in known}
    known = [
        c
        for c in known
        if c.kind != "facet" or not any(words[c][0] <= own for other in known if other != c for own in words[other])
    ]
    facets = [c for c in known if c.kind == "facet"]
    if facets and not any(c.kind == "subject" for c in known):
        # Without a subject, the phrase that is named most often is taken for it.
        first = max(facets, key=lambda c: _weight(c.name, objective))
        known[known.index(first)] = first.model_copy(update={"kind": "subject"})
    about = [search_term(name) for name in objective.about]

    def place(concept: SearchConcept) -> tuple[int, int, int]:
        if concept.kind != "subject":
            return ("subject", "facet", "method").index(concept.kind), 0, 0
        named = about.index(concept.name) if concept.name in about else len(about)
        return 0, named, -_weight(concept.name, objective)[0]

    return tuple(sorted(known, key=place))


def method_named(text: str) -> KnownMethod | None:
    """The method that a text names; of several the one with the longest word."""
    own = stems(words_of(text))
    return next((method for parts, method in SearchRules.shipped().method_stems if parts <= own), None)


def _weight(phrase: str, objective: Objective) -> tuple[int, int]:
    own, title = phrase.casefold(), objective.title.casefold()
    folded = f"{title} {objective.objective.casefold()}"
    within = any(f"{word} {own}" in folded for word in ("in", "of"))
    named = any(map(_is_name, phrase.split()))
    return int(own in title) + int(named) + min(folded.count(own), 3) + int(within), len(phrase)


def _is_name(word: str) -> bool:
    """Tell whether a word has capitals or digits within, as names of genes and viruses do."""
    return len(word) > 2 and any(c.isupper() or c.isdigit() for c in word[1:]) and any(map(str.isalpha, word))


def _shorter(phrase: str) -> tuple[str, ...]:
    """Shorten a phrase too long to be found as it stands, to the names in it, or its last words."""
    words = phrase.split()
    names = tuple(word for word in words if _is_name(word)) if len(words) > 1 else ()
    return names or ((" ".join(words[-2:]),) if len(words) > 2 else ())


def _phrases(text: str) -> list[tuple[str, ...]]:
    """Runs of words between words that name nothing, each once, in order, with the abbreviation in brackets behind."""
    found: dict[str, tuple[str, ...]] = {}
    run: list[str] = []
    last = ""
    parts = [*_TOKEN.findall(_plain(text[:2_000])), "."]
    for at, part in enumerate(parts):
        is_word = part[0].isalnum() and not _names_nothing(part)
        if is_word and len(run) < _LONGEST_PHRASE:
            run.append(part)
            continue
        if any(len(word) > 2 for word in run):
            phrase = " ".join(run)
            short = last and len(run) == 1 and part == ")" and parts[at - 2] == "(" and _is_symbol(phrase)
            if short:
                found[last] = (*found[last], phrase)
            else:
                found.setdefault(phrase.casefold(), (phrase,))
            last = "" if short or part != "(" else phrase.casefold()
        elif part != "(":
            last = ""
        run = [part] if is_word else []
    return list(found.values())


def _names_nothing(word: str) -> bool:
    return bool(_MEASURE.fullmatch(word.casefold())) or bool(
        stems(words_of(word)) <= SearchRules.shipped().generic_stems
    )


def _plain(text: str) -> str:
    return clean(text).replace("\u2019", "'")


def _is_symbol(term: str) -> bool:
    return " " not in term and len(term) <= _SYMBOL and not any(c.islower() for c in term)


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
        return " ".join(term for group in self.groups if not group.data for term in group.terms)

    @property
    def pubmed(self) -> str:
        return _boolean(self.groups, "[tiab]")

    @property
    def pmc(self) -> str:
        """In the language of PMC: anywhere in a paper whose text may be taken."""
        return f'{_boolean(self.groups)} AND "open access"[filter]'

    def geo(self, species: str) -> str:
        """In the language of GEO, which knows no field for both title and summary."""
        of_species = [f'"{plain}"[ORGN]'] if (plain := search_term(species)) else []
        return " AND ".join((_boolean([g for g in self.groups if not g.data]), *of_species))


def _boolean(groups: Sequence[TermGroup], place: str = "") -> str:
    quoted = ([f'"{term}"{place}' for term in group.terms] for group in groups)
    return " AND ".join(f"({' OR '.join(terms)})" for terms in quoted)


def queries_of(concepts: Sequence[SearchConcept]) -> tuple[SearchQuery, ...]:
    """Queries in the order of their worth: the subject with each side and method, and methods without it."""
    if not concepts:
        return ()
    first, *rest = concepts
    sides, methods = ([c for c in rest if (c.kind == "method") is is_method] for is_method in (False, True))
    data = TermGroup(terms=SearchRules.shipped().words["data"], data=True)
    combined: list[tuple[str, list[SearchConcept], list[TermGroup]]] = [
        *((f"{first.name} and {one.name}", [first, one], []) for one in (*sides[:1], *methods[:1], *sides[1:2])),
        *(
            (f"{one.name} and {other.name}, elsewhere", [one, other], [])
            for one, other in zip(sides[:1], (*methods[:1], *sides[1:2]), strict=False)
        ),
        (f"data of {first.name}", [first], [data]),
        *((f"{first.name} and {one.name}", [first, one], []) for one in (*methods[1:], *sides[2:])),
        (first.name, [first], []),
    ]
    found: dict[frozenset[tuple[str, ...]], SearchQuery] = {}
    for purpose, named, more in combined:
        groups = (*(TermGroup(terms=c.terms) for c in named), *more)
        query = SearchQuery(purpose=purpose[:300], groups=groups)
        found.setdefault(frozenset(g.terms for g in groups), query)
    return tuple(found.values())[: SearchRules.shipped().limits["queries"]]
