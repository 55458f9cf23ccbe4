"""The numbers of a sentence: values with their precision, unit and sign of comparison.

Spellings stand in corpus/grounding/quantities.toml. What looks like a number and measures nothing is left out: figures
and tables by their numbers, names with digits, years, levels of confidence, citations.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

from kgcheck.inputs import read_toml
from kgcheck.literature.documents import Span
from kgcheck.resources import resource_dir
from kgcheck.text.words import either


class WrittenNumber(NamedTuple):
    """A number in a text: ``text[start:end]`` with its sign, scale and unit, to ``number_end`` without scale and unit.

    ``step`` is the value of the last digit that is written: 0.1 of 2.5, 1 of 12, 1000 of 12 thousand. ``approximate``
    says that it is written as one near it.
    """

    start: int
    number_end: int
    end: int
    value: Decimal
    step: Decimal
    unit: str = ""
    comparator: str = "="
    approximate: bool = False

    @property
    def digits(self) -> int:
        """Number of significant digits."""
        return len((self.value / self.step).normalize().as_tuple().digits) if self.value else 1


_NUMBER = re.compile(
    r"""(?<![\w.,/^+])                                      # not within a word, a name or another number
    (?P<comparator>[<>=≤≥~≈\u223c]\s?)?
    (?P<sign>[-\u2212+±]\s?)?
    (?P<number>\d{1,3}(?:[,\u2009\u202f]\d{3}){1,9}(?:\.\d{1,12})?|\d{1,30}(?:\.\d{1,12})?|\.\d{1,12})
    (?:\s?[\u00d7x\u00b7*]\s?10\s?\^?\s?(?P<power>[-\u2212\u2013]?\d{1,3})|[eE](?P<exponent>[-+]?\d{1,3}))?
    (?![\d.,]*\d)""",
    re.VERBOSE,
)

# 2·5 is 2.5; 2·10^5 is a power of ten, also where what raised the 5 is lost, but for a range such as 2·10-5·25.
_RAISED_POINT = re.compile(
    r"(?<=\d)[\u00b7\u2219\u22c5](?=\d)(?!10\s?\^?\s?[-\u2212\u2013]?\d{1,3}(?![.\u00b7\u2219\u22c5]?\d))"
)

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"
_OTHER_END = re.compile(r"\s?(?:[-\u2013\u2014\u2212]|to|and)\s?\d{1,12}(?:\.\d{1,12})?")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_NAMED_BY_LETTERS = re.compile(r"[A-Za-z\u0370-\u03ff(+'\u2032]|-[A-Za-z]")
_BOUNDS = {
    "<": ("less than", "below", "under", "fewer than"),
    ">": ("more than", "above", "over", "greater than", "exceeding"),
}


def quantities(text: str, without: Iterable[Span] = ()) -> tuple[WrittenNumber, ...]:
    """The numbers of a text that state how much or how many.

    >>> found = quantities("In 12.5% of 1,204 mice (p < 0.001; Fig. 3), IL-6 rose.")
    >>> [(str(q.value), q.unit, q.comparator) for q in found]
    [('12.5', '%', '='), ('1204', '', '='), ('0.001', '', '<')]
    """
    text = with_points(text)
    left_out = sorted(without)
    starts = [start for start, _ in left_out]
    # How far those that begin first reach.
    ends = [0, *accumulate((end for _, end in left_out), max)]
    found = filter(None, (_quantity(text, match) for match in _NUMBER.finditer(text)))
    return tuple(q for q in found if ends[bisect_left(starts, q.end)] <= q.start)


def with_points(text: str) -> str:
    """A text of the same length whose decimal points are all on the line, as some journals raise them.

    >>> with_points("a loss of 2·5 kg, 3·10^5 cells")
    'a loss of 2.5 kg, 3·10^5 cells'
    """
    return _RAISED_POINT.sub(".", text)


def _quantity(text: str, match: re.Match[str]) -> WrittenNumber | None:
    """The number of a match; None where it is a name, a place, a year or a level rather than a result."""
    rules, sign = _rules(), (match["comparator"] or "").strip()
    start = match.start("sign") if match["sign"] else match.start("number")
    joined = text[start - 1] in _DASHES if start else False
    # After a dash it is the other end of a range, or the digits of a name such as IL-6.
    if joined and not re.fullmatch(r"[\d%\s]", text[start - 2 : start - 1] or "-"):
        return None
    digits = re.sub(r"[,\u2009\u202f]", "", match["number"])
    if digits.startswith("00") or (digits.startswith("0") and digits.isdigit() and len(digits) > 1):
        return None
    power = int((match["power"] or match["exponent"] or "0").replace("\u2212", "-").replace("\u2013", "-"))
    value, step = Decimal(digits).scaleb(power), Decimal(1).scaleb(power - len(match["number"].partition(".")[2]))
    end = match.end()
    if scaled := rules["scale"].match(text, end):
        factor = rules["scales"][scaled[1]]
        value, step, end = value * factor, step * factor, scaled.end()
    spelt = rules["unit"].match(text, end)
    if spelt:
        end = spelt.end()
    elif other := _OTHER_END.match(text, end):
        # 12 of `12-14 mg` has the unit of the other end.
        spelt = rules["unit"].match(text, other.end())
    unit = "/".join(rules["units"][part] for part in spelt.group("unit", "per") if part) if spelt else ""
    before, after = text[max(0, start - 40) : start], text[end : end + 20].lstrip()
    word = re.search(r"(?<![A-Za-z])([A-Za-z]+)[.\s]*\(?$", before)
    if (
        # 5S, 3T3, 2'-deoxy, 4-hydroxy: a name that begins with digits.
        (not unit and _NAMED_BY_LETTERS.match(text[end : end + 2]))
        or (word and not sign and not unit and word[1].casefold() in rules["before"])
        or (unit in ("", "%") and after.startswith(rules["after"]))
        or (not (unit or sign or match["sign"]) and _YEAR.fullmatch(match["number"]))
    ):
        return None
    negative = (match["sign"] or "").strip() in ("-", "\u2212") and not joined
    words = before.rstrip().casefold()
    stated = next((sign for sign, ends in _BOUNDS.items() if words.endswith(ends)), "=")
    return WrittenNumber(
        start=start,
        number_end=match.end(),
        end=end,
        value=-value if negative else value,
        step=step,
        unit=unit,
        comparator=sign if sign in ("<", ">", "≤", "≥") else stated,
        approximate=bool(rules["approximate"].search(before)) or sign in ("~", "≈", "\u223c"),
    )


def kind_words() -> frozenset[str]:
    """Words in the name of a result that tell its kind and not what it is of."""
    return frozenset(_rules()["kinds"])


@cache
def _rules() -> dict[str, Any]:
    raw = read_toml(resource_dir("corpus") / "grounding" / "quantities.toml")
    units = {spelling: unit for unit, spellings in raw["units"].items() for spelling in spellings}
    spelt = either(units)
    gap = r"[ \u00a0\u2009\u202f-]?"
    return {
        "units": units,
        "unit": re.compile(rf"{gap}(?P<unit>{spelt})(?:{gap}/{gap}(?P<per>{spelt}))?(?![^\W\d_])"),
        "scales": raw["scales"],
        "scale": re.compile(rf"{gap}({either(raw['scales'])})\b"),
        "before": frozenset(raw["names"]["before"].split()),
        "after": tuple(raw["names"]["after"]),
        "kinds": frozenset(raw["names"]["kinds"].split()),
        "approximate": re.compile(rf"(?:^|(?<=[\s(]))(?:{either(raw['about']['words'])})\s?$", re.IGNORECASE),
    }
