"""Normalise titles and author names, and make keys of them, so that records of a work match; compare journals' names.

Journals are named in full, abbreviated by ISO 4, or by an acronym.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from kgcheck.inputs import read_toml
from kgcheck.literature.documents import clean
from kgcheck.providers.paper_service import NAME_PARTICLES
from kgcheck.resources import resource_dir
from kgcheck.text.words import GREEK

_NOTES = re.compile(
    r"[\[(](?:article in [a-z, ]{2,40}|in [a-z]{3,20}|author'?s transl|corrected|proceedings?|letter|review|editorial"
    r"|see comments?|comment|abstract|retracted article|retraction|published erratum[^\])]{0,80})[\])]\W*$"
    r"|^\W*retracted(?: article)?\s*[:\]]",
    re.IGNORECASE,
)
"""Notes that catalogues write beside a title and that are none of it."""

LONGEST_TITLE = 2_000  # characters of a title that are read
_SHORT = 4  # letters of words that are spelt alike on both sides of the ocean, or are others there: four, for
_LETTERS = str.maketrans(
    {
        **{letter: f" {name} " for letter, name in GREEK.items()},
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "\u0131": "i",
        "&": " and ",
    }
)
_APOSTROPHE = re.compile(r"['\u2018\u2019\u02bc\u2032`\u00b4](?:[sS]\b)?")
_WORD = re.compile(r"[^\W_]+")
_BRITISH = (
    (re.compile(r"a(?=e)|o(?=e(?!u))"), ""),
    (re.compile(r"our(?=s?$|al|ed|ing|ite|able|less|ful)"), "or"),
    (re.compile(r"is(?=(?:e|ed|es|er|ers|ing|ation|ations)$)"), "iz"),
    (re.compile(r"ys(?=(?:e|ed|es|ing)$)"), "yz"),
    (re.compile(r"(?<=[bt])re(?=s?$)"), "er"),
    (re.compile(r"ogue(?=s?$)"), "og"),
    (re.compile(r"mme(?=s?$)"), "m"),
    (re.compile(r"ll(?=ed|ing|er|or)"), "l"),
    (re.compile(r"sulph"), "sulf"),
)
_SMALL = frozenset(
    "a an the of in on at to for from by with and or as is are be into onto via vs versus its their der die das und von"
    " le la les de des du et el los y".split()
)
"""Words that a title loses without becoming another."""

_INITIALS = re.compile(r"(?:[^\W\d_]\.?-?){1,3}")
_SHORTEST = 4  # content words that a title needs to be a name on its own: there are many replies and introductions


@lru_cache(maxsize=50_000)
def title_words(title: str) -> tuple[str, ...]:
    """The words of a title in one spelling.

    >>> title_words("<i>TGF-&beta;</i>: tumour behaviour in Alzheimer's disease [Article in German]")
    ('tgf', 'beta', 'tumor', 'behavior', 'in', 'alzheimer', 'disease')
    """
    return tuple(map(_american, _plain_words(_NOTES.sub(" ", clean(title[:LONGEST_TITLE])))))


def _plain_words(text: str) -> list[str]:
    text = unicodedata.normalize("NFKD", _APOSTROPHE.sub("", text)).casefold()
    return _WORD.findall("".join(c for c in text if not unicodedata.combining(c)).translate(_LETTERS))


def _american(word: str) -> str:
    if len(word) > _SHORT:
        for pattern, other in _BRITISH:
            word = pattern.sub(other, word)
    return word


def content_words(title: str) -> tuple[str, ...]:
    """The words of a title that make it this one and no other; see `title_words`."""
    return tuple(word for word in title_words(title) if word not in _SMALL)


def is_small(word: str) -> bool:
    """Tell whether a title can lose a word, in one spelling, without becoming another."""
    return word in _SMALL


def names_a_work(title: str) -> bool:
    """Tell whether a title is long enough to name one work alone."""
    return len(content_words(title)) >= _SHORTEST


def surnames(name: str) -> tuple[str, ...]:
    """Return the possible surnames in a name, in one spelling; the likeliest first.

    >>> surnames("van der Berg AB"), surnames("J. Doe"), surnames("Müller-Lüdenscheid, Hans")
    (('berg', 'van', 'der'), ('doe',), ('muller', 'ludenscheid'))
    """
    before = name.partition(",")[0] if "," in name else name
    parts = [p for p in before.split() if not (_INITIALS.fullmatch(p) and p.upper() == p)] or before.split()
    words = [w for w in _plain_words(clean(" ".join(parts)[:200])) if len(w) > 1]
    return tuple(sorted(dict.fromkeys(words), key=lambda w: w in NAME_PARTICLES))


def title_keys(titles: Sequence[str], author: str, places: Sequence[tuple[str, str]]) -> Iterator[int]:
    """Numbers under which a work is found though a word of its title, or all of it, is another."""
    names = surnames(author)[:1]
    for title in titles:
        words = content_words(title)
        if len(words) > 1:
            yield key_of("all", *words)
        half = max(2, len(words) // 2)
        for name in names:
            if words:
                yield key_of("begins", name, *words[:half])
                yield key_of("ends", name, *words[-half:])
        if len(words) > _SHORTEST:
            yield key_of("first", *words[:_SHORTEST])
            yield key_of("last", *words[-_SHORTEST:])
    for volume, page in places:
        for name in names:
            yield key_of("place", name, volume, page)


def key_of(*parts: str) -> int:
    """A number for words in their order."""
    return int.from_bytes(hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).digest(), "big")


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
    words = [w for w in every[:-1] if w == "an" or not (w in _SMALL or w in small)] + list(every[-1:])
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
