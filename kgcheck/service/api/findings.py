"""HTTP API of findings (list, facets, detail, history, neighbours) and of decisions."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from kgcheck.curation.decisions import Made
from kgcheck.curation.findings import FACETS, DecisionOptions, FindingPage, Occurrence
from kgcheck.errors import UsageError
from kgcheck.graph.neighbourhood import Neighbourhood
from kgcheck.ledger.decisions import Decision, DecisionState
from kgcheck.model import Value
from kgcheck.options import Whole
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.shapes import (
    FINGERPRINT,
    VERSION,
    FindingDetail,
    FindingRow,
    Fingerprint,
    Limited,
    Paged,
    ResponseBody,
    Selection,
    finding_row,
)
from kgcheck.service.bodies import JsonRoute
from kgcheck.service.state import Served

router = APIRouter(prefix="/findings", tags=["findings"])


class PagedSelection(Selection, Paged):
    """Filter of findings, and a page of those that fit."""


class FindingsPage(ResponseBody):
    """Findings of a run, the refuted first; those that it did not find again after them, where they are wanted."""

    run: str = Field(description="the run that latest stood for")
    findings: list[FindingRow]
    next: str | None = Field(description="cursor of the next page; null on the last one")


class FacetCounts(ResponseBody):
    """The findings that fit filters, counted by what they can be narrowed by.

    Each count is what one choice would leave: the filters of its own kind are left out, all others hold.
    """

    run: str
    total: int = Field(description="findings that fit all filters")
    decision: dict[str, int]
    state: dict[str, int] = Field(description="fixed and gone are in no other count, unless they are asked for")
    outcome: dict[str, int]
    graph: dict[str, int]
    type: dict[str, int]
    reason: dict[str, int]
    label: dict[str, int] = Field(description="of the subject or the object: an edge between two counts for both")
    relation: dict[str, int]


class History(ResponseBody):
    """History of a finding: every decision about it, the oldest first, and the runs that have it."""

    fingerprint: str
    decisions: list[Decision]
    occurrences: list[Occurrence] = Field(description="the newest first, at most 100")


@router.get("", operation_id="list_findings", response_model=FindingsPage)
def list_findings(service: Served, asking: Viewer, wanted: Annotated[PagedSelection, Query()]) -> Any:
    """List the findings of a run by filters, page by page, in the order of reports: the refuted first.

    What is fixed, gone or unchecked is no finding of the run any more, and is listed where its state is asked for.
    """
    run, after = _place(wanted)
    with service.reading() as workspace:
        page = FindingPage(workspace.list_findings(run, **wanted.filters), after, wanted.limit)
        rows = [finding_row(one) for one in page]
    return {"run": page.run, "findings": rows, "next": f"{page.run}~{page.next}" if page.next else None}


@router.get("/facets", operation_id="get_facets", response_model=FacetCounts)
def get_facets(service: Served, asking: Viewer, wanted: Annotated[Selection, Query()]) -> Any:
    """Count the findings that fit filters by each thing that they can be narrowed by."""
    with service.reading() as workspace:
        found = workspace.list_findings(wanted.run, **wanted.filters)
        facets = workspace.facets(found)
    kinds = {facet.removesuffix("s"): facets.of(facet) for facet in FACETS}
    return {"run": found.run.id, "total": facets.total, **kinds}


@router.get("/{fingerprint}", operation_id="get_finding", response_model=FindingDetail)
def get_finding(service: Served, asking: Viewer, fingerprint: Fingerprint) -> Any:
    """Show one finding with all its evidence, as the newest run has it that does."""
    with service.reading() as workspace:
        return finding_row(workspace.known_finding(fingerprint))


@router.get("/{fingerprint}/history", operation_id="get_history")
def get_history(service: Served, asking: Viewer, fingerprint: Fingerprint) -> History:
    """Show every decision about a finding, and the runs that it occurs in."""
    with service.reading() as workspace:
        decisions = workspace.history(fingerprint)
        return History(fingerprint=fingerprint, decisions=decisions, occurrences=workspace.occurrences(fingerprint))


class NearWanted(Value):
    """Size of a neighbourhood."""

    each: int = Field(default=5, ge=1, le=50, description="at most so many along each relation and direction")


@router.get("/{fingerprint}/neighbours", operation_id="get_neighbours")
def get_neighbours(
    service: Served, asking: Viewer, fingerprint: Fingerprint, near: Annotated[NearWanted, Query()]
) -> Neighbourhood:
    """Show what the graph has around the ends of a finding: a few neighbours along each relation, with names."""
    with service.reading() as workspace:
        return workspace.neighbourhood(fingerprint, near.each)


def _place(wanted: PagedSelection) -> tuple[str, str | None]:
    if not wanted.cursor:
        return wanted.run, None
    run, found, after = wanted.cursor.partition("~")
    if not found or not run or not after:
        raise UsageError("this is no cursor of a list of findings", "leave it out for the first page")
    if wanted.run not in ("latest", run):
        raise UsageError(f"the cursor is of run {run}, not of {wanted.run}", "leave the run out, or the cursor")
    return run, after


decisions_router = APIRouter(prefix="/decisions", tags=["decisions"], route_class=JsonRoute)

_MOST = 10_000
"""Findings that are decided about at once."""


class SeenFinding(Value):
    """A finding, as whoever decides saw it."""

    fingerprint: str = Field(pattern=FINGERPRINT, examples=["fb7a191abc56beb2"])
    seen: str | None = Field(
        default=None,
        pattern=VERSION,
        description="its version as it was shown; where it has another one now, nothing is decided (409)",
    )


class Deciding(DecisionOptions):
    """Decision about findings that are named."""

    findings: list[SeenFinding] = Field(min_length=1, max_length=1_000)


class DecidingMany(DecisionOptions):
    """Decision about all findings that fit filters."""

    filter: Selection = Field(description="its run is an id, and not latest: what was looked at, and no newer one")
    expected: Whole = Field(ge=1, le=_MOST, description="how many fit, the total of /v1/findings/facets")


class MadeRow(ResponseBody):
    """A decision that was made, and where the finding stood before."""

    decision: Decision
    before: DecisionState


class MadeDecisions(ResponseBody):
    """Decisions that were made: about all findings of a request, or about none."""

    count: int
    decisions: list[MadeRow]


class DecisionPage(ResponseBody):
    """Decisions, the newest first."""

    decisions: list[Decision]
    next: int | None = Field(description="before of the next page; null on the last one")


class DecisionsPaged(Limited):
    """Page of a list of decisions."""

    before: int | None = Field(default=None, ge=0, lt=2**63, description="only those of smaller numbers")


@decisions_router.get("", operation_id="list_decisions")
def list_decisions(service: Served, asking: Viewer, page: Annotated[DecisionsPaged, Query()]) -> DecisionPage:
    """List every decision, the newest first."""
    with service.reading() as workspace:
        found = workspace.decisions(page.before, page.limit + 1)
    rows = found[: page.limit]
    return DecisionPage(decisions=rows, next=rows[-1].number if len(found) > page.limit else None)


@decisions_router.post("", operation_id="decide", status_code=201, response_model=MadeDecisions)
def decide(service: Served, asking: Curator, wanted: Deciding) -> Any:
    """Decide about findings that are named, all or none: accept, reject, defer or reopen.

    Who decides is who asks. A finding whose version is sent as `seen` is decided about only as it was seen: where its
    basis has changed, or somebody else has decided about it, the answer is 409 with the present versions.
    """
    seen = {one.fingerprint: one.seen for one in wanted.findings if one.seen}
    names = list(dict.fromkeys(one.fingerprint for one in wanted.findings))
    with service.reading() as workspace:
        return _made(workspace.decide(names, by=asking.name, seen=seen, **wanted.options))


@decisions_router.post("/by-filter", operation_id="decide_by_filter", status_code=201, response_model=MadeDecisions)
def decide_by_filter(service: Served, asking: Curator, wanted: DecidingMany) -> Any:
    """Decide about all findings that fit filters, all or none, and only while they are as many as were expected.

    Where another number fits, or somebody else decides about one of them meanwhile, the answer is 409.
    """
    if wanted.filter.run == "latest":
        raise UsageError("the run of what is decided about is named by its id", "/v1/findings/facets names it")
    with service.reading() as workspace:
        listed = workspace.list_findings(wanted.filter.run, **wanted.filter.filters)
        return _made(workspace.decide(listed, by=asking.name, expected=wanted.expected, **wanted.options))


def _made(made: list[Made]) -> dict[str, Any]:
    rows = [{"decision": one.decision, "before": one.before.state} for one in made]
    return {"count": len(made), "decisions": rows}
