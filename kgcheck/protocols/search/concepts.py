"""What an objective is about, in terms that can be searched for: subjects, sides of them, methods."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from pydantic import Field

from kgcheck.literature.documents import clean
from kgcheck.literature.lexical import stems
from kgcheck.literature.names import naming
from kgcheck.model import Value
from kgcheck.protocols.objective import Objective
from kgcheck.protocols.search.rules import ConceptKind, KnownMethod, search_rules

Synonyms = Callable[[str], tuple[str, ...]]
"""Other names of what a text names, as a graph or a snapshot knows them."""

LONGEST_TERM = 80
"""Characters of a term in a query."""

_LONGEST_PHRASE = 4
"""Words."""

_MOST_PHRASES = 12
"""Phrases of an objective for which names are looked up."""

_SYMBOL = 5
"""Characters up to which a word without a small letter is a symbol, which is matched by its case."""

_TOKEN = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*|[,;:.()\[\]/]")
_NO_TERM = re.compile(r"[^\w +.'-]|_")


class SearchConcept(Value):
    """Something that is searched for: the first term is what the objective calls it."""

    kind: ConceptKind
    terms: tuple[str, ...] = Field(min_length=1)

    @property
    def name(self) -> str:
        """What the objective calls it."""
        return self.terms[0]

    @cached_property
    def _symbols(self) -> re.Pattern[str] | None:
        return naming([t for t in self.terms if _is_symbol(t)])

    @cached_property
    def _stems(self) -> tuple[frozenset[str], ...]:
        return tuple(stems(words_of(t)) for t in self.terms if not _is_symbol(t))

    def named_in(self, text: str, text_stems: frozenset[str]) -> bool:
        """Whether a text names it.

        Args:
            text: The text.
            text_stems: The stems of its words.

        Returns:
            True where it has a symbol as it is written, or all words of another term.
        """
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

    Args:
        text: Anything.

    Returns:
        Letters, digits, spaces, hyphens, dots, plus signs and apostrophes of it; empty where nothing could be found.

    >>> search_term('KIT" OR 1=1 [tiab]*'), search_term("42")
    ('KIT OR 1 1 tiab', '')
    """
    plain = " ".join(_NO_TERM.sub(" ", _plain(text[: 4 * LONGEST_TERM])).split()).strip(".' -+")
    return plain if 2 <= len(plain) <= LONGEST_TERM and any(map(str.isalpha, plain)) else ""


def concepts_of(objective: Objective, synonyms: Synonyms) -> tuple[SearchConcept, ...]:
    """What an objective is about.

    Args:
        objective: The objective.
        synonyms: Names of what a phrase names.

    Returns:
        What it is about first, as far as the graph knows it or the objective names it; then sides of it, then methods.
    """
    found: dict[str, SearchConcept] = {}
    for name in objective.about:
        _put(found, "subject", (name, *synonyms(name)))
    text = " ".join((objective.title, objective.objective))
    for phrase in [*_phrases(objective.title), *_phrases(objective.objective)][:_MOST_PHRASES]:
        method = method_named(phrase)
        if method:
            _put(found, "method", (*_own_words(phrase, method),))
        elif others := synonyms(phrase):
            _put(found, "subject", (phrase, *others))
        else:
            _put(found, "facet", (phrase,))
    for assay in objective.assays:
        method = method_named(assay)
        _put(found, "method", (assay, *(method.words if method else ())))
    return _in_order(found, text)


def method_named(text: str) -> KnownMethod | None:
    """The method that a text names; of several the one with the longest word.

    Args:
        text: A phrase, or the name of an assay.

    Returns:
        The method, or None.
    """
    own = stems(words_of(text))
    fitting = [
        (len(word), method)
        for method in search_rules().methods
        for word in (method.name, *method.words)
        if (parts := stems(words_of(word))) and parts <= own
    ]
    return max(fitting, key=lambda f: f[0])[1] if fitting else None


def _own_words(phrase: str, method: KnownMethod) -> Iterator[str]:
    yield next((w for w in (*method.words, method.name) if stems(words_of(w)) <= stems(words_of(phrase))), phrase)
    yield from method.words


def _put(found: dict[str, SearchConcept], kind: ConceptKind, names: tuple[str, ...]) -> None:
    """Add a concept, unless it is there under one of its names."""
    terms: dict[str, str] = {}
    for name in names:
        if term := search_term(name):
            terms.setdefault(term.casefold(), term)
    if not terms or any(term in found for term in terms):
        return
    kept = tuple(terms.values())[: search_rules().limits.terms]
    concept = SearchConcept(kind=kind, terms=kept)
    found |= {term: concept for term in terms}


def _in_order(found: Mapping[str, SearchConcept], text: str) -> tuple[SearchConcept, ...]:
    """Each once: subjects, facets, methods; without a subject, the phrase that is named most often is taken for it."""
    known = list(dict.fromkeys(found.values()))
    known = [c for c in known if c.kind != "facet" or not any(_is_within(c, other) for other in known)]
    if not any(c.kind == "subject" for c in known):
        facets = [c for c in known if c.kind == "facet"]
        if facets:
            first = max(facets, key=lambda c: _weight(c.name, text))
            known[known.index(first)] = first.model_copy(update={"kind": "subject"})
    order = ("subject", "facet", "method")
    return tuple(sorted(known, key=lambda c: order.index(c.kind)))


def _is_within(facet: SearchConcept, other: SearchConcept) -> bool:
    """Whether a facet is some of the words of what is searched for anyway."""
    own = stems(words_of(facet.name))
    return facet != other and any(own <= stems(words_of(term)) for term in other.terms)


def _weight(phrase: str, text: str) -> tuple[int, int]:
    """How often a phrase is named, and whether something is in it or of it: what happens in X is about X."""
    folded = text.casefold()
    within = any(f"{word} {phrase.casefold()}" in folded for word in ("in", "of"))
    return min(folded.count(phrase.casefold()), 3), int(within)


def _phrases(text: str) -> list[str]:
    """Runs of words between words that name nothing, each once, in order."""
    from bm25s.stopwords import STOPWORDS_EN

    generic = search_rules().words.generic
    found: list[str] = []
    run: list[str] = []
    for token in (*_TOKEN.findall(_plain(text[:2_000])), "."):
        stop = not token[0].isalnum() or token.casefold() in STOPWORDS_EN or token.casefold() in generic
        if not stop and len(run) < _LONGEST_PHRASE:
            run.append(token)
            continue
        if run and any(len(word) > 2 for word in run):
            found.append(" ".join(run))
        run = [] if stop else [token]
    return list(dict.fromkeys(found))


def _plain(text: str) -> str:
    return clean(text).replace("\u2019", "'")


def _is_symbol(term: str) -> bool:
    return " " not in term and len(term) <= _SYMBOL and not any(c.islower() for c in term)
