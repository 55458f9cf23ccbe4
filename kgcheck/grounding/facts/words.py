"""Words by which sentences of a manuscript are read for what they state: `corpus/grounding/statements.toml`."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from kgcheck.inputs import read_toml
from kgcheck.resources import resource_dir


class SpeciesNames(NamedTuple):
    """Words for organisms: others than human, those of them whose symbols look like human ones, and human."""

    others: frozenset[str]
    alike: frozenset[str]
    human: frozenset[str]


class StatementWords(NamedTuple):
    """The lists of the file by their names; those of beginnings of words as patterns."""

    lists: dict[str, frozenset[str]]
    clouding: re.Pattern[str]
    conditions: re.Pattern[str]
    undeniable: re.Pattern[str]
    mutual: re.Pattern[str]
    known: frozenset[str]
    general: frozenset[str]
    denying: dict[str, frozenset[str]]
    same: dict[str, tuple[str, ...]]
    species: SpeciesNames
    beside: frozenset[str]
    unsure: frozenset[str]


_KNOWN = (
    *("determiners", "kinds", "kinds_of_terms", "aspects", "aspect_links", "auxiliaries", "links", "prepositions"),
    *("equating", "people", "finding", "noun_modifiers"),
)
"""Lists of words that may stand in a statement and relate nothing by themselves."""


@cache
def statement_words() -> StatementWords:
    """The words that come with kgcheck."""
    raw = read_toml(resource_dir("corpus") / "grounding" / "statements.toml")
    lists = {name: frozenset(text.split()) for name, text in raw.items() if isinstance(text, str)}
    denying = (line.partition(" = ") for line in raw["denying"])
    return StatementWords(
        lists=lists,
        clouding=beginning(lists["clouding"]),
        conditions=beginning(lists["conditions"]),
        undeniable=beginning(lists["undeniable"]),
        mutual=beginning(lists["mutual"]),
        known=frozenset().union(*(lists[name] for name in _KNOWN)),
        general=frozenset(raw["general"]),
        denying={word: frozenset(cues.split()) for word, _, cues in denying},
        same={cue: tuple(text.split()) for cue, text in raw["same"].items()},
        species=SpeciesNames(*(frozenset(raw["species"][name].split()) for name in SpeciesNames._fields)),
        beside=frozenset(raw["symbols"]["beside"].split()),
        unsure=frozenset(raw["symbols"]["unsure"].split()),
    )


def beginning(words: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern of a word in lower case that is one of some.

    >>> bool(beginning(["bind*", "in"]).match("binding")), bool(beginning(["bind*", "in"]).match("into"))
    (True, False)
    """
    parts = sorted((re.escape(w.rstrip("*")) + (r"[\w-]*" if w.endswith("*") else "") for w in words), key=len)
    return re.compile(rf"(?:{'|'.join(reversed(parts))})$")
