"""HTTP API of long tasks (start an audit, follow, cancel) and of jobs of kgcheck.toml."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field

from kgcheck.ledger.work import WorkItem, WorkState
from kgcheck.model import Value
from kgcheck.service.access import Curator, Principal, Viewer
from kgcheck.service.api.shapes import Shown, place_name
from kgcheck.service.bodies import JsonRoute
from kgcheck.service.state import Served, Service
from kgcheck.workspace.job_listing import history_rows, job_row, job_rows
from kgcheck.workspace.tasks import KINDS, AuditWanted

router = APIRouter(tags=["tasks"], route_class=JsonRoute)

TaskId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="id of a task", examples=["0123456789abcdef"])]
LastEvent = Annotated[str | None, Header(pattern=r"^[0-9]{1,9}$", description="id of the last event that was seen")]


class TaskShown(Value):
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

    @classmethod
    def of(cls, task: WorkItem) -> "TaskShown":
        return cls(**task.as_row())


class TaskList(Value):
    """Tasks, the newest first."""

    tasks: list[TaskShown]


class TasksWanted(Value):
    """Filter of a list of tasks."""

    limit: int = Field(default=100, ge=1, le=500)
    kind: str | None = Field(default=None, pattern=f"^({'|'.join(KINDS)})$")


def known(service: Served, task: TaskId) -> WorkItem:
    """The task of a path: looked for before a stream of its events begins."""
    return service.tasks.get(task)


Known = Annotated[WorkItem, Depends(known)]


def begin(service: Service, kind: str, parameters: Mapping[str, Any], asking: Principal) -> TaskShown:
    """Begin long work."""
    return TaskShown.of(service.tasks.start(kind, parameters, asking))


@router.post("/audits", operation_id="start_audit", status_code=202)
def start_audit(service: Served, asking: Curator, wanted: AuditWanted | None = None) -> TaskShown:
    """Audit the graph, as a task: all of it, where nothing is said."""
    return begin(service, "audit", (wanted or AuditWanted()).model_dump(mode="json"), asking)


@router.get("/tasks", operation_id="list_tasks")
def list_tasks(service: Served, asking: Viewer, wanted: Annotated[TasksWanted, Query()]) -> TaskList:
    """List tasks, the newest first."""
    found = service.tasks.list(wanted.limit, kind=wanted.kind)
    return TaskList(tasks=[TaskShown.of(task) for task in found])


@router.get("/tasks/{task}", operation_id="get_task")
def get_task(asking: Viewer, task: Known) -> TaskShown:
    """Show one task as it stands."""
    return TaskShown.of(task)


@router.post("/tasks/{task}/cancel", operation_id="cancel_task", status_code=202)
def cancel_task(service: Served, asking: Curator, task: TaskId) -> TaskShown:
    """Let a task end that is one's own, or any where one is an admin; what it did is kept."""
    return TaskShown.of(service.tasks.cancel(task, asking))


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


class JobRow(Shown):
    """A job, when it runs next, and how its last run ended."""

    job: str
    kind: str
    store: str | None
    schedule: str | None
    next: datetime | None
    last: datetime | None
    state: str | None
    severity: str | None


class JobList(Value):
    """All jobs."""

    jobs: list[JobRow]


class JobDetail(Shown):
    """A job with what it takes by default. Paths of the machine are left out."""

    job: str
    kind: str
    store: str | None
    time_zone: str | None
    next: datetime | None
    settings: dict[str, Any] = Field(description="as they stand in the file")


class JobRunRow(Shown):
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


class JobRunList(Value):
    """Runs of jobs, the newest first."""

    runs: list[JobRunRow]


class Amount(Value):
    """Size limit of a list."""

    limit: int = Field(default=20, ge=1, le=500, description="at most so many")


@jobs_router.get("", operation_id="list_jobs")
def list_jobs(service: Served, asking: Viewer) -> JobList:
    """List the jobs, each with its schedule and its last run."""
    rows = job_rows(service.project())
    return JobList(jobs=[JobRow.of(row, store=place_name(row["store"]) if row["store"] else None) for row in rows])


@jobs_router.get("/{job}", operation_id="get_job")
def get_job(service: Served, asking: Viewer, job: JobName) -> JobDetail:
    """Show one job."""
    row = job_row(service.project(), job)
    settings = {name: value for name, value in row.items() if name not in {*JobDetail.model_fields, *_PLACES}}
    store = row["store"]["place"] if row["store"] else None
    return JobDetail.of(row, store=place_name(store) if store else None, settings=settings)


@jobs_router.get("/{job}/history", operation_id="list_runs_of_job")
def list_runs_of_job(service: Served, asking: Viewer, job: JobName, amount: Annotated[Amount, Query()]) -> JobRunList:
    """List the runs of one job, the newest first."""
    return JobRunList(runs=[JobRunRow.of(row) for row in history_rows(service.project(), job, amount.limit)])


@jobs_router.post("/{job}/run", operation_id="run_job", status_code=202)
def run_job(service: Served, asking: Curator, job: JobName) -> TaskShown:
    """Run a job now, as a task. One that was cut off goes on; one that is under way is not started twice.

    While a load is under way, everything else waits for it.
    """
    service.project().job(job)
    return begin(service, "job", {"job": job}, asking)
