"""Core value types: references, tasks, evidence, verdicts, findings, repairs and tallies.

Frozen and free of I/O. The words are those of the glossary in docs/glossary.md.
"""

import hashlib
import re
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from kgcheck.rules import Rule, structure_rules


class Value(BaseModel):
    """A frozen value that accepts no unknown field."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckType(StrEnum):
    """Kinds of checks on a node or an edge."""

    EXISTENCE = "existence"
    ATTRIBUTE = "attribute"
    TRIPLE = "triple"
    POTENTIAL = "potential"
    STRUCTURE = "structure"
    EVIDENCE = "evidence"

    @property
    def asks_sources(self) -> bool:
        """Tell whether databases decide it: the graph shows its structure itself, and papers decide on citations."""
        return self not in (CheckType.STRUCTURE, CheckType.EVIDENCE)


class Outcome(StrEnum):
    """Outcome of a check: the sources' answer on the statement, whatever the graph says.

    ``insufficient``: looked, cannot tell. ``unavailable``: could not look.
    """

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INSUFFICIENT = "insufficient"
    UNAVAILABLE = "unavailable"


class GraphState(StrEnum):
    """State of a graph regarding a statement that is decided."""

    HAS_IT_WRONGLY = "has_it_wrongly"
    LACKS_IT = "lacks_it"
    AGREES = "agrees"
    RIGHTLY_ABSENT = "rightly_absent"


class TallyMark(StrEnum):
    """Marks by which tasks are counted and shown, the worst first.

    A mark is the outcome of the task, and of an edge that the graph lacks, that it lacks it.
    """

    REFUTED = "refuted"
    LACKS_IT = "lacks_it"
    INSUFFICIENT = "insufficient"
    UNAVAILABLE = "unavailable"
    SUPPORTED = "supported"
    RIGHTLY_ABSENT = "rightly_absent"

    @classmethod
    def of(cls, kind: CheckType, outcome: Outcome) -> "TallyMark":
        """The mark of a task, by its type and what it ended with."""
        if kind is CheckType.POTENTIAL:
            lacking = {Outcome.SUPPORTED: cls.LACKS_IT, Outcome.REFUTED: cls.RIGHTLY_ABSENT}
            return lacking.get(outcome) or cls(outcome.value)
        return cls(outcome.value)

    @property
    def severity(self) -> int:
        """0 where the graph is wrong, 1 where nobody can tell, 2 where nobody could look, 3 where it is right."""
        return _SEVERITIES[self]

    @property
    def graph(self) -> GraphState | None:
        """State of the graph regarding the statement; None where nothing is decided."""
        return _GRAPH_STATES.get(self)


_SEVERITIES = {
    TallyMark.REFUTED: 0,
    TallyMark.LACKS_IT: 0,
    TallyMark.INSUFFICIENT: 1,
    TallyMark.UNAVAILABLE: 2,
    TallyMark.SUPPORTED: 3,
    TallyMark.RIGHTLY_ABSENT: 3,
}
_GRAPH_STATES = {
    TallyMark.REFUTED: GraphState.HAS_IT_WRONGLY,
    TallyMark.LACKS_IT: GraphState.LACKS_IT,
    TallyMark.SUPPORTED: GraphState.AGREES,
    TallyMark.RIGHTLY_ABSENT: GraphState.RIGHTLY_ABSENT,
}


class Stance(StrEnum):
    """Stance of one observation on the thing checked."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SILENT = "silent"


class World(StrEnum):
    """Completeness of a source: ``closed`` claims to list everything of its kind, ``open`` only finds."""

    CLOSED = "closed"
    OPEN = "open"


class Tier(StrEnum):
    """Closeness of a source to the fact; ``owner`` issues the identifier."""

    OWNER = "owner"
    CURATED = "curated"
    COMPUTED = "computed"
    TEXT = "text"

    @property
    def rank(self) -> int:
        """0 for the most trusted tier."""
        return list(Tier).index(self)


class Reason(StrEnum):
    """Reason of a verdict. Of several, a verdict gives the first in this order; see docs/reasons.md."""

    words: str
    """In plain words, as reports have it."""

    def __new__(cls, value: str, words: str = "") -> Self:
        """One row of the table."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.words = words
        return member

    @classmethod
    def _missing_(cls, value: object) -> "Reason | None":
        """The reason of a structure rule: the rule brings it."""
        if not isinstance(value, str):
            return None
        rule = structure_rules().get(value)
        return _reason_of_rule(rule.name, rule.words) if rule else _REASONS_OF_LOST_RULES.get(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Name the reasons of rules, too."""
        described = handler(schema)
        handler.resolve_ref_schema(described)["enum"] = [reason.value for reason in all_reasons()]
        return described

    @property
    def rule(self) -> Rule | None:
        """The rule of structure whose hits have it, where there is one."""
        return structure_rules().get(self.value)

    @property
    def is_remark(self) -> bool:
        """Tell whether what has it is worth a note, and never changes an exit code."""
        return self.rule is not None and self.rule.is_remark

    # What supports, the plainest first; the last is of an edge that nobody has.
    CONFIRMED = "confirmed", "Confirmed by a source"
    CONFIRMED_BY_DESCENDANT = "confirmed_by_descendant", "Confirmed by an annotation to a more specific term"
    FORMATTING = "formatting", "The same value, written differently"
    NOT_FOUND_ELSEWHERE = "not_found_elsewhere", "Missing from the graph and from the sources alike"

    # What became of an id: the form, then that it is gone, then what a curator must choose from, then what replaced it.
    MALFORMED_ID = "malformed_id", "Identifier not written as its database writes them"
    UNKNOWN_ID = "unknown_id", "Identifier unknown to the database that issues it"
    WRONG_NAMESPACE = "wrong_namespace", "Identifier belongs under another label"
    ID_DELETED = "id_deleted", "Accession deleted by its database"
    ID_DEMERGED = "id_demerged", "Accession split into several"
    ID_MERGED = "id_merged", "Accession merged into another"
    ID_WITHDRAWN = "id_withdrawn", "Symbol withdrawn"
    ID_PREVIOUS = "id_previous", "Symbol replaced by a newer one"
    ID_ALIAS = "id_alias", "Symbol is only an alias"
    ID_OBSOLETE = "id_obsolete", "Term is obsolete"
    ID_SECONDARY = "id_secondary", "Secondary identifier of another term"
    ID_RETIRED = "id_retired", "Retired by its database"
    ID_SUPERSEDED = "id_superseded", "Structure superseded by another entry"
    POSITION_OUT_OF_RANGE = "position_out_of_range", "Position lies outside the sequence"
    RESIDUE_MISMATCH = "residue_mismatch", "Another residue stands at this position"

    # What is wrong with a value: who knows it as a former one knows more than who does not know it.
    VALUE_MISSING = "value_missing", "Empty in the graph, known to the source"
    VALUE_OUTDATED = "value_outdated", "A former value: the source has a newer one"
    VALUE_MISMATCH = "value_mismatch", "The source has another value"

    # What is wrong with an edge: its ends, then what is said outright, then silence.
    ENDPOINT_DELETED = "endpoint_deleted", "An end of the edge no longer exists"
    ENDPOINT_MALFORMED = "endpoint_malformed", "An end of the edge is not written as its database writes ids"
    ENDPOINT_UNKNOWN = "endpoint_unknown", "An end of the edge is unknown to the database that issues its ids"
    ENDPOINT_MERGED = "endpoint_merged", "An end of the edge was merged into another node"
    EDGE_MISSING = "edge_missing", "Edge known to a source, missing from the graph"
    EDGE_NEGATED = "edge_negated", "A source says that the edge does not hold"
    PARENT_INDIRECT = "parent_indirect", "Parent that is an ancestor by another term now"
    EDGE_UNSUPPORTED = "edge_unsupported", "Edge missing from a source that lists them all"
    CITATION_DENIES = "citation_denies", "The cited paper says the opposite"
    BELOW_THRESHOLD = "below_threshold", "Score below the threshold for this edge"

    # Why nobody can tell.
    CONFLICTING_EVIDENCE = "conflicting_evidence", "Equally trusted sources disagree"
    RETRACTED_EVIDENCE = "retracted_evidence", "Only retracted publications say so"
    CITATION_RETRACTED = "citation_retracted", "A cited paper was retracted; the edge cites others, too"
    CITATION_MISTAKEN = "citation_mistaken", "A paper of the same digits, by another kind of id, says so"
    CITATION_UNPROVEN = "citation_unproven", "The cited paper says so, as read by a judge that decides nothing"
    CITATION_SILENT = "citation_silent", "The cited paper names both ends, and does not say this of them"
    CITATION_OFF_TOPIC = "citation_off_topic", "The cited paper, as far as it is at hand, does not name both ends"
    UNMAPPED_IDENTIFIER = "unmapped_identifier", "Identifier that the deciding source does not map"
    REFERENCE_OLDER = "reference_older", "Newer than the reference, which cannot tell"
    NOTHING_FOUND = "nothing_found", "Looked, and found nothing either way"

    # Why nobody could look: what may be over when it is asked again comes first.
    SOURCE_UNAVAILABLE = "source_unavailable", "The service could not be asked"
    BUDGET_SPENT = "budget_spent", "The check ran out of turns, seconds, tokens or money before it had looked"
    REFERENCE_MISSING = "reference_missing", "No reference to look in"
    NOT_COVERED = "not_covered", "Outside what the reference covers"
    SOURCE_REFUSED = "source_refused", "The service does not take the question, now or later"

    # What a replacement would make of an edge; other reasons of structure are brought by their rules.
    SELF_LOOP = "self_loop", "Edge from a node to itself"


_REASONS_OF_LOST_RULES: dict[str, Reason] = {}
"""By name, as far as a ledger has named them to this process."""


@cache
def _reason_of_rule(name: str, words: str) -> Reason:
    member = str.__new__(Reason, name)
    member._name_, member._value_ = name.upper(), name
    member.words = words
    return member


def all_reasons() -> tuple[Reason, ...]:
    """Every reason that a verdict can have, those of structure rules last."""
    return *Reason, *(Reason(name) for name in structure_rules() if name not in set(Reason))


def kept_reason(kind: str, name: str) -> Reason:
    """A reason as a ledger keeps it of a check, also of a structure rule that is not installed here any more."""
    try:
        return Reason(name)
    except ValueError:
        if kind != CheckType.STRUCTURE:
            raise
        words = f"Rule that is not installed here: {name.replace('_', ' ')}"
        return _REASONS_OF_LOST_RULES.setdefault(name, _reason_of_rule(name, words))


_CONTROL = re.compile(r"[\x00-\x1f]")


def _no_control_characters(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("an identifier holds no control characters")
    return text


Identifier = Annotated[str, Field(min_length=1, max_length=512), AfterValidator(_no_control_characters)]


class Ref(Value):
    """A node: its label and the identifier that its source database gave it.

    >>> str(Ref(label="Protein", id="P04637"))
    'Protein P04637'
    """

    label: str
    id: Identifier

    def __str__(self) -> str:
        return f"{self.label} {self.id}"


class Triple(Value):
    """An edge as a statement: head, relation, tail. Parallel edges state one triple.

    >>> p53, mdm2 = Ref(label="Protein", id="P04637"), Ref(label="Protein", id="Q00987")
    >>> str(Triple(head=p53, relation="ACTS_ON", tail=mdm2))
    'P04637 ACTS_ON Q00987'
    """

    head: Ref
    relation: str
    tail: Ref

    def __str__(self) -> str:
        return f"{self.head.id} {self.relation} {self.tail.id}"


class CheckTask(Value):
    """One thing to check.

    What is ``potential`` the graph lacks. ``relation`` and ``object`` are set for ``triple`` and a ``potential`` edge,
    ``attribute`` for ``attribute``, and ``rule`` (with the other end, where there is one) for ``structure``. Of
    ``evidence``, that a paper bears an edge, ``attribute`` is the paper.

    >>> str(CheckTask(type=CheckType.ATTRIBUTE, subject=Ref(label="Gene", id="TP53"), attribute="name", value="p53"))
    'Gene TP53.name'
    """

    type: CheckType
    subject: Ref
    relation: str | None = None
    object: Ref | None = None
    attribute: str | None = None
    rule: str | None = None
    value: str | None = Field(default=None, description="what the graph says, where it says something")

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that name the same task in every run, whatever the value in the graph."""
        parts = [self.type, self.subject.label, self.subject.id, self.relation or ""]
        parts += [self.object.label, self.object.id] if self.object else ["", ""]
        parts += [self.attribute or "", self.rule or ""]
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    @property
    def judged_as(self) -> CheckType:
        """The type that its verdict goes by: sources say of a node that the graph lacks what they say of any."""
        is_of_node = self.object is None and self.type is CheckType.POTENTIAL
        return CheckType.EXISTENCE if is_of_node else self.type

    @property
    def edge(self) -> "Triple | None":
        """The edge that it is about, where it is about one by itself."""
        if self.object is None or self.relation is None or self.type not in (CheckType.TRIPLE, CheckType.POTENTIAL):
            return None
        return Triple(head=self.subject, relation=self.relation, tail=self.object)

    def __str__(self) -> str:
        match self.type:
            case CheckType.ATTRIBUTE if self.object:
                return f"{self.subject.id} {self.relation} {self.object.id}.{self.attribute}"
            case CheckType.ATTRIBUTE:
                return f"{self.subject}.{self.attribute}"
            case CheckType.TRIPLE | CheckType.POTENTIAL if self.object:
                return f"{self.subject.id} {self.relation} {self.object.id}"
            case CheckType.EVIDENCE if self.object:
                return f"{self.subject.id} {self.relation} {self.object.id} by {self.attribute}"
            case CheckType.STRUCTURE if self.object:
                return f"{self.rule}: {' '.join(filter(None, (self.subject.id, self.relation, self.object.id)))}"
            case CheckType.STRUCTURE:
                return f"{self.rule}: {self.subject}"
            case _:
                return str(self.subject)


SEARCH = "search"
"""Subject of the evidence that papers were looked for, and none speaks."""

INFORMS = "informs"
"""Subject of evidence of a fact that decides nothing: of a judge that was not measured to be right often enough."""


class Evidence(Value):
    """One observation, with where it was made.

    ``silent`` evidence is an observation too: the source was looked at and said nothing.
    """

    source: str
    release: str
    record: str
    url: str = ""
    retrieved_at: datetime = Field(description="when the source was asked, or its file was fetched")
    pinned_at: datetime | None = Field(default=None, description="when the snapshot was built that it stands in")
    stance: Stance
    world: World
    tier: Tier
    reason: Reason | None = Field(default=None, description="what this observation alone would mean")
    value: str | None = Field(default=None, description="what the source says")
    quote: str | None = Field(default=None, description="an exact substring of the passage it rests on")
    score: float | None = None
    about: str = Field(
        default="fact",
        description="fact, head or tail: which part it speaks of; search: of none; informs: of the fact, without"
        " deciding it",
    )
    replacements: tuple[str, ...] = Field(default=(), description="ids that the source puts in place of this one")
    candidates: tuple[str, ...] = Field(default=(), description="ids that a curator may choose from")
    weight: str = Field(
        default="", description="of a paper: whether its judge decides or informs, and by which figures"
    )


class Gap(NamedTuple):
    """A deciding source that could not be looked at, and why.

    >>> str(Gap("goa", Reason.NOT_COVERED))
    'goa (not covered)'
    """

    source: str
    cause: Reason

    def __str__(self) -> str:
        return f"{self.source} ({self.cause.value.replace('_', ' ')})"


class Verdict(Value):
    """The outcome of a check, why, and the evidence it rests on.

    ``missing`` are the deciding sources that could not be looked at.
    """

    outcome: Outcome
    reason: Reason
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[Gap, ...] = ()
    note: str = ""


class ChangeKind(StrEnum):
    """Kinds of changes that are proposed for a graph. Nothing is ever silently deleted."""

    REPOINT = "repoint"
    RENAME = "rename"
    SET_VALUE = "set_value"
    RETIRE = "retire"
    ADD_EDGE = "add_edge"
    REVIEW = "review"


class Change(Value):
    """A proposed repair: ``to`` is the replacement id or value, ``candidates`` are what a curator must choose from."""

    kind: ChangeKind
    to: str | None = None
    candidates: tuple[str, ...] = ()
    because: str = ""


class Finding(Value):
    """A verdict about a task in a run. ``fingerprint`` is the task's, so that two runs can be compared."""

    run: str
    fingerprint: str
    task: CheckTask
    verdict: Verdict
    change: Change | None = None
    names: tuple[str | None, str | None] = Field(default=(None, None), description="what the graph calls both ends")
    cause: str | None = Field(
        default=None, description="fingerprint of the finding of the run that it follows from; None of a root cause"
    )

    @property
    def mark(self) -> TallyMark:
        """Mark by which it is counted and shown."""
        return TallyMark.of(self.task.type, self.verdict.outcome)

    def as_row(self) -> dict[str, Any]:
        """The finding in the flat form that `--format json` prints; see docs/formats.md."""
        fields = self.as_fields()
        fields["evidence"] = [e.model_dump(mode="json", exclude_none=True) for e in self.verdict.evidence]
        change = self.change
        fields["proposed_change"] = change.model_dump(mode="json", exclude_none=True) if change else None
        return fields

    def as_fields(self) -> dict[str, Any]:
        """The fields of `as_row`, in which evidence and the proposed change are values."""
        task, verdict = self.task, self.verdict
        return {
            "run": self.run,
            "fingerprint": self.fingerprint,
            "type": task.type.value,
            "subject": _named(task.subject, self.names[0]),
            "relation": task.relation,
            "object": _named(task.object, self.names[1]) if task.object else None,
            "attribute": task.attribute,
            "rule": task.rule,
            "value": task.value,
            "outcome": verdict.outcome.value,
            "graph": self.mark.graph,
            "reason": verdict.reason.value,
            "confidence": verdict.confidence,
            "evidence": verdict.evidence,
            "missing": [str(gap) for gap in verdict.missing],
            "note": verdict.note,
            "proposed_change": self.change,
            "cause": self.cause,
        }


def _named(ref: Ref, name: str | None) -> dict[str, str]:
    return ref.model_dump() | ({"name": name} if name else {})


class Target(Value):
    """The part of a schema that tasks are of: a label, a pattern, or an attribute of one; empty, the whole graph.

    >>> str(Target(label="Gene", relation="TRANSLATED_INTO", object_label="Protein"))
    'Gene TRANSLATED_INTO Protein'
    >>> str(Target(label="Protein", attribute="name"))
    'Protein.name'
    >>> str(Target())
    'whole graph'
    """

    label: str | None = Field(default=None, description="of the nodes, or of the heads of the edges")
    relation: str | None = None
    object_label: str | None = Field(default=None, description="of the tails of the edges")
    attribute: str | None = None

    @classmethod
    def of(cls, task: CheckTask) -> "Target":
        """The target of one task."""
        if not task.object:
            return cls(label=task.subject.label, attribute=task.attribute)
        tail, attribute = task.object.label, None if task.type is CheckType.EVIDENCE else task.attribute
        return cls(label=task.subject.label, relation=task.relation, object_label=tail, attribute=attribute)

    def __str__(self) -> str:
        part = " ".join(filter(None, (self.label, self.relation, self.object_label))) or "whole graph"
        return f"{part}.{self.attribute}" if self.attribute else part


class Tally(Value):
    """Number of tasks of one kind that ended alike: every task is counted, also without a finding."""

    type: CheckType
    target: Target
    outcome: Outcome
    reason: Reason
    sources: tuple[str, ...] = Field(default=(), description="those that made an observation")
    gaps: tuple[Gap, ...] = Field(default=(), description="deciding sources that could not be looked at")
    by_team: bool = Field(default=False, description="decided by the team of agents")
    count: int

    @property
    def mark(self) -> TallyMark:
        """Mark by which its tasks are counted and shown."""
        return TallyMark.of(self.type, self.outcome)

    @property
    def sources_line(self) -> str:
        """The sources that made an observation, then those that could not be looked at, in one line."""
        line = ", ".join([*self.sources, *(f"no {gap}" for gap in self.gaps)])
        return f"team: {line}" if self.by_team else line

    def as_row(self) -> dict[str, Any]:
        """The tally in the flat form that `--format json` prints; see docs/formats.md."""
        return {
            "type": self.type.value,
            "target": str(self.target),
            "outcome": self.outcome.value,
            "graph": self.mark.graph,
            "reason": self.reason.value,
            "sources": self.sources_line,
            "count": self.count,
        }
