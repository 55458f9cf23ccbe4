"""Decisions about findings: made one by one or by filter, only about what was seen; listed and exported."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse
from pydantic import Field

from kgcheck.curation.decisions import Made
from kgcheck.curation.findings import Day
from kgcheck.errors import UsageError
from kgcheck.ledger.decisions import Action, Decision, DecisionState
from kgcheck.model import Value
from kgcheck.options import Whole
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.shapes import FINGERPRINT, VERSION, Selection
from kgcheck.service.bodies import JsonRoute
from kgcheck.service.state import Served

router = APIRouter(prefix="/decisions", tags=["decisions"], route_class=JsonRoute)

MOST = 10_000
"""Findings that are decided about at once."""


class SeenFinding(Value):
    """A finding, as whoever decides saw it."""

    fingerprint: str = Field(pattern=FINGERPRINT, examples=["fb7a191abc56beb2"])
    seen: str | None = Field(
        default=None,
        pattern=VERSION,
        description="its version as it was shown; where it has another one now, nothing is decided (409)",
    )


class _Choice(Value):
    action: Action
    choose: Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"^[^\x00]*$")] | None = Field(
        default=None, description="with accept: of what is proposed, this id or value"
    )
    note: str = Field(default="", max_length=10_000, pattern=r"^[^\x00]*$", description="why; shown with the decision")
    until: Day | None = Field(default=None, description="with defer: the day on which it comes back")


class Deciding(_Choice):
    """Decision about findings that are named."""

    findings: list[SeenFinding] = Field(min_length=1, max_length=1_000)


class DecidingMany(_Choice):
    """Decision about all findings that fit filters."""

    filter: Selection = Field(description="its run is an id, and not latest: what was looked at, and no newer one")
    expected: Whole = Field(ge=1, le=MOST, description="how many fit, as /v1/findings/count has shown")


class MadeRow(Value):
    """A decision that was made, and where the finding stood before."""

    decision: Decision
    before: DecisionState


class MadeDecisions(Value):
    """Decisions that were made: about all findings of a request, or about none."""

    count: int
    decisions: list[MadeRow]


class DecisionPage(Value):
    """Decisions, the newest first."""

    decisions: list[Decision]
    next: int | None = Field(description="before of the next page; null on the last one")


class DecisionsPaged(Value):
    """Page of a list of decisions."""

    limit: int = Field(default=50, ge=1, le=500, description="at most so many")
    before: int | None = Field(default=None, ge=0, lt=2**63, description="only those of smaller numbers")


class ExportForm(Value):
    """Format in which decisions are exported."""

    format: Literal["toml", "jsonl"] = "toml"


@router.get("", operation_id="list_decisions")
def list_decisions(service: Served, asking: Viewer, page: Annotated[DecisionsPaged, Query()]) -> DecisionPage:
    """List every decision, the newest first."""
    with service.reading() as workspace:
        found = workspace.decisions(page.before, page.limit + 1)
    rows = found[: page.limit]
    return DecisionPage(decisions=rows, next=rows[-1].number if len(found) > page.limit else None)


@router.post("", operation_id="decide", status_code=201)
def decide(service: Served, asking: Curator, wanted: Deciding) -> MadeDecisions:
    """Decide about findings that are named, all or none: accept, reject, defer or reopen.

    Who decides is who asks. A finding whose version is sent as `seen` is decided about only as it was seen: where its
    basis has changed, or somebody else has decided about it, the answer is 409 with the present versions.
    """
    seen = {one.fingerprint: one.seen for one in wanted.findings if one.seen}
    names = list(dict.fromkeys(one.fingerprint for one in wanted.findings))
    with service.reading() as workspace:
        made = workspace.decide(
            names,
            wanted.action.value,
            by=asking.name,
            choose=wanted.choose,
            note=wanted.note,
            until=wanted.until,
            seen=seen,
        )
    return _made(made)


@router.post("/by-filter", operation_id="decide_by_filter", status_code=201)
def decide_by_filter(service: Served, asking: Curator, wanted: DecidingMany) -> MadeDecisions:
    """Decide about all findings that fit filters, all or none, and only while they are as many as were expected.

    Where another number fits, or somebody else decides about one of them meanwhile, the answer is 409.
    """
    if wanted.filter.run == "latest":
        raise UsageError("the run of what is decided about is named by its id", "/v1/findings/count names it")
    with service.reading() as workspace:
        made = workspace.decide(
            workspace.list_findings(wanted.filter.run, **wanted.filter.filters),
            wanted.action.value,
            by=asking.name,
            choose=wanted.choose,
            note=wanted.note,
            until=wanted.until,
            expected=wanted.expected,
        )
    return _made(made)


@router.get(
    "/export",
    operation_id="export_decisions",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def export_decisions(service: Served, asking: Viewer, form: Annotated[ExportForm, Query()]) -> PlainTextResponse:
    """Write all decisions as `kgcheck decisions import` reads them, in an order that does not change."""
    with service.reading() as workspace:
        return PlainTextResponse(workspace.decisions_text(form.format))


def _made(made: list[Made]) -> MadeDecisions:
    rows = [MadeRow(decision=one.decision, before=one.before.state) for one in made]
    return MadeDecisions(count=len(made), decisions=rows)
