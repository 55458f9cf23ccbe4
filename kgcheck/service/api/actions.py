"""The record of who did what through the service."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field

from kgcheck.curation.findings import LINE
from kgcheck.ledger.actions import ActionEntry
from kgcheck.model import Value
from kgcheck.service.access import Admin
from kgcheck.service.state import Served

router = APIRouter(prefix="/actions", tags=["actions"])


class ActionList(Value):
    """Actions that were done or tried, newest first."""

    actions: list[ActionEntry]
    next: int | None = Field(description="the `before` of the next page; null at the end")


class ActionsWanted(Value):
    """Filter and page of a list of actions."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=100, ge=1, le=1_000)
    before: int | None = Field(default=None, ge=1, le=2**53, description="the number of the last one that was seen")
    name: str | None = Field(default=None, max_length=64, pattern=LINE, description="of somebody of this name")


@router.get("", operation_id="list_actions")
def list_actions(service: Served, asking: Admin, wanted: Annotated[ActionsWanted, Query()]) -> ActionList:
    """List what was done or tried, the newest first: by whom, from where, and with what outcome."""
    found = service.actions.newest(wanted.limit + 1, before=wanted.before, name=wanted.name)
    page = found[: wanted.limit]
    return ActionList(actions=page, next=page[-1].number if len(found) > wanted.limit else None)
