"""Kinds of remarks on a manuscript, their repairs, and the state of a sentence that they make."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Self

from pydantic import Field

from kgcheck.model import CheckTask, Evidence, Value


class SentenceState(StrEnum):
    """State of a sentence, or of one thing that it states, the strongest first; docs/grounding.md has what each means.

    ``not_checkable`` is also what could not be looked at.
    """

    CONTRADICTED = "contradicted"
    VERIFIED = "verified"
    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    NOT_CHECKABLE = "not_checkable"


class Check(StrEnum):
    """Against what a remark was made."""

    GRAPH = "graph"
    PAPERS = "papers"
    CITATION = "citation"
    NUMBER = "number"


class Remark(StrEnum):
    """Kind of a remark, with its check, the state that it has unless a check knows better, and its words."""

    check: Check
    state: SentenceState
    words: str

    def __new__(cls, value: str, check: str, state: str, words: str) -> Self:
        """One row of the table; docs/grounding.md has the same words."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.check, member.state, member.words = Check(check), SentenceState(state), words
        return member

    EDGE_VERIFIED = "edge_verified", "graph", "verified", "The graph holds it, and a source confirms it"
    EDGE_REFUTED = "edge_refuted", "graph", "contradicted", "The graph holds it, and a source speaks against it"
    EDGE_DENIED = "edge_denied", "graph", "contradicted", "The text denies an edge of the graph"
    EDGE_UNVERIFIED = "edge_unverified", "graph", "not_checkable", "The graph holds it, and no source has confirmed it"
    EDGE_UNKNOWN = "edge_unknown", "graph", "unsupported", "Both are known, and nothing that was looked at links them"
    VALUE_VERIFIED = "value_verified", "graph", "verified", "The graph has this value, and a source confirms it"
    VALUE_DIFFERS = "value_differs", "graph", "contradicted", "The graph and its source have another value"
    SYMBOL_OUTDATED = "symbol_outdated", "graph", "unsupported", "A former symbol: the gene has another one now"
    SYMBOL_MISSPELT = "symbol_misspelt", "graph", "unsupported", "A symbol that stands once, like one that stands often"
    ID_OUTDATED = "id_outdated", "graph", "unsupported", "A former identifier or term"

    PAPERS_SUPPORT = "papers_support", "papers", "supported", "Papers say so"
    PAPERS_CONTRADICT = "papers_contradict", "papers", "contradicted", "Papers say otherwise"
    PAPERS_SILENT = "papers_silent", "papers", "unsupported", "Papers were looked at, and none speaks of it"
    CITED_SUPPORTS = "cited_supports", "citation", "supported", "The paper that it cites says so"
    CITED_CONTRADICTS = "cited_contradicts", "citation", "contradicted", "The paper that it cites says otherwise"
    CITED_SILENT = "cited_silent", "citation", "not_checkable", "The paper that it cites does not speak of it"
    CITED_UNRELATED = "cited_unrelated", "citation", "unsupported", "The work that it cites is about something else"

    MARKER_OUT_OF_RANGE = "marker_out_of_range", "citation", "contradicted", "A citation of what the list does not have"
    REFERENCE_CONFIRMED = "reference_confirmed", "citation", "supported", "What could be compared is so elsewhere, too"
    REFERENCE_NOT_FOUND = "reference_not_found", "citation", "contradicted", "No such work is where it would have to be"
    REFERENCE_UNKNOWN = "reference_unknown", "citation", "unsupported", "No such work was found where it was looked for"
    REFERENCE_RETRACTED = "reference_retracted", "citation", "contradicted", "The work was retracted"
    DOI_DIFFERS = "doi_differs", "citation", "contradicted", "The DOI is of another work"
    TITLE_DIFFERS = "title_differs", "citation", "contradicted", "The work has another title"
    YEAR_DIFFERS = "year_differs", "citation", "contradicted", "The work is of another year"
    AUTHOR_DIFFERS = "author_differs", "citation", "contradicted", "The work has another first author"
    JOURNAL_DIFFERS = "journal_differs", "citation", "contradicted", "The work is in another journal"
    VOLUME_DIFFERS = "volume_differs", "citation", "contradicted", "The work is in another volume"
    ISSUE_DIFFERS = "issue_differs", "citation", "contradicted", "The work is in another issue"
    PAGES_DIFFER = "pages_differ", "citation", "contradicted", "The work is on other pages"
    REFERENCE_REPEATED = "reference_repeated", "citation", "not_checkable", "The same work stands in the list twice"
    REFERENCE_NOT_CITED = "reference_not_cited", "citation", "not_checkable", "Nothing in the text cites it"

    NUMBER_VERIFIED = "number_verified", "number", "verified", "The results have this number"
    NUMBER_DIFFERS = "number_differs", "number", "contradicted", "The results, or counts beside it, have another number"
    NUMBER_UNKNOWN = "number_unknown", "number", "unsupported", "No result is it, or the rest of the text lacks it"
    UNIT_DIFFERS = "unit_differs", "number", "unsupported", "It has another unit elsewhere in the text"
    DIRECTION_DIFFERS = "direction_differs", "number", "unsupported", "The text's own numbers say the opposite"
    SIGNIFICANCE_DIFFERS = "significance_differs", "number", "unsupported", "The probability beside it says otherwise"


# Names of remarks and states that a limit can be set on.
LIMITED = (*(remark.value for remark in Remark), *(state.value for state in SentenceState))


class Repair(Value):
    """Words that would put it right: ``text[start:end]`` of the sentence, or of the reference, becomes ``to``."""

    start: int = Field(ge=0)
    end: int
    to: str


class Remarked(Value):
    """One remark about a sentence or a reference, with what it rests on.

    Exactly one of ``sentence`` and ``reference`` is set. ``start`` and ``end`` are of the words that it is about, in
    the sentence or in the text of the reference.
    """

    remark: Remark
    state: SentenceState = Field(default_factory=lambda row: row["remark"].state)
    sentence: int | None = Field(default=None, description="number of the sentence")
    reference: str | None = Field(default=None, description="key of the reference")
    start: int = 0
    end: int = 0
    note: str = Field(description="for people: what the text says and what was found, in one line")
    stated: str = Field(default="", description="what the text states: a triple, a value, a title, a number")
    found: str = Field(default="", description="what stands in its place elsewhere, where something does")
    task: CheckTask | None = Field(default=None, description="the edge or attribute that is stated")
    finding: str = Field(default="", description="fingerprint of the finding that says so, where there is one")
    evidence: tuple[Evidence, ...] = ()
    repair: Repair | None = None
    unavailable: bool = Field(default=False, description="it could not be looked: no verdict on the text")

    @property
    def place(self) -> int | str:
        """The number of its sentence, or the key of its reference."""
        return (self.reference or "") if self.sentence is None else self.sentence

    @property
    def words(self) -> str:
        """The remark and its note, for people."""
        return f"{self.remark.words}: {self.note}"

    def as_row(self) -> dict[str, Any]:
        """The remark as a row of JSON, without its place."""
        head = {"remark": self.remark.value, "check": self.remark.check.value, "state": self.state.value}
        row = self.model_dump(mode="json", exclude_defaults=True, exclude={"sentence", "reference", "task"})
        return head | row | ({"task": str(self.task)} if self.task else {})


def state_of(remarks: Iterable[Remarked]) -> SentenceState:
    """The state of a sentence: one contradiction outweighs what is right in it, one support what is silent."""
    return min((r.state for r in remarks), key=list(SentenceState).index, default=SentenceState.NOT_CHECKABLE)
