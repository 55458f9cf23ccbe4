"""Tokens of English text, word lists of ``corpus/verifier``, and patterns of whole words and prefixes."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kgcheck.inputs import read_toml
from kgcheck.resources import resource_dir

_TOKEN = re.compile(
    r"[^\W_]+(?=n['\u2019]t\b)|n['\u2019]t\b|[^\W_]+(?:['\u2019.][^\W_]+)*|[,;:()?\u2014/-]|\.(?=['\"]?\s+['\"]?[A-Z]|\s*$)"
)

BREAKS = frozenset(",;:()\u2014")  # marks between clauses


class TextToken(NamedTuple):
    """A word or mark of a text between two places: in lower case, but for what is written like a symbol."""

    start: int
    end: int
    word: str


def tokenize(text: str) -> Iterator[TextToken]:
    """Tokens of a text, in order.

    >>> [token.word for token in tokenize("IL-2 wasn't seen.")]
    ['IL', '-', '2', 'was', "n't", 'seen', '.']
    """
    for found in _TOKEN.finditer(text):
        written = found[0]
        if written == ":" and not text[found.end() : found.end() + 1].isspace():
            written = "/"
        word = written if is_symbol(written) else written.lower().replace("\u2019", "'")
        yield TextToken(found.start(), found.end(), word)


def compounds(text: str, joints: str = "-'") -> list[str]:
    """Words as they are written, those of several parts whole, and marks between clauses.

    >>> compounds("TLR4-deficient mice, unlike others.")
    ['TLR4-deficient', 'mice', ',', 'unlike', 'others']
    """
    return _compound(joints).findall(text)


@cache
def _compound(joints: str) -> re.Pattern[str]:
    return re.compile(rf"[^\W_]+(?:[{re.escape(joints)}][^\W_]+)*|[{''.join(BREAKS)}]")


def is_symbol(word: str) -> bool:
    """Tell if a word is written as names of genes and the like are."""
    return len(word) > 1 and any(c.isdigit() or c.isupper() for c in word[1:])


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
