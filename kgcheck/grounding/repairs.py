"""What could be repaired in a manuscript, as a diff of its file: proposed, and put in by nobody but a person."""

import difflib
from pathlib import Path

from kgcheck.grounding.ground import Grounded
from kgcheck.grounding.remarks import REMARKS, Remarked
from kgcheck.inputs import read_whole

_TEXTS = ("markdown", "latex", "text", "jats")
"""Formats whose file holds its words as they are read."""


def repairs_diff(found: Grounded, file: Path) -> tuple[str, list[str]]:
    """The repairs that remarks propose."""
    wanted = [r for r in found.remarks if r.repair]
    left: list[str] = []
    if found.manuscript.format not in _TEXTS:
        return "", [_by_hand(r) for r in wanted]
    before = read_whole(file)
    changes: dict[tuple[int, int], str] = {}
    for remarked in wanted:
        span = _span(found, remarked, before)
        if span is None or remarked.repair is None:
            left.append(_by_hand(remarked))
        else:
            changes[span] = remarked.repair.to
    after = before
    end = len(before) + 1
    for (start, stop), to in sorted(changes.items(), reverse=True):
        # Of two that overlap, the later one is put in.
        if stop <= end:
            after = after[:start] + to + after[stop:]
            end = start
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/{file.name}", f"b/{file.name}", n=2)), left


def _span(found: Grounded, remarked: Remarked, text: str) -> tuple[int, int] | None:
    """Where the words stand in the file: the only place of them with what is around them."""
    repair = remarked.repair
    whole = found.text_of(remarked)
    if repair is None or not whole:
        return None
    for around in (60, 30, 15):
        start = max(0, repair.start - around)
        stop = min(len(whole), repair.end + around)
        for piece, offset in (
            (whole[start:stop], repair.start - start),
            (whole[start : repair.end], repair.start - start),
        ):
            if text.count(piece) == 1:
                at = text.index(piece) + offset
                return at, at + repair.end - repair.start
    return None


def _by_hand(remarked: Remarked) -> str:
    where = f"sentence {remarked.sentence}" if remarked.sentence is not None else f"reference {remarked.reference}"
    to = remarked.repair.to if remarked.repair else ""
    return f"{where}, by hand: {REMARKS[remarked.remark]}: {remarked.stated!r} -> {to!r}"
