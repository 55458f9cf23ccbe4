"""Normalise titles and author names, and make keys of them, so that records of a work match."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kgcheck.literature.documents import clean
from kgcheck.providers.paper_service import NAME_PARTICLES
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
