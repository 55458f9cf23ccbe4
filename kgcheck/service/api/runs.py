"""Runs with their counts."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from kgcheck.model import CheckType, GraphState, Outcome, Reason, Value
from kgcheck.service.access import Viewer
from kgcheck.service.api.shapes import Paged, RunId, RunRow
from kgcheck.service.bodies import Shown
from kgcheck.service.state import Served

router = APIRouter(prefix="/runs", tags=["runs"])


class RunPage(Value):
    """Runs, the newest first."""

    runs: list[RunRow]
    next: str | None = Field(description="cursor of the next page; null on the last one")


class TallyRow(Shown):
    """Number of tasks of one kind that ended alike."""

    type: CheckType
    label: str | None
    relation: str | None
    object_label: str | None
    attribute: str | None
    outcome: Outcome
    graph: GraphState | None = Field(description="what that means for the graph; null where nothing is decided")
    reason: Reason
    sources: list[str] = Field(description="those that made an observation")
    gaps: list[str] = Field(description="deciding sources that could not be looked at, and why")
    by_team: bool = Field(description="decided by the team of agents")
    count: int


class Tallies(Value):
    """Outcomes of all tasks of a run, also of those that make no finding."""

    run: str
    tallies: list[TallyRow]


@router.get("", operation_id="list_runs")
def list_runs(service: Served, asking: Viewer, page: Annotated[Paged, Query()]) -> RunPage:
    """List the runs in the ledger, the newest first, each with its tasks by outcome."""
    with service.reading() as workspace:
        found = workspace.runs(page.cursor, page.limit + 1)
    rows = [RunRow.of(run, tallies) for run, tallies in found[: page.limit]]
    return RunPage(runs=rows, next=rows[-1].id if len(found) > page.limit else None)


@router.get("/{run}", operation_id="get_run")
def get_run(service: Served, asking: Viewer, run: RunId) -> RunRow:
    """Show one run: what was asked for, of which graph, against which releases."""
    with service.reading() as workspace:
        found = workspace.run(run)
        return RunRow.of(found, workspace.tallies(found))


@router.get("/{run}/tallies", operation_id="get_tallies")
def get_tallies(service: Served, asking: Viewer, run: RunId) -> Tallies:
    """Count the tasks of a run by type, part of the schema, outcome, reason and sources."""
    with service.reading() as workspace:
        found = workspace.run(run)
        tallies = workspace.tallies(found)
    rows = [
        TallyRow.of(
            tally,
            **dict(tally.target),
            graph=tally.mark.graph,
            sources=list(tally.sources),
            gaps=[str(gap) for gap in tally.gaps],
        )
        for tally in tallies
    ]
    return Tallies(run=found.id, tallies=rows)
