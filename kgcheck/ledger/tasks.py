"""Long work that was begun through a service: how far it has come, and who is at it until when.

Who works on a task pushes its lease on from time to time; one whose lease has run out was killed, and is taken over.
Every write of a worker names the worker: one that has lost its task changes nothing of it any more.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import Boolean, Column, Index, Integer, Row, String, Table, insert, or_, select, update

from kgcheck.errors import UnknownName
from kgcheck.ledger.tables import METADATA, JsonText, UtcTime
from kgcheck.model import Value

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database

_OBJECT = dict[str, Any]

TASK = Table(
    "service_task",
    METADATA,
    Column("number", Integer, primary_key=True, comment="in the order in which they were begun"),
    Column("id", String, unique=True, nullable=False),
    Column("kind", String, nullable=False),
    Column("parameters", JsonText(_OBJECT), nullable=False),
    Column("state", String, nullable=False),
    Column("step", String, nullable=False, comment="what is being done, in words"),
    Column("done", Integer, nullable=False, comment="units of the step"),
    Column("total", Integer, comment="of the units; NULL where nobody knows"),
    Column("by", String, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("started", UtcTime),
    Column("ended", UtcTime),
    Column("run", String, comment="id of its audit; not a key: it is chosen before the audit is begun"),
    Column("noted", JsonText(_OBJECT), nullable=False, comment="where it goes on after a kill"),
    Column("result", JsonText(_OBJECT), nullable=False),
    Column("error", JsonText(_OBJECT), nullable=False, comment="title, detail and hint; empty where there was none"),
    Column("stop", Boolean, nullable=False, comment="somebody wants it to end"),
    Column("worker", String, nullable=False, comment="who is at it; empty while it waits"),
    Column("lease_until", UtcTime, comment="until then the worker counts as alive"),
    Column("attempt", Integer, nullable=False),
    Column("version", Integer, nullable=False, comment="one more with each change that somebody may see"),
    Index("service_task_by_state", "state", "number"),
)


class TaskState(StrEnum):
    """Where a task stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will become of it."""
        return self not in (TaskState.WAITING, TaskState.RUNNING)


class Task(Value):
    """Long work that was begun through a service."""

    number: int = 0
    id: str
    kind: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    state: TaskState = TaskState.WAITING
    step: str = ""
    done: int = 0
    total: int | None = None
    by: str
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    run: str | None = None
    noted: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Any] = Field(default_factory=dict)
    error: dict[str, Any] = Field(default_factory=dict)
    stop: bool = False
    worker: str = ""
    lease_until: datetime | None = None
    attempt: int = 0
    version: int = 1

    def as_row(self) -> dict[str, Any]:
        """What those who follow a task get to see."""
        return self.model_dump(mode="json", exclude={"number", "worker", "lease_until", "noted", "stop"}) | {
            "stopping": self.stop and not self.state.is_over
        }


_RUNNING = TASK.c.state == TaskState.RUNNING.value
_WAITING = TASK.c.state == TaskState.WAITING.value


class TaskTable:
    """Reads and writes tasks."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def add(self, task: Task) -> Task:
        """Write down a new task."""
        row = task.model_dump(exclude={"number"}) | {"state": task.state.value}
        with self._database.writing() as connection:
            number = connection.scalar(insert(TASK).returning(TASK.c.number), row)
        return task.model_copy(update={"number": number})

    def one(self, name: str) -> Task:
        """A task by its id."""
        with self._database.reading() as connection:
            row = connection.execute(select(TASK).where(TASK.c.id == name)).one_or_none()
        if row is None:
            raise UnknownName("task", name, (), "GET /v1/tasks lists them")
        return _task_of(row)

    def newest(self, limit: int, *, before: int | None = None, kind: str | None = None) -> list[Task]:
        """Tasks, the newest first."""
        query = select(TASK).order_by(TASK.c.number.desc()).limit(limit)
        query = query.where(TASK.c.number < before) if before is not None else query
        query = query.where(TASK.c.kind == kind) if kind is not None else query
        with self._database.reading() as connection:
            return [_task_of(row) for row in connection.execute(query)]

    def open(self) -> list[Task]:
        """Tasks that wait or are under way, in the order in which they were begun."""
        with self._database.reading() as connection:
            rows = connection.execute(select(TASK).where(or_(_WAITING, _RUNNING)).order_by(TASK.c.number))
            return [_task_of(row) for row in rows]

    def take(self, task: Task, worker: str, now: datetime, lease: timedelta) -> Task | None:
        """Begin a task that waits, or go on with one whose worker is gone."""
        # The worker that was seen is the one it is taken from: of two who see it dead, one gets it.
        same = (TASK.c.id == task.id) & (TASK.c.worker == task.worker) & (TASK.c.attempt == task.attempt)
        values: dict[str, Any] = {
            "state": TaskState.RUNNING.value,
            "worker": worker,
            "lease_until": now + lease,
            "attempt": task.attempt + 1,
            "version": TASK.c.version + 1,
            "started": task.started or now,
        }
        with self._database.writing() as connection:
            taken = connection.execute(update(TASK).where(same, or_(_WAITING, _RUNNING)).values(**values)).rowcount
        return self.one(task.id) if taken else None

    def change(self, task: Task, **values: Any) -> bool:
        """Write down what a task has come to."""
        mine = (TASK.c.id == task.id) & (TASK.c.worker == task.worker) & _RUNNING
        shown = values.keys() - {"lease_until", "noted"}
        values |= {"version": TASK.c.version + 1} if shown else {}
        with self._database.writing() as connection:
            return connection.execute(update(TASK).where(mine).values(**values)).rowcount == 1

    def wants_end(self, name: str) -> bool:
        """Whether somebody wants a task to end."""
        with self._database.reading() as connection:
            return bool(connection.scalar(select(TASK.c.stop).where(TASK.c.id == name)))

    def cancel(self, name: str, now: datetime) -> Task:
        """Let a task end: one that waits at once, one under way when its worker sees it."""
        mine, newer = TASK.c.id == name, TASK.c.version + 1
        with self._database.writing() as connection:
            ended = {"state": TaskState.CANCELLED.value, "ended": now, "stop": True, "version": newer}
            connection.execute(update(TASK).where(mine, _WAITING).values(**ended))
            wanted = mine & _RUNNING & ~TASK.c.stop
            connection.execute(update(TASK).where(wanted).values(stop=True, version=newer))
        return self.one(name)


def _task_of(row: Row[Any]) -> Task:
    return Task(**row._mapping)
