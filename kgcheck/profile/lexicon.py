"""Lexicon: a profile's words for questions (nouns, relations, ranks), from ``lexicon.toml`` or drafted."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from kgcheck.errors import UnknownName
from kgcheck.model import Value
from kgcheck.profile.folder import part
from kgcheck.profile.schema import Schema
from kgcheck.profile.toml_files import Mistake, WrongFile, checked, read_tables
from kgcheck.resources import resource_dir

# Python's own parser of expressions has no public name and no types: by an import statement mypy finds it or not, as
# its cache has it.
sre: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

LEXICON = "lexicon.toml"

WORDS = "words.toml"
"""File of the words that questions about any graph are asked with, in the folder of the loaders."""

LONGEST_PHRASE = 2_000
"""Characters."""

WHITE = r"\s+"
"""Regular expression that a space of a phrase stands for."""

MOST_WAYS = 5_000
"""Ways in which one phrase may begin to fit one text at one place, besides how often something is repeated."""

MOST_REPEATS = 2
"""Parts of one phrase that may be repeated without end: each is as many ways as the question has characters."""


class TooMuchWork(ValueError):
    """A phrase that could take ages to look for."""


@lru_cache(4_000)
def check_phrase(text: str) -> None:
    """Refuse a phrase that is no regular expression, or that could take ages to look for.

    >>> check_phrase("((known|other) ){0,3}(kinds?|types?) of")
    >>> check_phrase("(a+)+b")
    Traceback (most recent call last):
    kgcheck.profile.lexicon.TooMuchWork: '(a+)+b' repeats words without end: write {0,3}
    """
    if len(text) > LONGEST_PHRASE:
        raise ValueError(f"{text[:40]!r}... has more than {LONGEST_PHRASE:,} characters")
    shown = repr(text[:200])
    # As it is looked for: any white space for a space, a number for its sign.
    written = text.replace(" ", WHITE).replace("#", "(?P<number>[0-9]+)")
    try:
        tree = parser.parse(text)
        parser.parse(written)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{shown} is no regular expression: {error}") from None
    if tree.state.groupdict or tree.state.flags & ~re.UNICODE:
        raise ValueError(f"{shown} has flags, or groups with names")
    if _ways(tree, shown) > MOST_WAYS:
        raise TooMuchWork(f"{shown} has over {MOST_WAYS:,} ways to fit")
    if _repeats(tree) > MOST_REPEATS:
        raise TooMuchWork(f"{shown} repeats more than {MOST_REPEATS} parts without end")
    if "(?<" in text:
        try:
            # Only compiling finds a look back of no fixed length, which takes longer than all other checks.
            re.compile(written)
        except (re.error, OverflowError, RecursionError) as error:
            what = "looks back at what has no fixed length: write \\s for a space there"
            raise ValueError(
                f"{shown} {what if 'look-behind' in str(error) else f'is no regular expression: {error}'}"
            ) from None


def _ways(tree: Any, shown: str) -> int:
    """Count the ways in which a sequence may fit, up to just over the limit."""
    ways = 1
    for kind, value in tree:
        ways = min(ways * _ways_of(kind, value, shown), MOST_WAYS + 1)
    return ways


def _ways_of(kind: Any, value: Any, shown: str) -> int:
    match kind:
        case sre.LITERAL | sre.NOT_LITERAL | sre.IN | sre.ANY | sre.AT:
            return 1
        case sre.SUBPATTERN:
            return _ways(value[-1], shown)
        case sre.BRANCH:
            # A text begins with one sign, and what begins otherwise is out at once.
            began = [(_first(one), _ways(one, shown)) for one in value[1]]
            signs = {sign for first, _ in began if first for sign in first} | {None}
            return int(max(sum(ways for first, ways in began if first is None or sign in first) for sign in signs))
        case sre.ASSERT | sre.ASSERT_NOT:
            return _ways(value[1], shown)
        case sre.MAX_REPEAT | sre.MIN_REPEAT:
            least, most, body = value
            if most != sre.MAXREPEAT:
                inner = _ways(body, shown)
                times = (min(inner**n, MOST_WAYS + 1) for n in range(least, min(most, 99) + 1))
                return int(min(sum(times), MOST_WAYS + 1))
            if len(body) != 1 or body[0][0] not in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
                raise TooMuchWork(f"{shown} repeats words without end: write {{0,3}}")
            return 1
        case _:
            raise TooMuchWork(f"{shown} has a part that phrases do not have: {str(kind).lower()}")


def _first(tree: Any) -> frozenset[int] | None:
    """The characters with which a sequence may begin; None where it may begin with any, or with none."""
    for kind, value in tree:
        match kind:
            case sre.LITERAL:
                return frozenset({value})
            case sre.IN if all(item[0] is sre.LITERAL for item in value):
                return frozenset(item[1] for item in value)
            case sre.SUBPATTERN:
                return _first(value[-1])
            case sre.BRANCH:
                firsts = [_first(one) for one in value[1]]
                return None if None in firsts else frozenset().union(*(first or () for first in firsts))
            case _:
                return None
    return None


def _repeats(tree: Any) -> int:
    count = 0
    for kind, value in tree:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            count += (value[1] == sre.MAXREPEAT) + _repeats(value[2]) * max(1, min(value[1], 99))
        elif kind is sre.SUBPATTERN:
            count += _repeats(value[-1])
        elif kind is sre.BRANCH:
            count += max(map(_repeats, value[1]))
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            count += _repeats(value[1])
    return count


_PHRASES = (
    *("idle", "count", "apposition", "aside", "negation", "exclusion", "whether", "anything", "each", "refuse"),
    *("common", "describe", "related", "involved"),
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
    idle: tuple[str, ...]
    changes: str
    species: SpeciesWords | None = None
    scoped: ScopedWords
    count: tuple[str, ...]
    apposition: tuple[str, ...]
    aside: tuple[str, ...]
    negation: tuple[str, ...]
    exclusion: tuple[str, ...]
    whether: tuple[str, ...]
    anything: tuple[str, ...]
    each: tuple[str, ...]
    refuse: tuple[str, ...]
    common: tuple[str, ...]
    describe: tuple[str, ...]
    related: tuple[str, ...]
    involved: tuple[str, ...]

    @cached_property
    def ignored(self) -> frozenset[str]:
        return frozenset(self.ignore.split())

    @cached_property
    def changing(self) -> frozenset[str]:
        """Words that change what is asked and have no rule where they are left over."""
        return frozenset(self.changes.split())


class LabelWords(Value):
    """Words for the nodes of a label, and the properties that hold their names."""

    name: str
    nouns: tuple[str, ...]
    names: tuple[str, ...] = ()
    exact: bool = False


class KindWords(Value):
    """Words for some of the nodes of a label: those whose property ends so."""

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
    """Words for a property; ``text``: its value is the words that follow; ``high``, ``low``: rank words."""

    name: str
    words: tuple[str, ...]
    text: bool = False
    high: tuple[str, ...] = ()
    low: tuple[str, ...] = ()


class RankWords(Value):
    """Words that rank, and that say how many of something there are; a number sign stands for the number."""

    most: tuple[str, ...]
    fewest: tuple[str, ...]
    top: tuple[str, ...]
    few: tuple[str, ...]
    high: tuple[str, ...]
    low: tuple[str, ...]
    by: tuple[str, ...]
    exactly: tuple[str, ...]
    several: tuple[str, ...]
    single: tuple[str, ...]


class Lexicon(Value):
    """All words of a profile, with the general ones."""

    draft: bool = Field(
        default=False,
        description="drafted from names: two things are joined by what is said of them alone, and not by a first guess",
    )
    words: Words
    labels: tuple[LabelWords, ...]
    kinds: tuple[KindWords, ...] = ()
    relations: tuple[RelationWords, ...] = ()
    role_nouns: tuple[RoleNoun, ...] = ()
    properties: tuple[PropertyWords, ...] = ()
    comparisons: dict[Comparison, tuple[str, ...]]
    ranks: RankWords
    adjectives: dict[str, str] = {}
    spellings: dict[str, str] = {}

    def relation(self, name: str) -> RelationWords:
        return next((r for r in self.relations if r.type == name), RelationWords(type=name))


def has_lexicon(schema: Schema) -> bool:
    """Tell whether somebody has written the words of a profile."""
    return part(schema.folder, LEXICON).is_file()


def load_lexicon(schema: Schema) -> Lexicon:
    """Read the lexicon of a profile; of one that has none, a draft."""
    from kgcheck.profile.lexicon_draft import draft_words

    path = part(schema.folder, LEXICON)
    try:
        lexicon = read_lexicon(path)
    except FileNotFoundError:
        return whole_lexicon(path, draft_words(schema))
    try:
        _check(lexicon, schema)
    except UnknownName as error:
        raise WrongFile(path, [Mistake(what=str(error))]) from error
    return lexicon


def read_lexicon(path: Path) -> Lexicon:
    """A file of words, with the general ones."""
    return whole_lexicon(path, read_tables(path))


def whole_lexicon(path: Path, tables: Mapping[str, Any]) -> Lexicon:
    """The words of a profile, of a file or for one, with the general ones."""
    return checked(path, Lexicon, _merged(_general_words(), tables))


@cache
def _general_words() -> Mapping[str, Any]:
    return read_tables(resource_dir("loaders") / WORDS)


def _merged(general: Any, own: Any) -> Any:
    match general, own:
        case dict(), dict():
            return general | {key: _merged(general[key], own[key]) if key in general else own[key] for key in own}
        case list(), list():
            return [*general, *own]
        case str(), str():
            return f"{general} {own}"
    return own


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
        raise WrongFile(part(schema.folder, LEXICON), mistakes)
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


def any_phrase(texts: Iterable[str]) -> str:
    """A pattern for any of some phrases; for nothing where there are none."""
    return phrase("|".join(texts) or r"(?!)")


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
