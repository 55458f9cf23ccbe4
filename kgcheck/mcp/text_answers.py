"""What tools about whole texts give, as types: a text that was grounded, a brief, a protocol that was checked."""

from pydantic import Field

from kgcheck.mcp.answers import EvidenceLine, NodeLine, Quoted
from kgcheck.model import Value


class RemarkLine(Value):
    """A remark about a sentence or a reference, with what it rests on."""

    remark: str
    means: str = Field(description="the remark in words")
    state: str
    unavailable: bool = Field(default=False, description="it could not be looked: no verdict on the text")
    words: Quoted | None = Field(default=None, description="the words that it is about")
    note: Quoted
    found: Quoted | None = Field(default=None, description="what stands in their place elsewhere")
    repair: Quoted | None = Field(default=None, description="words that would put it right in their place")
    subject: NodeLine | None = None
    relation: str | None = None
    object: NodeLine | None = None
    attribute: str | None = None
    finding: str = Field(default="", description="fingerprint; `explain` takes it")
    evidence: tuple[EvidenceLine, ...] = ()


class RemarkedLine(Value):
    """A sentence or a reference of the text with all remarks about it."""

    number: int | None = Field(default=None, description="of a sentence, from 1, headings not counted")
    section: str | None = None
    key: str | None = Field(default=None, description="of a reference")
    text: Quoted
    state: str
    remarks: tuple[RemarkLine, ...]


class TextGiven(Value):
    """What the sentences of a text rest on."""

    alarms: int = Field(description="remarks that somebody should look at")
    states: dict[str, int] = Field(
        description="sentences by state: contradicted; unsupported (looked, and nothing says so); supported (papers say"
        " so); verified (the audited graph holds it); not_checkable (nothing in it can be looked up)"
    )
    lines: tuple[RemarkedLine, ...] = Field(
        description="sentences and references with remarks, those with alarms first"
    )
    out_of_range: float | None = Field(default=None, description="share of citations that the list does not have")
    coverage: float | None = Field(default=None, description="share of its references that the text cites")
    not_looked: dict[str, str] = Field(default={}, description="by check, why nothing was looked at there")
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here, and how much of it")


class BriefLine(Value):
    """A sentence of a brief, with what it rests on."""

    id: str
    kind: str = Field(
        description="verified; paper_for, paper_against or paper_on (a paper states, denies or speaks of it);"
        " contested; refuted; missing (from the graph); unverified"
    )
    theme: str
    text: Quoted
    outcome: str | None = None
    reason: str | None = None
    rests_on: tuple[str, ...] = Field(description="finding by fingerprint, source with release and record, id of paper")


class BriefReferenceLine(Value):
    """What sentences of a brief rest on."""

    id: str
    about: Quoted
    url: str = ""


class BriefGiven(Value):
    """What is known of a node or a topic."""

    of: Quoted
    nodes: tuple[NodeLine, ...] = ()
    facts: tuple[BriefLine, ...]
    references: tuple[BriefReferenceLine, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here, and how much of it")


class FallenLine(Value):
    """A step that fell: what it rests on held when the protocol was made, and does not now."""

    step: str
    text: Quoted
    because: tuple[Quoted, ...] = Field(description="ids of its facts and passages that fell")
    downstream: tuple[str, ...] = Field(default=(), description="steps that use what comes of it")


class StudyRemarkLine(Value):
    """A remark about a step of a protocol."""

    remark: str
    means: str = Field(description="the remark in words")
    state: str = Field(description="fallen, wrong, lacking or open")
    unavailable: bool = Field(default=False, description="it could not be looked: no verdict on the protocol")
    step: str = ""
    about: Quoted | None = None
    note: Quoted | None = None
    repair: Quoted | None = None
    finding: str = Field(default="", description="fingerprint; `explain` takes it")
    rests_on: Quoted | None = None


class ProtocolGiven(Value):
    """What was found of a protocol."""

    title: Quoted
    steps: int
    counts: dict[str, int] = Field(description="remarks by state: fallen, wrong, lacking, open, holds")
    fallen: tuple[FallenLine, ...]
    alarms: tuple[StudyRemarkLine, ...] = Field(description="all remarks but those that hold, the worst first")
    not_looked: dict[str, str] = Field(default={}, description="by what, why it was not looked at")
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here, and how much of it")
