"""What Prometheus reads."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from kgcheck.service.access import Viewer
from kgcheck.service.metrics import Metrics

router = APIRouter(prefix="/metrics", tags=["health"])

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "",
    operation_id="get_metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def get_metrics(request: Request, asking: Viewer) -> PlainTextResponse:
    """Requests by route and status, how long they took, tasks, and the latest run by outcome, for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return PlainTextResponse(metrics.text(), media_type=_TYPE)
