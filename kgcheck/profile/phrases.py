"""Phrases of a lexicon, which are regular expressions, and how much work it is at most to look for one.

They have look-around, which RE2 lacks, and are matched by Python's engine: it tries every way in which a phrase could
fit, and a phrase of somebody else's profile may have more of them than anybody can wait for. So the ways are counted
when a profile is read.
"""

import re
from functools import lru_cache
from importlib import import_module
from typing import Any

# Python's own parser of expressions has no public name and no types: by an import statement mypy finds it or not, as
# its cache has it.
sre: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

LONGEST_PHRASE = 2_000
"""Characters."""

WHITE = r"\s+"
"""What a space of a phrase stands for."""

MOST_WAYS = 5_000
"""Ways in which one phrase may begin to fit one text at one place, besides how often something is repeated."""

MOST_REPEATS = 2
"""Parts of one phrase that may be repeated without end: each is as many ways as the question has characters."""


class TooMuchWork(ValueError):
    """A phrase that could take ages to look for."""


@lru_cache(4_000)
def check_phrase(text: str) -> None:
    """Refuse a phrase that is no regular expression, or that could take ages to look for.

    >>> check_phrase("((known|other) )*(kinds?|types?) of")
    >>> check_phrase("(a+)+b")
    Traceback (most recent call last):
    kgcheck.profile.phrases.TooMuchWork: '(a+)+b' repeats what is itself repeated
    """
    if len(text) > LONGEST_PHRASE:
        raise ValueError(f"{text[:40]!r}... has more than {LONGEST_PHRASE:,} characters")
    shown = repr(text[:200])
    try:
        tree = parser.parse(text)
        # As it is looked for: any white space for a space, a number for its sign.
        written = parser.parse(text.replace(" ", WHITE).replace("#", "(?P<number>[0-9]+)"))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{shown} is no regular expression: {error}") from None
    if tree.state.groupdict or tree.state.flags & ~re.UNICODE:
        raise ValueError(f"{shown} has flags, or groups with names")
    if _is_behind_of_any_length(written):
        raise ValueError(f"{shown} looks back at what has no fixed length: write \\s for a space there")
    if _ways(tree, shown) > MOST_WAYS:
        raise TooMuchWork(f"{shown} has over {MOST_WAYS:,} ways to fit")
    if _repeats(tree) > MOST_REPEATS:
        raise TooMuchWork(f"{shown} repeats more than {MOST_REPEATS} parts without end")


def _is_behind_of_any_length(tree: Any) -> bool:
    for kind, value in tree:
        inner: tuple[bool, ...] = ()
        match kind:
            case sre.ASSERT | sre.ASSERT_NOT:
                least, most = value[1].getwidth()
                inner = (value[0] < 0 and least != most, _is_behind_of_any_length(value[1]))
            case sre.SUBPATTERN:
                inner = (_is_behind_of_any_length(value[-1]),)
            case sre.BRANCH:
                inner = tuple(map(_is_behind_of_any_length, value[1]))
            case sre.MAX_REPEAT | sre.MIN_REPEAT:
                inner = (_is_behind_of_any_length(value[2]),)
        if any(inner):
            return True
    return False


def _ways(tree: Any, shown: str) -> int:
    """How many ways a sequence may fit, up to just over the limit."""
    ways = 1
    for kind, value in tree:
        ways = min(ways * _ways_of(kind, value, shown), MOST_WAYS + 1)
    return ways


def _ways_of(kind: Any, value: Any, shown: str) -> int:
    match kind:
        case sre.LITERAL | sre.NOT_LITERAL | sre.IN | sre.ANY | sre.AT:
            return 1
        case sre.SUBPATTERN:
            return _ways(value[-1], shown)
        case sre.BRANCH:
            # A text begins with one sign, and what begins otherwise is out at once.
            began = [(_first(one), _ways(one, shown)) for one in value[1]]
            signs = {sign for first, _ in began if first for sign in first} | {None}
            return int(max(sum(ways for first, ways in began if first is None or sign in first) for sign in signs))
        case sre.ASSERT | sre.ASSERT_NOT:
            return _ways(value[1], shown)
        case sre.MAX_REPEAT | sre.MIN_REPEAT:
            least, most, body = value
            if most != sre.MAXREPEAT:
                inner = _ways(body, shown)
                return int(
                    min(sum(min(inner**n, MOST_WAYS + 1) for n in range(least, min(most, 99) + 1)), MOST_WAYS + 1)
                )
            if _repeats(body):
                raise TooMuchWork(f"{shown} repeats what is itself repeated")
            if not _is_code(_texts(body, shown)):
                raise TooMuchWork(f"{shown} repeats words that can be told apart in several ways")
            return 1
        case _:
            raise TooMuchWork(f"{shown} has a part that phrases do not have: {str(kind).lower()}")


def _first(tree: Any) -> frozenset[int] | None:
    """The characters with which a sequence may begin; None where it may begin with any, or with none."""
    for kind, value in tree:
        match kind:
            case sre.LITERAL:
                return frozenset({value})
            case sre.IN if all(item[0] is sre.LITERAL for item in value):
                return frozenset(item[1] for item in value)
            case sre.SUBPATTERN:
                return _first(value[-1])
            case sre.BRANCH:
                firsts = [_first(one) for one in value[1]]
                return None if None in firsts else frozenset().union(*(first or () for first in firsts))
            case _:
                return None
    return None


def _repeats(tree: Any) -> int:
    """How many parts of a sequence are repeated without end."""
    count = 0
    for kind, value in tree:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            count += (value[1] == sre.MAXREPEAT) + _repeats(value[2]) * max(1, min(value[1], 99))
        elif kind is sre.SUBPATTERN:
            count += _repeats(value[-1])
        elif kind is sre.BRANCH:
            count += max(map(_repeats, value[1]))
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            count += _repeats(value[1])
    return count


_Text = tuple[Any, ...]
"""What is matched, sign by sign: a character, or a class of them as the parser gives it."""


def _texts(tree: Any, shown: str) -> list[_Text]:
    """Every text that a sequence without endless repeats may fit, once for each way."""
    texts: list[_Text] = [()]
    for kind, value in tree:
        match kind:
            case sre.LITERAL:
                more: list[_Text] = [(value,)]
            case sre.IN if all(item[0] is sre.LITERAL for item in value):
                more = [(item[1],) for item in value]
            case sre.IN | sre.ANY | sre.NOT_LITERAL:
                more = [(str(value),)]
            case sre.SUBPATTERN:
                more = _texts(value[-1], shown)
            case sre.BRANCH:
                more = [text for one in value[1] for text in _texts(one, shown)]
            case sre.MAX_REPEAT | sre.MIN_REPEAT if value[1] <= 1:
                more = [*([()] if value[0] == 0 else []), *(_texts(value[2], shown) if value[1] else [])]
            case _:
                raise TooMuchWork(f"{shown} repeats more than words and what may be left out")
        texts = [before + after for before in texts for after in more]
        if len(texts) > 2_000:
            raise TooMuchWork(f"{shown} repeats too many words")
    return texts


def _is_code(texts: list[_Text]) -> bool:
    """Whether a row of such texts can be parted in one way only, from left to right: none begins with another."""
    if any(not text for text in texts):
        return False
    ordered = sorted(set(texts), key=repr)
    if len(ordered) < len(texts) or (len(texts) > 1 and any(isinstance(sign, str) for text in texts for sign in text)):
        return False
    return not any(a != b and b[: len(a)] == a for a in ordered for b in ordered)
