"""Runs of jobs: which is under way, by whom, until when it counts as alive, and how the others ended.

A job that is under way has one row in state ``running``, which a unique index keeps to one for all processes and
machines. Who works on it pushes its lease on from time to time; one whose lease has run out was killed, and is taken
over.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import Column, Index, Integer, Row, String, Table, Text, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from kgcheck.errors import JobUnderWay, LedgerError
from kgcheck.ledger.tables import METADATA, JsonText, UtcTime
from kgcheck.ledger.workers import is_gone
from kgcheck.model import Value

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database


class JobState(StrEnum):
    """Where a run of a job stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    LOST = "lost"


JOB_RUN = Table(
    "job_run",
    METADATA,
    Column("number", Integer, primary_key=True, comment="in the order in which they were begun"),
    Column("job", String, nullable=False),
    Column("state", String, nullable=False),
    Column("planned", UtcTime, comment="the time of the schedule that it is of; NULL where somebody began it"),
    Column("started", UtcTime, nullable=False),
    Column("finished", UtcTime),
    Column("worker", String, nullable=False, comment="host and process"),
    Column("lease_until", UtcTime, nullable=False, comment="until then it counts as alive"),
    Column("attempt", Integer, nullable=False),
    Column("run", String, comment="id of its audit; not a key: what is kept of audits is another matter"),
    Column("severity", String),
    Column("message", Text, nullable=False),
    Column("result", JsonText(dict[str, Any]), nullable=False),
    Index("job_run_by_job", "job", "number"),
)
_ONE = JOB_RUN.c.state == JobState.RUNNING.value
Index("job_run_under_way", JOB_RUN.c.job, unique=True, sqlite_where=_ONE, postgresql_where=_ONE)

JOB_SCHEDULE = Table(
    "job_schedule",
    METADATA,
    Column("job", String, primary_key=True),
    Column("schedule", String, nullable=False, comment="the cron words and the time zone"),
    Column("since", UtcTime, nullable=False, comment="firings before it were not missed: nobody waited for them"),
)


class JobRun(Value):
    """One run of a job."""

    number: int
    job: str
    state: JobState
    planned: datetime | None = None
    started: datetime
    finished: datetime | None = None
    worker: str
    lease_until: datetime
    attempt: int = 1
    run: str | None = None
    severity: str | None = None
    message: str = ""
    result: dict[str, Any] = Field(default_factory=dict)


class JobRuns:
    """The runs of jobs in a ledger."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def begin(self, job: str, worker: str, now: datetime, lease: timedelta, planned: datetime | None = None) -> JobRun:
        """Begin a run of a job that is not under way; one that was killed is marked as lost."""
        mine = JOB_RUN.c.job == job
        try:
            with self._database.writing() as connection:
                other = connection.execute(select(JOB_RUN).where(mine, _ONE)).one_or_none()
                if other and not (other.lease_until < now or is_gone(other.worker)):
                    raise JobUnderWay(*_under_way(_run_of(other)))
                if other:
                    lost = {"state": JobState.LOST, "message": "killed: it gave no sign of life"}
                    connection.execute(update(JOB_RUN).where(JOB_RUN.c.number == other.number, _ONE).values(lost))
                row: dict[str, Any] = {
                    "job": job,
                    "state": JobState.RUNNING,
                    "planned": planned,
                    "started": now,
                    "worker": worker,
                    "lease_until": now + lease,
                    "attempt": 1,
                    "message": "",
                    "result": {},
                }
                connection.execute(insert(JOB_RUN).values(row))
                return _run_of(connection.execute(select(JOB_RUN).where(mine, _ONE)).one())
        except LedgerError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            # PostgreSQL lets two begin at once; the index lets only one of them end.
            raise JobUnderWay(f"job {job} has just been begun elsewhere", "wait until it ends") from None

    def sign(self, run: JobRun, until: datetime) -> bool:
        """Push the lease of a run on."""
        return self._change(run, lease_until=until)

    def note(self, of: JobRun, **values: Any) -> bool:
        """Write down what a run under way has come to: attempt, run, message or result."""
        return self._change(of, **values)

    def finish(
        self,
        run: JobRun,
        state: JobState,
        now: datetime,
        *,
        severity: str | None = None,
        message: str = "",
        result: Mapping[str, Any] | None = None,
    ) -> JobRun:
        """Write down how a run ended."""
        values: dict[str, Any] = {"state": state, "finished": now, "severity": severity, "message": message}
        # What the run noted on its way stays: the next one goes on from there.
        values |= {} if result is None else {"result": dict(result)}
        if not self._change(run, **values):
            raise JobUnderWay(*taken_over(run))
        return self.get(run.number)

    def get(self, number: int) -> JobRun:
        """A run by its number."""
        with self._database.reading() as connection:
            return _run_of(connection.execute(select(JOB_RUN).where(JOB_RUN.c.number == number)).one())

    def history(self, job: str | None = None, limit: int | None = None) -> list[JobRun]:
        """Runs, the newest first."""
        query = select(JOB_RUN).order_by(JOB_RUN.c.number.desc()).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(query.where(JOB_RUN.c.job == job) if job else query)
            return [_run_of(row) for row in rows]

    def schedule_since(self, job: str, schedule: str, now: datetime) -> datetime:
        """Since when a job has had its schedule; from now on, where it is new or another one."""
        mine = JOB_SCHEDULE.c.job == job
        with self._database.writing() as connection:
            row = connection.execute(select(JOB_SCHEDULE).where(mine)).one_or_none()
            if row is None:
                connection.execute(insert(JOB_SCHEDULE).values(job=job, schedule=schedule, since=now))
            elif row.schedule != schedule:
                connection.execute(update(JOB_SCHEDULE).where(mine).values(schedule=schedule, since=now))
            else:
                return row.since  # type: ignore[no-any-return]
        return now

    def last_planned(self, job: str) -> datetime | None:
        """The newest time of the schedule for which a run of the job was begun."""
        query = select(func.max(JOB_RUN.c.planned)).where(JOB_RUN.c.job == job)
        with self._database.reading() as connection:
            return connection.execute(query).scalar()

    def _change(self, of: JobRun, **values: Any) -> bool:
        mine = (JOB_RUN.c.number == of.number) & _ONE
        with self._database.writing() as connection:
            return connection.execute(update(JOB_RUN).where(mine).values(**values)).rowcount == 1


def taken_over(run: JobRun) -> tuple[str, str]:
    """What is to be known, and done, where a run's lease ran out while it was at work."""
    return (
        f"this run of job {run.job} gave no sign of life for so long that it counts as killed",
        "kgcheck job history shows who has taken it over",
    )


def _under_way(run: JobRun) -> tuple[str, str]:
    who = " ".join(run.worker.split(" ")[:2])
    return (
        f"job {run.job} is under way: {who} began it at {run.started:%Y-%m-%d %H:%M:%S} UTC",
        f"wait until it ends; if it was killed, it is taken over after {run.lease_until:%H:%M:%S} UTC",
    )


def _run_of(row: Row[Any]) -> JobRun:
    return JobRun(**row._mapping)
