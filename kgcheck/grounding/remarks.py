"""Remarks about a manuscript by check, and the state of a sentence that they make."""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from kgcheck.model import CheckTask, Evidence, Value


class SentenceState(StrEnum):
    """State of a sentence, or of one thing that it states.

    ``verified``: the audited graph holds it, or the canonical results do. ``supported``: papers say so.
    ``contradicted``: the graph, papers, results or the reference itself say otherwise. ``unsupported``: it was looked,
    and nothing says so. ``not_checkable``: it states nothing that can be looked up, or it could not be looked.
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
    """Kind of a remark. The one list: the report, SARIF and docs/grounding.md take it from here."""

    EDGE_VERIFIED = "edge_verified"
    EDGE_REFUTED = "edge_refuted"
    EDGE_DENIED = "edge_denied"
    EDGE_UNVERIFIED = "edge_unverified"
    EDGE_UNKNOWN = "edge_unknown"
    VALUE_VERIFIED = "value_verified"
    VALUE_DIFFERS = "value_differs"
    SYMBOL_OUTDATED = "symbol_outdated"
    ID_OUTDATED = "id_outdated"

    PAPERS_SUPPORT = "papers_support"
    PAPERS_CONTRADICT = "papers_contradict"
    PAPERS_SILENT = "papers_silent"
    CITED_SUPPORTS = "cited_supports"
    CITED_CONTRADICTS = "cited_contradicts"
    CITED_SILENT = "cited_silent"
    CITED_UNRELATED = "cited_unrelated"

    MARKER_OUT_OF_RANGE = "marker_out_of_range"
    REFERENCE_CONFIRMED = "reference_confirmed"
    REFERENCE_NOT_FOUND = "reference_not_found"
    REFERENCE_UNKNOWN = "reference_unknown"
    REFERENCE_RETRACTED = "reference_retracted"
    DOI_DIFFERS = "doi_differs"
    TITLE_DIFFERS = "title_differs"
    YEAR_DIFFERS = "year_differs"
    AUTHOR_DIFFERS = "author_differs"
    REFERENCE_REPEATED = "reference_repeated"
    REFERENCE_NOT_CITED = "reference_not_cited"

    NUMBER_VERIFIED = "number_verified"
    NUMBER_DIFFERS = "number_differs"
    NUMBER_UNKNOWN = "number_unknown"


REMARKS: dict[Remark, str] = {
    Remark.EDGE_VERIFIED: "The graph holds it, and a source confirms it",
    Remark.EDGE_REFUTED: "The graph holds it, and a source speaks against it",
    Remark.EDGE_DENIED: "The text denies an edge of the graph",
    Remark.EDGE_UNVERIFIED: "The graph holds it, and no source has confirmed it",
    Remark.EDGE_UNKNOWN: "Both things are known, and nothing that was looked at has such an edge",
    Remark.VALUE_VERIFIED: "The graph has this value, and a source confirms it",
    Remark.VALUE_DIFFERS: "The graph and its source have another value",
    Remark.SYMBOL_OUTDATED: "A former symbol: the gene has another one now",
    Remark.ID_OUTDATED: "A former identifier or term",
    Remark.PAPERS_SUPPORT: "Papers say so",
    Remark.PAPERS_CONTRADICT: "Papers say otherwise",
    Remark.PAPERS_SILENT: "Papers were looked at, and none speaks of it",
    Remark.CITED_SUPPORTS: "The paper that it cites says so",
    Remark.CITED_CONTRADICTS: "The paper that it cites says otherwise",
    Remark.CITED_SILENT: "The paper that it cites does not speak of it",
    Remark.CITED_UNRELATED: "The work that it cites is about something else",
    Remark.MARKER_OUT_OF_RANGE: "A citation of a reference that the list does not have",
    Remark.REFERENCE_CONFIRMED: "The reference is as it is known elsewhere",
    Remark.REFERENCE_NOT_FOUND: "There is no such work where it would have to be",
    Remark.REFERENCE_UNKNOWN: "No such work was found where it was looked for",
    Remark.REFERENCE_RETRACTED: "The work was retracted",
    Remark.DOI_DIFFERS: "The DOI is of another work",
    Remark.TITLE_DIFFERS: "The work has another title",
    Remark.YEAR_DIFFERS: "The work is of another year",
    Remark.AUTHOR_DIFFERS: "The work has another first author",
    Remark.REFERENCE_REPEATED: "The same work stands in the list twice",
    Remark.REFERENCE_NOT_CITED: "Nothing in the text cites it",
    Remark.NUMBER_VERIFIED: "The results have this number",
    Remark.NUMBER_DIFFERS: "The results, or the counts beside it, have another number",
    Remark.NUMBER_UNKNOWN: "No result is this number, or the rest of the text lacks it",
}
"""Every remark in plain words."""

LIMITED = (*(remark.value for remark in Remark), *(state.value for state in SentenceState))
"""Names of remarks and states that a limit can be set on."""


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
    check: Check
    state: SentenceState
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


_STRONGEST = (SentenceState.CONTRADICTED, SentenceState.VERIFIED, SentenceState.SUPPORTED, SentenceState.UNSUPPORTED)


def state_of(remarks: Iterable[Remarked]) -> SentenceState:
    """The state of a sentence: one contradiction outweighs what is right in it, one support what is silent."""
    found = {remarked.state for remarked in remarks}
    return next((state for state in _STRONGEST if state in found), SentenceState.NOT_CHECKABLE)
