"""HTTP API of runs and of the snapshot's releases."""

from datetime import UTC
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from kgcheck.model import Value
from kgcheck.reference.snapshot import SourceRelease
from kgcheck.service.access import Viewer
from kgcheck.service.api.shapes import Paged, RunId, RunRow, run_row
from kgcheck.service.state import Served

router = APIRouter(prefix="/runs", tags=["runs"])


class RunPage(Value):
    """Runs, the newest first."""

    runs: list[RunRow]
    next: str | None = Field(description="cursor of the next page; null on the last one")


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


references_router = APIRouter(prefix="/references", tags=["references"])


class References(Value):
    """The releases in the snapshot of the service."""

    snapshot: str | None = Field(description="the name of its file; null where the service has none")
    releases: list[SourceRelease]


@references_router.get("", operation_id="list_references")
def list_references(service: Served, asking: Viewer) -> References:
    """List the releases in the snapshot, each with its licence and what it holds."""
    with service.reading() as workspace:
        snapshot, found = workspace.reference.name if workspace.reference else None, workspace.releases()
    # A snapshot keeps times in UTC, without saying so.
    utc = [{name: getattr(one, name).replace(tzinfo=UTC) for name in ("retrieved_at", "built_at")} for one in found]
    releases = [one.model_copy(update=times) for one, times in zip(found, utc, strict=True)]
    return References(snapshot=snapshot, releases=releases)
