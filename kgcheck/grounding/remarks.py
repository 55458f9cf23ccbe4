"""Kinds of remarks on a manuscript, their repairs, and the state of a sentence that they make."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import Field

from kgcheck.inputs import read_toml
from kgcheck.model import CheckTask, Evidence, Value
from kgcheck.resources import resource_dir


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
    """Kind of a remark; ``corpus/grounding/remarks.toml`` has its check, its usual state and its words."""

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

    @property
    def rule(self) -> "RemarkRule":
        """Row of this remark in corpus/grounding/remarks.toml."""
        return _rules()[self]


class RemarkRule(Value):
    """Row of the table of remarks."""

    check: Check
    state: SentenceState
    words: str


@cache
def _rules() -> dict[Remark, RemarkRule]:
    raw = read_toml(resource_dir("corpus") / "grounding" / "remarks.toml")
    return {Remark(name): RemarkRule.model_validate(row) for name, row in raw.items()}


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
    state: SentenceState = Field(default_factory=lambda row: row["remark"].rule.state)
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
    def check(self) -> Check:
        """Against what it was made."""
        return self.remark.rule.check

    @property
    def place(self) -> int | str:
        """The number of its sentence, or the key of its reference."""
        return (self.reference or "") if self.sentence is None else self.sentence

    @property
    def words(self) -> str:
        """The remark and its note, for people."""
        return f"{self.remark.rule.words}: {self.note}"

    def as_row(self) -> dict[str, Any]:
        """The remark as a row of JSON, without its place."""
        head = {"remark": self.remark.value, "check": self.check.value, "state": self.state.value}
        row = self.model_dump(mode="json", exclude_defaults=True, exclude={"sentence", "reference", "task"})
        return head | row | ({"task": str(self.task)} if self.task else {})


_STRONGEST = (SentenceState.CONTRADICTED, SentenceState.VERIFIED, SentenceState.SUPPORTED, SentenceState.UNSUPPORTED)


def state_of(remarks: Iterable[Remarked]) -> SentenceState:
    """The state of a sentence: one contradiction outweighs what is right in it, one support what is silent."""
    found = {remarked.state for remarked in remarks}
    return next((state for state in _STRONGEST if state in found), SentenceState.NOT_CHECKABLE)
