"""The jobs of the kgcheck.toml that the service was started with."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from pydantic import Field

from kgcheck.errors import UsageError
from kgcheck.model import Value
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.shapes import place_name
from kgcheck.service.api.tasks import TaskShown, begin, cancel_open
from kgcheck.service.state import Served, Service
from kgcheck.workspace.job_listing import history_rows, job_row, job_rows, next_rows

router = APIRouter(prefix="/jobs", tags=["jobs"])

JobName = Annotated[
    str, InPath(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", description="a job's name", examples=["nightly"])
]
_PLACES = ("file", "ledger", "reference", "literature", "directory", "out", "quarantine")


class JobRow(Value):
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


class JobDetail(Value):
    """A job with what it takes by default. Paths of the machine are left out."""

    job: str
    kind: str
    store: str | None
    time_zone: str | None
    next: datetime | None
    settings: dict[str, Any] = Field(description="as they stand in the file")


class JobRunRow(Value):
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


class Firing(Value):
    """A time at which a job is to run."""

    at: datetime
    zone: str
    job: str


class Firings(Value):
    """The next times at which jobs are to run, in order."""

    next: list[Firing]


class Amount(Value):
    """Size limit of a list."""

    limit: int = Field(default=20, ge=1, le=500, description="at most so many")


@router.get("", operation_id="list_jobs")
def list_jobs(service: Served, asking: Viewer) -> JobList:
    """List the jobs, each with its schedule and its last run."""
    rows = [{**row, "store": place_name(row["store"]) if row["store"] else None} for row in job_rows(service.project())]
    return JobList(jobs=[JobRow(**row) for row in rows])


@router.get("/next", operation_id="list_next")
def list_next(service: Served, asking: Viewer, amount: Annotated[Amount, Query()]) -> Firings:
    """Show when jobs are to run next."""
    return Firings(next=[Firing(**row) for row in next_rows(service.project(), amount.limit)])


@router.get("/history", operation_id="list_job_runs")
def list_job_runs(service: Served, asking: Viewer, amount: Annotated[Amount, Query()]) -> JobRunList:
    """List the runs of all jobs, the newest first."""
    return _history(service, None, amount.limit)


@router.get("/{job}", operation_id="get_job")
def get_job(service: Served, asking: Viewer, job: JobName) -> JobDetail:
    """Show one job."""
    row = job_row(service.project(), job)
    shown = {"job", "kind", "store", "time_zone", "next"}
    settings = {name: value for name, value in row.items() if name not in shown | set(_PLACES)}
    # Where reports and files go is of this machine.
    settings.pop("reports", None)
    store = row["store"]["place"] if row["store"] else None
    return JobDetail(
        job=row["job"],
        kind=row["kind"],
        store=place_name(store) if store else None,
        time_zone=row["time_zone"],
        next=row["next"],
        settings=settings,
    )


@router.get("/{job}/history", operation_id="list_runs_of_job")
def list_runs_of_job(service: Served, asking: Viewer, job: JobName, amount: Annotated[Amount, Query()]) -> JobRunList:
    """List the runs of one job, the newest first."""
    return _history(service, job, amount.limit)


@router.post("/{job}/run", operation_id="run_job", status_code=202)
def run_job(service: Served, asking: Curator, job: JobName) -> TaskShown:
    """Run a job now, as a task. One that was cut off goes on; one that is under way is not started twice.

    While a load is under way, everything else waits for it.
    """
    service.project().job(job)
    return begin(service, "job", {"job": job}, asking)


@router.post("/{job}/stop", operation_id="stop_job", status_code=202)
def stop_job(service: Served, asking: Curator, job: JobName) -> TaskShown:
    """Stop a run of a job that this service began; what it did is kept, and the next run goes on from there."""
    service.project().job(job)
    if stopped := cancel_open(service, "job", {"job": job}, asking):
        return stopped
    raise UsageError(f"no run of the job {job} was begun through this service", "stop it where it was begun")


def _history(service: Service, job: str | None, limit: int) -> JobRunList:
    names = JobRunRow.model_fields
    rows = history_rows(service.project(), job, limit)
    return JobRunList(runs=[JobRunRow(**{name: row[name] for name in names}) for row in rows])
