"""What several routes take and give: ids with their forms, filters, pages, findings, runs."""

import re
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import Path as InPath
from pydantic import BeforeValidator, Field, WithJsonSchema

from kgcheck.curation.compare import ComparedFinding
from kgcheck.curation.decisions import Action, CurrentDecision, Decision
from kgcheck.curation.known import KnownFinding
from kgcheck.errors import UsageError
from kgcheck.ledger.comparisons import ComparisonState, FormerFinding
from kgcheck.ledger.decisions import DecisionState
from kgcheck.ledger.ledger import Run
from kgcheck.model import Change, CheckType, Evidence, Finding, Outcome, Reason, Ref, Tally, Value

_DAY = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")


def _whole_day(given: Any) -> Any:
    """A day as text: pydantic would take a number for seconds since 1970, too."""
    if isinstance(given, str) and not _DAY.match(given):
        raise ValueError("a day is written as 2027-01-31")
    if isinstance(given, int | float):
        raise ValueError("a day is written as 2027-01-31")
    return given


RUN_ID = r"^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$"
FINGERPRINT = r"^[0-9a-f]{16}$"
LINE = r"^[^\x00-\x1f\x7f]*$"
VERSION = r"^[0-9a-f]{16}\.[0-9]{1,18}$"

RunId = Annotated[
    str, InPath(pattern=RUN_ID, description="a run's id, the beginning of one, or latest", examples=["latest"])
]
Fingerprint = Annotated[
    str, InPath(pattern=FINGERPRINT, description="a finding's fingerprint", examples=["fb7a191abc56beb2"])
]
PatchId = Annotated[str, InPath(pattern=FINGERPRINT, description="a patch's id", examples=["0f1e2d3c4b5a6978"])]
Day = Annotated[
    date, BeforeValidator(_whole_day), WithJsonSchema({"type": "string", "format": "date", "pattern": _DAY.pattern})
]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=LINE)]
Line = Annotated[str, Field(max_length=2_000, pattern=LINE)]
Few = Annotated[list[Word], Field(max_length=50)]


class Selection(Value):
    """Which findings are meant; what is left out means any, and of several values of one kind one is enough."""

    run: str = Field(default="latest", pattern=RUN_ID, description="the run, the beginning of its id, or latest")
    before: str | None = Field(
        default=None, pattern=RUN_ID, description="the run that it is compared with; the one before, unless named"
    )
    state: list[ComparisonState] = Field(
        default=[], max_length=10, description="what became of it since the run before; see /v1/diff"
    )
    decision: list[DecisionState] = Field(default=[], max_length=10, description="where it stands by what was decided")
    outcome: list[Outcome] = Field(default=[], max_length=10, description="what the check ended with")
    type: list[CheckType] = Field(default=[], max_length=10, description="what was checked")
    reason: list[Reason] = Field(default=[], max_length=60, description="why the outcome is what it is")
    label: Few = Field(default=[], description="of the subject or the object")
    relation: Few = Field(default=[], description="of the edge")
    since: Day | None = Field(default=None, description="first found on this day (UTC) or later")
    text: Line | None = Field(
        default=None, description="part of an id, a name, a value or a proposed value", examples=["TP53"]
    )

    @property
    def filters(self) -> dict[str, Any]:
        """The same as Workspace.list_findings takes it."""
        return {
            "before": self.before,
            "states": self.state,
            "decisions": self.decision,
            "outcomes": self.outcome,
            "types": self.type,
            "reasons": self.reason,
            "labels": self.label,
            "relations": self.relation,
            "since": self.since,
            "text": self.text or None,
        }


class Paged(Value):
    """Which page of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="at most so many")
    cursor: str | None = Field(
        default=None,
        max_length=200,
        pattern=r"^[0-9A-Za-z._~-]+$",
        description="next of the page before; it names a place, and stays good while findings are decided about",
    )


class NamedRef(Value):
    """A node, with what the graph calls it."""

    label: str
    id: str
    name: str | None = None

    @classmethod
    def of(cls, ref: Ref, name: str | None) -> "NamedRef":
        """A node of a finding."""
        return cls(label=ref.label, id=ref.id, name=name)


class DecisionRow(Value):
    """What somebody decided about a finding, when and why, with what they saw."""

    number: int = Field(description="in the order in which decisions came into this ledger")
    fingerprint: str
    basis: str = Field(description="names what the finding rested on when it was decided about")
    action: Action
    chosen: str | None = None
    note: str
    until: date | None = None
    by: str
    at: datetime
    run: str
    about: str
    reason: str
    proposed: str

    @classmethod
    def of(cls, decision: Decision) -> "DecisionRow":
        """A decision as an answer."""
        return cls(**decision.model_dump())


class FindingRow(Value):
    """A finding in a list, with what became of it and what was decided."""

    fingerprint: str
    run: str = Field(description="the newest run that has it; of what is fixed or gone, the last that had it")
    version: str = Field(description="send it back as seen with a decision: it changes when there is more to be seen")
    state: ComparisonState | None = Field(
        description="since the run before; null where neither of the two newest audits has it"
    )
    why: str = Field(description="of the state, where there is more to be said")
    type: CheckType
    about: str = Field(description="the task in words")
    subject: NamedRef | None = Field(description="null where the ledger keeps no more of it than it says here")
    relation: str | None
    object: NamedRef | None
    attribute: str | None
    rule: str | None
    value: str | None = Field(description="what the graph says")
    outcome: Outcome
    reason: Reason
    confidence: float | None
    proposed_change: Change | None
    decision_state: DecisionState
    decision: DecisionRow | None = Field(description="that made it so, or the last one before it was reopened")

    @classmethod
    def of(cls, one: ComparedFinding) -> "FindingRow":
        """A finding of a list as an answer."""
        found = {"state": one.state, "why": one.why, "version": one.version, **_standing(one.decided)}
        if one.finding:
            return cls(**_facts(one.finding), **found)
        if one.former is None:
            raise UsageError(f"the ledger keeps nothing of the finding {one.fingerprint}", "audit again")
        return cls(**_former(one.former), **found)


class FindingDetail(FindingRow):
    """A finding with all its evidence."""

    note: str
    missing: list[str] = Field(description="deciding sources that could not be looked at, and why")
    evidence: list[Evidence]
    carried_from: str | None = Field(description="the run that made it, where another one carried it over")

    @classmethod
    def of_known(cls, known: KnownFinding) -> "FindingDetail":
        """A finding that was looked up as an answer."""
        finding = known.finding
        return cls(
            **_facts(finding),
            **_standing(known.decided),
            state=known.state,
            why="",
            version=known.version,
            note=finding.verdict.note,
            missing=[str(gap) for gap in finding.verdict.missing],
            evidence=list(finding.verdict.evidence),
            carried_from=finding.carried_from,
        )


class RunRow(Value):
    """A run: one audit of one graph, or one check."""

    id: str
    kind: Literal["audit", "check"]
    started: datetime
    finished: datetime | None = Field(description="null of one that is under way, or was cut off")
    store: str = Field(description="the graph: the name of its file, or the address of its server")
    profile: str
    releases: list[str] = Field(description="of the references: SOURCE RELEASE (FILE DIGEST)")
    warnings: list[str]
    options: dict[str, Any] = Field(description="the options of the audit, or what was checked")
    nodes: dict[str, int]
    edges: dict[str, int]
    compared_with: str | None
    outcomes: dict[Outcome, int] = Field(description="tasks by what they ended with")

    @classmethod
    def of(cls, run: Run, tallies: list[Tally]) -> "RunRow":
        """A run as an answer, without paths of this machine."""
        counts: dict[Outcome, int] = {}
        for tally in tallies:
            counts[tally.outcome] = counts.get(tally.outcome, 0) + tally.count
        options = {name: value for name, value in run.options.items() if name != "transcript"}
        if isinstance(options.get("literature"), str):
            options["literature"] = place_name(options["literature"])
        return cls(
            id=run.id,
            kind="check" if run.is_check else "audit",
            started=run.started,
            finished=run.finished,
            store=place_name(run.store),
            profile=place_name(run.profile),
            releases=[str(release) for release in run.releases],
            warnings=list(run.warnings),
            options=options,
            nodes=run.nodes,
            edges=run.edges,
            compared_with=run.compared_with,
            outcomes=counts,
        )


def place_name(place: str) -> str:
    """What a client is to see of a place: the address of a server, and of a path its name alone.

    >>> place_name("/srv/data/graph.lbdb"), place_name("bolt://localhost:7687")
    ('graph.lbdb', 'bolt://localhost:7687')
    """
    if "://" in place:
        address = urlsplit(place)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
    return Path(place).name


def _facts(finding: Finding) -> dict[str, Any]:
    task, verdict = finding.task, finding.verdict
    return {
        "fingerprint": finding.fingerprint,
        "run": finding.run,
        "type": task.type,
        "about": f"{task.type.value} {task}",
        "subject": NamedRef.of(task.subject, finding.names[0]),
        "relation": task.relation,
        "object": NamedRef.of(task.object, finding.names[1]) if task.object else None,
        "attribute": task.attribute,
        "rule": task.rule,
        "value": task.value,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "confidence": verdict.confidence,
        "proposed_change": finding.change,
    }


def _former(former: FormerFinding) -> dict[str, Any]:
    nothing = dict.fromkeys(("subject", "object", "attribute", "rule", "value", "confidence", "proposed_change"))
    return {
        **nothing,
        "fingerprint": former.fingerprint,
        "run": former.found_in,
        "type": former.type,
        "about": former.about,
        "relation": former.relation,
        "outcome": former.outcome,
        "reason": former.reason,
    }


def _standing(decided: CurrentDecision) -> dict[str, Any]:
    decision = decided.decision
    return {"decision_state": decided.state, "decision": DecisionRow.of(decision) if decision else None}
