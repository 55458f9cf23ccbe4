"""NameIndex: find the nodes of a graph that a text names, by id, name or synonym."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from enum import IntEnum
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from kgcheck import __version__
from kgcheck.graph.store import NO_ID, GraphStore
from kgcheck.model import Ref
from kgcheck.outputs import replacing
from kgcheck.profile.lexicon import Lexicon, load_lexicon
from kgcheck.profile.schema import Label, Schema
from kgcheck.progress import NoProgress, Progress

_EDGES = "\"'()[]{}.,;:?!`\u201c\u201d\u2018\u2019"
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")
_PLAIN = r"^[A-Za-z0-9_+/-]*[A-Za-z0-9_](?:[ :][A-Za-z0-9_+/-]*[A-Za-z0-9_])*$"
"""Most names have nothing to take off."""

_MOST_WORDS = 24
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
    """A node that a name may mean, and the name as the node has it."""

    ref: Ref
    how: How
    name: str


class NameLink(NamedTuple):
    """Words that name nodes."""

    start: int
    end: int
    text: str
    candidates: tuple[Candidate, ...]


Found = Mapping[str, tuple[Candidate, ...]]
"""Nodes by the folded names that were looked up."""


def tokens(text: str) -> list[Token]:
    """The words of a text, with where they stand."""
    found = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        stripped = _without_punctuation(word)
        if stripped:
            start = match.start() + len(word) - len(word.lstrip(_EDGES))
            found.append(Token(stripped, folded(stripped), start, start + len(stripped)))
    return found


def folded(name: str) -> str:
    """A name as the index keeps it: words in lower case, without the punctuation around them.

    >>> folded("Alzheimer's Disease (familial)")
    'alzheimer disease familial'
    """
    plain = unicodedata.normalize("NFC", name).translate(_DASHES).casefold()
    return " ".join(stripped for word in plain.split() if (stripped := _without_punctuation(word)))


def _without_punctuation(word: str) -> str:
    return word.strip(_EDGES).removesuffix("'s").removesuffix("\u2019s")


class NameIndex:
    """Every id, name and synonym of a graph; those of a label are read when they are first asked for."""

    def __init__(
        self, schema: Schema, scan_nodes: Callable[[Label], Iterable[pa.Table]], lexicon: Lexicon | None
    ) -> None:
        words = {label.name: label for label in lexicon.labels} if lexicon else {}
        self._schema = schema
        self._scan_nodes = scan_nodes
        self.names = {
            label.name: words[label.name].names
            if label.name in words
            else tuple(name for name in label.names if name in label.properties)
            for label in schema.labels
        }
        """The properties that hold the names of a label."""
        self.exact = frozenset(label.name for label in words.values() if label.exact)
        """Labels of which one word alone is a name only as it is written."""
        self._plain = lexicon.words.ignored | lexicon.words.changing if lexicon else frozenset[str]()
        self._species = lexicon.words.species if lexicon else None
        self._cache: _Cache | None = None
        self.spellings = lexicon.spellings if lexicon else {}
        self._adjectives = lexicon.adjectives if lexicon else {}
        self._tables: dict[str, pa.Table] = {}
        self._lock = Lock()

    @classmethod
    def from_store(cls, store: GraphStore, cache: Path | None = None) -> "NameIndex":
        """The names of a store, with the words of its profile; a cache folder keeps them until the graph changes."""
        index = cls(store.schema, store.scan_nodes, load_lexicon(store.schema))
        if cache and (state := store.state()):
            schema = store.schema.model_dump_json()
            read_as = (__version__, schema, index.names, index._species, store.store_id(), store.with_retired, state)
            digest = sha256(repr(read_as).encode()).hexdigest()[:16]
            index._cache = _Cache(cache, digest, lambda: store.state() == state)
        return index

    def read(self, progress: Progress | None = None) -> None:
        with (progress or NoProgress()).step("reading names", len(self._schema.labels)) as step:
            for label in self._schema.labels:
                self._table(label)
                step.advance()

    @property
    def knows_species(self) -> bool:
        return self._species is not None

    @property
    def one_species(self) -> bool:
        """True where every node that could be of another species is of the one that the lexicon names."""
        self.read()
        counted = [table.schema.metadata for table in self._tables.values()]
        return any(int(n[_OF_SPECIES]) for n in counted) and not any(int(n[_OF_OTHERS]) for n in counted)

    def _table(self, label: Label) -> pa.Table:
        with self._lock:
            if label.name not in self._tables:
                number = self._schema.labels.index(label)
                read = partial(self._read, label)
                self._tables[label.name] = self._cache.names(number, read) if self._cache else read()
            return self._tables[label.name]

    def _read(self, label: Label) -> pa.Table:
        species = Counter[bytes]()
        parts = [_SCHEMA.empty_table()]
        wanted = {*self.names[label.name], *(self._species.properties if self._species else ())}
        narrow = {name: described for name, described in label.properties.items() if name in wanted}
        for table in self._scan_nodes(label.model_copy(update={"properties": narrow})):
            for name in self._species.properties if self._species else ():
                if self._species and name in table.column_names:
                    stated = pc.sum(pc.equal(table.column(name), self._species.value)).as_py() or 0
                    species.update({_OF_SPECIES: stated, _OF_OTHERS: table.num_rows - stated})
            table = table.filter(pc.not_equal(table.column("id"), NO_ID))
            ids = table.column("id").combine_chunks().cast(pa.string())
            # The id of another label's node, shared by this one, means the other.
            columns = [] if label.shares_ids_with else [(How.ID, ids)]
            for name in self.names[label.name]:
                how = How.NAME if name == "name" else How.SYNONYM
                columns.append((how, table.column(name).combine_chunks()))
            for how, values in columns:
                owners = ids
                if pa.types.is_list(values.type):
                    owners, values = ids.take(pc.list_parent_indices(values)), pc.list_flatten(values)
                written = values.cast(pa.string())
                kind = pa.array([how] * len(owners), pa.int8())
                rows = pa.table([_folded_all(written), owners, kind, written], _SCHEMA.names)
                parts.append(rows.filter(pc.not_equal(rows.column("key"), "")))
        counted = {kind: str(species[kind]) for kind in (_OF_SPECIES, _OF_OTHERS)}
        return pa.concat_tables(parts).combine_chunks().replace_schema_metadata(counted)

    def find(self, keys: Iterable[str], labels: Iterable[str] = ()) -> Found:
        """Look folded names up, of some labels or of all; the surest nodes first."""
        wanted = pa.array({_encodable(key) for key in keys if key}, pa.string())
        found: dict[str, dict[Candidate, None]] = {}
        for name in labels or self._schema.label_names:
            table = self._table(self._schema.label(name))
            hits = table.filter(pc.is_in(table.column("key"), value_set=wanted)).sort_by([("how", "ascending")])
            for row in hits.to_pylist():
                node = Candidate(Ref(label=name, id=row["id"]), How(row["how"]), row["written"])
                found.setdefault(row["key"], {})[node] = None
        return {key: tuple(nodes) for key, nodes in found.items()}

    def meant(self, text: str, labels: Iterable[str] = ()) -> tuple[Candidate, ...]:
        """Nodes that a whole text names, the surest of each label; of those, the ones that write it so."""
        keys = [key for key, _ in self._keys(folded(text).split())]
        found = self.find(keys, labels)
        return _surest(next((found[key] for key in keys if key in found), ()), text)

    def links(self, words: list[Token]) -> list[NameLink]:
        """The longest names at every word of a question; they may overlap."""
        runs = {
            (first, last): list(self._keys([token.folded for token in words[first:last]]))
            for first in range(len(words))
            for last in range(first + 1, min(len(words), first + _MOST_WORDS) + 1)
        }
        known = self.find(key for keys in runs.values() for key, _ in keys)
        found = []
        for first, token in enumerate(words):
            for last in range(min(len(words), first + _MOST_WORDS), first, -1):
                written = " ".join(t.text for t in words[first:last])
                nodes = self._nodes_of(runs[first, last], known)
                if kept := [node for node in nodes if self._is_meant(node, written, token)]:
                    found.append(NameLink(token.start, words[last - 1].end, written, _surest(kept)))
                    break
        return found

    def _nodes_of(self, keys: Iterable[tuple[str, bool]], known: Found) -> Iterable[Candidate]:
        """The nodes of the first key that any has. Symbols are as they are; only names vary."""
        for key, is_varied in keys:
            if key in known:
                return [c for c in known[key] if not is_varied or c.ref.label not in self.exact]
        return ()

    def _keys(self, words: list[str]) -> Iterator[tuple[str, bool]]:
        """Yield the keys of words and of variants (hyphen, plural, British spelling), and whether they vary."""
        key = " ".join(words)
        yield key, False
        if key in self._adjectives:
            yield self._adjectives[key], False
        if len(words) == 1 and len(key) < _LEAST_VARIED:
            return
        for variant in dict.fromkeys(self._variants(words, key)):
            yield variant, True

    def _variants(self, words: list[str], key: str) -> Iterator[str]:
        respelled = key
        for british, american in self.spellings.items():
            respelled = respelled.replace(british, american)
        for text in (key, key.replace("-", " "), respelled):
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

    def _is_meant(self, node: Candidate, written: str, token: Token) -> bool:
        """One word names a gene or protein only as it is written: SET is a gene, set is a word."""
        if " " in written:
            return True
        if node.ref.label in self.exact and node.name != written:
            # A symbol with a digit in it is no word: tp53.
            if not any(c.isdigit() for c in written) or node.name.casefold() != written.casefold():
                return False
        is_name = written == node.ref.id or (written.isupper() and written == node.name)
        return is_name or token.folded not in self._plain

    def malformed(self, token: Token) -> str | None:
        """The label whose ids a word looks like, though no node has that id."""
        if not re.search(r"\d", token.text) or len(token.text) <= 4 or self.find([token.folded]):
            return None
        return next((s.name for s in self._schema.labels if s.matches(token.text) and not s.matches("word")), None)

    def nearest(self, text: str, labels: Iterable[str] = ()) -> list[str]:
        key = _encodable(folded(text))
        like: dict[str, str] = {}
        for name in labels or self._schema.label_names:
            table = self._table(self._schema.label(name))
            table = table.filter(pc.starts_with(table.column("key"), key[:3]))
            for known, written in zip(
                table.column("key").to_pylist(), table.column("written").to_pylist(), strict=True
            ):
                if abs(len(known) - len(key)) < 4:
                    like.setdefault(known, written)
        return [like[known] for known in get_close_matches(key, like, n=3, cutoff=0.75)]


class _Cache:
    """Files of the names of each label, of one state of a graph."""

    def __init__(self, folder: Path, state: str, is_unchanged: Callable[[], bool]) -> None:
        self._folder = folder
        self._state = state
        self._is_unchanged = is_unchanged

    def names(self, number: int, read: Callable[[], pa.Table]) -> pa.Table:
        """The names of a label of the schema, mapped into memory; read from the graph where no sound file has them."""
        path = self._folder / f"{self._state}-{number}.arrow"
        with suppress(OSError, pa.ArrowException):
            table = ipc.open_file(pa.memory_map(str(path))).read_all()
            table.validate(full=True)
            counted = table.schema.metadata or {}
            if table.schema.equals(_SCHEMA) and all(counted.get(n, b"").isdigit() for n in (_OF_SPECIES, _OF_OTHERS)):
                return table
        table = read()
        with suppress(OSError):
            if self._is_unchanged():
                with replacing(path, secret=True) as unfinished, ipc.new_file(unfinished, table.schema) as file:
                    file.write_table(table)
                for other in self._folder.glob("*-*.arrow"):
                    if not other.name.startswith(self._state):
                        other.unlink()
        return table


_OF_SPECIES, _OF_OTHERS = b"of_species", b"of_others"

_SCHEMA = pa.schema({"key": pa.string(), "id": pa.string(), "how": pa.int8(), "written": pa.string()})


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _folded_all(names: pa.Array) -> pa.Array:
    """Names as the index keeps them, none as an empty one."""
    names = pc.fill_null(names, "")
    is_plain = pc.match_substring_regex(names, _PLAIN)
    others = pa.array([folded(name) for name in names.filter(pc.invert(is_plain)).to_pylist()], pa.string())
    return pc.replace_with_mask(pc.utf8_lower(names), pc.invert(is_plain), others)


def _surest(nodes: Iterable[Candidate], written: str = "") -> tuple[Candidate, ...]:
    """The surest of each label, each once; of them, those that are written so, where any is."""
    ranked = [((node.how, node.name != written), node) for node in nodes]
    best = {node.ref.label: rank for rank, node in sorted(ranked, key=lambda one: one[0], reverse=True)}
    surest = {node.ref: node for rank, node in ranked if rank == best[node.ref.label]}
    return tuple(sorted(surest.values(), key=lambda c: (c.how, c.ref.label, c.ref.id)))
