"""Job runs and service tasks as rows of the ledger, with a lease, progress and cancelling.

Who works pushes a lease on from time to time; one whose lease has run out was killed. What a service began is then
taken over as it stands; a run of ``kgcheck job run`` is marked as lost, and another one goes on with what it did. A
unique index keeps runs of a job that are under way to one, for all processes and machines. Every write of a worker
names the worker: one that has lost its work changes nothing of it any more.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from pydantic import Field
from sqlalchemy import (
    Column,
    Connection,
    Index,
    String,
    Table,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from kgcheck import clock
from kgcheck.closing import Closing
from kgcheck.errors import JobUnderWay, KgcheckError, LedgerError, UnknownName
from kgcheck.ledger.tables import METADATA, LedgerTable, UtcTime, read_row, table_of
from kgcheck.model import Value
from kgcheck.progress import NoProgress, Progress, ProgressStep

_MARK = uuid4().hex[:8]


def this_worker() -> str:
    """This process: host and number, for people; where that number counts; and what no other process has."""
    return f"{socket.gethostname()} {os.getpid()} {_place()}-{_MARK}"


def is_gone(worker: str) -> bool:
    """Return whether a worker's process, on this machine, is known to be gone before its lease runs out."""
    host, number, mark = (*worker.split(" "), "", "")[:3]
    if host != socket.gethostname() or not number.isdecimal():
        return False
    if int(number) == os.getpid():
        # A container gives each of its processes the same number, one after the other.
        return bool(mark) and worker != this_worker()
    place, dash, _ = mark.partition("-")
    if dash and place != _place():
        # A container that has the name of its host, and numbers of its own.
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@cache
def _place() -> str:
    """Names where numbers of processes mean the same: this machine since it was started, or a container."""
    found = ""
    with suppress(OSError):
        found += Path("/proc/sys/kernel/random/boot_id").read_text()
    with suppress(OSError):
        found += os.readlink("/proc/self/ns/pid")
    return sha256(found.encode()).hexdigest()[:8]


LEASE = timedelta(seconds=60)
"""Longest silence of a live worker: machines whose clocks differ by more must not share a ledger."""


class WorkState(StrEnum):
    """State of work; only what a service began waits."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    LOST = "lost"

    @property
    def is_over(self) -> bool:
        return self not in (WorkState.WAITING, WorkState.RUNNING)


JOB_SCHEDULE = Table(
    "job_schedule",
    METADATA,
    Column("job", String, primary_key=True),
    Column("schedule", String, nullable=False, comment="the cron words and the time zone"),
    Column("since", UtcTime, nullable=False, comment="firings before it were not missed: nobody waited for them"),
)

_OF_JOBS = ("number", "state", "severity", "message", "run")
_OF_WORKERS = {"number", "job", "planned", "severity", "message", "worker", "lease_until", "noted", "stop"}


class WorkItem(Value):
    """A run of a job, or a task of a service, or both."""

    number: int = 0
    id: str = Field(default_factory=lambda: uuid4().hex[:16])
    job: str | None = Field(default=None, description="of a run of a job: its name")
    kind: str = "job"
    parameters: dict[str, Any] = Field(default_factory=dict)
    state: WorkState = WorkState.WAITING
    step: str = Field(default="", description="what is being done, in words")
    done: int = Field(default=0, description="units of the step")
    total: int | None = Field(default=None, description="of the units; none where nobody knows")
    by: str = Field(default="", description="who began it through a service; empty where a command did")
    planned: datetime | None = Field(default=None, description="the time of the schedule that it is of")
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    worker: str = Field(default="", description="host and process; empty while it waits")
    lease_until: datetime | None = Field(default=None, description="until then the worker counts as alive")
    attempt: int = 0
    run: str | None = Field(default=None, description="id of its audit, which may be kept or not")
    severity: str | None = Field(default=None, description="of a run of a job")
    message: str = ""
    noted: dict[str, Any] = Field(default_factory=dict, description="where it goes on after a kill")
    result: dict[str, Any] = Field(default_factory=dict)
    error: dict[str, Any] = Field(default_factory=dict, description="title, detail and hint")
    stop: bool = Field(default=False, description="somebody wants it to end")
    version: int = Field(default=1, description="one more with each change that somebody may see")

    def as_row(self) -> dict[str, Any]:
        row = self.model_dump(mode="json")
        shown = {name: value for name, value in row.items() if name not in _OF_WORKERS}
        if self.job:
            # Where its reports are is of this machine.
            result = {name: row[name] for name in _OF_JOBS} | {name: self.result.get(name) for name in ("new", "notes")}
            shown["result"] = result if self.state is WorkState.DONE else {}
        return shown | {"stopping": self.stop and not self.state.is_over}

    def as_job_run(self) -> dict[str, Any]:
        row = self.model_dump(mode="json")
        row["finished"] = row["ended"]
        shown = "number job state planned started finished worker lease_until attempt run severity message result"
        return {name: row[name] for name in shown.split()}


WORK = table_of(
    "work",
    WorkItem,
    Column("id", String, unique=True, nullable=False),
    Index("work_by_state", "state", "number"),
    Index("work_by_job", "job", "number"),
    text=("message",),
)
_RUNNING = WORK.c.state == WorkState.RUNNING.value
_WAITING = WORK.c.state == WorkState.WAITING.value
_IS_OPEN = or_(_WAITING, _RUNNING)
_IS_TASK = WORK.c.by != ""
Index("work_under_way", WORK.c.job, unique=True, sqlite_where=_RUNNING, postgresql_where=_RUNNING)


class WorkTable(LedgerTable):
    """Reads and writes work."""

    def add(self, work: WorkItem) -> WorkItem:
        with self._database.writing() as connection:
            number = connection.scalar(insert(WORK).returning(WORK.c.number), work.model_dump(exclude={"number"}))
        return work.model_copy(update={"number": number})

    def begin(self, work: WorkItem, worker: str, now: datetime, lease: timedelta = LEASE) -> WorkItem:
        """Begin work that is new or waits, or take it over from a worker who is gone.

        A run of the same job whose worker is gone is marked as lost. JobUnderWay where it is alive, or where another
        worker was quicker.
        """
        values: dict[str, Any] = {
            "state": WorkState.RUNNING,
            "worker": worker,
            "lease_until": now + lease,
            "attempt": work.attempt + 1,
            "started": work.started or now,
        }
        # The worker that was seen is the one it is taken from: of two who see it dead, one gets it.
        seen = (WORK.c.number == work.number) & (WORK.c.worker == work.worker) & (WORK.c.attempt == work.attempt)
        try:
            with self._database.writing() as connection:
                if work.job is not None:
                    _make_way(connection, work, worker, now)
                if work.number:
                    taken = update(WORK).where(seen, _IS_OPEN).values(**values, version=WORK.c.version + 1)
                    row = connection.execute(taken.returning(*WORK.c)).one_or_none()
                else:
                    new = work.model_copy(update=values).model_dump(exclude={"number"})
                    row = connection.execute(insert(WORK).returning(*WORK.c), new).one()
        except LedgerError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            # PostgreSQL lets two begin at once; the index lets only one of them end.
            row = None
        if row is None:
            name = f"job {work.job}" if work.job else "it"
            raise JobUnderWay(f"{name} has just been begun elsewhere", "wait until it ends")
        return read_row(WorkItem, row)

    def change(self, work: WorkItem, **values: Any) -> bool:
        """Write down what work that is not over has come to; False where it is another's by now."""
        mine = (WORK.c.number == work.number) & (WORK.c.worker == work.worker)
        shown = values.keys() - {"lease_until", "noted"}
        values |= {"version": WORK.c.version + 1} if shown else {}
        with self._database.writing() as connection:
            return connection.execute(update(WORK).where(mine, _IS_OPEN).values(**values)).rowcount == 1

    def get(self, number: int) -> WorkItem:
        (found,) = self._all(select(WORK).where(WORK.c.number == number))
        return found

    def task(self, name: str) -> WorkItem:
        if found := self._all(select(WORK).where(WORK.c.id == name, _IS_TASK)):
            return found[0]
        raise UnknownName("task", name, (), "GET /v1/tasks lists them")

    def tasks(self, limit: int, *, kind: str | None = None) -> list[WorkItem]:
        query = select(WORK).where(_IS_TASK).order_by(WORK.c.number.desc()).limit(limit)
        return self._all(query.where(WORK.c.kind == kind) if kind is not None else query)

    def open(self) -> list[WorkItem]:
        """Tasks that wait or are under way, in the order in which they were begun."""
        return self._all(select(WORK).where(_IS_TASK, _IS_OPEN).order_by(WORK.c.number))

    def wants_end(self, number: int) -> bool:
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
        query = select(WORK).where(WORK.c.job == job if job else WORK.c.job.is_not(None))
        return self._all(query.order_by(WORK.c.number.desc()).limit(limit))

    def schedule_since(self, job: str, schedule: str, now: datetime) -> datetime:
        """Return the time since which a job has had its schedule; from now on, where it is new or another one."""
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
        query = select(func.max(WORK.c.planned)).where(WORK.c.job == job)
        with self._database.reading() as connection:
            return connection.execute(query).scalar()

    def _all(self, query: Any) -> list[WorkItem]:
        with self._database.reading() as connection:
            return [read_row(WorkItem, row) for row in connection.execute(query)]


def _make_way(connection: Connection, work: WorkItem, worker: str, now: datetime) -> None:
    """Mark another run of the same job as lost; JobUnderWay where it is alive."""
    others = (WORK.c.job == work.job) & _RUNNING & (WORK.c.number != work.number)
    row = connection.execute(select(WORK).where(others)).one_or_none()
    if row is None:
        return
    if row.worker == worker or not (row.lease_until < now or is_gone(row.worker)):
        who = " ".join(row.worker.split(" ")[:2])
        raise JobUnderWay(
            f"job {row.job} is under way: {who} began it at {row.started:%Y-%m-%d %H:%M:%S} UTC",
            f"wait until it ends; if it was killed, it is taken over after {row.lease_until:%H:%M:%S} UTC",
        )
    lost = {"state": WorkState.LOST, "message": "killed: it gave no sign of life"}
    connection.execute(update(WORK).where(others).values(**lost, version=WORK.c.version + 1))


SIGN_EVERY = timedelta(seconds=10)
"""Interval at which a worker says that it is alive (heartbeat)."""

LOOK_EVERY_S = 1.0
"""Least seconds between records of progress, when requests to end the work are heard, too."""


class Ending(Exception):
    """Ends work between two pieces of it. Not a KgcheckError: nothing went wrong."""


class Lease(Closing):
    """Says that work is alive and how far it has come, and hears that it is another's by now, or is to end.

    It is looked after by a thread of its own, never by the threads that work: they may be in a transaction of the
    ledger themselves.
    """

    def __init__(self, table: WorkTable, work: WorkItem, *, stopping: threading.Event | None = None) -> None:
        self.work = work
        self.lost = threading.Event()
        self.cancelled = threading.Event()
        self.step: dict[str, Any] = {}
        self._shown: dict[str, Any] = {}
        self._signed = work.started or clock.now()
        self._table = table
        self._stopping = stopping or threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, every: float = LOOK_EVERY_S) -> Self:
        """Look after it each time after so many seconds, until it is closed."""
        self._thread = threading.Thread(target=self._keep, args=(every,), name="lease", daemon=True)
        self._thread.start()
        return self

    def check(self) -> None:
        if self.lost.is_set() or self.cancelled.is_set() or self._stopping.is_set():
            raise Ending

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than the work is one's own."""
        self.lost.wait(seconds)
        self.check()

    def note(self, **values: Any) -> None:
        if not self._table.change(self.work, **values):
            self.lost.set()
            raise Ending
        self.work = self.work.model_copy(update=values)

    def watch(self, progress: Progress | None = None) -> Progress:
        """Progress at whose steps the work ends where it must."""
        return _Watched(progress or NoProgress(), self)

    def perform(self, work: Callable[[], dict[str, Any]]) -> None:
        """Do work that has a result, and write down how it ended; what went wrong in it is raised again."""
        try:
            try:
                self.check()
                result = work()
            except BaseException as error:
                self.note(**self.step, **ended_by(error, self.work, is_cancelled=self.cancelled.is_set()))
                raise
            self.note(**self.step, **_over(WorkState.DONE, result=result))
        except BaseException as error:
            if self.lost.is_set():
                raise JobUnderWay(
                    f"this run of job {self.work.job} gave no sign of life for so long that it counts as killed",
                    "kgcheck job history shows who has taken it over",
                ) from error
            raise

    def close(self) -> None:
        self._closed.set()
        if self._thread:
            self._thread.join()

    def _keep(self, every: float) -> None:
        while not self._closed.wait(every) and not self.lost.is_set():
            try:
                self._look()
            except LedgerError:
                # Who cannot write to the ledger cannot take over either: the next sign may come through.
                continue

    def _look(self) -> None:
        """Write down how far the work has come and that it is alive, and see who wants it to end."""
        step, at = self.step, clock.now()
        values = dict(step) if step != self._shown else {}
        is_due = at - self._signed >= SIGN_EVERY
        values |= {"lease_until": at + LEASE} if is_due else {}
        if values and not self._table.change(self.work, **values):
            self.lost.set()
        self._shown = step
        self._signed = at if is_due else self._signed
        if self._table.wants_end(self.work.number):
            self.cancelled.set()


def _over(state: WorkState, **values: Any) -> dict[str, Any]:
    return {"state": state, "ended": clock.now(), "lease_until": None, **values}


def ended_by(error: BaseException, work: WorkItem, *, is_cancelled: bool = False) -> dict[str, Any]:
    """Values of work that an error ended."""
    name, is_of_service = type(error).__name__, bool(work.by)
    match error:
        case Ending() if not is_cancelled:
            # Handed back: it goes on with the next worker.
            return {"state": WorkState.WAITING, "worker": "", "lease_until": None, "attempt": 0}
        case Ending():
            return _over(WorkState.CANCELLED)
        case KgcheckError():
            shown = {"title": name, "detail": error.message} | ({"hint": error.hint} if error.hint else {})
            return _over(WorkState.FAILED, message=error.in_one_line, error=shown)
        case Exception() if is_of_service:
            fault = f"this is a fault in kgcheck: {name}"
            shown = {"title": "Fault", "detail": fault, "hint": "please report it"}
            return _over(WorkState.FAILED, message=fault, error=shown)
        case _:
            # Of a command also an error of a library in C, which is what Ctrl-C becomes there.
            return _over(WorkState.INTERRUPTED, message=f"interrupted: {name}")


@dataclass
class _Watched:
    progress: Progress
    lease: Lease

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[ProgressStep]:
        with self.progress.step(description, total) as step:
            watched = _WatchedStep(step, self.lease, {"step": description, "done": 0, "total": total})
            watched.advance(0)
            yield watched


@dataclass
class _WatchedStep:
    step: ProgressStep
    lease: Lease
    shown: dict[str, Any]

    def advance(self, amount: int = 1) -> None:
        self.lease.check()
        self.shown = self.lease.step = {**self.shown, "done": self.shown["done"] + amount}
        if amount:
            self.step.advance(amount)
