"""A manuscript: its text by blocks and sentences, its citations, its references and its tables."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from pydantic import Field

from kgcheck import clock
from kgcheck.choices import SectionKind
from kgcheck.errors import InputFormat
from kgcheck.literature.documents import Span, sentences
from kgcheck.literature.papers import CitedWork
from kgcheck.model import Evidence, Stance, Tier, Value, World

_NO_END = re.compile(r"\b(?:al|e\.g|i\.e|cf|vs|Figs?|Eqs?|Refs?|refs?|approx|ca|Dr|Prof|St)\.$")
_GOES_ON = re.compile(r" +[^\W\d_a-z]")


def sentences_with(text: str, marks: Sequence[Span]) -> tuple[Span, ...]:
    """The sentences of a text; none ends within a citation, and one behind a full stop belongs to what is before it."""
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
    places = [0, *kept, *ends[at:], len(text)]
    pieces = [(start, text[start:end]) for start, end in pairwise(places)]
    found = ((start + len(p) - len(p.lstrip()), start + len(p.rstrip())) for start, p in pieces)
    return tuple(span for span in found if span[0] < span[1])


BlockKind = Literal["heading", "paragraph", "legend", "footnote"]
# Form of a citation: ``[3]``, ``(Lee et al., 2020)``, a key such as ``\cite{lee2020}``, a note.
MarkerForm = Literal["numeric", "author_year", "key", "footnote"]


class Marker(Value):
    """A citation in the text of a block: ``text[start:end]`` is the mark as a reader sees it.

    A key that no reference has is kept: that the list does not have it is what a check finds.
    """

    start: int = Field(ge=0)
    end: int
    keys: tuple[str, ...] = Field(
        min_length=1, description="keys of the references that it points to, also missing ones"
    )
    form: MarkerForm = "numeric"


class Block(Value):
    """A paragraph, a heading, a legend or a note."""

    kind: BlockKind = "paragraph"
    section: SectionKind = "other"
    path: tuple[str, ...] = Field(default=(), description="headings from the outermost section down to its own")
    text: str = Field(min_length=1)
    label: str = Field(default="", description="what a legend is of, e.g. Table 1")
    line: int | None = Field(default=None, ge=1, description="line of the file on which it begins, where that is known")
    markers: tuple[Marker, ...] = ()
    barred: tuple[Span, ...] = Field(default=(), exclude=True, description="where nothing is a citation, such as code")
    notes: tuple[tuple[Span, int], ...] = Field(
        default=(), exclude=True, description="marks of its notes in order, each with the number of blocks that it is"
    )

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Places of its sentences; a citation is in one of them as a whole."""
        return sentences_with(self.text, [(m.start, m.end) for m in self.markers])


class Table(Value):
    """The cells of a table, row by row, the head first."""

    label: str = ""
    caption: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


class Written(NamedTuple):
    """The parts of a manuscript, before its citations are looked for."""

    title: str
    blocks: tuple[Block, ...]
    references: tuple[CitedWork, ...] = ()
    tables: tuple[Table, ...] = ()
    ids: tuple[str, ...] = ()


LONGEST_BLOCK = 200_000  # characters of a paragraph; a paper has fewer in all


def check_length(characters: int) -> None:
    """Refuse a paragraph that is none."""
    if characters > LONGEST_BLOCK:
        raise InputFormat(
            f"the manuscript has a paragraph of more than {LONGEST_BLOCK:,} characters",
            "put empty lines between paragraphs",
        )


class Sentence(Value):
    """A sentence of a manuscript; ``number`` counts from 1 through the whole of it, headings are not counted."""

    number: int
    block: int = Field(description="place of its block among the blocks, from 0")
    start: int = Field(description="in the text of the block")
    end: int
    text: str
    section: SectionKind
    markers: tuple[Marker, ...] = Field(default=(), description="those within it, by their places in the sentence")


Format = Literal["markdown", "latex", "docx", "jats", "pdf", "text"]


class Manuscript(Value):
    """A text that is to be checked."""

    name: str = Field(description="the file, as it was named")
    format: Format
    sha256: str = Field(description="of the file's bytes")
    title: str = ""
    ids: tuple[str, ...] = Field(default=(), description="of the paper itself, where the file names them")
    blocks: tuple[Block, ...] = ()
    references: tuple[CitedWork, ...] = ()
    tables: tuple[Table, ...] = ()

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """All sentences but headings, in order."""
        found: list[Sentence] = []
        for place, block in enumerate(self.blocks):
            markers = sorted(block.markers, key=lambda m: m.start)
            places = [m.start for m in markers]
            for start, end in block.spans if block.kind != "heading" else ():
                within = tuple(
                    m.model_copy(update={"start": m.start - start, "end": min(m.end, end) - start})
                    for m in markers[bisect_left(places, start) : bisect_left(places, end)]
                )
                own = {"block": place, "start": start, "end": end, "text": block.text[start:end], "markers": within}
                found.append(Sentence(number=len(found) + 1, section=block.section, **own))
        return tuple(found)

    def own_evidence(self, sentence: Sentence, value: str) -> Evidence:
        """Evidence of a sentence of the manuscript itself against another, or against itself."""
        return Evidence(
            source=self.name, release=self.sha256[:12], record=f"sentence {sentence.number}", retrieved_at=clock.now(),
            stance=Stance.CONTRADICTS, world=World.CLOSED, tier=Tier.OWNER, value=value, quote=sentence.text,
        )  # fmt: skip
