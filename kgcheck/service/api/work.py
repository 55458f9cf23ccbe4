"""Long work that was begun through the service: listed, followed and cancelled."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from kgcheck.ledger.work import WorkItem, WorkState
from kgcheck.model import Value
from kgcheck.service.roles import Principal
from kgcheck.service.state import Service


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
        """A task as an answer."""
        return cls(**task.as_row())


def begin(service: Service, kind: str, parameters: Mapping[str, Any], asking: Principal) -> TaskShown:
    """Begin long work."""
    return TaskShown.of(service.tasks.start(kind, parameters, asking))


def cancel_open(service: Service, kind: str, parameters: Mapping[str, Any], asking: Principal) -> TaskShown | None:
    """Cancel the newest task of a kind with these parameters that is not over."""
    for task in service.tasks.list(500, kind=kind):
        if not task.state.is_over and parameters.items() <= task.parameters.items():
            return TaskShown.of(service.tasks.cancel(task.id, asking))
    return None
