"""Find the graph nodes that a manuscript's sentences name: by id, name, synonym, abbreviation.

The names of a whole manuscript are looked up at once. Which of them a word means hangs on the manuscript: an
abbreviation means what the text explains it to be, and a symbol that is a word, too, or that stands for something else
as often, is not sure by itself. Words by which sentences are read stand in ``corpus/grounding/statements.toml``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import NamedTuple

from kgcheck.graph.names import Candidate, How, NameIndex, folded
from kgcheck.graph.store import GraphStore
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.inputs import read_toml
from kgcheck.literature.arguments import explained
from kgcheck.literature.documents import Span
from kgcheck.literature.names import good_names
from kgcheck.resources import resource_dir

_WORD = re.compile(r"[^\W_](?:[^\s()\[\]{},;:!?\"\u201c\u201d]*[^\W_])?(?:\+(?!\w))?|DOID:\d+|[A-Z]{2,4}:\d+")
_ID = re.compile(r"[A-Za-z]+:\d+")
_PART = re.compile(r"[A-Z][A-Za-z]*\d\w*|[A-Z]{3}\w*")
_DASHES = str.maketrans({c: "-" for c in "\u2010\u2011\u2012\u2013\u2212"} | {"\u2019": "'"})
_MARK = re.compile(r"\[[\d,;\s\u2013-]{1,40}\]")
_MOST_WORDS = 12
_LEAST_LETTERS = 3
_MOST_MEANT = 40  # nodes of a label that one name may mean; of more, it means none
_FEW = 5  # letters of a name in capitals that is an abbreviation, and needs an explanation where it is no symbol


class StatementWords(NamedTuple):
    """The lists of the file by their names; those of beginnings of words as patterns."""

    lists: dict[str, frozenset[str]]
    clouding: re.Pattern[str]
    conditions: re.Pattern[str]
    undeniable: re.Pattern[str]
    mutual: re.Pattern[str]
    known: frozenset[str]
    general: frozenset[str]
    denying: dict[str, frozenset[str]]
    same: dict[str, tuple[str, ...]]


# Lists of words that may stand in a statement and relate nothing by themselves.
_KNOWN = (
    *("determiners", "kinds", "kinds_of_terms", "aspects", "aspect_links", "auxiliaries", "links", "prepositions"),
    *("equating", "people", "finding", "noun_modifiers"),
)


@cache
def statement_words() -> StatementWords:
    """The words that come with kgcheck."""
    raw = read_toml(resource_dir("corpus") / "grounding" / "statements.toml")
    lists = {name: frozenset(text.split()) for name, text in raw.items() if isinstance(text, str)}
    denying = (line.partition(" = ") for line in raw["denying"])
    return StatementWords(
        lists=lists,
        clouding=beginning(lists["clouding"]),
        conditions=beginning(lists["conditions"]),
        undeniable=beginning(lists["undeniable"]),
        mutual=beginning(lists["mutual"]),
        known=frozenset().union(*(lists[name] for name in _KNOWN)),
        general=frozenset(raw["general"]),
        denying={word: frozenset(cues.split()) for word, _, cues in denying},
        same={cue: tuple(text.split()) for cue, text in raw["same"].items()},
    )


def beginning(words: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern of a word in lower case that is one of some.

    >>> bool(beginning(["bind*", "in"]).match("binding")), bool(beginning(["bind*", "in"]).match("into"))
    (True, False)
    """
    parts = sorted((re.escape(w.rstrip("*")) + (r"[\w-]*" if w.endswith("*") else "") for w in words), key=len)
    return re.compile(rf"(?:{'|'.join(reversed(parts))})$")


class NamedThing(NamedTuple):
    """Words of a sentence that name nodes."""

    start: int
    end: int
    text: str
    ids: Mapping[str, tuple[str, ...]]
    sure: bool


class NameTable:
    """The names of a graph, to look up those of a manuscript at once."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._index = NameIndex.from_store(store)
        self._labels = [label.name for label in store.schema.labels if not label.shares_ids_with]
        self._last_things: tuple[Manuscript, Mapping[int, tuple[NamedThing, ...]]] | None = None

    @property
    def one_species(self) -> bool:
        """Tell whether the profile has words for the one species that its graphs are of."""
        return self._index.knows_species

    def things(self, manuscript: Manuscript) -> Mapping[int, tuple[NamedThing, ...]]:
        """Find the things that each sentence of a manuscript names."""
        # Several checks of one manuscript ask for the same.
        last = self._last_things
        if last is None or last[0] is not manuscript:
            last = self._last_things = manuscript, self._things(manuscript)
        return last[1]

    def _things(self, manuscript: Manuscript) -> dict[int, tuple[NamedThing, ...]]:
        texts = {s.number: without_marks(s.text.translate(_DASHES)) for s in manuscript.sentences}
        prose = Prose.from_manuscript(manuscript)
        words = {number: _words(text) for number, text in texts.items()}
        keys: dict[str, tuple[str, ...]] = {long: (folded(long),) for long in prose.explained.values()}
        for number, text in texts.items():
            for n in range(_MOST_WORDS):
                for (start, _), (_, end) in zip(words[number], words[number][n:], strict=False):
                    if text[start:end] not in keys:
                        keys[text[start:end]] = tuple(self._variants(text[start:end]))
        by_key = self._index.find({key for variants in keys.values() for key in variants}, self._labels)
        good = {key: [c for c in nodes if c.how is How.ID or good_names((c.name,))] for key, nodes in by_key.items()}
        every = {written: [c for key in variants for c in good.get(key, ())] for written, variants in keys.items()}
        found = {written: known for written, known in every.items() if known}
        fits: dict[str, list[Candidate]] = {}
        for short, long in prose.explained.items():
            # What the text explains it to be, and nothing else.
            fits[short] = found.get(long) or [k for k in found.get(short, ()) if self._fits(k, long)]
        names = _KnownNames(fits | found, fits, prose.words)
        return {number: tuple(self._in(text, words[number], names)) for number, text in texts.items()}

    def synonyms(self, things: Mapping[int, Sequence[NamedThing]]) -> dict[int, tuple[tuple[str, ...], ...]]:
        """List the other names of the things that sentences name."""
        wanted: dict[str, set[str]] = {}
        for named in things.values():
            for thing in named:
                for label, ids in thing.ids.items():
                    wanted.setdefault(label, set()).update(ids if len(ids) == 1 else ())
        names: dict[tuple[str, str], tuple[str, ...]] = {}
        for label, of_label in wanted.items():
            for id_, node in self._store.nodes(self._store.schema.label(label), sorted(of_label)).items():
                stated = [id_, *(node.get(name) for name in self._index.names[label])]
                names[label, id_] = good_names([v for s in stated for v in (s if isinstance(s, list) else [s])])
        found = {}
        for number, named in things.items():
            single = [(label, ids[0]) for thing in named for label, ids in thing.ids.items() if len(ids) == 1]
            found[number] = tuple(group for key in single if len(group := names.get(key, ())) > 1)
        return found

    def _variants(self, text: str) -> Iterator[str]:
        key = folded(text)
        if text == text.lower() and len(text) < _LEAST_LETTERS:
            return
        yield key
        respelled = key
        for british, american in self._index.spellings.items():
            respelled = respelled.replace(british, american)
        if respelled != key:
            yield respelled
        if key.endswith("s") and not key.endswith("ss") and len(key) > _LEAST_LETTERS:
            yield respelled[:-1]

    def _in(self, text: str, words: Sequence[Span], names: "_KnownNames") -> Iterator[NamedThing]:
        at = 0
        while at < len(words):
            for last in range(min(len(words), at + _MOST_WORDS), at, -1):
                if thing := self._thing(text, words[at][0], words[last - 1][1], names, alone=last - at == 1):
                    yield thing
                    at = last - 1
                    break
            at += 1

    def _thing(self, text: str, start: int, end: int, names: "_KnownNames", *, alone: bool) -> NamedThing | None:
        written, sure = text[start:end], True
        known = names.found.get(written, ())
        if alone and known:
            explained_to = names.fits.get(written)
            known = [k for k in (known if explained_to is None else explained_to) if self._may_be(k, written)]
            if explained_to is None:
                sure = has_beside(text, start, end) or any(self._is_sure(k, written, names.words) for k in known)
        ids = {}
        for label in dict.fromkeys(k.ref.label for k in known):
            best = min(k.how for k in known if k.ref.label == label)
            of_label = tuple(dict.fromkeys(k.ref.id for k in known if k.ref.label == label and k.how == best))
            if len(of_label) <= _MOST_MEANT:
                ids[label] = of_label
        return NamedThing(start, end, written, ids, sure) if ids else None

    def _may_be(self, known: Candidate, written: str) -> bool:
        """One word names a gene or a protein only as it is written; one in small letters is no abbreviation."""
        if known.name.lower() != written.lower():
            # The long form of an abbreviation, or another spelling.
            return known.ref.label not in self._index.exact or " " in known.name
        if known.ref.label in self._index.exact or (known.name.isupper() and len(known.name) <= _FEW):
            return known.name == written
        return True

    def _is_sure(self, known: Candidate, written: str, prose: Set[str]) -> bool:
        is_symbol = known.ref.label in self._index.exact and known.name.isalnum() and not _ID.match(known.name)
        if known.how is How.ID and any(c.isdigit() for c in written) and not is_symbol:
            return True
        if known.ref.label not in self._index.exact:
            # An abbreviation that nobody explains.
            return not (written.isupper() and len(written) <= _FEW)
        if written in statement_words().lists["unsure"] or written.lower() in prose:
            return False
        letters, digits = sum(map(str.isalpha, written)), sum(map(str.isdigit, written))
        if known.how is How.SYNONYM:
            return len(written) >= _FEW and bool(digits) and letters > 1
        return len(written) > _LEAST_LETTERS or (len(written) == _LEAST_LETTERS and letters > 1)

    def _fits(self, known: Candidate, long: str) -> bool:
        """Tell whether the long form of an abbreviation is a name of the node, more or less."""
        node = self._store.nodes(self._store.schema.label(known.ref.label), [known.ref.id]).get(known.ref.id, {})
        names = [v for value in node.values() for v in (value if isinstance(value, list) else [value])]
        wanted = _content(long)
        return any(
            len(wanted & other) * 2 > min(len(wanted), len(other)) for other in map(_content, map(str, names)) if other
        )


class _KnownNames(NamedTuple):
    found: Mapping[str, Sequence[Candidate]]
    fits: Mapping[str, Sequence[Candidate]]
    words: Set[str]


class Prose(NamedTuple):
    """Abbreviations and ordinary words of a manuscript."""

    explained: dict[str, str]
    words: frozenset[str]

    @classmethod
    def from_manuscript(cls, manuscript: Manuscript) -> "Prose":
        found: dict[str, str] = {}
        words: set[str] = set()
        for block in manuscript.blocks:
            for long, short in explained(block.text):
                found.setdefault(short, long.lower())
            words.update(re.findall(r"\b[a-z]{3,}\b", block.text))
        return cls(found, frozenset(words))


def without_marks(text: str) -> str:
    """Blank out a sentence's numbers of references, so that all places stay."""
    return _MARK.sub(lambda match: " " * len(match[0]), text)


def has_beside(text: str, start: int, end: int) -> bool:
    """Look for a word such as "gene" right before or after a name."""
    beside = statement_words().lists["beside"]
    before = re.findall(r"[\w-]+", text[max(0, start - 30) : start])[-1:]
    after = re.findall(r"^\s+([\w-]+)", text[end : end + 30])
    return any(word.lower() in beside for word in (*before, *after))


def _words(text: str) -> list[Span]:
    """The words of a sentence, and the parts of those that join two symbols."""
    found = []
    for match in _WORD.finditer(text):
        parts = list(re.finditer(r"[^/-]+", match[0]))
        if len(parts) == 2 and all(_PART.fullmatch(p[0]) for p in parts):
            found += [(match.start() + p.start(), match.start() + p.end()) for p in parts]
        else:
            end = match.end() - 2 if match[0].endswith("'s") else match.end()
            found.append((match.start(), end))
    return found


def _content(text: str) -> set[str]:
    return {w for w in re.findall(r"\w+", text.lower()) if len(w) > 2 and w not in ("the", "and", "protein", "gene")}


_ORGANISM = re.compile(r"[a-z][a-z0-9]+")
_OFTEN = 3  # sentences that name a symbol which a manuscript uses throughout


class HumanText:
    """Sentences of a manuscript that may be about human genes: one about mice, or in a paper about yeast, may not.

    A graph of one species is asked about that species alone. A sentence that names another organism and no human is
    left alone; so is, where title or abstract name nothing human but an organism whose symbols look like human ones,
    every sentence without the word human that names a symbol which the manuscript uses throughout.
    """

    def __init__(self, manuscript: Manuscript, things: Mapping[int, Sequence[NamedThing]]) -> None:
        self._lists = statement_words().lists
        front = [manuscript.title, *(b.text for b in manuscript.blocks if b.section == "abstract")]
        words = set(_ORGANISM.findall(" ".join(front).lower()))
        is_of_others = bool(words & self._lists["species_alike"]) and not words & self._lists["human"]
        used = Counter(text for named in things.values() for text in {thing.text for thing in named})
        self._own = {text for text, count in used.items() if count >= _OFTEN and is_of_others and not text.islower()}

    def allows(self, sentence: str, things: Sequence[NamedThing]) -> bool:
        for thing in reversed(things):
            if " " in thing.text:
                sentence = sentence[: thing.start] + sentence[thing.end :]
        words = set(_ORGANISM.findall(sentence.lower()))
        if words & self._lists["human"]:
            return True
        return not words & self._lists["other_species"] and not any(thing.text in self._own for thing in things)
