"""Percentages against the counts beside them: 12 of 48 (25 %)."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from kgcheck.grounding.quantities import WrittenNumber, with_points

_WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13), strict=True))
_IN_WORDS = rf"(?i:{'|'.join(_WORDS)})"
_COUNT = r"\d{1,3}(?:,\d{3}){1,9}|\d{1,7}"
_WHOLE = rf"(?P<whole>{_COUNT})(?![\d.,]*\d|\s?%)"
_OF = rf"(?P<part>{_COUNT})\s?(?:/|(?:out\s)?of(?:\sthe|\sall)?)\s?{_WHOLE}"
_OF_WORDS = rf"(?P<part>{_IN_WORDS})\s(?:out\s)?of\s(?:the\s|all\s)?{_WHOLE}"
_SOME_WORDS = r"(?:\s[^\W\d_][\w-]*){0,4}"
_PERCENT = r"(?P<percent>\d{1,3}(?:\.\d{1,4})?)\s?%"
_FORMS = (
    re.compile(rf"(?<![\w.,/-]){_OF}{_SOME_WORDS}(?:\s?[(\[]|\s?=|,|;)\s?{_PERCENT}(?!\s?(?:CI|conf))"),
    re.compile(rf"(?<![\w.,/<>\u2264\u2265~-]){_PERCENT}\s?[(\[]\s?{_OF}"),
    # One of 15 mice, 40% of rats: only alone in brackets is it theirs.
    re.compile(rf"(?<!\w){_OF_WORDS}{_SOME_WORDS}\s?[(\[]{_PERCENT}\s?[)\],;]"),
)
_WORD = re.compile(rf"(?<!\w){_IN_WORDS}(?!\w)")
_HUNDRED = Decimal(100)


class Share(NamedTuple):
    """A percentage with the counts that it is of; ``start`` and ``end`` are of the percentage."""

    start: int
    end: int
    percent: Decimal
    part: int
    whole: int

    @property
    def right(self) -> bool:
        """Whether the counts make it, rounded or cut off."""
        return _makes(self.part, self.whole, self.percent)


def shares(text: str) -> Iterator[Share]:
    """The percentages of a text that stand beside the counts that they are of.

    >>> [(s.part, s.whole, str(s.percent), s.right) for s in shares("In 12 of 48 mice (25%), and 7/9 (66%) of others")]
    [(12, 48, '25', True), (7, 9, '66', False)]
    """
    text = with_points(text)
    for form in _FORMS:
        for match in form.finditer(text):
            part, whole = (_count(match[name]) for name in ("part", "whole"))
            if 0 <= part <= whole and whole:
                yield Share(*match.span("percent"), Decimal(match["percent"]), part, whole)


def is_share_of_others(quantity: WrittenNumber, text: str, stated: Sequence[WrittenNumber]) -> bool:
    """Whether a percentage is that of two counts of its sentence, wherever they stand."""
    if quantity.unit != "%":
        return False
    counts = {int(q.value) for q in stated if not q.unit and q.value > 0 and q.value == q.value.to_integral_value()}
    counts |= {_WORDS[found[0].casefold()] for found in _WORD.finditer(text)}
    half = quantity.step / 2
    return any(abs(_HUNDRED * a / b - quantity.value) <= half for a in counts for b in counts if a < b)


def _count(written: str) -> int:
    return _WORDS.get(written.casefold()) or int(written.replace(",", ""))


def _makes(part: int, whole: int, percent: Decimal) -> bool:
    step = Decimal(1).scaleb(int(percent.as_tuple().exponent))
    return abs(_HUNDRED * part / whole - percent) < step
