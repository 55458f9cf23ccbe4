"""Long work: what is under way, how far it has come, and its end. What begins it stands with what it is about."""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field

from kgcheck.ledger.tasks import Task
from kgcheck.model import Value
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.work import TaskRow
from kgcheck.service.state import Service, service_of

router = APIRouter(prefix="/tasks", tags=["tasks"])

TaskId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="id of a task")]
Of = Annotated[Service, Depends(service_of)]


def known(service: Of, task: TaskId) -> Task:
    """The task of a path: looked for before a stream of its events begins."""
    return service.tasks.get(task)


class TaskList(Value):
    """Tasks, the newest first."""

    tasks: list[TaskRow]


class WantedTasks(Value):
    """Which tasks."""

    limit: int = Field(default=100, ge=1, le=500, description="at most so many")
    kind: Literal["audit", "checks", "patch_apply", "patch_undo", "job", "load_job"] | None = None


@router.get("", operation_id="list_tasks")
def tasks(service: Of, asking: Viewer, wanted: Annotated[WantedTasks, Query()]) -> TaskList:
    """List long work, the newest first."""
    return TaskList(tasks=[TaskRow.of(task) for task in service.tasks.list(wanted.limit, kind=wanted.kind)])


@router.get("/{task}", operation_id="get_task")
def one(asking: Viewer, task: Annotated[Task, Depends(known)]) -> TaskRow:
    """Show one task as it stands."""
    return TaskRow.of(task)


@router.post("/{task}/cancel", operation_id="cancel_task")
def cancel(service: Of, asking: Curator, task: TaskId) -> TaskRow:
    """Let a task end, if it is one's own, or one is an admin; what it did is kept."""
    return TaskRow.of(service.tasks.cancel(task, asking))


@router.get("/{task}/events", operation_id="follow_task", response_class=EventSourceResponse)
async def events(
    service: Of,
    asking: Viewer,
    task: Annotated[Task, Depends(known)],
    last_event_id: Annotated[str | None, Header(pattern=r"^[0-9]{1,9}$")] = None,
) -> AsyncIterator[ServerSentEvent]:
    """The task as it stands, and again whenever it changes, until it is over.

    Each event holds the whole task; its id goes into `Last-Event-ID` to go on after a lost connection.

    Yields:
        An event, ``task`` or ``end``.
    """
    async for event in service.tasks.events(task.id, int(last_event_id or 0)):
        yield event
