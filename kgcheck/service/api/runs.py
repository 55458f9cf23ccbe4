"""HTTP API of runs, of the snapshot's releases, of health, and of the record of users' actions."""

from datetime import UTC
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import Field

from kgcheck import __version__
from kgcheck.curation.findings import LINE
from kgcheck.ledger.accounts import ActionEntry
from kgcheck.model import Value
from kgcheck.reference.snapshot import SourceRelease
from kgcheck.service.access import Admin, Open, Viewer
from kgcheck.service.api.shapes import Paged, ResponseBody, RunId, RunRow, run_row
from kgcheck.service.problems import CONTENT
from kgcheck.service.state import Served

router = APIRouter(prefix="/runs", tags=["runs"])


class RunPage(ResponseBody):
    """Runs, the newest first."""

    runs: list[RunRow]
    next: str | None = Field(description="cursor of the next page; null on the last one")


@router.get("", operation_id="list_runs", response_model=RunPage)
def list_runs(service: Served, asking: Viewer, page: Annotated[Paged, Query()]) -> Any:
    """List the runs in the ledger, the newest first, each with its tasks by outcome."""
    with service.reading() as workspace:
        found = workspace.runs(page.cursor, page.limit + 1)
    rows = [run_row(run, tallies) for run, tallies in found[: page.limit]]
    return {"runs": rows, "next": rows[-1]["id"] if len(found) > page.limit else None}


@router.get("/{run}", operation_id="get_run", response_model=RunRow)
def get_run(service: Served, asking: Viewer, run: RunId) -> Any:
    """Show one run: what was asked for, of which graph, against which releases."""
    with service.reading() as workspace:
        found = workspace.run(run)
        return run_row(found, workspace.tallies(found))


references_router = APIRouter(prefix="/references", tags=["references"])


class References(ResponseBody):
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


health_router = APIRouter(tags=["health"])


class Alive(ResponseBody):
    """The service answers."""

    status: Literal["alive"] = "alive"
    version: str


class PartRow(ResponseBody):
    """A part that the service works on."""

    name: str
    is_ready: bool
    kind_of_error: str = Field(default="", description="why it cannot be read; the log has the whole of it")


class Readiness(ResponseBody):
    """Readiness of the service: whether everything that it works on can be read."""

    status: Literal["ready", "not ready"]
    parts: list[PartRow]


@health_router.get("/health/live", operation_id="get_live")
async def get_live(asking: Open) -> Alive:
    """Say that the service answers; nothing else is looked at."""
    return Alive(version=__version__)


@health_router.get(
    "/health/ready",
    operation_id="get_ready",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "A part cannot be read.", "content": CONTENT}},
)
async def get_ready(service: Served, asking: Open) -> JSONResponse:
    """Say within a second whether the ledger, the store and the references can be read now, and which cannot.

    While a patch is applied or a job loads, the store is `StoreLocked`; what does not answer in time `TookTooLong`.
    """
    parts = await service.looks.parts()
    is_ready = all(part.is_ready for part in parts)
    # Whoever may ask need not know where a part is.
    answer = Readiness.model_validate({"status": "ready" if is_ready else "not ready", "parts": parts})
    return JSONResponse(answer.model_dump(mode="json"), 200 if is_ready else 503)


actions_router = APIRouter(prefix="/actions", tags=["actions"])


class ActionList(ResponseBody):
    """Actions that were done or tried, newest first."""

    actions: list[ActionEntry]
    next: int | None = Field(description="the `before` of the next page; null at the end")


class ActionsWanted(Value):
    """Filter and page of a list of actions."""

    limit: int = Field(default=100, ge=1, le=1_000)
    before: int | None = Field(default=None, ge=1, le=2**53, description="the number of the last one that was seen")
    name: str | None = Field(default=None, max_length=64, pattern=LINE, description="of somebody of this name")


@actions_router.get("", operation_id="list_actions")
def list_actions(service: Served, asking: Admin, wanted: Annotated[ActionsWanted, Query()]) -> ActionList:
    """List what was done or tried, the newest first: by whom, from where, and with what outcome."""
    found = service.actions.newest(wanted.limit + 1, before=wanted.before, name=wanted.name)
    page = found[: wanted.limit]
    return ActionList(actions=page, next=page[-1].number if len(found) > wanted.limit else None)
