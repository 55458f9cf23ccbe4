"""Compare names of journals: in full, abbreviated by ISO 4, or as an acronym."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from kgcheck.inputs import read_toml
from kgcheck.literature.documents import clean
from kgcheck.literature.titles import is_small, title_words
from kgcheck.resources import resource_dir

_APART = re.compile(r"(?<!\s)\s*(?:[:=(/\[]| - |\s[\u2013\u2014]\s|, )")
"""Signs that set a subtitle or a place of publication apart."""

_ACRONYM = re.compile(r"[A-Z](?=[A-Za-z]*[A-Z])[A-Za-z]{1,6}")
_FEWEST = 3
"""Words from which on the name of a journal may go on with the name of its section."""


@lru_cache(maxsize=20_000)
def same_journal(one: str, other: str) -> bool | None:
    """Tell whether two names are of one journal; None where that cannot be told.

    >>> same_journal("Proc. Natl. Acad. Sci. USA", "Proceedings of the National Academy of Sciences")
    True
    >>> same_journal("JAMA", "Journal of the American Medical Association"), same_journal("Cell", "Cell Reports")
    (True, False)
    """
    mine, theirs = list(_forms(one)), list(_forms(other))
    if not mine or not theirs:
        return None
    found = {_same(a, b) for a in mine for b in theirs}
    if True in found or _is_acronym(one, other) or _is_acronym(other, one):
        return True
    return None if None in found else False


def _forms(name: str) -> Iterator[tuple[str, ...]]:
    """The words of a name, whole and without what is set apart."""
    cut = _APART.split(name, maxsplit=1)[0]
    for form in dict.fromkeys((name, cut)):
        if words := _words(form):
            yield words


@lru_cache(maxsize=20_000)
def _words(name: str) -> tuple[str, ...]:
    rules = _rules()
    text = re.sub(r"\bU\.?\s?S\.?\s?A\b\.?", "USA", clean(name))
    words = [w for w in title_words(text) if not is_small(w) and w not in rules["empty"]]
    known = rules["names"].get(" ".join(words))
    return tuple(known.split()) if known else tuple(words)


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> bool | None:
    if "".join(one) == "".join(other):
        return True
    short, long = sorted((one, other), key=len)
    at = 0
    for word in long:
        at += at < len(short) and _abbreviates(short[at], word)
    if at < len(short):
        return False
    if len(short) == len(long):
        return True
    return None if len(short) >= _FEWEST else False


def _abbreviates(one: str, other: str) -> bool:
    """Tell whether one of two words is the other, cut off or contracted: "Natl"."""
    short, long = sorted((one, other), key=len)
    if long.startswith(short):
        return True
    stem = _rules()["contractions"].get(short, "")
    return bool(stem and long.startswith(stem)) or (len(short) > _FEWEST and long.startswith(short[:-1]))


def _is_acronym(short: str, long: str) -> bool:
    """Tell whether a name is made of initials of another, in their order."""
    letters = short.replace(".", "").replace(" ", "")
    words = title_words(_APART.split(long, maxsplit=1)[0])
    if not _ACRONYM.fullmatch(letters) or len(words) < len(letters) or letters[0].casefold() != words[0][0]:
        return False
    initials = iter(word[0] for word in words)
    return all(letter in initials for letter in letters.casefold())


@cache
def _rules() -> Mapping[str, Mapping[str, str]]:
    return read_toml(resource_dir("corpus") / "grounding" / "journals.toml")
