"""Link names in a question to nodes of the graph: by id, name or synonym. The index is made from the store once."""

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.graph.store import NO_ID, GraphStore
from kgcheck.model import Ref
from kgcheck.profile.lexicon import Lexicon
from kgcheck.profile.schema import Schema
from kgcheck.progress import NoProgress, Progress

_EDGES = "\"'()[]{}.,;:?!`\u201c\u201d\u2018\u2019"
_MOST_WORDS = 24
_PLAIN = re.compile(r"[\w+/-]*\w(?:[ :][\w+/-]*\w)*")
_LEAST_VARIED = 5
_MOST_HYPHENS = 5
_TOKEN = re.compile(r"\S+")


class How(IntEnum):
    """By what a node was found; the lower, the surer."""

    ID = 0
    NAME = 1
    SYNONYM = 2


class Token(NamedTuple):
    """A word of a question, without the punctuation around it."""

    text: str
    folded: str
    start: int
    end: int


class Candidate(NamedTuple):
    """A node that a name may mean."""

    ref: Ref
    how: How
    name: str


class NameLink(NamedTuple):
    """Words that name nodes."""

    start: int
    end: int
    text: str
    candidates: tuple[Candidate, ...]


class _Entry(NamedTuple):
    label: str
    id: str
    how: How
    written: str


def tokens(text: str) -> list[Token]:
    """The words of a text, with where they stand."""
    found = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        stripped = _without_punctuation(word)
        if stripped:
            start = match.start() + len(word) - len(word.lstrip(_EDGES))
            found.append(Token(stripped, stripped.casefold(), start, start + len(stripped)))
    return found


def folded(name: str) -> str:
    """A name as the index keeps it: words in lower case, without the punctuation around them.

    >>> folded("Alzheimer's Disease (familial)")
    'alzheimer disease familial'
    """
    return " ".join(stripped for word in name.casefold().split() if (stripped := _without_punctuation(word)))


def _without_punctuation(word: str) -> str:
    return word.strip(_EDGES).removesuffix("'s").removesuffix("\u2019s")


class NameIndex:
    """Every id, name and synonym of a graph."""

    def __init__(self, schema: Schema, lexicon: Lexicon) -> None:
        self._schema = schema
        self._words = {label.name: label for label in lexicon.labels}
        self._exact = frozenset(label.name for label in lexicon.labels if label.exact)
        self._plain = lexicon.words.ignored | lexicon.words.changing
        self._species = lexicon.words.species
        self._of_species = self._of_others = 0
        self._spellings = lexicon.spellings
        self._adjectives = lexicon.adjectives
        self._entries: dict[str, list[_Entry]] = {}

    @classmethod
    def from_store(cls, store: GraphStore, lexicon: Lexicon, progress: Progress | None = None) -> "NameIndex":
        """Read the names of a store."""
        index = cls(store.schema, lexicon)
        with (progress or NoProgress()).step("reading names", len(store.schema.labels)) as step, _no_collection():
            for label in store.schema.labels:
                wanted = index._words[label.name].names if label.name in index._words else ()
                for table in store.scan_nodes(label):
                    index._note_species(table)
                    columns = [table.column(name).to_pylist() for name in ("id", *wanted)]
                    for id_, *values in zip(*columns, strict=True):
                        if id_ != NO_ID:
                            index.add(label.name, id_, dict(zip(wanted, values, strict=True)))
                step.advance()
        return index

    def _note_species(self, table: pa.Table) -> None:
        species = self._species
        for name in species.properties if species else ():
            if species and name in table.column_names:
                stated = pc.equal(table.column(name), species.value)
                self._of_others += table.num_rows - (pc.sum(stated).as_py() or 0)
                self._of_species += pc.sum(stated).as_py() or 0

    @property
    def one_species(self) -> bool:
        """True where every node that could be of another species is of the one that the lexicon names."""
        return bool(self._of_species) and not self._of_others

    def add(self, label: str, id_: str, names: dict[str, str | list[str] | None]) -> None:
        """Add a node with its names. The id of another label's node, shared by this one, means the other."""
        if not self._schema.label(label).shares_ids_with:
            self._put(id_, _Entry(label, id_, How.ID, id_))
        for property_, value in names.items():
            how = How.NAME if property_ == "name" else How.SYNONYM
            for text in [value] if isinstance(value, str) else value or ():
                self._put(text, _Entry(label, id_, how, text))

    def _put(self, text: str, entry: _Entry) -> None:
        # Most names have nothing to take off.
        key = text.casefold() if _PLAIN.fullmatch(text) else folded(text)
        if not key:
            return
        entries = self._entries.setdefault(key, [])
        if not entries or not any(e.label == entry.label and e.id == entry.id for e in entries):
            entries.append(entry)

    def named(self, text: str) -> tuple[Candidate, ...]:
        """Nodes that a text names, the surest first."""
        found = self._entries.get(folded(text), ())
        return _candidates(e for e in found if self._may_be(e, text))

    def links(self, words: list[Token]) -> list[NameLink]:
        """The longest names at every word of a question; they may overlap."""
        found = []
        for first, token in enumerate(words):
            for last in range(min(len(words), first + _MOST_WORDS), first, -1):
                entries = self._entries_of([t.folded for t in words[first:last]])
                if entries is None:
                    continue
                written = " ".join(t.text for t in words[first:last])
                alone = last - first == 1
                kept = [e for e in entries if self._may_be(e, written) and not (alone and self._is_plain(token, e))]
                if kept:
                    found.append(NameLink(token.start, words[last - 1].end, written, _candidates(kept)))
                    break
        return found

    def _entries_of(self, words: list[str]) -> list[_Entry] | None:
        """Find what is named so, or so but for a hyphen, a plural or a British spelling."""
        key = " ".join(words)
        found = self._entries.get(key) or self._entries.get(self._adjectives.get(key, ""))
        if found is not None or (len(words) == 1 and len(key) < _LEAST_VARIED):
            return found
        for variant in self._variants(words, key):
            if (found := self._entries.get(variant)) is not None:
                # Symbols are as they are; only names vary.
                return [e for e in found if e.label not in self._exact] or None
        return None

    def _variants(self, words: list[str], key: str) -> Iterator[str]:
        for text in (key, key.replace("-", " ")):
            yield text
            if text.endswith("s") and not text.endswith("ss"):
                yield text[:-1]
            if text.endswith("ies"):
                yield f"{text[:-3]}y"
        if len(words) > 1 and words[0].endswith("s"):
            # Alzheimers disease.
            yield " ".join([words[0][:-1], *words[1:]])
        for n in range(1, len(words) if len(words) < _MOST_HYPHENS else 1):
            yield f"{' '.join(words[:n])}-{' '.join(words[n:])}"
        respelled = key
        for british, american in self._spellings.items():
            respelled = respelled.replace(british, american)
        if respelled != key:
            yield respelled

    def _may_be(self, entry: _Entry, written: str) -> bool:
        """One word names a gene or protein only as it is written: SET is a gene, set is a word."""
        if " " in written or entry.label not in self._exact or entry.written == written:
            return True
        # A symbol with a digit in it is no word: tp53.
        return any(c.isdigit() for c in written) and entry.written.casefold() == written.casefold()

    def _is_plain(self, token: Token, entry: _Entry) -> bool:
        if token.folded not in self._plain:
            return False
        return token.text != entry.id and not (token.text.isupper() and token.text == entry.written)

    def malformed(self, token: Token) -> str | None:
        """The label whose ids a word looks like, though no node has that id."""
        if not re.search(r"\d", token.text) or token.folded in self._entries:
            return None
        fits = [s for s in self._schema.labels if s.matches(token.text) and not s.matches("word")]
        return fits[0].name if fits and len(token.text) > 4 else None

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        by_start: dict[str, list[str]] = {}
        for key in self._entries:
            by_start.setdefault(key[:3], []).append(key)
        return by_start

    def nearest(self, text: str) -> list[str]:
        """Names like one that does not exist."""
        key = folded(text)
        like = [k for k in self._by_start.get(key[:3], ()) if abs(len(k) - len(key)) < 4]
        return [self._entries[k][0].written for k in get_close_matches(key, like, n=3, cutoff=0.75)]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of small things that all stay: looking for garbage among them takes as long as making them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _candidates(entries: Iterable[_Entry]) -> tuple[Candidate, ...]:
    """The surest of each label."""
    best: dict[str, list[_Entry]] = {}
    for entry in entries:
        of_label = best.setdefault(entry.label, [])
        if of_label and of_label[0].how > entry.how:
            of_label.clear()
        if not of_label or of_label[0].how == entry.how:
            of_label.append(entry)
    ordered = sorted((e for of_label in best.values() for e in of_label), key=lambda e: (e.how, e.label, e.id))
    return tuple(Candidate(Ref(label=e.label, id=e.id), e.how, e.written) for e in ordered)
