"""Words of the readers of methods, as ``corpus/protocols/*.toml`` has them, and patterns made of them."""

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator

MOST_CHARACTERS = 5_000
"""Most characters read of a sentence: a longer one is a table or reference list that lost its form."""

Words = Annotated[frozenset[str], BeforeValidator(lambda text: frozenset(text.split()))]
"""Words that stand in a file as one text."""

AnyCase = Annotated[re.Pattern[str], BeforeValidator(lambda pattern: re.compile(pattern, re.IGNORECASE))]
"""A regular expression of a file, for capitals and small letters alike."""


def either(spellings: Iterable[str]) -> str:
    """A pattern of any of some spellings, the longest first; a ``*`` at the end stands for the rest of a word."""
    longest = sorted(set(spellings), key=len, reverse=True)
    return "|".join(re.escape(s[:-1]) + r"\w{0,20}" if s.endswith("*") else re.escape(s) for s in longest)
