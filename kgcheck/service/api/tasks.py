"""HTTP API of long tasks (start an audit, follow, cancel) and of jobs of kgcheck.toml."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field

from kgcheck.ledger.work import WorkItem, WorkState
from kgcheck.model import Value
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.shapes import Limited, Place, ResponseBody
from kgcheck.service.bodies import JsonRoute
from kgcheck.service.state import Served
from kgcheck.workspace.jobs import history_rows, job_row, job_rows
from kgcheck.workspace.tasks import KINDS, AuditWanted

router = APIRouter(tags=["tasks"], route_class=JsonRoute)

TaskId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="id of a task", examples=["0123456789abcdef"])]
LastEvent = Annotated[str | None, Header(pattern=r"^[0-9]{1,9}$", description="id of the last event that was seen")]


class TaskShown(ResponseBody):
    """Long work, and how far it has come."""

    id: str
    kind: str
    parameters: dict[str, Any]
    state: WorkState
    step: str = Field(description="what is being done, in words")
    done: int = Field(description="units of the step")
    total: int | None = Field(description="of the units; null where nobody knows")
    by: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    run: str | None = Field(description="id of its audit")
    result: dict[str, Any]
    error: dict[str, Any] = Field(description="title, detail and hint; empty where there was none")
    attempt: int
    stopping: bool = Field(description="somebody wants it to end")
    version: int = Field(description="one more with each change")


class TaskList(ResponseBody):
    """Tasks, the newest first."""

    tasks: list[TaskShown]


class TasksWanted(Value):
    """Filter of a list of tasks."""

    limit: int = Field(default=100, ge=1, le=500)
    kind: str | None = Field(default=None, pattern=f"^({'|'.join(KINDS)})$")


@router.post("/audits", operation_id="start_audit", status_code=202, response_model=TaskShown)
def start_audit(service: Served, asking: Curator, wanted: AuditWanted | None = None) -> Any:
    """Audit the graph, as a task: all of it, where nothing is said."""
    return service.tasks.start("audit", (wanted or AuditWanted()).model_dump(mode="json"), asking).as_row()


@router.get("/tasks", operation_id="list_tasks", response_model=TaskList)
def list_tasks(service: Served, asking: Viewer, wanted: Annotated[TasksWanted, Query()]) -> Any:
    """List tasks, the newest first."""
    return {"tasks": [task.as_row() for task in service.tasks.list(wanted.limit, kind=wanted.kind)]}


def known(service: Served, task: TaskId) -> WorkItem:
    """The task of a path: looked for before a stream of its events begins."""
    return service.tasks.get(task)


Known = Annotated[WorkItem, Depends(known)]


@router.get("/tasks/{task}", operation_id="get_task", response_model=TaskShown)
def get_task(asking: Viewer, task: Known) -> Any:
    """Show one task as it stands."""
    return task.as_row()


@router.post("/tasks/{task}/cancel", operation_id="cancel_task", status_code=202, response_model=TaskShown)
def cancel_task(service: Served, asking: Curator, task: TaskId) -> Any:
    """Let a task end that is one's own, or any where one is an admin; what it did is kept."""
    return service.tasks.cancel(task, asking).as_row()


@router.get("/tasks/{task}/events", operation_id="follow_task", response_class=EventSourceResponse)
async def follow_task(
    service: Served, asking: Viewer, task: Known, last_event_id: LastEvent = None
) -> AsyncIterator[ServerSentEvent]:
    """Follow a task: as it stands, and again whenever it changes, until it is over.

    Each event holds the whole task; its id goes into `Last-Event-ID` to go on after a lost connection.
    """
    async for event in service.tasks.events(task.id, int(last_event_id or 0)):
        yield event


jobs_router = APIRouter(prefix="/jobs", tags=["jobs"])

JobName = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", description="a job's name", examples=["nightly"])
]
_PLACES = ("file", "ledger", "reference", "literature", "directory", "out", "quarantine", "reports")
"""Settings of a job that are of this machine."""


class JobRow(ResponseBody):
    """A job, when it runs next, and how its last run ended."""

    job: str
    kind: str
    store: Place | None
    schedule: str | None
    next: datetime | None
    last: datetime | None
    state: str | None
    severity: str | None


class JobList(ResponseBody):
    """All jobs."""

    jobs: list[JobRow]


class JobDetail(ResponseBody):
    """A job with what it takes by default. Paths of the machine are left out."""

    job: str
    kind: str
    store: Place | None
    time_zone: str | None
    next: datetime | None
    settings: dict[str, Any] = Field(description="as they stand in the file")


class JobRunRow(ResponseBody):
    """A run of a job."""

    number: int
    job: str
    state: str
    planned: datetime | None = Field(description="the time of the schedule; null where somebody began it")
    started: datetime | None = Field(description="null while it waits")
    finished: datetime | None
    attempt: int
    run: str | None = Field(description="id of its audit")
    severity: str | None
    message: str


class JobRunList(ResponseBody):
    """Runs of jobs, the newest first."""

    runs: list[JobRunRow]


class Amount(Limited):
    """Size limit of a list of runs of a job."""

    limit: int = Field(default=20, ge=1, le=500, description="at most so many")


@jobs_router.get("", operation_id="list_jobs", response_model=JobList)
def list_jobs(service: Served, asking: Viewer) -> Any:
    """List the jobs, each with its schedule and its last run."""
    return {"jobs": job_rows(service.project())}


@jobs_router.get("/{job}", operation_id="get_job", response_model=JobDetail)
def get_job(service: Served, asking: Viewer, job: JobName) -> Any:
    """Show one job."""
    row = job_row(service.project(), job)
    settings = {name: value for name, value in row.items() if name not in {*JobDetail.model_fields, *_PLACES}}
    return row | {"store": row["store"]["place"] if row["store"] else None, "settings": settings}


@jobs_router.get("/{job}/history", operation_id="list_runs_of_job", response_model=JobRunList)
def list_runs_of_job(service: Served, asking: Viewer, job: JobName, amount: Annotated[Amount, Query()]) -> Any:
    """List the runs of one job, the newest first."""
    return {"runs": history_rows(service.project(), job, amount.limit)}


@jobs_router.post("/{job}/run", operation_id="run_job", status_code=202, response_model=TaskShown)
def run_job(service: Served, asking: Curator, job: JobName) -> Any:
    """Run a job now, as a task. One that was cut off goes on; one that is under way is not started twice.

    While a load is under way, everything else waits for it.
    """
    service.project().job(job)
    return service.tasks.start("job", {"job": job}, asking).as_row()
