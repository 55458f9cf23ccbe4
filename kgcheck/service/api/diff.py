"""Comparison of two runs: what became of the findings of one in a later one."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.model import Value
from kgcheck.service.access import Viewer
from kgcheck.service.api.shapes import RUN_ID
from kgcheck.service.state import Served

router = APIRouter(prefix="/diff", tags=["diff"])


class Runs(Value):
    """Pair of runs to compare."""

    before: str | None = Field(
        default=None, pattern=RUN_ID, description="the earlier run; unless named, that of the same store and options"
    )
    after: str | None = Field(default=None, pattern=RUN_ID, description="the later run; unless named, the latest audit")


class Diff(Value):
    """Two runs side by side. The findings themselves: /v1/findings with run, before and state."""

    before: str | None = Field(description="null where there is none: everything is new")
    after: str
    counts: dict[ComparisonState, int]
    lines: list[str] = Field(description="the same in words")


@router.get("", operation_id="get_diff")
def get_diff(service: Served, asking: Viewer, runs: Annotated[Runs, Query()]) -> Diff:
    """Count what became of the findings of one run in a later one of the same store."""
    with service.reading() as workspace:
        diff = workspace.diff(runs.before, runs.after)
        return Diff(before=diff.before_id, after=diff.after.id, counts=dict(diff.counts), lines=diff.lines())
