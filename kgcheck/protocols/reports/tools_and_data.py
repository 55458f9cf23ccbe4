"""Extract data set accessions, statistical methods and software from a sentence of methods."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from pydantic import Field

from kgcheck.literature.documents import Span
from kgcheck.model import Value
from kgcheck.protocols.protocol import NamedDataSet, StepTool
from kgcheck.protocols.rules import MOST_CHARACTERS, ProtocolRules, Words
from kgcheck.text.words import wildcard_pattern

_NEAR = 80  # characters before a form that is too common by itself, in which its repository must be named


class DataRepository(Value):
    """Repository of data sets, with the pattern of its accessions."""

    name: str
    pattern: str = Field(description="regular expression of bounded work")
    near: tuple[str, ...] = Field(default=(), description="words of which one must stand shortly before")

    @cached_property
    def accession(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![A-Za-z0-9])(?:{self.pattern})(?![A-Za-z0-9])")


class DataRepositories(ProtocolRules):
    """The repositories whose accessions are known."""

    file = "data_sets"
    repository: tuple[DataRepository, ...]


def data_set_ids(text: str) -> tuple[NamedDataSet, ...]:
    """The accessions that a text names.

    >>> [(d.id, d.repository) for d in data_set_ids("From GEO (GSE100, GSM2) and PDB entry 1ABC, not 2DEF-like words.")]
    [('GSE100', 'GEO'), ('GSM2', 'GEO'), ('1ABC', 'PDB'), ('2DEF', 'PDB')]
    """
    found: list[NamedDataSet] = []
    taken: set[int] = set()
    for repository in DataRepositories.shipped().repository:
        for match in repository.accession.finditer(text):
            start, end = match.span()
            # Where its form alone is too common, the words before an accession must name the repository.
            before = text[max(0, start - _NEAR) : start]
            is_named = not repository.near or any(word in before for word in repository.near)
            if is_named and taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                found.append(NamedDataSet(id=match[0], repository=repository.name, start=start, end=end))
    return tuple(sorted(found, key=lambda d: d.start))


class StatisticWords(ProtocolRules):
    """Tests, corrections, models and sizes of effects: by name, how each is written, and the functions that do it."""

    file = "statistics"
    tests: dict[str, tuple[str, ...]]
    corrections: dict[str, tuple[str, ...]]
    models: dict[str, tuple[str, ...]]
    effects: dict[str, tuple[str, ...]]
    calls: dict[str, tuple[str, ...]] = {}

    @cached_property
    def spelt(self) -> tuple[re.Pattern[str], list[str]]:
        """A pattern with a group for each spelling, and what each group names."""
        names = {
            _plain(spelling): name
            for group in (self.tests, self.corrections, self.models, self.effects)
            for name, spellings in group.items()
            for spelling in spellings
        }
        # The longest first, whatever it names: "paired t-test" is no "t-test".
        longest = sorted(names, key=len, reverse=True)
        # A group after each one, and not around it: one that begins with a letter is passed over at once.
        pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(f'{wildcard_pattern([s])}()' for s in longest)})(?!\w)")
        return pattern, [names[s] for s in longest]


_SIGNS = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2019": "'", "\u2018": "'", "\u2032": "'"})


def _plain(text: str) -> str:
    """Small letters and one kind of dash and apostrophe, so that each name is spelt in one way."""
    return text[:MOST_CHARACTERS].lower().translate(_SIGNS)


def statistics_in(text: str) -> tuple[str, ...]:
    """Extract the names of statistical methods from a sentence.

    >>> statistics_in("Welch's t-test with Benjamini-Hochberg correction, then a Mann-Whitney U test")
    ("Welch's t test", 'Benjamini-Hochberg', 'Wilcoxon rank-sum test')
    """
    pattern, names = StatisticWords.shipped().spelt
    return tuple(dict.fromkeys(names[m.lastindex - 1] for m in pattern.finditer(_plain(text)) if m.lastindex))


_NAME = r"(?:[A-Z][\w.+*/-]{0,30}[\w+*]|[a-z]{1,12}[A-Z0-9][\w.+-]{0,20})"
_VERSION = (
    r"(?:(?:versions?|ver\.|vers\.|v\.?|release|build|ver|rev\.)\s?(?P<named>\d[\w.]{0,15}|[A-Z]\d{4}[ab]|[XIV]{1,4}\b)"
    r"|(?P<bare>\d{1,2}(?:\.\d{1,3}){1,3}(?:[a-z]\d{0,2})?\b(?:[-\u2013]\d{1,2}(?:\.\d{1,3}){1,3})?|CS\d\b|R20\d\d[ab]\b))"
)
_BETWEEN = (
    r"software|package|program|suite|toolbox|statistics|statistical software|for (?:Windows|Mac\w{0,8})|Pro|Premium"
    r"|Core Team|SE|IC|MP|Inc\.?|R Foundation"
)
_AFTER = re.compile(
    rf"(?:[\s,]{{1,2}}|\s?\(|\s?\[|[-\u2122\u00ae\s]){{0,3}}(?:(?:{_BETWEEN})[\s,(]{{1,3}}){{0,2}}{_VERSION}",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(r"\s(\d{1,2}|20\d\d)\b(?![.,]?\d|\s?(?:%|\u00b0|[a-z]))")
_VERSIONED = re.compile(
    rf"(?<![\w-])(?P<name>{_NAME}(?:[ -][A-Z][\w.+-]{{0,20}}){{0,2}})(?:\s?\(|,\s|\s)(?:software |package |program )?"
    r"(?:[Vv]ersions?|[Vv]er\.|[Vv]\.?|release)\s?(?P<version>\d[\w.]{0,15})",
)

_ADDRESS = re.compile(r"\bgithub\.com/[\w.-]{1,60}/(?P<name>[\w.-]{1,60})")
_LIST = re.compile(r"\b[\w.+-]{2,30}, (?:[\w.+-]{2,30}, ){0,6}(?:and )?[\w.+-]{2,30} (?:packages|libraries)\b")


class ToolAt(NamedTuple):
    """Software at its place; ``span`` reaches to the end of its version."""

    tool: StepTool
    span: Span


def tools_in(text: str) -> tuple[ToolAt, ...]:
    """The software that a sentence names.

    >>> [(t.tool.name, t.tool.version) for t in tools_in("Done in R (version 3.1.0) with limma and FooBar v2.")]
    [('R', '3.1.0'), ('FooBar', '2')]
    """
    text = text[:MOST_CHARACTERS]
    found: dict[str, ToolAt] = {}
    places: list[Span] = []
    for start, end, version, reach in sorted(_named(text), key=lambda n: (n[0], -n[1])):
        if any(a < end and start < b for a, b in places):
            continue
        places.append((start, end))
        name = text[start:end].rstrip(".").removeprefix("The ").removesuffix(" Software").removesuffix(" software")
        known = found.get(name.casefold())
        if known is None or (version and not known.tool.version):
            place = ToolAt(StepTool(name=name, version=version), (start, reach))
            found[name.casefold()] = place if known is None else ToolAt(place.tool, known.span)
    return tuple(found.values())


_Named = tuple[int, int, str, int]
"""Start and end of a name, its version, and where that ends."""


def _named(text: str) -> Iterator[_Named]:
    patterns = SoftwareWords.shipped()
    for match in patterns.names.finditer(text):
        version, reach = _version(text, match.end())
        if match[0] in patterns.ambiguous and not version:
            # A word for software is next to it, with no more than a word between.
            before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 40]
            if not (patterns.before.search(before) or patterns.after.match(after)):
                continue
        yield *match.span(), version, reach
    for match in _LIST.finditer(text):
        for word in re.finditer(r"[\w.+-]{2,30}", match[0]):
            if word[0] not in ("and", "packages", "libraries", "the") and _is_name(word[0]):
                start, end = match.start() + word.start(), match.start() + word.end()
                yield start, end, "", end
    for name, spelt in patterns.beside.items():
        for match in spelt.finditer(text):
            start = match.start() + match[0].index(name)
            yield start, start + len(name), *_version(text, start + len(name))
    for pattern in patterns.shapes:
        for match in pattern.finditer(text):
            start, end = match.span("name")
            if _is_name(text[start:end]):
                # A version may follow the word for software, not the name.
                version, reach = _version(text, max(end, match.end()))
                yield start, end, version, reach
    for match in _ADDRESS.finditer(text):
        name = match["name"].removesuffix(".git").rstrip(".")
        yield match.start("name"), match.start("name") + len(name), "", match.end()
    for match in _VERSIONED.finditer(text):
        start, end = match.span("name")
        last = re.split(r"[\s-]", text[start:end])[-1].lower()
        if not {last, last.rstrip("s")} & patterns.not_software:
            yield start, end, match["version"].rstrip("."), match.end()


def _version(text: str, end: int) -> tuple[str, int]:
    if found := _AFTER.match(text, end):
        return (found["named"] or found["bare"]).rstrip("."), found.end()
    if found := _WHOLE_NUMBER.match(text, end):
        return found[1], found.end()
    return "", end


def _is_name(name: str) -> bool:
    """Tell whether a word beside one for software is the name of it."""
    words = name.split()
    is_stop = any(w.lower().strip("'\"") in SoftwareWords.shipped().stop for w in words)
    is_form = bool(words) and words[0].islower() and words[0].endswith(("ed", "ing", "al", "ly"))
    return bool(words) and not is_stop and not is_form and any(c.isalpha() for c in name) and len(name) > 1


def _place(words: str) -> str:
    """A phrase that shows a name to be software; "in R" must end there, or go on as one does of software."""
    ends = r"(?!\w)" if words[-1].isalnum() else ""
    if words[-2:-1] == " " and words[-1].isalpha():
        ends = r"(?=[.,;)\[]|\s?[(\[]|\s\d|$|\s(?:version|v|software|with|using|and|package|statistic))"
    return wildcard_pattern([words]) + ends


class SoftwareWords(ProtocolRules):
    """Names of software, and words beside them."""

    file = "software"
    known: tuple[str, ...]
    near: dict[str, tuple[str, ...]]
    ambiguous: tuple[str, ...] = Field(description="names that are also words")
    words_before: tuple[str, ...] = Field(description="of which one stands before such a name, or one after it")
    words_after: tuple[str, ...]
    kinds: tuple[str, ...] = Field(description="words for software")
    stop: Words
    not_software: Words

    @cached_property
    def names(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.-])(?:{wildcard_pattern((*self.known, *self.ambiguous))})(?![\w-]|\.\w)")

    @cached_property
    def beside(self) -> dict[str, re.Pattern[str]]:
        return {name: re.compile(rf"(?<![\w.-])(?:{'|'.join(map(_place, p))})") for name, p in self.near.items()}

    @cached_property
    def before(self) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{wildcard_pattern(self.words_before)})\b[^,.;()]{{0,12}}$")

    @cached_property
    def after(self) -> re.Pattern[str]:
        return re.compile(rf"[^,.;()]{{0,12}}?\b(?:{wildcard_pattern(self.words_after)})\b")

    @cached_property
    def shapes(self) -> tuple[re.Pattern[str], ...]:
        """Phrases that name software whatever its name is."""
        kinds = wildcard_pattern(self.kinds)
        quoted = r"['\"\u2018\u201c]?"
        capital = r"(?:[A-Z][\w.+*/-]{1,30}|[a-z][a-z0-9]{0,12}[A-Z][\w.+-]{0,20}|[a-z]{1,14}\d{1,2})"
        before_name = r"(?:R|the|Python|Bioconductor|MATLAB|Matlab) (?:package|library|toolbox|module)"
        lower = r"[a-z][\w.]{1,20}"
        return (
            # The lme4 package; R package lme4: there a name may be in small letters.
            re.compile(
                rf"\b(?:the|R|of|with|using|in) {quoted}(?P<name>{lower}){quoted} (?:package|library|toolbox)\b"
            ),
            re.compile(rf"\b{before_name} {quoted}(?P<name>{lower}){quoted}(?![\w-])"),
            re.compile(rf"\b(?:program|package|software|library) (?P<name>{lower})(?= \d{{1,2}}\.\d)"),
            re.compile(
                rf"(?<![\w-])(?P<name>{capital}(?: [A-Z][\w.+-]{{0,20}}){{0,2}})(?= [\d.]{{1,8}} (?:{kinds})\b)"
            ),
            re.compile(
                rf"(?<![\w-]){quoted}(?P<name>{capital}(?: [A-Z][\w.+-]{{0,20}}){{0,2}}){quoted} (?:{kinds})(?:s|es)?\b"
            ),
            re.compile(
                rf"\b(?:{kinds}) (?:called |named )?{quoted}"
                rf"(?P<name>{capital}(?: [A-Z][\w.+-]{{1,20}})?){quoted}(?![\w-])"
            ),
        )
