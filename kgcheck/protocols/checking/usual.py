"""Values of a step that are outside what is usual, and words in which a step and its rationale differ.

What is usual stands in corpus/protocols/usual.toml, by hand; of what is not in it, nothing is remarked.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Literal, NamedTuple

from pydantic import Field

from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, remarked
from kgcheck.protocols.protocol import StudyProtocol
from kgcheck.resources import resource_dir

ErrorKind = Literal["parameter", "reagent", "operation"]
"""Kind of an error in a step, as BioProBench parts them."""

_MOST = 4_000
_CLOSE = 25
"""So many characters may stand between a value and what it is of."""

_NUMBER = r"(?<![\w.,/-])(?P<number>-?\d{1,3}(?:,\d{3})+|-?\d{1,9}(?:\.\d{1,6})?)"
_BREAK = re.compile(r"[;]|\.\s|\band\b|,\s")


class UsualValue(Value):
    """Usual range of one quantity in one unit."""

    of: tuple[str, ...] = Field(min_length=1)
    unit: str
    least: float
    most: float
    kind: ErrorKind
    with_: tuple[str, ...] = Field(default=(), alias="with")
    without: tuple[str, ...] = ()

    @cached_property
    def named(self) -> re.Pattern[str]:
        """Pattern of the names of the quantity."""
        return re.compile(rf"(?<!\w)(?:{'|'.join(self.of)})(?!\w)", re.IGNORECASE)

    def fits(self, text: str) -> bool:
        """Tell whether a text has the required words and none of the excluded ones."""
        return (not self.with_ or _has(text, self.with_)) and not (self.without and _has(text, self.without))


class UsualRules(Value):
    """corpus/protocols/usual.toml."""

    units: dict[str, tuple[str, ...]]
    value: tuple[UsualValue, ...]
    alike: dict[str, tuple[str, ...]]

    @cached_property
    def numbers(self) -> dict[str, re.Pattern[str]]:
        """A value in each unit."""
        units = {
            unit: rf"\s?(?:{'|'.join(spellings)})(?![A-Za-z])" if spellings else r"(?!\w|\s?%|[.,]\d)"
            for unit, spellings in self.units.items()
        }
        return {unit: re.compile(_NUMBER + pattern) for unit, pattern in units.items()}

    @cached_property
    def kinds(self) -> list[list[re.Pattern[str]]]:
        """The words of each kind; an abbreviation in capitals is one only so."""
        return [
            [re.compile(rf"(?<!\w)(?:{w})(?!\w)", re.IGNORECASE if w == w.lower() else 0) for w in words]
            for words in self.alike.values()
        ]


class OddValue(NamedTuple):
    """A value that is outside what is usual."""

    of: str
    written: str
    least: float
    most: float
    kind: ErrorKind


def odd_values(text: str) -> list[OddValue]:
    """Values of a text that are outside what is usual.

    >>> [(odd.of, odd.written) for odd in odd_values("Lyse the pellet in buffer with 10 mM PMSF.")]
    [('PMSF', '10 mM')]
    >>> odd_values("Lyse the pellet in buffer with 1 mM PMSF.")
    []
    """
    shown = text[:_MOST]
    found = []
    for rule in _usual().value:
        if not rule.fits(shown) or not (numbers := list(_usual().numbers[rule.unit].finditer(shown))):
            continue
        for named in rule.named.finditer(shown):
            number = _nearest(shown, named, numbers)
            if number and not rule.least <= float(number["number"].replace(",", "")) <= rule.most:
                found.append(OddValue(named[0], number[0].strip(), rule.least, rule.most, rule.kind))
    return found


def odd_words(text: str, rationale: str) -> list[tuple[str, str]]:
    """Words of a text, each with the one of the same kind that its rationale has in its place.

    >>> odd_words("Inject it subcutaneously.", "An intraperitoneal injection")
    [('subcutaneously', 'intraperitoneal')]
    """
    found = []
    for patterns in _usual().kinds:
        own = {n: m[0] for n, pattern in enumerate(patterns) if (m := pattern.search(text[:_MOST]))}
        other = {n: m[0] for n, pattern in enumerate(patterns) if (m := pattern.search(rationale[:_MOST]))}
        if len(own) == 1 and len(other) == 1 and set(own) != set(other):
            found.append((next(iter(own.values())), next(iter(other.values()))))
    return found


def usual_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Values that are unusual, and words in which a step and its rationale differ."""
    for step in protocol.steps:
        for odd in odd_values(step.text):
            note = f"{odd.of} {odd.written}; usual are {odd.least:g} to {odd.most:g}"
            yield remarked(StudyRemark.VALUE_UNUSUAL, note, step=step.id, about=odd.of)
        for written, other in odd_words(step.text, step.rationale):
            note = f"{written!r}, and {other!r} in its rationale"
            yield remarked(StudyRemark.RATIONALE_DIFFERS, note, step=step.id, about=written)


def _nearest(text: str, named: re.Match[str], numbers: list[re.Match[str]]) -> re.Match[str] | None:
    """The value nearest to a name, if it is close and nothing else is named between."""
    best, least = None, _CLOSE + 1
    for number in numbers:
        if number.end() <= named.start():
            between = text[number.end() : named.start()]
        elif number.start() >= named.end():
            between = text[named.end() : number.start()]
        else:
            continue
        if len(between) < least and not _BREAK.search(between):
            best, least = number, len(between)
    return best


@cache
def _usual() -> UsualRules:
    return read_value(resource_dir("corpus") / "protocols" / "usual.toml", UsualRules)


def _has(text: str, words: tuple[str, ...]) -> bool:
    return re.search("|".join(words), text, re.IGNORECASE) is not None
