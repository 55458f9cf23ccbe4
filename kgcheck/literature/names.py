"""Names and synonyms of nodes, and patterns that find them in papers."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Protocol

from kgcheck.caching import BatchCache
from kgcheck.graph.names import NameIndex, tokens
from kgcheck.graph.store import GraphStore
from kgcheck.model import Ref

MAX_NAMES = 12
_MOST_WORDS = 40
_MOST_MEANT = 4  # nodes of a name whose other names are looked for, too
_KEPT = 10_000  # nodes whose names are kept: an edge after the other of one node asks for them again
_PATTERNS = 2_000
"""Compiled patterns that are kept: to compile one takes longer than to search a hundred sentences with it."""

_LINK = re.compile(r"(?:[A-Za-z_]+:|ENS[GPT]\d|\d+\.ENS|[NX][MPR]_\d|IPI\d|UPI|[A-Z0-9]+_HUMAN$|\d+$)")
"""Cross-references that graphs keep among the synonyms."""


class Names(Protocol):
    """Source of the names of things."""

    def of_many(self, refs: Iterable[Ref]) -> dict[Ref, tuple[str, ...]]:
        """Names of nodes, the one that is used most first; a node that has none may be left out."""

    def mentioned(self, text: str) -> tuple[str, ...]:
        """Other names of what a text names, none of them in the text."""


class StoreNames:
    """Names that the nodes of a graph carry."""

    def __init__(self, store: GraphStore, index: Callable[[], NameIndex] | None = None) -> None:
        self._store = store
        self._open_index = index or (lambda: NameIndex.from_store(store))

    @cached_property
    def _index(self) -> NameIndex:
        return self._open_index()

    def of_many(self, refs: Iterable[Ref]) -> dict[Ref, tuple[str, ...]]:
        by_label: defaultdict[str, list[Ref]] = defaultdict(list)
        for ref in refs:
            by_label[ref.label].append(ref)
        found: dict[Ref, tuple[str, ...]] = {}
        for label_name, wanted in by_label.items():
            label = self._store.schema.label(label_name)
            nodes = self._store.nodes(label, [ref.id for ref in wanted])
            for ref in wanted:
                if node := nodes.get(ref.id):
                    stated = [ref.id if name == label.key else node.get(name) for name in label.names]
                    listed = [value if isinstance(value, list) else [value] for value in stated]
                    found[ref] = good_names(name for values in listed for name in values)
        return found

    def mentioned(self, text: str) -> tuple[str, ...]:
        links = self._index.links(tokens(text)[:_MOST_WORDS])
        meant = dict.fromkeys(node.ref for link in links for node in link.candidates[:_MOST_MEANT])
        refs = [ref for ref in meant if self._store.schema.label(ref.label).in_papers]
        names = self.of_many(refs)
        return others((name for ref in refs for name in names.get(ref, ())), text)


class AllNames:
    """Names from several places, those of the first one first.

    What a node is called is kept: each audit and each request has names of its own, so that a graph may change.
    """

    def __init__(self, places: Sequence[Names]) -> None:
        self._places = places
        self._of = BatchCache[Ref, tuple[str, ...]](_KEPT)

    def of_many(self, refs: Iterable[Ref]) -> dict[Ref, tuple[str, ...]]:
        return self._of.get_many(refs, self._look_up)

    def _look_up(self, refs: list[Ref]) -> dict[Ref, tuple[str, ...]]:
        found = [place.of_many(refs) for place in self._places]
        return {ref: good_names(name for names in found for name in names.get(ref, ())) for ref in refs}

    def mentioned(self, text: str) -> tuple[str, ...]:
        return others([name for place in self._places for name in place.mentioned(text)], text)


def good_names(names: Iterable[object]) -> tuple[str, ...]:
    """Names that a paper may use, each once, at most MAX_NAMES: no cross-references, no placeholders."""
    kept: dict[str, str] = {}
    for raw in names:
        name = str(raw or "").strip()
        if 2 <= len(name) <= 100 and not _LINK.match(name) and any(c.isalpha() for c in name):
            kept.setdefault(name.casefold(), name)
    return tuple(kept.values())[:MAX_NAMES]


def others(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Names that a text does not hold itself.

    >>> others(["ABC1", "long name of ABC1", "abc one"], "Does ABC1 cause grey fever?")
    ('long name of ABC1', 'abc one')
    """
    folded = text.casefold()
    return good_names(n for n in names if n.casefold() not in folded)


@lru_cache(_PATTERNS)
def naming(names: tuple[str, ...], *, joined: bool = False) -> re.Pattern[str] | None:
    """Compile a pattern that finds any of the names as whole words, or joined by a hyphen; symbols by their case."""
    longest = sorted(names, key=len, reverse=True)
    parts = [re.escape(n) if len(n) <= 5 and " " not in n else f"(?i:{re.escape(n)})" for n in longest]
    before = r"(?<!\w)" if joined else r"(?<![\w-])"
    return re.compile(rf"{before}(?:{'|'.join(parts)})(?!\w|-\d)") if names else None
