"""Compare names of journals: in full, abbreviated by ISO 4, or as an acronym."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from kgcheck.inputs import read_toml
from kgcheck.literature.documents import clean
from kgcheck.literature.titles import is_small, title_words
from kgcheck.resources import resource_dir

_BRACKETED = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_SUBTITLE = re.compile(r"(?:\s:|\s?=)\s.*")
"""Society that publishes a journal, or its name in another language, behind the name in PubMed."""

_SET_APART = re.compile(r"[:/;]\s| - |\s[\u2013\u2014]\s|(?<=\w{5})[.,]\s")
_ELIDED = re.compile(r"\b[dDlL]['\u2019](?=\w)")
_ACRONYM = re.compile(r"[A-Z](?=[A-Za-z]*[A-Z])[A-Za-z]{1,6}")
_FEWEST = 3  # words from which on the name of a journal may go on with the name of its section
_STEM = 4  # letters that a contraction begins with, if it does not end as its word does: "Geneeskd"
_LONGEST_LINK = 3  # letters of words that only link others: "di", "fur"


class _Name(NamedTuple):
    words: tuple[str, ...]
    main: tuple[str, ...]
    every: tuple[str, ...]
    place: tuple[str, ...]


@lru_cache(maxsize=20_000)
def same_journal(one: str, other: str) -> bool | None:
    """Tell whether two names are of one journal; None where that cannot be told.

    >>> same_journal("Proc. Natl. Acad. Sci. USA", "Proceedings of the National Academy of Sciences")
    True
    >>> same_journal("JAMA", "Journal of the American Medical Association"), same_journal("Cell", "Cell Reports")
    (True, False)
    """
    mine, theirs = _name(one), _name(other)
    if not mine.words or not theirs.words:
        return None
    found = _same(mine.words, theirs.words)
    if found:
        # A catalogue adds the place where there are two journals of the name.
        return True if _same(mine.place, theirs.place) or mine.place == theirs.place else None
    apart = {(mine.main, theirs.words), (mine.words, theirs.main)} - {(mine.words, theirs.words)}
    if any(_same(*pair) is not False for pair in apart) or _is_acronym(one, other) or _is_acronym(other, one):
        return None
    # "Des" may be design, and "Neuro-Oncology" one word.
    return None if found is False and _same(mine.every, theirs.every) is not False else found


@lru_cache(maxsize=20_000)
def _name(name: str) -> _Name:
    text = _ELIDED.sub("", re.sub(r"\bU\.?\s?S\.?\s?A\b\.?", "USA", clean(name)))
    bare = _SUBTITLE.sub("", _BRACKETED.sub(" ", text))
    place = title_words(" ".join(_BRACKETED.findall(text)))
    main, every = _SET_APART.split(bare, maxsplit=1)[0], bare.replace("-", "")
    return _Name(_words(bare), _words(main), title_words(every), place[:1])


def _words(text: str) -> tuple[str, ...]:
    every = title_words(text)
    small = _rules()["empty"]
    # "An" is no article in a journal's name, but "Anales".
    words = [w for w in every[:-1] if w == "an" or not (is_small(w) or w in small)] + list(every[-1:])
    return tuple(_rules()["names"].get(" ".join(words), " ".join(words)).split())


def _same(one: Sequence[str], other: Sequence[str]) -> bool | None:
    if "".join(one) == "".join(other):
        return bool(one)
    short, long = sorted((one, other), key=len)
    found: list[bool | None] = []
    more: list[str] = []
    for word in long:
        if len(found) < len(short) and (alike := _abbreviates(short[len(found)], word)) is not False:
            found.append(alike)
        else:
            more.append(word)
    if len(found) < len(short):
        return False
    if not more and len(short) > 1 and all(found):
        return True
    # The name of one word is not abbreviated, by ISO 4: "Gene" is not "Genetics", and "Biochem" is written.
    return None if len(short) >= _FEWEST or all(len(word) <= _LONGEST_LINK for word in more) else False


def _abbreviates(one: str, other: str) -> bool | None:
    """Tell whether one of two words is the other, as ISO 4 has it; None where it may be, cut off or contracted."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if long.startswith(tuple(_rules()["abbreviations"].get(short, "").split()) or " "):
        return True
    letters = iter(long)
    begins = short[:_STEM] == long[:_STEM] or (short[0], short[-1]) == (long[0], long[-1])
    contracted = begins and all(letter in letters for letter in short)
    return None if short.isalpha() and (contracted or long.startswith(short)) else False


def _is_acronym(short: str, long: str) -> bool:
    letters = short.replace(".", "").replace(" ", "")
    words = title_words(long)
    if not _ACRONYM.fullmatch(letters) or len(words) < len(letters) or letters[0].casefold() != words[0][0]:
        return False
    initials = iter(word[0] for word in words)
    return all(letter in initials for letter in letters.casefold())


@cache
def _rules() -> Mapping[str, Mapping[str, str]]:
    return read_toml(resource_dir("corpus") / "grounding" / "journals.toml")
