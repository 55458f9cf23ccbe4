"""The record of who did what through the service."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from kgcheck.service.access import Admin
from kgcheck.service.state import Service, service_of

router = APIRouter(prefix="/actions", tags=["actions"])


@router.get("")
def actions(
    service: Annotated[Service, Depends(service_of)],
    asking: Admin,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="the number of the last one that was seen")] = None,
    name: Annotated[str | None, Query(max_length=64)] = None,
) -> list[dict[str, Any]]:
    """What was done or tried, the newest first: by whom, from where, and with what outcome."""
    return [action.model_dump(mode="json") for action in service.actions.newest(limit, before=before, name=name)]
