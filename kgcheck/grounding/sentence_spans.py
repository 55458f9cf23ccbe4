"""Where sentences are in a text with citations: none is cut, and one that follows a full stop belongs before it."""

import re
from collections.abc import Sequence

from kgcheck.literature.documents import Span, sentences

_NO_END = re.compile(r"\b(?:al|e\.g|i\.e|cf|vs|Figs?|Eqs?|Refs?|refs?|approx|ca|Dr|Prof|St)\.$")
_GOES_ON = re.compile(r" +[^\W\d_a-z]")


def sentences_with(text: str, marks: Sequence[Span]) -> tuple[Span, ...]:
    """The sentences of a text.

    Args:
        text: Of a block.
        marks: Where its citations are, in order.

    Returns:
        Spans in order, that leave out nothing but space.
    """
    spans = sentences(text)
    if not marks:
        return spans
    # A place is the end of a sentence, with the space after it.
    ends = {end for _, end in spans[:-1]}
    for start, end in marks:
        while start > 0 and text[start - 1] in "([":
            start -= 1
        while end < len(text) and text[end] in ")]":
            end += 1
        before = text[:start].rstrip()[-12:]
        stopped = before.endswith((".", "?", "!")) and not _NO_END.search(before)
        ends = {e for e in ends if not start < e < end}
        if stopped and _GOES_ON.match(text, end):
            ends = {e for e in ends if not len(text[:start].rstrip()) <= e <= end} | {end}
    return tuple(_between(text, sorted(ends)))


def _between(text: str, ends: Sequence[int]) -> list[Span]:
    made: list[Span] = []
    at = 0
    for end in (*ends, len(text)):
        piece = text[at:end]
        start = at + len(piece) - len(piece.lstrip())
        stop = at + len(piece.rstrip())
        if stop > start:
            made.append((start, stop))
        at = end
    return made
