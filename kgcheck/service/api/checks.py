"""Checks by the agent team of one node, attribute or edge; of many as a task; and what is verified."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from kgcheck.curation.findings import LINE
from kgcheck.model import Evidence, GraphState, Outcome, Reason, Triple, Value
from kgcheck.options import CheckLimits, Day, Number, Whole
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.shapes import TakenName
from kgcheck.service.api.tasks import TaskShown, begin
from kgcheck.service.bodies import JsonRoute, Shown
from kgcheck.service.state import Served

router = APIRouter(tags=["check"], route_class=JsonRoute)

Words = Annotated[str, Field(min_length=1, max_length=1_000, pattern=LINE)]


class CheckWanted(CheckLimits):
    """Request for a check, in words or as an edge."""

    what: Words | Triple = Field(
        description="HEAD RELATION TAIL; existence LABEL ID; attribute LABEL ID NAME; by ids or names; or an edge",
    )
    turns: Whole = Field(default=30, ge=1, le=200, description="turns of all agents together")
    seconds: Number = Field(default=60.0, ge=0.1, le=300)


class ChecksInTurn(Value):
    """Request for checks that are made one after the other."""

    graph_date: Day | None = Field(default=None, description="of when the graph is")
    seconds: Number = Field(default=60.0, ge=0.1, le=300, description="most seconds of each")
    what: list[Words] = Field(min_length=1, max_length=1_000)


class Checked(Shown):
    """Result of a check by the team."""

    run: str
    fingerprint: str
    about: str
    outcome: Outcome
    graph: GraphState | None = Field(description="what that means for the graph; null where nothing is decided")
    reason: Reason
    confidence: float
    value: str | None = Field(description="what the graph says")
    proposed_change: dict[str, Any] | None
    note: str
    missing: list[str] = Field(description="deciding sources that could not be looked at, and why")
    evidence: list[Evidence]
    taken: list[TakenName] = Field(description="names, each with the node that it was taken for")
    notes: list[str] = Field(description="of how it came about")


class EdgeInWords(Value):
    """An edge in words."""

    edge: Words = Field(description="HEAD RELATION TAIL, by ids or names")


class VerifiedRow(Shown):
    """Verdict of the newest audit that looked at a task, and what decided it."""

    outcome: Outcome
    reason: Reason
    confidence: float
    source: str | None
    release: str | None
    record: str | None
    run: str
    at: datetime


class VerifiedAnswer(Value):
    """Verification status of an edge: whether somebody has looked, and what they found."""

    edge: str
    verified: VerifiedRow | None = Field(description="null where nobody has looked, which says nothing about the edge")


@router.post("/check", operation_id="check")
def check(service: Served, asking: Viewer, wanted: CheckWanted) -> Checked:
    """Check one node, attribute or edge against the references, and keep the finding in the ledger."""
    with service.reading() as workspace:
        checked = workspace.check(wanted.what, graph_date=wanted.graph_date, turns=wanted.turns, seconds=wanted.seconds)
    finding, verdict = checked.finding, checked.finding.verdict
    return Checked.of(
        verdict,
        run=finding.run,
        fingerprint=finding.fingerprint,
        about=f"{finding.task.type.value} {finding.task}",
        graph=finding.mark.graph,
        value=finding.task.value,
        proposed_change=finding.change.model_dump(mode="json", exclude_none=True) if finding.change else None,
        missing=[str(gap) for gap in verdict.missing],
        evidence=list(verdict.evidence),
        taken=[TakenName(**taken.as_row()) for taken in checked.taken],
        notes=list(checked.notes),
    )


@router.post("/check/batch", operation_id="check_many", status_code=202)
def check_many(service: Served, asking: Curator, wanted: ChecksInTurn) -> TaskShown:
    """Check many nodes, attributes or edges, as a task; its result names the run and the outcome of each."""
    return begin(service, "checks", wanted.model_dump(mode="json"), asking)


@router.get("/verified", operation_id="get_verified")
def get_verified(service: Served, asking: Viewer, wanted: Annotated[EdgeInWords, Query()]) -> VerifiedAnswer:
    """Say what the newest audit that looked at an edge found. Neither the graph nor a source is asked."""
    with service.reading() as workspace:
        found = workspace.verified(wanted.edge)
    return VerifiedAnswer(edge=wanted.edge, verified=VerifiedRow.of(found) if found else None)
