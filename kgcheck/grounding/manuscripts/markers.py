"""Finds the citations in the text of a manuscript, by the form that it uses."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kgcheck.grounding.manuscript import Block, Marker
from kgcheck.grounding.manuscripts.author_years import AuthorYears, YearMark
from kgcheck.grounding.manuscripts.marker_forms import (
    NumberMark,
    Spans,
    bracket_marks,
    named_marks,
    parenthesis_marks,
    superscript_marks,
)
from kgcheck.literature.documents import Span
from kgcheck.literature.papers import CitedWork

_ADDRESS = re.compile(r"\b(?:https?://|doi:|10\.\d{4,9}/)\S+", re.IGNORECASE)


class BlockDraft(NamedTuple):
    """A block with the citations that are marked up in it, and the places in which nothing is one, such as code.

    ``notes`` are the marks of its notes, each with the number of blocks that it is; they follow in this order.
    """

    block: Block
    barred: tuple[Span, ...] = ()
    notes: tuple[tuple[Span, int], ...] = ()


class _Candidates(NamedTuple):
    brackets: list[NumberMark]
    named: list[NumberMark]
    high: list[NumberMark]
    round: list[NumberMark]
    years: list[YearMark]


def with_markers(drafts: Sequence[BlockDraft], references: Sequence[CitedWork]) -> tuple[Block, ...]:
    """Blocks with all their citations: those that are marked up, and those that can be read.

    What a bracket, a parenthesis or a number that is set high means is known from the whole text: a text cites in one
    form.
    """
    finder = AuthorYears(references)
    most = len(references)
    found = [_candidates(d.block.text, most, finder) if d.block.kind != "heading" else None for d in drafts]
    forms = _Forms(found, drafts, most)
    keys = NumberKeys(references)
    made = [
        draft.block.model_copy(update={"markers": tuple(_merged(draft, forms.chosen(own), keys))})
        if own
        else draft.block
        for draft, own in zip(drafts, found, strict=True)
    ]
    for place, draft in enumerate(drafts):
        if draft.notes:
            following = made[place + 1 : place + 1 + sum(n for _, n in draft.notes)]
            made[place] = _with_notes(made[place], draft.notes, following)
    return tuple(made)


def _with_notes(block: Block, notes: Sequence[tuple[Span, int]], following: Sequence[Block]) -> Block:
    """A block whose notes cite what their text cites."""
    markers, at = [*block.markers], 0
    for (start, end), count in notes:
        keys = dict.fromkeys(k for note in following[at : at + count] for m in note.markers for k in m.keys)
        if keys:
            markers.append(Marker(start=start, end=end, keys=tuple(keys), form="footnote"))
        at += count
    return block.model_copy(update={"markers": tuple(sorted(markers, key=lambda m: m.start))})


def plain_number(label: str) -> int | None:
    """The number that a label is; None where it is none, or one with more digits than any list has entries."""
    return int(label) if re.fullmatch("[0-9]{1,9}", label) else None


class NumberKeys:
    """Keys of references by number: by their labels, or by their place where they have none."""

    def __init__(self, references: Sequence[CitedWork]) -> None:
        labels = {n: w.key for w in references if (n := plain_number(w.label)) is not None}
        self._keys = labels or {n: w.key for n, w in enumerate(references, 1)}

    def __contains__(self, number: int | None) -> bool:
        return number in self._keys

    def of(self, number: int) -> str:
        """The key of a number; the number itself where the list has none."""
        return self._keys.get(number, str(number))


def _candidates(text: str, most: int, finder: AuthorYears) -> _Candidates:
    return _Candidates(
        [*bracket_marks(text, most)],
        [*named_marks(text, most)],
        [*superscript_marks(text, most)],
        [*parenthesis_marks(text, most)],
        [*finder.marks(text)],
    )


class _Forms:
    """Which forms a text cites in."""

    def __init__(self, found: Sequence[_Candidates | None], drafts: Sequence[BlockDraft], most: int) -> None:
        some = [c for c in found if c]
        marked = [(d.block.text, m) for d in drafts for m in d.block.markers if m.form != "footnote"]
        years = sum(1 for c in some for y in c.years if y.found)
        brackets = sum(len(c.brackets) for c in some)
        high = [n for c in some for m in c.high for n in m.numbers]
        fit = sum(1 for n in high if n <= most)
        round_ = [m for c in some for m in c.round]
        cited = {n for m in round_ for n in m.numbers}
        self._most = most
        most_of_list = max(2, most / 3)
        self.high = (
            not marked
            and len(high) > max(3 * brackets, years)
            and fit >= 0.8 * len(high)
            and (len(set(high)) >= most_of_list or not (brackets or years or len(cited) >= most_of_list))
        )
        # Citations that are marked up may be bare numbers within brackets.
        inside = any(text[max(0, m.start - 1) : m.end].startswith("[") for text, m in marked if m.form == "numeric")
        self.brackets = not self.high and brackets > 0 and (inside if marked else years < 3 * brackets)
        # Beside keys, a number is left over from another form; where it could be a place of the list it may be a value.
        self.beyond = bool(marked) and not inside
        self.years = not marked and not self.high and years > max(brackets, len(round_))
        self.round = (
            not (marked or self.high or self.years)
            and len(round_) > 3 * brackets
            and len(cited) >= max(3, most / 2)
            and any(len(m.numbers) > 1 for m in round_)
        )

    def chosen(self, own: _Candidates) -> Iterator[NumberMark | YearMark]:
        """The candidates of a block that are citations."""
        if self.brackets:
            yield from own.brackets
        elif self.beyond:
            yield from (m for m in own.brackets if min(m.numbers) > self._most)
        if self.brackets or self.high or self.round:
            yield from own.named
        if self.high:
            yield from own.high
        if self.round:
            yield from own.round
        for mark in own.years:
            if mark.found or (self.years and mark.sure):
                yield mark


def _merged(draft: BlockDraft, chosen: Iterator[NumberMark | YearMark], keys: NumberKeys) -> list[Marker]:
    """Citations that are marked up and those that were read beside them, in order."""
    text = draft.block.text
    made = [*draft.block.markers]
    marked = Spans((m.start, m.end) for m in made)
    barred = (Spans(draft.barred), Spans(m.span() for m in _ADDRESS.finditer(text)))
    for mark in chosen:
        span = (mark.start, mark.end)
        if any(b.meet(span) for b in barred):
            continue
        if marked.meet(span):
            made += _beside(text, mark, marked, keys)
        elif isinstance(mark, YearMark):
            made.append(Marker(start=mark.start, end=mark.end, keys=mark.keys, form="author_year"))
        else:
            made.append(Marker(start=mark.start, end=mark.end, keys=tuple(map(keys.of, mark.numbers))))
        marked.add(span)
    return sorted(made, key=lambda m: m.start)


def _beside(text: str, mark: NumberMark | YearMark, marked: Spans, keys: NumberKeys) -> Iterator[Marker]:
    """Bare numbers of a bracket, of which others are marked up."""
    if isinstance(mark, YearMark):
        return
    for match in re.finditer(r"\d+", text[mark.start : mark.end]):
        span = (mark.start + match.start(), mark.start + match.end())
        if not marked.meet(span):
            yield Marker(start=span[0], end=span[1], keys=(keys.of(int(match[0])),))
