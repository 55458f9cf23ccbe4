"""Whether the service is alive, and whether it can work."""

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from kgcheck import __version__
from kgcheck.context import Part
from kgcheck.model import Value
from kgcheck.service.access import Open
from kgcheck.service.state import Served

router = APIRouter(prefix="/health", tags=["health"])


class Alive(Value):
    """The service answers."""

    status: Literal["alive"] = "alive"
    version: str


class PartRow(Value):
    """A part that the service works on."""

    name: str
    is_ready: bool
    kind_of_error: str = Field(default="", description="why it cannot be read; the log has the whole of it")

    @classmethod
    def of(cls, part: Part) -> "PartRow":
        """A part as an answer: whoever may ask need not know where it is."""
        return cls(name=part.name, is_ready=part.is_ready, kind_of_error=part.kind_of_error)


class Readiness(Value):
    """Whether everything that the service works on can be read."""

    status: Literal["ready", "not ready"]
    parts: list[PartRow]


@router.get("/live", operation_id="get_live")
async def get_live(asking: Open) -> Alive:
    """Say that the service answers; nothing else is looked at."""
    return Alive(version=__version__)


@router.get(
    "/ready",
    operation_id="get_ready",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "A part cannot be read."}},
)
async def get_ready(service: Served, asking: Open) -> JSONResponse:
    """Say within a second whether the ledger, the store and the references can be read now, and which cannot.

    While a patch is applied or a job loads, the store is `StoreLocked`; what does not answer in time `TookTooLong`.
    """
    parts = [PartRow.of(part) for part in await service.looks.parts()]
    is_ready = all(part.is_ready for part in parts)
    answer = Readiness(status="ready" if is_ready else "not ready", parts=parts)
    return JSONResponse(answer.model_dump(mode="json"), 200 if is_ready else 503)
