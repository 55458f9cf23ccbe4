"""Runs with their counts."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from kgcheck.service.access import Viewer
from kgcheck.service.state import Service, service_of

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("")
def runs(service: Annotated[Service, Depends(service_of)], asking: Viewer) -> list[dict[str, Any]]:
    """The runs in the ledger, newest first, each with its counts."""
    with service.reading() as workspace:
        return [{**run.as_row(), "tallies": [t.as_row() for t in counts]} for run, counts in workspace.runs()]
