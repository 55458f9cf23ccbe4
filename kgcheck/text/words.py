"""Load word lists of ``corpus/verifier``, and compile patterns of whole words and prefixes."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from kgcheck.inputs import read_toml
from kgcheck.resources import resource_dir

GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρςστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau "
        "upsilon phi chi psi omega".split(),
        strict=True,
    )
)
"""Greek letters with their names."""


def word_pattern(words: list[str]) -> re.Pattern[str]:
    """The pattern that finds words of a list: each the beginning of a word, or a whole word if it ends with a stop."""
    whole = "|".join(re.escape(w[:-1]) for w in words if w.endswith("."))
    begins = "|".join(re.escape(w) for w in words if not w.endswith("."))
    return re.compile(rf"(?:(?:{whole or 'x^'})$)|(?:{begins or 'x^'})")


def either(spellings: Iterable[str]) -> str:
    """A pattern of any of some spellings, the longest first."""
    return "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))


def wildcard_pattern(spellings: Iterable[str]) -> str:
    """Build a pattern of any of some spellings, the longest first; a final ``*`` stands for the rest of a word."""
    longest = sorted(set(spellings), key=len, reverse=True)
    return "|".join(re.escape(s[:-1]) + r"\w{0,20}" if s.endswith("*") else re.escape(s) for s in longest)


@cache
def verifier_rules(name: str) -> dict[str, Any]:
    """One of the files of words and rules in ``corpus/verifier``."""
    return read_toml(resource_dir("corpus") / "verifier" / f"{name}.toml")


@cache
def words_of_list(rules: str, name: str) -> frozenset[str]:
    """The words of a list of such a file, or of a text of words."""
    listed = verifier_rules(rules)[name]
    return frozenset(listed.split() if isinstance(listed, str) else listed)


@cache
def pattern_of_list(rules: str, name: str) -> re.Pattern[str]:
    """The pattern of the words of a list of such a file."""
    return word_pattern(verifier_rules(rules)[name])


@lru_cache(100_000)
def is_in(name: str, word: str) -> bool:
    """Tell if a word is in a list of ``scopes.toml``."""
    return bool(pattern_of_list("scopes", name).match(word))


@cache
def stemmer() -> Any:
    """Load the stemmer of English words."""
    import Stemmer

    return Stemmer.Stemmer("english")
