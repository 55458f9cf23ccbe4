"""A fault, a place for one, and a copy of a paper that is being damaged."""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.ground_jats import Paper, entry_text


class Work(NamedTuple):
    """An entry of another paper's list."""

    paper: str
    title: str
    doi: str
    surname: str
    given: str


@dataclass
class Fault:
    """What was done at one place of a copy."""

    kind: str
    variant: str
    place: str
    """``sentence`` or ``reference``."""

    before: str
    after: str
    anchor: str = ""
    """Words around it, as the copy has them; of a reference, its text."""

    core: str = ""
    """The change and a few words around it."""

    sentence: str = ""
    cited_in: list[str] = field(default_factory=list)
    """Sentences that cite the entry."""

    reference: str = ""
    """Id of the entry."""

    number: int = 0
    """Place of the entry in the list, from 1."""

    touched: list[int] = field(default_factory=list)
    """Places of other entries that the fault is about, too: whose DOI or title this one has now."""

    id: str = ""
    copy: str = ""


@dataclass
class Fact:
    """A true sentence that was inserted."""

    anchor: str
    relation: str
    edges: list[str]
    phrasing: int
    marked: bool


@dataclass
class Target:
    """A place for a fault of a kind: a paragraph, a citation in it, or an entry."""

    passage: int | None = None
    entry: int | None = None
    mark: int | None = None
    start: int = 0
    end: int = 0
    variant: str = ""
    value: str = ""

    @property
    def places(self) -> set[tuple[str, int]]:
        """What no other fault of the same copy may touch."""
        found = {("passage", self.passage), ("entry", self.entry)}
        return {(kind, number) for kind, number in found if number is not None}


class Edited:
    """A copy of a paper that is being damaged.

    Args:
        paper: The undamaged one.
        of: What chooses.
        works: Entries of other papers' lists.
        retracted: PMIDs of retracted papers.
    """

    def __init__(self, paper: Paper, of: random.Random, works: list[Work], retracted: list[str]) -> None:
        self.paper = paper.copied()
        self.of, self.works, self.retracted = of, works, retracted
        self.references = self.paper.references
        self.passages = {p.number: p for p in (*self.paper.abstract, *self.paper.passages)}
        self.marks = list(self.paper.tree.iterfind(".//body//xref[@ref-type='bibr']"))
        self.in_paper = "".join(self.paper.tree.getroot().itertext())

    def fault_in(self, target: Target, kind: str, at: int, before: str, after: str) -> Fault:
        """A fault of a sentence that was made already.

        Args:
            target: Where.
            kind: Which.
            at: Place of the change in the text of the paragraph.
            before: What stood there.
            after: What stands there.

        Returns:
            The fault with the sentence as it is now.
        """
        passage = self.passages[target.passage or 0]
        start, end = passage.sentence_at(at)
        text = passage.text
        anchor = text[max(start, at - 90) : min(end, at + len(after) + 90)].strip()
        core = text[max(start, at - 25) : min(end, at + len(after) + 25)].strip()
        return Fault(kind, target.variant, "sentence", before, after, anchor, core, text[start:end])

    def fault_of(self, target: Target, kind: str, before: str, after: str) -> Fault:
        """A fault of an entry that was made already."""
        entry = self.references[target.entry or 0]
        number = (target.entry or 0) + 1
        text = entry_text(entry)
        key = str(entry.get("id"))
        return Fault(kind, target.variant, "reference", before, after, text, "", "", self.citing(key), key, number)

    def citing(self, key: str) -> list[str]:
        """Sentences in which an entry is cited by a mark of its own."""
        marks = {mark for mark in self.marks if mark.get("rid") == key}
        return [
            passage.text[slice(*passage.sentence_at(slot.start))]
            for passage in self.passages.values()
            for slot in passage.slots
            if not slot.tail and slot.element in marks
        ]
