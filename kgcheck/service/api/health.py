"""Health and metrics of the service, for who runs it."""

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import Field

from kgcheck import __version__
from kgcheck.model import Value
from kgcheck.service.access import Open, Viewer
from kgcheck.service.metrics import Metrics
from kgcheck.service.state import Served

router = APIRouter(tags=["health"])


class Alive(Value):
    """The service answers."""

    status: Literal["alive"] = "alive"
    version: str


class PartRow(Value):
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
    responses={503: {"model": Readiness, "description": "A part cannot be read."}},
)
async def get_ready(service: Served, asking: Open) -> JSONResponse:
    """Say within a second whether the ledger, the store and the references can be read now, and which cannot.

    While a patch is applied or a job loads, the store is `StoreLocked`; what does not answer in time `TookTooLong`.
    """
    # Whoever may ask need not know where a part is.
    parts = [PartRow(**part.model_dump(include=set(PartRow.model_fields))) for part in await service.looks.parts()]
    is_ready = all(part.is_ready for part in parts)
    answer = Readiness(status="ready" if is_ready else "not ready", parts=parts)
    return JSONResponse(answer.model_dump(mode="json"), 200 if is_ready else 503)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def get_metrics(request: Request, asking: Viewer) -> PlainTextResponse:
    """Requests by route and status, how long they took, tasks, and the latest run by outcome, for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
