"""Marks in running text that look like citations by number: ``[3]``, ``[3-5]``, ``[2]-[5]``, a number set high."""

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kgcheck.grounding.manuscripts.marker_words import marker_words
from kgcheck.literature.documents import Span

NumberForm = Literal["bracket", "parenthesis", "superscript"]


class NumberMark(NamedTuple):
    """A mark of numbers, and how they are set."""

    start: int
    end: int
    numbers: tuple[int, ...]
    form: NumberForm


MOST_OF_A_RANGE = 100
"""Of a range that is longer only the ends are taken."""

DASHES = "-\u2010-\u2015\u2212"
_JOINT = rf" ?(?:[,;]|[{DASHES}]{{1,3}}|\.\.|,? ?(?:and|to|&)\b) ?"
_NUMBERS = rf"\d{{1,4}}(?:{_JOINT}\d{{1,4}}){{0,60}}"
_LEAD = (
    r"(?:(?:see(?: also)?|e\.?g\.?,?|i\.?e\.?,?|cf\.?|reviewed in|for (?:a )?reviews?,? see|refs?\.?|references?) )"
    r"{0,2}"
)
_AFTER = (
    r"(?:,? (?:pp?\.|p[pg]s?\.?|chapters?|sections?|fig(?:ure)?s?\.?|tables?|and references therein)[^\[\]()]{0,40})?"
)
_BRACKET = re.compile(rf"\[ ?{_LEAD}({_NUMBERS}){_AFTER} ?\]", re.IGNORECASE)
_PARENTHESIS = re.compile(rf"\( ?{_LEAD}({_NUMBERS}){_AFTER} ?\)", re.IGNORECASE)
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


def bracket_marks(text: str, most: int) -> Iterator[NumberMark]:
    """Numbers in brackets; what are values, intervals, formulas or places of arrays is left out."""
    before: NumberMark | None = None
    for match in _BRACKET.finditer(text):
        numbers = _numbers(match[1], most)
        beside = before is not None and before.end == match.start()
        if not numbers or not (_is_free(text, match, beside)) or _is_value(text, match, numbers, most):
            continue
        mark = NumberMark(match.start(), match.end(), numbers, "bracket")
        if before and _BETWEEN.fullmatch(text, before.end, mark.start) and before.numbers[-1] < numbers[0]:
            between = _range(before.numbers[-1], numbers[0])
            before = NumberMark(before.start, mark.end, (*before.numbers[:-1], *between, *numbers[1:]), "bracket")
            continue
        if before:
            yield before
        before = mark
    if before:
        yield before


def parenthesis_marks(text: str, most: int) -> Iterator[NumberMark]:
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
        formula = marker_words().no_citation_before.search(before) or (
            len(numbers) == 1 and marker_words().formula_before.search(before)
        )
        if text[match.start() - 1].isspace() and not formula:
            yield NumberMark(match.start(), match.end(), numbers, "parenthesis")


def superscript_marks(text: str, most: int) -> Iterator[NumberMark]:
    """Numbers that are set high; what are powers, charges and isotopes is left out."""
    for match in _SUPERSCRIPT.finditer(text):
        before = text[max(0, match.start() - 24) : match.start()]
        numbers = _numbers(match[0].translate(_LOW), most)
        if not before or before[-1].isspace() or before[-1] in _BEFORE_POWER or not numbers:
            continue
        number = _NUMBER_BEFORE.search(before)
        if not (number and not _PLAIN_YEAR.fullmatch(number[0])) and not _UNIT_BEFORE.search(before):
            yield NumberMark(match.start(), match.end(), numbers, "superscript")


def named_marks(text: str, most: int) -> Iterator[NumberMark]:
    """Numbers after the word: ``ref. 3``."""
    for match in _NAMED.finditer(text):
        if numbers := _numbers(match[1], most):
            yield NumberMark(match.start(1), match.end(1), numbers, "bracket")


def _numbers(text: str, most: int) -> tuple[int, ...]:
    """The numbers of a mark, with those of its ranges; none where they cannot be places of a list."""
    found: list[int] = []
    end = 0
    for match in _ONE.finditer(text):
        number = int(match[0])
        if number == 0 or match[0].startswith("0") or (number > 999 and number > most):
            return ()
        if found and _is_range(text[end : match.start()]) and found[-1] < number:
            found += _range(found[-1], number)[1:]
        else:
            found.append(number)
        end = match.end()
    return tuple(dict.fromkeys(found))


def _is_range(joint: str) -> bool:
    return not any(c in joint for c in ",;&") and joint.strip().lower() != "and"


def _range(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1)) if last - first <= MOST_OF_A_RANGE else (first, last)


def _is_free(text: str, match: re.Match[str], beside: bool) -> bool:
    """Whether a bracket stands for itself, or beside another one: not in a name such as [1]benzo, or x[3]."""
    start, end = match.span()
    after = text[end : end + 2]
    if after[:1].isalnum() or after[:1] == "_" or (after[:1] == "-" and after[1:].isalpha()):
        return False
    return beside or not _IDENTIFIER_BEFORE.search(text, max(0, start - 24), start)


def _is_value(text: str, match: re.Match[str], numbers: Sequence[int], most: int) -> bool:
    """Whether numbers in brackets are a value, an interval or the place of something else."""
    before = text[max(0, match.start() - 40) : match.start()]
    if marker_words().no_citation_before.search(before):
        return True
    written = [int(n) for n in _ONE.findall(match[1])]
    if len(written) > 1 and min(numbers) > most > 0:
        return True
    if len(written) != 2:
        return False
    if marker_words().interval_before.search(before) or marker_words().unit_after.match(text, match.end()):
        return True
    value = _VALUE_BEFORE.search(before)
    return value is not None and written[0] <= float(value[1]) <= written[1]


class Spans:
    """Places that do not overlap, in which another one is looked for."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = sorted(spans)

    def add(self, span: Span) -> None:
        """One more."""
        insort(self._spans, span)

    def meet(self, span: Span) -> bool:
        """Whether one of them shares a place with a span."""
        place = bisect_left(self._spans, (span[1], -1))
        return place > 0 and self._spans[place - 1][1] > span[0]
