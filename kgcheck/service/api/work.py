"""Long work that was begun through the service: listed, followed and cancelled."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from kgcheck.model import Value
from kgcheck.service.problems import NotServed
from kgcheck.service.roles import Principal
from kgcheck.service.state import Service


class TaskRow(Value):
    """Long work, and how far it has come."""

    id: str
    kind: str
    parameters: dict[str, Any]
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
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


def begin(service: Service, kind: str, parameters: Mapping[str, Any], asking: Principal) -> TaskRow:
    """Begin long work.

    Args:
        service: Who does it.
        kind: Which work.
        parameters: What it takes, as JSON.
        asking: Who wants it.

    Returns:
        The task, with the id under which it is followed.
    """
    return _row(_tasks(service).start(kind, dict(parameters), asking))


def cancel_open(service: Service, kind: str, parameters: Mapping[str, Any]) -> TaskRow | None:
    """Cancel the newest task of a kind with these parameters that is not over; None where there is none."""
    for task in _tasks(service).list():
        if task.kind == kind and not task.state.is_over and parameters.items() <= task.parameters.items():
            return _row(_tasks(service).cancel(task.id))
    return None


def _tasks(service: Service) -> Any:
    tasks = getattr(service, "tasks", None)
    if tasks is None:
        raise NotServed("this service does no long work", "use the command line")
    return tasks


def _row(task: Any) -> TaskRow:
    return TaskRow(**task.as_row())
