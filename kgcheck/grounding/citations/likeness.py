"""Whether two titles are one: the same but for spelling and length, near with another word, or those of two works."""

import re
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate

from kgcheck.errors import MissingExtra
from kgcheck.literature.titles import LONGEST_TITLE, content_words, is_small, names_a_work, surnames, title_words


class Likeness(StrEnum):
    """How like two titles are."""

    SAME = "same"
    NEAR = "near"
    OTHER = "other"


NEAR_FROM = 70.0
"""Likeness of the letters, of 100, from which on titles that differ in words are one title, wrongly written.

The measurement is in docs/bibliography.md: 99.9 % of the titles of different works are less alike."""

_SLIP_FROM = 6
"""Letters of a word from which on one wrong letter is a slip of the pen; shorter ones are other words: gene, gone."""

_CUT_FROM = 5
"""Content words from which on the beginning of a title stands for all of it."""

_SUBTITLE = re.compile(r"[:.?!;\u2013\u2014\u2212]|\s-\s")
_DENYING = frozenset(
    "not no non without nor never neither lack lacks lacking absence absent fails failed cannot un".split()
)


@lru_cache(maxsize=20_000)
def compare_titles(stated: str, found: str) -> Likeness:
    """How like two titles are.

    Case, punctuation, dashes, diacritics, entities, Greek letters, British and American spelling, small words, plurals
    and slips of one letter make no difference, neither does a subtitle that one lacks, nor that one is cut off.

    >>> compare_titles("Tumour growth & TGF-β: a review", "Tumor growth and TGF-beta").value
    'same'
    >>> compare_titles("Kinase A activates cell growth in yeast", "Kinase A inhibits cell growth in yeast").value
    'near'
    """
    stated, found = stated[:LONGEST_TITLE], found[:LONGEST_TITLE]
    mine, theirs = title_words(stated), title_words(found)
    if not mine or not theirs:
        return Likeness.SAME if mine == theirs else Likeness.OTHER
    if "".join(mine) == "".join(theirs) or not _changes(mine, theirs):
        return Likeness.SAME
    if _is_part(stated, found) or _is_part(found, stated):
        return Likeness.SAME
    return Likeness.NEAR if _ratio(" ".join(mine), " ".join(theirs)) >= NEAR_FROM else Likeness.OTHER


def _is_part(short: str, long: str) -> bool:
    """Whether a title is the beginning of another, or all of it but a part that its author set off."""
    words, others = content_words(short), content_words(long)
    joined = "".join(words)
    # By letters: CO2 is one word or two.
    at = next((n for n, end in enumerate(accumulate(map(len, others)), 1) if end == len(joined)), 0)
    if not 0 < len(joined) < sum(map(len, others)):
        return False
    if "".join(others[:at]) == joined and len(words) >= _CUT_FROM and not _DENYING & set(others[at:][:2]):
        return True
    parts = ["".join(content_words(part)) for part in _SUBTITLE.split(long)]
    return names_a_work(short) and joined in (parts[0], parts[-1])


def changed_words(stated: str, found: str) -> int:
    """How many words of two titles differ, small ones and slips left out."""
    return _changes(title_words(stated), title_words(found))


def _changes(mine: tuple[str, ...], theirs: tuple[str, ...]) -> int:
    """How many words differ that make a title another one."""
    count = 0
    for kind, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if kind == "equal" or "".join(mine[a:b]) == "".join(theirs[c:d]):
            continue
        ours, others = ([w for w in part if not is_small(w)] for part in (mine[a:b], theirs[c:d]))
        if len(ours) == len(others):
            count += sum(not _is_slip(x, y) for x, y in zip(ours, others, strict=True))
        elif not ("".join(ours) and _is_slip("".join(ours), "".join(others))):
            count += max(len(ours), len(others))
    return count


def _is_slip(one: str, other: str) -> bool:
    """Whether two words are one, but for an ending or a letter within."""
    if one == other or one.rstrip("s") == other.rstrip("s"):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) == 1 and short.isalpha() and len(long) > _SLIP_FROM and long.startswith(short):
        # A genus: M. tuberculosis.
        return True
    if min(len(one), len(other)) < _SLIP_FROM or any(c.isdigit() for c in one + other) or one[:2] != other[:2]:
        return False
    return _distance(one, other) <= 1


def _ratio(one: str, other: str) -> float:
    try:
        from rapidfuzz.fuzz import ratio
    except ImportError as error:
        raise MissingExtra("comparing titles", "grounding") from error
    return ratio(one, other)


def _distance(one: str, other: str) -> int:
    try:
        from rapidfuzz.distance import OSA
    except ImportError as error:
        raise MissingExtra("comparing titles", "grounding") from error
    return OSA.distance(one, other, score_cutoff=2)


def same_author(stated: str, found: str) -> bool:
    """Whether two names may be one author's: a surname of both, whatever the order and the initials.

    >>> same_author("Müller-Lüdenscheid H", "H. Muller"), same_author("Doe J", "Roe J")
    (True, False)
    """
    mine, theirs = surnames(stated), surnames(found)
    if not mine or not theirs or max(len(mine), len(theirs)) > 4:
        return True
    if set(mine) & set(theirs):
        return True
    joined, others = "".join(sorted(mine)), "".join(sorted(theirs))
    return joined == others or (min(map(len, (joined, others))) > 4 and _distance(joined, others) <= 1)
