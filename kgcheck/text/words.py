"""Lists of words: each the beginning of a word, or a whole one where it ends with a stop."""

import re
from functools import cache, lru_cache

from kgcheck.inputs import read_toml
from kgcheck.resources import resource_dir


def word_pattern(words: list[str]) -> re.Pattern[str]:
    """The pattern that finds words of a list: each the beginning of a word, or a whole word if it ends with a stop."""
    whole = "|".join(re.escape(w[:-1]) for w in words if w.endswith("."))
    begins = "|".join(re.escape(w) for w in words if not w.endswith("."))
    return re.compile(rf"(?:(?:{whole or 'x^'})$)|(?:{begins or 'x^'})")


@cache
def word_list(name: str) -> re.Pattern[str]:
    """The pattern of one of the lists of `scopes.toml`."""
    lists: dict[str, list[str]] = read_toml(resource_dir("corpus") / "verifier" / "scopes.toml")
    return word_pattern(lists[name])


@lru_cache(100_000)
def is_in(name: str, word: str) -> bool:
    """Tell if a word is in a list of `scopes.toml`."""
    return bool(word_list(name).match(word))
