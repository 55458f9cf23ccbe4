"""The words of a profile, read from ``loaders/<profile>/lexicon.toml`` and checked against its schema."""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Literal

from pydantic import Field

from kgcheck.errors import ConfigurationError, UnknownName
from kgcheck.model import Value
from kgcheck.profile.folder import part
from kgcheck.profile.phrases import WHITE, check_phrase
from kgcheck.profile.schema import Schema
from kgcheck.profile.toml_files import Mistake, WrongFile, read_value

_PHRASES = (
    *("idle", "count", "apposition", "aside", "negation", "exclusion", "whether", "anything", "each", "refuse"),
    *("common", "describe"),
)
"""Those of the words without a subject that are phrases; the others are single words."""

Role = Literal["head", "tail"]
Comparison = Literal[">=", "<=", ">", "<", "="]


class ScopedWords(Value):
    """Words whose meaning hangs on what they stand beside: see `kgcheck.questions.compiler`."""

    or_: tuple[str, ...] = Field(alias="or")
    either: tuple[str, ...]
    both: tuple[str, ...]
    shared: tuple[str, ...]
    every: tuple[str, ...]
    distinct: tuple[str, ...]


class SpeciesWords(Value):
    """Words that carry nothing in a graph of one species: where every node with such a property has the value."""

    words: tuple[str, ...]
    properties: tuple[str, ...]
    value: str


class Words(Value):
    """Words of no subject: what may be left over, and what groups or counts."""

    ignore: str
    idle: tuple[str, ...] = ()
    changes: str = ""
    species: SpeciesWords | None = None
    scoped: ScopedWords
    count: tuple[str, ...]
    apposition: tuple[str, ...]
    aside: tuple[str, ...]
    negation: tuple[str, ...] = ()
    exclusion: tuple[str, ...] = ()
    whether: tuple[str, ...] = ()
    anything: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    describe: tuple[str, ...] = ()

    @cached_property
    def ignored(self) -> frozenset[str]:
        """The words that may be left over."""
        return frozenset(self.ignore.split())

    @cached_property
    def changing(self) -> frozenset[str]:
        """Words that change what is asked and have no rule where they are left over."""
        return frozenset(self.changes.split())


class LabelWords(Value):
    """What the nodes of a label are called, and which properties hold their names."""

    name: str
    nouns: tuple[str, ...]
    names: tuple[str, ...] = ()
    exact: bool = False


class KindWords(Value):
    """What some of the nodes of a label are called: those whose property ends so."""

    label: str
    nouns: tuple[str, ...]
    property: str
    ends: str


class RelationWords(Value):
    """Phrases between the ends of a relation."""

    type: str
    words_needed: bool = False
    mutual: bool = False
    one_way: dict[str, str] = Field(default={}, description="property and value of an edge that states a direction")
    stands_for: bool = False
    forward: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()


class RoleNoun(Value):
    """A noun for the nodes at one end of a relation whose other end is named beside it."""

    nouns: tuple[str, ...]
    relation: str
    role: Role
    label: str | None = None
    soft: bool = False
    steps: int = Field(default=1, ge=1, le=4)


class PropertyWords(Value):
    """What a property is called; ``text``: its value is the words that follow; ``high``, ``low``: words that rank."""

    name: str
    words: tuple[str, ...]
    text: bool = False
    high: tuple[str, ...] = ()
    low: tuple[str, ...] = ()


class RankWords(Value):
    """Words that rank, and that say how many of something there are; a number sign stands for the number."""

    most: tuple[str, ...] = ("most",)
    fewest: tuple[str, ...] = ("fewest",)
    top: tuple[str, ...] = ("top #",)
    few: tuple[str, ...] = ()
    high: tuple[str, ...] = ("highest",)
    low: tuple[str, ...] = ("lowest",)
    by: tuple[str, ...] = ("by",)
    exactly: tuple[str, ...] = ("exactly",)
    several: tuple[str, ...] = ("several",)
    single: tuple[str, ...] = ("a single",)


class Lexicon(Value):
    """All words of a profile."""

    words: Words
    labels: tuple[LabelWords, ...]
    kinds: tuple[KindWords, ...] = ()
    relations: tuple[RelationWords, ...]
    role_nouns: tuple[RoleNoun, ...] = ()
    properties: tuple[PropertyWords, ...] = ()
    comparisons: dict[Comparison, tuple[str, ...]] = {}
    ranks: RankWords = RankWords()
    adjectives: dict[str, str] = {}
    spellings: dict[str, str] = {}

    def relation(self, name: str) -> RelationWords:
        """The words of a relation; none for one that the lexicon does not list."""
        return next((r for r in self.relations if r.type == name), RelationWords(type=name))


def load_lexicon(schema: Schema) -> Lexicon:
    """Read the lexicon of a profile."""
    path = part(schema.folder, "lexicon.toml")
    try:
        lexicon = read_value(path, Lexicon)
        _check(lexicon, schema)
    except FileNotFoundError:
        raise ConfigurationError(
            f"profile {schema.profile.name!r} has no lexicon: {path} is missing",
            "without one, questions cannot be read; load, audit and check need none",
        ) from None
    except UnknownName as error:
        raise WrongFile(path, [Mistake(what=str(error))]) from error
    return lexicon


def _check(lexicon: Lexicon, schema: Schema) -> None:
    for label in lexicon.labels:
        spec = schema.label(label.name)
        for name in label.names:
            if name not in spec.properties:
                raise UnknownName("property", f"{label.name}.{name}", spec.properties)
    for kind in lexicon.kinds:
        schema.label(kind.label)
    for type_ in [*(r.type for r in lexicon.relations), *(n.relation for n in lexicon.role_nouns)]:
        schema.patterns(type_)
    if mistakes := [*_wrong_phrases(lexicon)]:
        raise WrongFile(part(schema.folder, "lexicon.toml"), mistakes)
    known = {name for holder in schema.holders for name in holder.properties}
    for prop in lexicon.properties:
        if prop.name not in known:
            raise UnknownName("property", prop.name, known)


def _wrong_phrases(lexicon: Lexicon) -> Iterator[Mistake]:
    words = lexicon.words
    for where, phrases in (
        *((f"words.{name}", getattr(words, name)) for name in _PHRASES),
        *((f"words.scoped.{name}", phrases) for name, phrases in words.scoped),
        *([("words.species.words", words.species.words)] if words.species else ()),
        *((f"labels[{label.name}].nouns", label.nouns) for label in lexicon.labels),
        *((f"kinds[{kind.label}].nouns", kind.nouns) for kind in lexicon.kinds),
        *((f"relations[{r.type}]", (*r.forward, *r.backward)) for r in lexicon.relations),
        *((f"role_nouns[{role.relation}].nouns", role.nouns) for role in lexicon.role_nouns),
        *((f"properties[{p.name}]", (*p.words, *p.high, *p.low)) for p in lexicon.properties),
        *((f"comparisons.{sign}", phrases) for sign, phrases in lexicon.comparisons.items()),
        *((f"ranks.{name}", phrases) for name, phrases in lexicon.ranks),
    ):
        for text in phrases:
            try:
                # A comparison may be a sign, which stands for itself.
                check_phrase(text if any(map(str.isalpha, text)) else re.escape(text))
            except ValueError as error:
                yield Mistake(where=where, what=str(error))


def phrase(text: str) -> str:
    """A phrase of the lexicon as a pattern for lower-case text: any white space, whole words."""
    spaced = text.replace(" ", WHITE)
    return rf"(?<![\w-])(?:{spaced})(?![\w-])"


@lru_cache(4_000)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern made of phrases, compiled once in a process: a lexicon has more of them than the module re keeps."""
    return re.compile(pattern)


def changes_meaning(word: str) -> tuple[str, str]:
    """Message and hint for a word that would be answered as if it were not there."""
    return (
        f"the word {word!r} changes what is asked and is not understood yet",
        "ask without it, or say it in other words",
    )
