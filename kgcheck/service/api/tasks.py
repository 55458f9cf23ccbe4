"""Long work: what is under way, how far it has come, and its end. What begins it stands with what it is about."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from kgcheck.ledger.tasks import Task
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.state import Service, service_of
from kgcheck.workspace.tasks import KINDS

router = APIRouter(prefix="/tasks", tags=["tasks"])

TaskId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="id of a task")]
Of = Annotated[Service, Depends(service_of)]


def known(service: Of, task: TaskId) -> Task:
    """The task of a path: looked for before a stream of its events begins."""
    return service.tasks.get(task)


@router.get("")
def tasks(
    service: Of,
    asking: Viewer,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    kind: Annotated[str | None, Query(pattern=f"^({'|'.join(KINDS)})$")] = None,
) -> list[dict[str, Any]]:
    """Tasks, the newest first."""
    return [task.as_row() for task in service.tasks.list(limit, kind=kind)]


@router.get("/{task}")
def one(asking: Viewer, task: Annotated[Task, Depends(known)]) -> dict[str, Any]:
    """One task as it stands."""
    return task.as_row()


@router.post("/{task}/cancel")
def cancel(service: Of, asking: Curator, task: TaskId) -> dict[str, Any]:
    """Let a task end, if it is one's own, or one is an admin; what it did is kept."""
    return service.tasks.cancel(task, asking).as_row()


@router.get("/{task}/events", response_class=EventSourceResponse)
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
