"""Split a text into tokens with their positions."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_TOKEN = re.compile(
    r"[^\W_]+(?=n['\u2019]t\b)|n['\u2019]t\b|[^\W_]+(?:['\u2019.][^\W_]+)*|[,;:()?\u2014/-]|\.(?=['\"]?\s+['\"]?[A-Z]|\s*$)"
)


BREAKS = frozenset(",;:()\u2014")
"""Marks between clauses."""


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
