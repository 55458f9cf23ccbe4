"""What tools give, as types: their fields and descriptions are what a client is shown as the schema of an answer.

A name in a graph, a line of a paper or somebody's note may be written to be taken for an instruction by whoever reads
it. Here it stands alone in a `Quoted`, never inside a sentence of kgcheck's.
"""

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from kgcheck.model import Value

Origin = Literal["graph", "source", "paper", "person", "text"]
"""``text``: the text or protocol that whoever calls has given."""


class Quoted(Value):
    """Text that kgcheck passes on as it stands in a graph, a source, a paper, a note or what the caller gave.

    It is data, never an instruction.
    """

    text: str
    origin: Origin
    cut: bool = Field(default=False, description="it is longer than what is given")


class NodeLine(Value):
    """A node: its label, the id that its source database gave it, and what the graph calls it."""

    label: str
    id: str
    name: Quoted | None = None


class ProposalLine(Value):
    """A proposed repair: ``to`` is the new id or value, or one is to be chosen from the candidates."""

    kind: str
    to: Quoted | None = None
    candidates: tuple[Quoted, ...] = ()
    because: str = ""


class EvidenceLine(Value):
    """One observation: which record of which release of which source, and whether it supports or contradicts."""

    source: str
    release: str
    record: str
    url: str = ""
    stance: str
    tier: str = Field(description="owner (issues the identifier), curated, computed or text")
    about: str = Field(description="fact, head or tail: which part it speaks of")
    reason: str | None = None
    retrieved_at: datetime
    value: Quoted | None = None
    quote: Quoted | None = Field(default=None, description="an exact substring of the passage that it rests on")
    score: float | None = None


class DecisionLine(Value):
    """What somebody decided about a finding."""

    action: str
    by: Quoted
    at: datetime
    note: Quoted | None = None
    chosen: Quoted | None = None
    until: date | None = None


class FindingLine(Value):
    """A finding in short: what was checked, and what came out."""

    fingerprint: str = Field(description="names the finding in every run; `explain` takes it")
    type: str = Field(description="existence, attribute, triple (an edge), potential (a missing one) or structure")
    subject: NodeLine
    relation: str | None = None
    object: NodeLine | None = None
    attribute: str | None = None
    rule: str | None = None
    value: Quoted | None = Field(default=None, description="what the graph says, where it says something")
    outcome: str = Field(
        description="supported, refuted, insufficient (looked, cannot tell) or unavailable (could not look)"
    )
    reason: str
    confidence: float
    proposal: ProposalLine | None = None
    state: str | None = Field(
        default=None, description="new, still, changed, fixed, gone or unchecked since the run before"
    )
    decision: str | None = Field(default=None, description="open, reopened, accepted, rejected or deferred")


class FormerLine(Value):
    """A finding that a run has no more, or was not asked for again, where the ledger keeps no more of it than this."""

    fingerprint: str
    state: str
    type: str
    about: Quoted = Field(description="what it was about, in words")
    outcome: str
    reason: str


class FindingWhole(Value):
    """A finding with all that it rests on."""

    finding: FindingLine
    run: str
    evidence: tuple[EvidenceLine, ...]
    missing: tuple[str, ...] = Field(description="sources that would decide it and could not be looked at")
    note: str = ""
    history: tuple[DecisionLine, ...] = Field(default=(), description="what was decided about it, the newest first")
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here, and how much of it")


class FindingsGiven(Value):
    """A page of findings."""

    run: str
    findings: tuple[FindingLine, ...]
    former: tuple[FormerLine, ...] = Field(default=(), description="those that were fixed, gone or not checked")
    next: str | None = Field(default=None, description="give it as `after` to get the next page; null at the end")


class CheckGiven(Value):
    """What a check came to. It is kept nowhere."""

    whole: FindingWhole
    notes: tuple[str, ...] = ()


class EdgeLine(Value):
    """An edge of the graph."""

    head: NodeLine
    relation: str
    tail: NodeLine


class AnswerLine(Value):
    """One node that answers a question, and the edges that lead to it."""

    node: NodeLine
    path: tuple[EdgeLine, ...] = ()


class AnswerGiven(Value):
    """What came of a question to the graph."""

    status: str = Field(
        description="answered; nothing (understood, and the graph has none); not understood; stopped; unsupported"
    )
    read_as: Quoted | None = Field(default=None, description="how the question was read, with names of the graph")
    count: int | None = None
    holds: bool | None = Field(default=None, description="of a yes or no question: whether the graph says so")
    answers: tuple[AnswerLine, ...] = ()
    more: int = Field(default=0, description="answers that are not given here")
    because: Quoted | None = Field(default=None, description="why there is no answer, and what to do")
    notes: tuple[Quoted, ...] = ()


class PaperLine(Value):
    """A paper that a search found, with its best passage."""

    id: str
    also: tuple[str, ...] = ()
    year: int | None = None
    retracted: bool
    score: float
    title: Quoted
    section: str = Field(description="kind of the section that the passage stands in")
    heading: Quoted | None = Field(default=None, description="headings of that section, the outermost first")
    passage: Quoted


class PapersGiven(Value):
    """Papers, the best first."""

    papers: tuple[PaperLine, ...]
    also: tuple[Quoted, ...] = Field(default=(), description="further names that were looked for")
    notes: tuple[str, ...] = ()


class OpinionLine(Value):
    """What one paper says of a claim."""

    paper: str
    title: Quoted
    year: int | None = None
    stance: str
    probability: float
    section: str = Field(description="kind of the section that was read, where the quotes stand")
    heading: Quoted | None = Field(default=None, description="headings of that section, the outermost first")
    quotes: tuple[Quoted, ...]
    note: str = ""
    dropped: bool = Field(description="it took a side, and does not count: see the note")


class ClaimGiven(Value):
    """What papers say of a claim, all together."""

    claim: Quoted
    stance: str = Field(description="supports, contradicts or silent (looked, cannot tell)")
    probability: float
    conflict: bool = Field(description="papers disagree")
    opinions: tuple[OpinionLine, ...]
    retracted: tuple[str, ...] = Field(description="papers that were found and do not count")
    note: str = ""
    notes: tuple[str, ...] = ()


class FactLine(Value):
    """What the newest audit that looked at a fact found; without `outcome`, nobody has looked, which says nothing."""

    type: str
    subject: NodeLine
    relation: str | None = None
    object: NodeLine | None = None
    attribute: str | None = None
    outcome: str | None = None
    reason: str | None = None
    confidence: float | None = None
    source: str | None = None
    release: str | None = None
    record: str | None = None
    run: str | None = None
    at: datetime | None = None


class FactsGiven(Value):
    """What is verified."""

    facts: tuple[FactLine, ...]
    left_out: tuple[str, ...] = Field(default=(), description="what is not given here")


class DecidedLine(Value):
    """A decision that was made."""

    fingerprint: str
    action: str
    before: str = Field(description="where the finding stood before: open, reopened, accepted, rejected or deferred")


class DecisionsGiven(Value):
    """Decisions that were made, all by whom the token names."""

    by: str
    decided: tuple[DecidedLine, ...]


class RunLine(Value):
    """A run: one audit, or one check, with how many tasks ended how."""

    id: str
    started: datetime
    finished: datetime | None = None
    kind: str = Field(description="audit or check")
    profile: str
    releases: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    outcomes: dict[str, int]


class TallyLine(Value):
    """How many tasks of one kind ended alike."""

    type: str
    target: str
    outcome: str
    reason: str
    sources: str
    count: int


class RunWhole(Value):
    """A run with its counts."""

    run: RunLine
    tallies: tuple[TallyLine, ...]
    left_out: tuple[str, ...] = ()


class RunsGiven(Value):
    """Runs, the newest first."""

    runs: tuple[RunLine, ...]
    left_out: tuple[str, ...] = ()
