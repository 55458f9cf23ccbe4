"""HTTP API of runs, tallies, the comparison of two runs, and the snapshot's releases."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from kgcheck import clock
from kgcheck.choices import first_day
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.model import CheckType, GraphState, Outcome, Reason, Value
from kgcheck.reference.snapshot import SourceRelease
from kgcheck.service.access import Viewer
from kgcheck.service.api.shapes import RUN_ID, Paged, RunId, RunRow, Shown, run_row
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
    rows = [run_row(run, tallies) for run, tallies in found[: page.limit]]
    return RunPage(runs=rows, next=rows[-1].id if len(found) > page.limit else None)


@router.get("/{run}", operation_id="get_run")
def get_run(service: Served, asking: Viewer, run: RunId) -> RunRow:
    """Show one run: what was asked for, of which graph, against which releases."""
    with service.reading() as workspace:
        found = workspace.run(run)
        return run_row(found, workspace.tallies(found))


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
            gaps=[str(gap) for gap in tally.gaps],
        )
        for tally in tallies
    ]
    return Tallies(run=found.id, tallies=rows)


diff_router = APIRouter(prefix="/diff", tags=["diff"])


class Runs(Value):
    """Pair of runs to compare."""

    before: str | None = Field(
        default=None, pattern=RUN_ID, description="the earlier run; unless named, that of the same store and options"
    )
    after: str | None = Field(default=None, pattern=RUN_ID, description="the later run; unless named, the latest audit")


class Diff(Value):
    """Two runs side by side. The findings themselves: /v1/findings with run, before and state."""

    before: str | None = Field(description="null where there is none: everything is new")
    after: str
    counts: dict[ComparisonState, int]
    lines: list[str] = Field(description="the same in words")


@diff_router.get("", operation_id="get_diff")
def get_diff(service: Served, asking: Viewer, runs: Annotated[Runs, Query()]) -> Diff:
    """Count what became of the findings of one run in a later one of the same store."""
    with service.reading() as workspace:
        diff = workspace.diff(runs.before, runs.after)
        return Diff(before=diff.before_id, after=diff.after.id, counts=dict(diff.counts), lines=diff.lines())


references_router = APIRouter(prefix="/references", tags=["references"])


class ReleaseRow(SourceRelease):
    """One pinned file of one source."""

    released: str = Field(description="the date of the release, as exact as it is known; empty if it is not")
    age_days: int | None = Field(description="since the release came out; null where its date is not known")

    @classmethod
    def of(cls, release: SourceRelease, now: datetime) -> "ReleaseRow":
        day = first_day(release.released)
        age = max((now - day).days, 0) if day else None
        # A snapshot keeps times in UTC, without saying so.
        times = {name: getattr(release, name).replace(tzinfo=UTC) for name in ("retrieved_at", "built_at")}
        return cls(**release.model_dump() | times, age_days=age)


class References(Value):
    """The releases in the snapshot of the service."""

    snapshot: str | None = Field(description="the name of its file; null where the service has none")
    releases: list[ReleaseRow]


@references_router.get("", operation_id="list_references")
def list_references(service: Served, asking: Viewer) -> References:
    """List the releases in the snapshot, each with its age, its licence and what it holds."""
    now = clock.now()
    with service.reading() as workspace:
        releases = [ReleaseRow.of(release, now) for release in workspace.releases()]
        return References(snapshot=workspace.reference.name if workspace.reference else None, releases=releases)
