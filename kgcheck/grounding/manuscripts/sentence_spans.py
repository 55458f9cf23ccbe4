"""Where sentences are in a text with citations: none is cut, and one that follows a full stop belongs before it."""

import re
from collections.abc import Sequence

from kgcheck.literature.documents import Span, sentences

_NO_END = re.compile(r"\b(?:al|e\.g|i\.e|cf|vs|Figs?|Eqs?|Refs?|refs?|approx|ca|Dr|Prof|St)\.$")
_GOES_ON = re.compile(r" +[^\W\d_a-z]")


def sentences_with(text: str, marks: Sequence[Span]) -> tuple[Span, ...]:
    """The sentences of a text."""
    spans = sentences(text)
    if not marks:
        return spans
    ends = [end for _, end in spans[:-1]]
    kept: list[int] = []
    at = 0
    for start, end in marks:
        while start > 0 and text[start - 1] in "([":
            start -= 1
        while end < len(text) and text[end] in ")]":
            end += 1
        before = text[max(0, start - 16) : start].rstrip()
        stopped = before.endswith((".", "?", "!")) and not _NO_END.search(before)
        moved = stopped and _GOES_ON.match(text, end) is not None
        first, last = (start - 2, end) if moved else (start, end - 1)
        while at < len(ends) and ends[at] <= first + (not moved):
            kept.append(ends[at])
            at += 1
        while at < len(ends) and ends[at] <= last:
            at += 1
        if moved:
            kept.append(end)
    return tuple(_between(text, [*kept, *ends[at:]]))


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
