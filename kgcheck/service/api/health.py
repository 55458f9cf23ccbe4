"""HTTP API of health checks, the log of users' actions, and the kinds of errors."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import Field

from kgcheck import __version__
from kgcheck.curation.findings import LINE
from kgcheck.ledger.actions import ActionEntry
from kgcheck.model import Value
from kgcheck.service.access import Admin, Open
from kgcheck.service.api.shapes import Shown
from kgcheck.service.problems import CONTENT
from kgcheck.service.state import Served

router = APIRouter(tags=["health"])


class Alive(Value):
    """The service answers."""

    status: Literal["alive"] = "alive"
    version: str


class PartRow(Shown):
    """A part that the service works on."""

    name: str
    is_ready: bool
    kind_of_error: str = Field(default="", description="why it cannot be read; the log has the whole of it")


class Readiness(Value):
    """Readiness of the service: whether everything that it works on can be read."""

    status: Literal["ready", "not ready"]
    parts: list[PartRow]


@router.get("/health/live", operation_id="get_live")
async def get_live(asking: Open) -> Alive:
    """Say that the service answers; nothing else is looked at."""
    return Alive(version=__version__)


@router.get(
    "/health/ready",
    operation_id="get_ready",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "A part cannot be read.", "content": CONTENT}},
)
async def get_ready(service: Served, asking: Open) -> JSONResponse:
    """Say within a second whether the ledger, the store and the references can be read now, and which cannot.

    While a patch is applied or a job loads, the store is `StoreLocked`; what does not answer in time `TookTooLong`.
    """
    # Whoever may ask need not know where a part is.
    parts = [PartRow.of(part) for part in await service.looks.parts()]
    is_ready = all(part.is_ready for part in parts)
    answer = Readiness(status="ready" if is_ready else "not ready", parts=parts)
    return JSONResponse(answer.model_dump(mode="json"), 200 if is_ready else 503)


actions_router = APIRouter(prefix="/actions", tags=["actions"])


class ActionList(Value):
    """Actions that were done or tried, newest first."""

    actions: list[ActionEntry]
    next: int | None = Field(description="the `before` of the next page; null at the end")


class ActionsWanted(Value):
    """Filter and page of a list of actions."""

    limit: int = Field(default=100, ge=1, le=1_000)
    before: int | None = Field(default=None, ge=1, le=2**53, description="the number of the last one that was seen")
    name: str | None = Field(default=None, max_length=64, pattern=LINE, description="of somebody of this name")


@actions_router.get("", operation_id="list_actions")
def list_actions(service: Served, asking: Admin, wanted: Annotated[ActionsWanted, Query()]) -> ActionList:
    """List what was done or tried, the newest first: by whom, from where, and with what outcome."""
    found = service.actions.newest(wanted.limit + 1, before=wanted.before, name=wanted.name)
    page = found[: wanted.limit]
    return ActionList(actions=page, next=page[-1].number if len(found) > wanted.limit else None)
