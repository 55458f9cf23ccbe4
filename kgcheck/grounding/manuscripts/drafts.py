"""Parts of a manuscript before its citations are looked for, and where they stand in the file."""

import re
import unicodedata
from bisect import bisect_right
from typing import NamedTuple

from kgcheck.errors import InputFormat
from kgcheck.grounding.manuscript import Block, Table
from kgcheck.literature.documents import Span
from kgcheck.literature.papers import CitedWork

LONGEST_BLOCK = 200_000
"""Characters of a paragraph. A paper has fewer in all."""


def check_length(characters: int) -> None:
    """Refuse a paragraph that is none."""
    if characters > LONGEST_BLOCK:
        raise InputFormat(
            f"the manuscript has a paragraph of more than {LONGEST_BLOCK:,} characters",
            "put empty lines between paragraphs",
        )


class BlockDraft(NamedTuple):
    """A block with the citations that are marked up in it, and the places in which nothing is one, such as code.

    ``notes`` are the marks of its notes, each with the number of blocks that it is; they follow in this order.
    """

    block: Block
    barred: tuple[Span, ...] = ()
    notes: tuple[tuple[Span, int], ...] = ()


class Written(NamedTuple):
    """The parts of a manuscript, before its citations are looked for."""

    title: str
    drafts: tuple[BlockDraft, ...]
    references: tuple[CitedWork, ...] = ()
    tables: tuple[Table, ...] = ()
    ids: tuple[str, ...] = ()


_SIGNS = re.compile(r"[\W_]+")
_TAG = re.compile(r"<[^<>\n]{0,400}>")
_AHEAD = 400_000
"""Letters after the last place that are looked through."""

_PROBES = ((0, 48), (0, 24), (24, 48), (60, 90))
"""Parts of a text that are looked for: markup may stand in the first of them."""

_SHORT = 24
_AHEAD_OF_SHORT = 3_000
"""A heading is a word that stands in the text, too: it is looked for nearby, and nothing is looked for after it."""


class SourceLines:
    """Letters of a file, in which texts are found one after the other, by their letters and digits."""

    def __init__(self, source: str, *, markup: bool = False) -> None:
        letters: list[str] = []
        self._begins: list[int] = []
        at = 0
        for line in source.split("\n"):
            self._begins.append(at)
            kept = _letters(_TAG.sub("", line) if markup else line)
            letters.append(kept)
            at += len(kept)
        self._letters = "".join(letters)
        self._at = 0

    def find(self, text: str, *, aside: bool = False) -> int | None:
        """The line on which a text begins."""
        wanted = _letters(text)
        short = len(wanted) < _SHORT
        last = self._at + (_AHEAD_OF_SHORT if short else _AHEAD)
        for start, end in _PROBES:
            probe = wanted[start:end]
            place = self._letters.find(probe, self._at, last) if probe and (short or len(probe) >= _SHORT) else -1
            if place >= 0:
                begin = max(place - start, self._at)
                if not (aside or short):
                    # Not quite to its end: marks of citations may be longer in the text than in the file.
                    self._at = begin + len(wanted) * 4 // 5
                return bisect_right(self._begins, begin)
        return None


def _letters(text: str) -> str:
    # Numbers that are set high are plain ones in the file.
    return _SIGNS.sub("", unicodedata.normalize("NFKC", text)).casefold()
