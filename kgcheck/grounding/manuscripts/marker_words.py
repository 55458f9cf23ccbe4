"""The words by which marks in a text are known to be no citations: `corpus/grounding/markers.toml`."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from kgcheck.inputs import read_toml
from kgcheck.resources import resource_dir


class MarkerWords(NamedTuple):
    """The lists of the file; those about numbers as patterns of what stands beside one."""

    particles: frozenset[str]
    no_names: frozenset[str]
    no_citation_before: re.Pattern[str]
    formula_before: re.Pattern[str]
    interval_before: re.Pattern[str]
    unit_after: re.Pattern[str]


@cache
def marker_words() -> MarkerWords:
    """The words that come with kgcheck."""
    raw = read_toml(resource_dir("corpus") / "grounding" / "markers.toml")
    names, numbers = raw["names"], raw["numbers"]
    before = _either(numbers["no_citation_before"].split())
    signs = "[=<>\u2264\u2265\u2248\u2208~\u00b1\u00d7*/^]"
    return MarkerWords(
        particles=frozenset(names["particles"].split()),
        no_names=frozenset(names["no_names"].split()),
        no_citation_before=re.compile(rf"(?:{signs}|(?<![^\s(])\+|\b(?:{before}))\s?$", re.IGNORECASE),
        formula_before=re.compile(rf"\b(?:{_either(numbers['formula_before'].split())}) $", re.IGNORECASE),
        interval_before=re.compile(
            rf"\b(?:{_either(numbers['interval_before'])})[:,;]?(?: (?:of|from|in))? ?$", re.IGNORECASE
        ),
        unit_after=re.compile(rf" ?(?:{_either(numbers['unit_after'].split())})(?![\w-])"),
    )


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
