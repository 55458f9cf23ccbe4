"""Work that is under way, waits, or is over: runs of jobs, and tasks that were begun through a service.

Who works pushes a lease on from time to time; one whose lease has run out was killed. A task is then taken over as it
stands; a run of a job is marked as lost, and another one goes on with what it did. A unique index keeps runs of a job
that are under way to one, for all processes and machines. Every write of a worker names the worker: one that has lost
its work changes nothing of it any more.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import Field
from sqlalchemy import Boolean, Column, Index, Integer, Row, String, Table, Text, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from kgcheck.errors import JobUnderWay, LedgerError, UnknownName
from kgcheck.ledger.tables import METADATA, JsonText, UtcTime
from kgcheck.ledger.workers import is_gone
from kgcheck.model import Value

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database

_OBJECT = dict[str, Any]


class WorkState(StrEnum):
    """State of work; a task is waiting, running, done, failed or cancelled, a run of a job never waits."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    LOST = "lost"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will become of it."""
        return self not in (WorkState.WAITING, WorkState.RUNNING)


WORK = Table(
    "work",
    METADATA,
    Column("number", Integer, primary_key=True, comment="in the order in which they were begun"),
    Column("id", String, unique=True, nullable=False),
    Column("job", String, comment="of a run of a job: its name; NULL of a task of a service"),
    Column("kind", String, nullable=False),
    Column("parameters", JsonText(_OBJECT), nullable=False),
    Column("state", String, nullable=False),
    Column("step", String, nullable=False, comment="what is being done, in words"),
    Column("done", Integer, nullable=False, comment="units of the step"),
    Column("total", Integer, comment="of the units; NULL where nobody knows"),
    Column("by", String, nullable=False, comment="of a task: who began it"),
    Column("planned", UtcTime, comment="the time of the schedule that it is of; NULL where somebody began it"),
    Column("created", UtcTime, nullable=False),
    Column("started", UtcTime),
    Column("ended", UtcTime),
    Column("worker", String, nullable=False, comment="host and process; empty while it waits"),
    Column("lease_until", UtcTime, comment="until then the worker counts as alive"),
    Column("attempt", Integer, nullable=False),
    Column("run", String, comment="id of its audit; not a key: what is kept of audits is another matter"),
    Column("severity", String, comment="of a run of a job"),
    Column("message", Text, nullable=False, comment="of a run of a job"),
    Column("noted", JsonText(_OBJECT), nullable=False, comment="where it goes on after a kill"),
    Column("result", JsonText(_OBJECT), nullable=False),
    Column("error", JsonText(_OBJECT), nullable=False, comment="title, detail and hint; empty where there was none"),
    Column("stop", Boolean, nullable=False, comment="somebody wants it to end"),
    Column("version", Integer, nullable=False, comment="one more with each change that somebody may see"),
    Index("work_by_state", "state", "number"),
    Index("work_by_job", "job", "number"),
)
_RUNNING = WORK.c.state == WorkState.RUNNING.value
_WAITING = WORK.c.state == WorkState.WAITING.value
_IS_TASK = WORK.c.job.is_(None)
Index("work_under_way", WORK.c.job, unique=True, sqlite_where=_RUNNING, postgresql_where=_RUNNING)

JOB_SCHEDULE = Table(
    "job_schedule",
    METADATA,
    Column("job", String, primary_key=True),
    Column("schedule", String, nullable=False, comment="the cron words and the time zone"),
    Column("since", UtcTime, nullable=False, comment="firings before it were not missed: nobody waited for them"),
)

_SHOWN = ("number", "job", "state", "planned", "started", "finished", "worker", "lease_until", "attempt")
_SHOWN_AT_ITS_END = ("run", "severity", "message", "result")
_OF_WORKERS = {"number", "job", "planned", "severity", "message", "worker", "lease_until", "noted", "stop"}


class WorkItem(Value):
    """A run of a job, or a task of a service."""

    number: int = 0
    id: str = Field(default_factory=lambda: uuid4().hex[:16])
    job: str | None = None
    kind: str = "job"
    parameters: dict[str, Any] = Field(default_factory=dict)
    state: WorkState = WorkState.WAITING
    step: str = ""
    done: int = 0
    total: int | None = None
    by: str = ""
    planned: datetime | None = None
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    worker: str = ""
    lease_until: datetime | None = None
    attempt: int = 0
    run: str | None = None
    severity: str | None = None
    message: str = ""
    noted: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Any] = Field(default_factory=dict)
    error: dict[str, Any] = Field(default_factory=dict)
    stop: bool = False
    version: int = 1

    def as_row(self) -> dict[str, Any]:
        """A task as those who follow it get to see it."""
        stopping = {"stopping": self.stop and not self.state.is_over}
        return self.model_dump(mode="json", exclude=_OF_WORKERS) | stopping

    def as_job_run(self) -> dict[str, Any]:
        """A run of a job as its history shows it."""
        row = self.model_dump(mode="json")
        row["finished"] = row["ended"]
        return {name: row[name] for name in (*_SHOWN, *_SHOWN_AT_ITS_END)}


class WorkTable:
    """Reads and writes work."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def add(self, work: WorkItem) -> WorkItem:
        """Write down new work."""
        with self._database.writing() as connection:
            number = connection.scalar(insert(WORK).returning(WORK.c.number), work.model_dump(exclude={"number"}))
        return work.model_copy(update={"number": number})

    def begin(
        self, job: str, worker: str, now: datetime, lease: timedelta, planned: datetime | None = None
    ) -> WorkItem:
        """Begin a run of a job that is not under way; one that was killed is marked as lost."""
        mine = (WORK.c.job == job) & _RUNNING
        begun = WorkItem(
            job=job,
            state=WorkState.RUNNING,
            planned=planned,
            created=now,
            started=now,
            worker=worker,
            lease_until=now + lease,
            attempt=1,
        )
        try:
            with self._database.writing() as connection:
                other = connection.execute(select(WORK).where(mine)).one_or_none()
                if other and not (other.lease_until < now or is_gone(other.worker)):
                    raise JobUnderWay(*_under_way(_work_of(other)))
                if other:
                    lost = {"state": WorkState.LOST, "message": "killed: it gave no sign of life"}
                    connection.execute(update(WORK).where(mine).values(lost))
                connection.execute(insert(WORK), begun.model_dump(exclude={"number"}))
                return _work_of(connection.execute(select(WORK).where(mine)).one())
        except LedgerError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            # PostgreSQL lets two begin at once; the index lets only one of them end.
            raise JobUnderWay(f"job {job} has just been begun elsewhere", "wait until it ends") from None

    def take(self, task: WorkItem, worker: str, now: datetime, lease: timedelta) -> WorkItem | None:
        """Begin a task that waits, or go on with one whose worker is gone."""
        # The worker that was seen is the one it is taken from: of two who see it dead, one gets it.
        same = (WORK.c.id == task.id) & (WORK.c.worker == task.worker) & (WORK.c.attempt == task.attempt)
        values: dict[str, Any] = {
            "state": WorkState.RUNNING,
            "worker": worker,
            "lease_until": now + lease,
            "attempt": task.attempt + 1,
            "version": WORK.c.version + 1,
            "started": task.started or now,
        }
        with self._database.writing() as connection:
            taken = connection.execute(update(WORK).where(same, or_(_WAITING, _RUNNING)).values(**values)).rowcount
        return self.task(task.id) if taken else None

    def change(self, work: WorkItem, **values: Any) -> bool:
        """Write down what work under way has come to; False where it is another's by now."""
        mine = (WORK.c.number == work.number) & (WORK.c.worker == work.worker) & _RUNNING
        shown = values.keys() - {"lease_until", "noted"}
        values |= {"version": WORK.c.version + 1} if shown else {}
        with self._database.writing() as connection:
            return connection.execute(update(WORK).where(mine).values(**values)).rowcount == 1

    def finish(
        self,
        run: WorkItem,
        state: WorkState,
        now: datetime,
        *,
        severity: str | None = None,
        message: str = "",
        result: Mapping[str, Any] | None = None,
    ) -> WorkItem:
        """Write down how a run of a job ended."""
        values: dict[str, Any] = {"state": state, "ended": now, "severity": severity, "message": message}
        # What the run noted on its way stays: the next one goes on from there.
        values |= {} if result is None else {"result": dict(result)}
        if not self.change(run, **values):
            raise JobUnderWay(*taken_over(run))
        return self.get(run.number)

    def get(self, number: int) -> WorkItem:
        """Work by its number."""
        with self._database.reading() as connection:
            return _work_of(connection.execute(select(WORK).where(WORK.c.number == number)).one())

    def task(self, name: str) -> WorkItem:
        """A task by its id."""
        with self._database.reading() as connection:
            row = connection.execute(select(WORK).where(WORK.c.id == name, _IS_TASK)).one_or_none()
        if row is None:
            raise UnknownName("task", name, (), "GET /v1/tasks lists them")
        return _work_of(row)

    def tasks(self, limit: int, *, before: int | None = None, kind: str | None = None) -> list[WorkItem]:
        """Tasks, the newest first."""
        query = select(WORK).where(_IS_TASK).order_by(WORK.c.number.desc()).limit(limit)
        query = query.where(WORK.c.number < before) if before is not None else query
        return self._all(query.where(WORK.c.kind == kind) if kind is not None else query)

    def open(self) -> list[WorkItem]:
        """Tasks that wait or are under way, in the order in which they were begun."""
        return self._all(select(WORK).where(_IS_TASK, or_(_WAITING, _RUNNING)).order_by(WORK.c.number))

    def wants_end(self, number: int) -> bool:
        """Tell whether somebody wants work to end."""
        with self._database.reading() as connection:
            return bool(connection.scalar(select(WORK.c.stop).where(WORK.c.number == number)))

    def cancel(self, name: str, now: datetime) -> WorkItem:
        """Let a task end: one that waits at once, one under way when its worker sees it."""
        mine, newer = (WORK.c.id == name) & _IS_TASK, WORK.c.version + 1
        with self._database.writing() as connection:
            ended = {"state": WorkState.CANCELLED, "ended": now, "stop": True, "version": newer}
            connection.execute(update(WORK).where(mine, _WAITING).values(**ended))
            wanted = mine & _RUNNING & ~WORK.c.stop
            connection.execute(update(WORK).where(wanted).values(stop=True, version=newer))
        return self.task(name)

    def history(self, job: str | None = None, limit: int | None = None) -> list[WorkItem]:
        """Runs of jobs, the newest first."""
        query = select(WORK).where(WORK.c.job == job if job else ~_IS_TASK)
        return self._all(query.order_by(WORK.c.number.desc()).limit(limit))

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
        query = select(func.max(WORK.c.planned)).where(WORK.c.job == job)
        with self._database.reading() as connection:
            return connection.execute(query).scalar()

    def _all(self, query: Any) -> list[WorkItem]:
        with self._database.reading() as connection:
            return [_work_of(row) for row in connection.execute(query)]


def taken_over(run: WorkItem) -> tuple[str, str]:
    """Say that a run's lease ran out while it was at work, and what to do."""
    return (
        f"this run of job {run.job} gave no sign of life for so long that it counts as killed",
        "kgcheck job history shows who has taken it over",
    )


def _under_way(run: WorkItem) -> tuple[str, str]:
    who = " ".join(run.worker.split(" ")[:2])
    return (
        f"job {run.job} is under way: {who} began it at {run.started:%Y-%m-%d %H:%M:%S} UTC",
        f"wait until it ends; if it was killed, it is taken over after {run.lease_until:%H:%M:%S} UTC",
    )


def _work_of(row: Row[Any]) -> WorkItem:
    return WorkItem(**row._mapping)
