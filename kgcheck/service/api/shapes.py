"""Models that routes of the HTTP API share: ids, filters, pages, findings and runs.

An answer is what a route has, a row or a value of the product, of which it gives the fields that its model names.
"""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import Path as InPath
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kgcheck.curation.compare import ComparedFinding
from kgcheck.curation.findings import FindingFilter
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import Decision, DecisionState
from kgcheck.ledger.ledger import Run
from kgcheck.model import Change, CheckType, Evidence, GraphState, Outcome, Reason, Tally, Value
from kgcheck.report.tables import graph_states, outcomes

RUN_ID = r"^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$"
FINGERPRINT = r"^[0-9a-f]{16}$"
VERSION = r"^[0-9a-f]{16}\.[0-9]{1,18}$"

RunId = Annotated[
    str, InPath(pattern=RUN_ID, description="a run's id, the beginning of one, or latest", examples=["latest"])
]
Fingerprint = Annotated[
    str, InPath(pattern=FINGERPRINT, description="a finding's fingerprint", examples=["fb7a191abc56beb2"])
]
PatchId = Annotated[str, InPath(pattern=FINGERPRINT, description="a patch's id", examples=["0f1e2d3c4b5a6978"])]


def place_name(place: str) -> str:
    """Return the name of a place as clients see it: a server's address, or the last part of a path.

    >>> place_name("/srv/data/graph.lbdb"), place_name("bolt://localhost:7687")
    ('graph.lbdb', 'bolt://localhost:7687')
    """
    if "://" in place:
        address = urlsplit(place)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
    return Path(place).name


Place = Annotated[str, BeforeValidator(lambda place: place_name(str(place)))]
"""A place without what of it is of this machine alone."""


class ResponseBody(BaseModel):
    """A part of an answer, with the fields that a thing has under the same names."""

    model_config = ConfigDict(from_attributes=True)


class Selection(FindingFilter):
    """Filter of findings; what is left out means any, of several values of a kind one is enough."""

    model_config = ConfigDict(alias_generator=lambda name: name.removesuffix("s"))

    run: str = Field(default="latest", pattern=RUN_ID, description="the run, the beginning of its id, or latest")
    before: str | None = Field(
        default=None, pattern=RUN_ID, description="the run that it is compared with; the one before, unless named"
    )

    @property
    def filters(self) -> dict[str, Any]:
        """The same as Workspace.list_findings takes it."""
        return {name: getattr(self, name) for name in ("before", *FindingFilter.model_fields)}


class Limited(Value):
    """Size limit of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="at most so many")


class Paged(Limited):
    """Page of a list."""

    cursor: str | None = Field(
        default=None,
        max_length=200,
        pattern=r"^[0-9A-Za-z._~-]+$",
        description="next of the page before; it names a place, and stays good while findings are decided about",
    )


class TakenName(ResponseBody):
    """A text, and the node that it was taken for."""

    text: str
    label: str
    id: str
    by: str = Field(description="id, name, synonym, or name in a source")


class NamedRef(ResponseBody):
    """A node, with what the graph calls it."""

    label: str
    id: str
    name: str | None = None


class FindingRow(ResponseBody):
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
    subject: NamedRef
    relation: str | None
    object: NamedRef | None
    attribute: str | None
    rule: str | None
    value: str | None = Field(description="what the graph says")
    outcome: Outcome = Field(description="what sources say of what was checked")
    graph: GraphState | None = Field(description="what that means for the graph; null where nothing is decided")
    reason: Reason
    confidence: float
    proposed_change: Change | None
    cause: str | None = Field(description="fingerprint of the finding that it follows from; null of a root cause")
    consequences: int = Field(description="findings of the run that follow from it")
    decision_state: DecisionState
    decision: Decision | None = Field(
        description="that made it so, or the last one before it was reopened; its fingerprint may be that of the cause"
    )


class FindingDetail(FindingRow):
    """A finding with all its evidence."""

    note: str
    missing: list[str] = Field(description="deciding sources that could not be looked at, and why")
    evidence: list[Evidence]


class RunRow(ResponseBody):
    """A run: one audit of one graph, or one check."""

    id: str
    kind: Literal["audit", "check"]
    started: datetime
    finished: datetime | None = Field(description="null of one that is under way, or was cut off")
    store: Place = Field(description="the graph: the name of its file, or the address of its server")
    profile: Place
    releases: list[str] = Field(description="of the references: SOURCE RELEASE (FILE DIGEST)")
    warnings: list[str]
    options: dict[str, Any] = Field(description="the options of the audit, or what was checked")
    nodes: dict[str, int]
    edges: dict[str, int]
    compared_with: str | None
    outcomes: dict[Outcome, int] = Field(description="tasks by what they ended with")
    graph: dict[GraphState, int] = Field(description="tasks by what that means for the graph")


def finding_row(one: ComparedFinding) -> dict[str, Any]:
    """A finding as an answer."""
    known = {name: getattr(one, name) for name in ("version", "state", "why", "consequences")}
    known |= {"decision_state": one.decided.state, "decision": one.decided.decision}
    return {**one.finding.as_fields(), "about": f"{one.finding.task.type.value} {one.finding.task}", **known}


def run_row(run: Run, tallies: list[Tally]) -> dict[str, Any]:
    """A run as an answer, without paths of this machine."""
    options = {name: value for name, value in run.options.items() if name != "transcript"}
    if isinstance(options.get("literature"), str):
        options["literature"] = place_name(options["literature"])
    shown = {"kind": "check" if run.is_check else "audit", "releases": list(map(str, run.releases)), "options": options}
    return {**dict(run), **shown, "outcomes": outcomes(tallies), "graph": graph_states(tallies)}
