"""Find the citations in the text of a manuscript: by number, and by author and year."""

import re
import unicodedata
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from kgcheck.grounding.manuscript import Block, Marker
from kgcheck.grounding.manuscripts.reference_lists import Entry, cited_works
from kgcheck.inputs import read_toml
from kgcheck.literature.documents import Span
from kgcheck.literature.papers import CitedWork
from kgcheck.resources import resource_dir
from kgcheck.text.words import either


@cache
def _words() -> dict[str, Any]:
    """Words that mark no citation; those about numbers as patterns of the text beside one."""
    raw = read_toml(resource_dir("corpus") / "grounding" / "markers.toml")
    names, numbers = raw["names"], raw["numbers"]
    before = either(numbers["no_citation_before"].split())
    signs = "[=<>\u2264\u2265\u2248\u2208~\u00b1\u00d7*/^]"
    formula, interval = either(numbers["formula_before"].split()), either(numbers["interval_before"])
    return {
        "particles": frozenset(names["particles"].split()),
        "no_names": frozenset(names["no_names"].split()),
        "no_citation_before": re.compile(rf"(?:{signs}|(?<![^\s(])\+|\b(?:{before}))\s?$", re.IGNORECASE),
        "formula_before": re.compile(rf"\b(?:{formula}) $", re.IGNORECASE),
        "interval_before": re.compile(rf"\b(?:{interval})[:,;]?(?: (?:of|from|in))? ?$", re.IGNORECASE),
        "unit_after": re.compile(rf" ?(?:{either(numbers['unit_after'].split())})(?![\w-])"),
    }


class NumberMark(NamedTuple):
    """A mark of numbers."""

    start: int
    end: int
    numbers: tuple[int, ...]


MOST_OF_A_RANGE = 100  # most numbers of a range; of a longer one only the ends are taken

DASHES = "-\u2010-\u2015\u2212"
_JOINT = rf" ?(?:[,;]|[{DASHES}]{{1,3}}|\.\.|,? ?(?:and|to|&)\b) ?"
_NUMBERS = rf"\d{{1,4}}(?:{_JOINT}\d{{1,4}}){{0,60}}"
_NUMBER_LEAD = (
    r"(?:(?:see(?: also)?|e\.?g\.?,?|i\.?e\.?,?|cf\.?|reviewed in|for (?:a )?reviews?,? see|refs?\.?|references?) )"
    r"{0,2}"
)
_NUMBER_REST = (
    r"(?:,? (?:pp?\.|p[pg]s?\.?|chapters?|sections?|fig(?:ure)?s?\.?|tables?|and references therein)[^\[\]()]{0,40})?"
)
_BRACKET = re.compile(rf"\[ ?{_NUMBER_LEAD}({_NUMBERS}){_NUMBER_REST} ?\]", re.IGNORECASE)
_PARENTHESIS = re.compile(rf"\( ?{_NUMBER_LEAD}({_NUMBERS}){_NUMBER_REST} ?\)", re.IGNORECASE)
_NAMED = re.compile(rf"\b(?:refs?\.?|references?|citations?) ({_NUMBERS})(?![\w%]|\.\d)", re.IGNORECASE)
_BETWEEN = re.compile(rf" ?[{DASHES}]{{1,3}} ?")
_ONE = re.compile(r"\d+")

_LOW = str.maketrans("\u2070\xb9\xb2\xb3\u2074\u2075\u2076\u2077\u2078\u2079\u207b", "0123456789-")
_H = "[\u2070\xb9\xb2\xb3\u2074-\u2079]"
_SUPERSCRIPT = re.compile(rf"{_H}{{1,3}}(?: ?[{DASHES},\u207b] ?{_H}{{1,3}}){{0,60}}(?!\w)")

_NUMBER_BEFORE = re.compile(r"(?<![\w-])[\d.,]{0,20}\d$")
_PLAIN_YEAR = re.compile(r"(?:19|20)\d\d")
_BEFORE_POWER = frozenset("([{=<>\u00d7-\u207b\u2010\u2011\u2012\u2013\u2014\u2212")
_VALUE_BEFORE = re.compile(
    r"(?:^|[\s(])(\d{1,6}(?:\.\d{1,6})?) ?(?:%|years?|days?|months?|weeks?|hours?|h|min|kg|mm|cm)? ?$"
)
_UNIT_BEFORE = re.compile(
    r"(?:^|[^\w])(?:[a-zA-Z\u03b1-\u03c9]|[a-zA-Z]_\w|mm|cm|km|nm|dm|\u00b5m|\u03bcm|kg|sec|min|log|cos|sin|exp|chi|eta)$"
)
_IDENTIFIER_BEFORE = re.compile(r"(?:(?<!\w)(?!al\b)[A-Za-z]{1,2}|\w_\w{0,20}|\w\(\)|\])$")


def _bracket_marks(text: str, most: int) -> Iterator[NumberMark]:
    """Numbers in brackets; what are values, intervals, formulas or places of arrays is left out."""
    before: NumberMark | None = None
    for match in _BRACKET.finditer(text):
        start, end = match.span()
        numbers = _numbers(match[1], most)
        after = text[end : end + 2]
        # A bracket stands for itself, or beside another one, and is not of a name: [1]benzo, x[3].
        beside = (before is not None and before.end == start) or not _IDENTIFIER_BEFORE.search(
            text, max(0, start - 24), start
        )
        of_name = after[:1].isalnum() or after[:1] == "_" or (after[:1] == "-" and after[1:].isalpha())
        if not numbers or of_name or not beside or _is_value(text, match, numbers, most):
            continue
        if before and _BETWEEN.fullmatch(text, before.end, start) and before.numbers[-1] < numbers[0]:
            between = _range(before.numbers[-1], numbers[0])
            before = NumberMark(before.start, end, (*before.numbers[:-1], *between, *numbers[1:]))
            continue
        if before:
            yield before
        before = NumberMark(start, end, numbers)
    if before:
        yield before


def _is_value(text: str, match: re.Match[str], numbers: Sequence[int], most: int) -> bool:
    """Recognise numbers in brackets that are a value, an interval or the place of something else."""
    words, before = _words(), text[max(0, match.start() - 40) : match.start()]
    written = [int(n) for n in _ONE.findall(match[1])]
    if words["no_citation_before"].search(before) or (len(written) > 1 and min(numbers) > most > 0):
        return True
    if len(written) != 2:
        return False
    if words["interval_before"].search(before) or words["unit_after"].match(text, match.end()):
        return True
    value = _VALUE_BEFORE.search(before)
    return value is not None and written[0] <= float(value[1]) <= written[1]


def _parenthesis_marks(text: str, most: int) -> Iterator[NumberMark]:
    """Numbers in parentheses, also those of lists and formulas: only a whole text shows what they are."""
    counted = 1
    for match in _PARENTHESIS.finditer(text):
        numbers = _numbers(match[1], most)
        if numbers == (counted,) and (counted > 1 or f"({counted + 1})" in text):
            # (1) the first, (2) the second
            counted += 1
            continue
        # An item of a list or the number of a formula stands at an end of the text.
        if not numbers or max(numbers) > most or match.start() == 0 or match.end() == len(text):
            continue
        before = text[max(0, match.start() - 40) : match.start()]
        formula = len(numbers) == 1 and _words()["formula_before"].search(before)
        if before[-1].isspace() and not formula and not _words()["no_citation_before"].search(before):
            yield NumberMark(*match.span(), numbers)


def _superscript_marks(text: str, most: int) -> Iterator[NumberMark]:
    """Numbers that are set high; what are powers, charges and isotopes is left out."""
    for match in _SUPERSCRIPT.finditer(text):
        before = text[max(0, match.start() - 24) : match.start()]
        numbers = _numbers(match[0].translate(_LOW), most)
        if not before or before[-1].isspace() or before[-1] in _BEFORE_POWER or not numbers:
            continue
        number = _NUMBER_BEFORE.search(before)
        if not (number and not _PLAIN_YEAR.fullmatch(number[0])) and not _UNIT_BEFORE.search(before):
            yield NumberMark(*match.span(), numbers)


def _named_marks(text: str, most: int) -> Iterator[NumberMark]:
    """Numbers after the word: ``ref. 3``."""
    for match in _NAMED.finditer(text):
        if numbers := _numbers(match[1], most):
            yield NumberMark(*match.span(1), numbers)


def _numbers(text: str, most: int) -> tuple[int, ...]:
    """The numbers of a mark, with those of its ranges; none where they cannot be places of a list."""
    found: list[int] = []
    end = 0
    for match in _ONE.finditer(text):
        number, joint = int(match[0]), text[end : match.start()]
        if number == 0 or match[0].startswith("0") or (number > 999 and number > most):
            return ()
        is_range = not any(c in joint for c in ",;&") and joint.strip().lower() != "and"
        if found and is_range and found[-1] < number:
            found += _range(found[-1], number)[1:]
        else:
            found.append(number)
        end = match.end()
    return tuple(dict.fromkeys(found))


def _range(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1)) if last - first <= MOST_OF_A_RANGE else (first, last)


def _overlaps(spans: Sequence[Span], span: Span) -> bool:
    """Find out whether one of some spans, in order and apart from each other, shares a place with another."""
    place = bisect_left(spans, (span[1], -1))
    return place > 0 and spans[place - 1][1] > span[0]


_NAME = (
    r"(?:(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|ter|ten|bin|ibn|zu|zur)[ -]){0,3}"
    r"(?:[dDOL]['\u2019])?[A-Z\u00c0-\u00de\u0100-\u017f][\w'\u2019\u2010-]{0,40}"
)
_INITIALS = r"(?:(?:[A-Z]\.[ -]?){1,3} ?)?"
_ET_AL = r",? (?:et ?al\.?|and (?:colleagues|co-?workers)|and others)"
_NAMES = (
    rf"{_INITIALS}(?P<first>{_NAME})(?P<words>(?: {_NAME}){{0,4}})"
    rf"(?:(?P<more>(?:, {_INITIALS}{_NAME}){{0,6}},? (?:and|&) {_INITIALS}{_NAME}(?: {_NAME}){{0,2}})"
    rf"|(?P<etal>{_ET_AL}))?"
)
_YEAR = r"(?:1[6-9]|20)\d\d[a-z]?"
_YEARS = rf"(?P<years>{_YEAR}(?:(?:, ?| ?& ?| and |/|[-\u2013])(?:{_YEAR}|[a-z]\b)){{0,8}})"
_NAME_LEAD = (
    r"(?:(?:see(?: also)?|e\.g\.?,?|i\.e\.?,?|cf\.?|reviewed (?:in|by)|for (?:a )?reviews?,? see|also|but see|and|as in"
    r"|after|in|by|from|modified from|adapted from|data from|according to|following),? ){0,3}"
)
_REST = (
    r"(?:[,:;]? ?(?:pp?\.|chapters?|ch\.|figs?\.|figures?|tables?|and references therein|\d{1,4}(?:[-\u2013]\d{1,4})?"
    r"|in press|unpublished)[^()\[\];]{0,40})?"
)
_PIECE = re.compile(rf"\s*{_NAME_LEAD}(?P<mark>{_NAMES},? \(?{_YEARS}\)?){_REST}\s*")
_GROUP = re.compile(r"[(\[]([^()\[\]]{4,20000})[)\]]")
_ONLY_YEARS = re.compile(rf"\s*{_YEARS}{_REST}\s*")
_SPAN = re.compile(r"\s*(?:1[6-9]|20)\d\d ?[-\u2013\u2014] ?(?:1[6-9]|20)\d\d\s*")
_NAMES_BEFORE = re.compile(rf"(?<![\w-]){_NAMES}(?:['\u2019]s?)? ?$")
_ONE_YEAR = re.compile(r"((?:1[6-9]|20)\d\d)([a-z]?)|\b([a-z])\b")
_LONGEST_NAMES = 120


class YearMark(NamedTuple):
    """A citation by author and year, with what it points to; ``sure`` also where nothing is found."""

    start: int
    end: int
    keys: tuple[str, ...]
    found: bool
    sure: bool


class AuthorYears:
    """Works of a list, found by author and year."""

    def __init__(self, references: Sequence[CitedWork]) -> None:
        self._by_name: dict[str, list[tuple[CitedWork, str]]] = defaultdict(list)
        for listed in references:
            # An entry that is not marked up names its authors in its text.
            work = listed if listed.authors else cited_works([Entry(listed.text, key=listed.key)])[0]
            if work.authors:
                letter = re.search(rf"\b{work.year}([a-z])\b", work.text) if work.year else None
                self._by_name[_surname_of(work.authors[0])].append((work, letter[1] if letter else ""))

    def marks(self, text: str) -> Iterator[YearMark]:
        """Find the citations of a text."""
        for group in _GROUP.finditer(text):
            inner, at = group[1], group.start(1)
            if only := _ONLY_YEARS.fullmatch(inner):
                begin = max(0, group.start() - _LONGEST_NAMES)
                names = self._names(text[begin : group.start()])
                # The years of a life, as in "Maury (1806-1873)", are of no works.
                if names and (not _SPAN.fullmatch(inner) or self._has_all(names, inner)):
                    yield from self._mark(names, only["years"], begin + names.start(), group.end())
                continue
            for piece in re.finditer(r"[^;]+", inner):
                if match := _PIECE.fullmatch(piece[0]):
                    start = at + piece.start()
                    yield from self._mark(match, match["years"], start + match.start("mark"), start + match.end("mark"))

    def _names(self, text: str) -> re.Match[str] | None:
        """The names right before an end, without words before them that are none, as at the beginning of a sentence."""
        found = _NAMES_BEFORE.search(text)
        while found and found["words"] and not self._works(found):
            found = _NAMES_BEFORE.search(text, found.start("words") + 1)
        return found

    def _has_all(self, names: re.Match[str], years: str) -> bool:
        listed = {work.year for work, _ in self._works(names)}
        return all(int(year) in listed for year in re.findall(r"\d{4}", years))

    def _works(self, names: re.Match[str]) -> list[tuple[CitedWork, str]]:
        """The works of a first author."""
        first = names["first"] + names["words"]
        works = self._by_name.get(_surname_of(first), [])
        if names["words"]:
            # Several words are one surname, the name of an organisation, or of nothing: only the list can tell.
            whole = _fold(first)
            works = [(w, s) for w, s in works if _fold(w.authors[0]).startswith(whole)]
        return works

    def _mark(self, names: re.Match[str], years: str, start: int, end: int) -> Iterator[YearMark]:
        if _words()["no_names"].intersection(_fold(names["first"]).split("-")):
            return
        works = self._works(names)
        second = _surname_of(re.split(r",? (?:and|&) ", names["more"])[-1]) if names["more"] else ""
        keys: list[str] = []
        year = ""
        for match in _ONE_YEAR.finditer(years):
            year, letter = (match[1], match[2]) if match[1] else (year, match[3])
            hits = [w for w, own in works if w.year == int(year) and (not letter or not own or own == letter)]
            narrow = [w for w in hits if second and any(_surname_of(a) == second for a in w.authors[1:])]
            narrow = narrow or [w for w in hits if names["etal"] and len(w.authors) > 2]
            keys += [w.key for w in narrow or hits] or [f"{names['first']}{names['words']} {year}{letter}"]
        sure = bool(names["etal"] or names["more"])
        yield YearMark(start, end, tuple(dict.fromkeys(keys)), bool(works), sure)


def _surname_of(author: str) -> str:
    """The first word of a surname, without particles, folded.

    >>> _surname_of("van der Berg JK"), _surname_of("O'Neill A")
    ('berg', "o'neill")
    """
    words = _fold(author).replace(",", " ").split()
    return next((w for w in words if w not in _words()["particles"]), words[0] if words else "")


def _fold(text: str) -> str:
    flat = unicodedata.normalize("NFKD", text.replace("\u2019", "'").replace("\u2010", "-"))
    return "".join(c for c in flat if not unicodedata.combining(c)).casefold().strip(" ,.'")


_ADDRESS = re.compile(r"\b(?:https?://|doi:|10\.\d{4,9}/)\S+", re.IGNORECASE)


class _Candidates(NamedTuple):
    numbers: list[list[NumberMark]]  # in brackets, after a word, set high, in parentheses
    years: list[YearMark]


def with_markers(blocks: Sequence[Block], references: Sequence[CitedWork]) -> tuple[Block, ...]:
    """Add to blocks the citations that can be read beside those that are marked up.

    What a bracket, a parenthesis or a number that is set high means is known from the whole text: a text cites in one
    form.
    """
    years, most, keys = AuthorYears(references), len(references), NumberKeys(references)
    finders = (_bracket_marks, _named_marks, _superscript_marks, _parenthesis_marks)
    found = {
        place: _Candidates([list(find(block.text, most)) for find in finders], list(years.marks(block.text)))
        for place, block in enumerate(blocks)
        if block.kind != "heading"
    }
    forms = _Forms(list(found.values()), blocks, most)
    made = [*blocks]
    for place, own in found.items():
        markers = _merged(blocks[place], forms.chosen(own), keys)
        made[place] = blocks[place].model_copy(update={"markers": tuple(markers)})
    for place, block in enumerate(made):
        markers, at = [*block.markers], place + 1
        for (start, end), count in block.notes:
            # A note cites what its text cites.
            if cited := dict.fromkeys(k for note in made[at : at + count] for m in note.markers for k in m.keys):
                markers.append(Marker(start=start, end=end, keys=tuple(cited), form="footnote"))
            at += count
        if block.notes:
            made[place] = block.model_copy(update={"markers": tuple(sorted(markers, key=lambda m: m.start))})
    return tuple(made)


def plain_number(label: str) -> int | None:
    """Read a label as a number; None where it is none, or has more digits than any list has entries."""
    return int(label) if re.fullmatch("[0-9]{1,9}", label) else None


class NumberKeys(dict[int | None, str]):
    """Keys of references by number: by their labels, or by their place where they have none."""

    def __init__(self, references: Sequence[CitedWork]) -> None:
        labels: dict[int | None, str] = {n: w.key for w in references if (n := plain_number(w.label)) is not None}
        super().__init__(labels or {n: w.key for n, w in enumerate(references, 1)})

    def __missing__(self, number: int | None) -> str:
        return str(number)


class _Forms:
    """Forms that a text cites in."""

    def __init__(self, found: Sequence[_Candidates], blocks: Sequence[Block], most: int) -> None:
        marked = [(b.text, m) for b in blocks for m in b.markers if m.form != "footnote"]
        years = sum(y.found for c in found for y in c.years)
        brackets = sum(len(c.numbers[0]) for c in found)
        high = [n for c in found for m in c.numbers[2] for n in m.numbers]
        round_ = [m for c in found for m in c.numbers[3]]
        cited = {n for m in round_ for n in m.numbers}
        most_of_list = max(2, most / 3)
        self._most = most
        self._high = (
            not marked
            and len(high) > max(3 * brackets, years)
            and sum(n <= most for n in high) >= 0.8 * len(high)
            and (len(set(high)) >= most_of_list or not (brackets or years or len(cited) >= most_of_list))
        )
        # Citations that are marked up may be bare numbers within brackets.
        inside = any(text[max(0, m.start - 1) : m.end].startswith("[") for text, m in marked if m.form == "numeric")
        self._brackets = not self._high and brackets > 0 and (inside if marked else years < 3 * brackets)
        # Beside keys, a number is left over from another form; where it could be a place of the list it may be a value.
        self._beyond = bool(marked) and not inside
        self._years = not marked and not self._high and years > max(brackets, len(round_))
        self._round = (
            not (marked or self._high or self._years)
            and len(round_) > 3 * brackets
            and len(cited) >= max(3, most / 2)
            and any(len(m.numbers) > 1 for m in round_)
        )

    def chosen(self, own: _Candidates) -> Iterator[NumberMark | YearMark]:
        """Choose the candidates of a block that are citations."""
        brackets, named, high, round_ = own.numbers
        if self._brackets:
            yield from brackets
        elif self._beyond:
            yield from (m for m in brackets if min(m.numbers) > self._most)
        if self._brackets or self._high or self._round:
            yield from named
        yield from high if self._high else round_ if self._round else ()
        yield from (mark for mark in own.years if mark.found or (self._years and mark.sure))


def _merged(block: Block, chosen: Iterator[NumberMark | YearMark], keys: NumberKeys) -> list[Marker]:
    """Citations that are marked up and those that were read beside them, in order."""
    text, made = block.text, [*block.markers]
    marked = sorted((m.start, m.end) for m in made)
    barred = (sorted(block.barred), [m.span() for m in _ADDRESS.finditer(text)])
    for mark in chosen:
        span = (mark.start, mark.end)
        if any(_overlaps(spans, span) for spans in barred):
            continue
        overlaps = _overlaps(marked, span)
        if overlaps and isinstance(mark, NumberMark):
            # Bare numbers of a bracket, of which others are marked up.
            for match in re.finditer(r"\d+", text[mark.start : mark.end]):
                own = (mark.start + match.start(), mark.start + match.end())
                if not _overlaps(marked, own):
                    made.append(Marker(start=own[0], end=own[1], keys=(keys[int(match[0])],)))
        elif not overlaps and isinstance(mark, NumberMark):
            made.append(Marker(start=mark.start, end=mark.end, keys=tuple(keys[n] for n in mark.numbers)))
        elif not overlaps and isinstance(mark, YearMark):
            made.append(Marker(start=mark.start, end=mark.end, keys=mark.keys, form="author_year"))
        insort(marked, span)
    return sorted(made, key=lambda m: m.start)
