"""Statistics that a sentence names: tests, corrections, models and sizes of effects, by their usual names."""

import re
from functools import cache

from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.protocols.reports.words import MOST_CHARACTERS, either
from kgcheck.resources import resource_dir


def statistics_in(text: str) -> tuple[str, ...]:
    """Extract the names of statistical methods from a sentence.

    >>> statistics_in("Welch's t-test with Benjamini-Hochberg correction, then a Mann-Whitney U test")
    ("Welch's t test", 'Benjamini-Hochberg', 'Wilcoxon rank-sum test')
    """
    pattern, names = _statistics()
    return tuple(dict.fromkeys(names[m.lastindex - 1] for m in pattern.finditer(_plain(text)) if m.lastindex))


def _plain(text: str) -> str:
    """Small letters and one kind of dash and apostrophe, so that each name is spelt in one way."""
    return text[:MOST_CHARACTERS].lower().translate(_SIGNS)


_SIGNS = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2019": "'", "\u2018": "'", "\u2032": "'"})


@cache
def _statistics() -> tuple[re.Pattern[str], list[str]]:
    """A pattern with a group for each spelling, and what each group names."""
    words = statistic_words()
    spelt = {
        _plain(spelling): name
        for group in (words.tests, words.corrections, words.models, words.effects)
        for name, spellings in group.items()
        for spelling in spellings
    }
    # The longest first, whatever it names: "paired t-test" is no "t-test".
    longest = sorted(spelt, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(f'({either([s])})' for s in longest)})(?!\w)")
    return pattern, [spelt[s] for s in longest]


class StatisticWords(Value):
    """The file ``statistics.toml``: by name, how each is written."""

    tests: dict[str, tuple[str, ...]]
    corrections: dict[str, tuple[str, ...]]
    models: dict[str, tuple[str, ...]]
    effects: dict[str, tuple[str, ...]]


@cache
def statistic_words() -> StatisticWords:
    """The names of statistics."""
    return read_value(resource_dir("corpus") / "protocols" / "statistics.toml", StatisticWords)
