"""The list of findings with its facets, and decisions about many of them at once."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from starlette.datastructures import QueryParams

from kgcheck.choices import chosen
from kgcheck.curation.facets import Facets, facets_of
from kgcheck.curation.findings import FindingList, FindingPage
from kgcheck.errors import LedgerError, UnknownName, UsageError
from kgcheck.ledger.decisions import Action
from kgcheck.ledger.ledger import Run
from kgcheck.model import Finding, Reason
from kgcheck.report.documents import REASONS
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.page.query import FACET_OF, TriageQuery
from kgcheck.service.page.rendering import PageRoute, redirect, render
from kgcheck.service.state import Served
from kgcheck.workspace.workspace import Workspace

router = APIRouter(prefix="/findings", route_class=PageRoute, include_in_schema=False)

PAGE = 50
"""Findings of one page."""

_FEW = 8
_SHOWN = 10
_TITLES = {
    "decision": "Decision",
    "state": "Since the run before",
    "outcome": "Outcome",
    "type": "Type",
    "reason": "Reason",
    "label": "Label",
    "relation": "Relation",
}
_DONE = {"accept": "accepted", "reject": "rejected", "defer": "deferred", "reopen": "reopened"}


@router.get("")
def triage(request: Request, service: Served, asking: Viewer) -> Response:
    """A page of findings."""
    query = TriageQuery.of(request.query_params)
    with service.reading() as workspace:
        content = _content(workspace, query)
    content["done"] = _done(request)
    return render(request, "findings", asking, query=query, few=_FEW, words=_words, **content)


@router.get("/decide")
def confirm(request: Request, service: Served, asking: Curator) -> Response:
    """What a decision about many findings would be about."""
    query = TriageQuery.of(request.query_params)
    scope = chosen("scope", request.query_params.get("scope", "selected"), ("selected", "all"))
    names = list(dict.fromkeys(request.query_params.getlist("finding")))[:PAGE]
    with service.reading() as workspace:
        if scope == "all":
            listed = workspace.list_findings(**query.filters)
            count, names = facets_of(listed).total, []
            shown: list[Finding] = [one.finding for one in listed.page(limit=_SHOWN) if one.finding]
        else:
            if not names:
                raise UsageError("no finding is selected", "tick some, or decide about all of a filter")
            found = [workspace.finding(name) for name in names]
            count, shown = len(found), found[:_SHOWN]
    today = datetime.now(UTC).date()
    return render(
        request, "decide", asking, query=query, scope=scope, count=count, shown=shown, fingerprints=names,
        words=_in_words(query), tomorrow=today + timedelta(days=1), in_a_month=today + timedelta(days=30),
    )  # fmt: skip


@router.post("/decide")
def decide_many(
    request: Request,
    service: Served,
    asking: Curator,
    action: Annotated[str, Form(max_length=20)],
    scope: Annotated[str, Form(max_length=10)],
    count: Annotated[int, Form(ge=1)],
    finding: Annotated[list[str] | None, Form()] = None,
    note: Annotated[str, Form(max_length=2_000)] = "",
    until: Annotated[str, Form(max_length=10)] = "",
    back: Annotated[str, Form(max_length=8_000)] = "",
) -> Response:
    """Decide about many findings, all or none; another number of them than was confirmed is refused."""
    query = TriageQuery.of(QueryParams(back))
    with service.reading() as workspace:
        is_all = chosen("scope", scope, ("selected", "all")) == "all"
        about = workspace.list_findings(**query.filters) if is_all else (finding or [])[:PAGE]
        made = workspace.decide(
            about,
            action,
            by=asking.name,
            note=note,
            until=(until or None) if action == "defer" else None,
            expected=count,
        )
    parts = [query.whole_address, f"done={action}", f"count={len(made)}"]
    return redirect(request, f"/findings?{'&'.join(filter(None, parts))}")


def _content(workspace: Workspace, query: TriageQuery) -> dict[str, Any]:
    listed = _listed(workspace, query)
    if listed is None:
        return {"run": None, "rows": [], "next": None, "total": 0, "facets": []}
    page = FindingPage(listed, query.after or None, PAGE)
    rows = list(page)
    facets = facets_of(listed)
    return {"run": listed.run, "rows": rows, "next": page.next, "total": facets.total, "facets": _facets(facets)}


def _listed(workspace: Workspace, query: TriageQuery) -> FindingList | None:
    """The list; None where there is no run yet."""
    if not query.run and latest_audit(workspace) is None:
        return None
    return workspace.list_findings(**query.filters)


def latest_audit(workspace: Workspace) -> Run | None:
    """The newest audit; None where there is no ledger or no audit in it yet."""
    try:
        run = workspace.run("latest")
    except (LedgerError, UnknownName):
        return None
    return None if run.is_check else run


def _facets(facets: Facets) -> list[tuple[str, str, list[tuple[str, int]]]]:
    return [(name, _TITLES[name], list(facets.of(facet).items())) for name, facet in FACET_OF.items()]


def _words(name: str, choice: str) -> str:
    """A choice as people read it."""
    if name == "reason" and choice in set(Reason):
        return REASONS[Reason(choice)]
    return choice


def _in_words(query: TriageQuery) -> list[str]:
    words = [f"{_TITLES[name].lower()}: {_words(name, choice)}" for name, choice in query.chosen]
    words += [f"“{query.text}”"] if query.text else []
    return words + ([f"first found since {query.since}"] if query.since else [])


def _done(request: Request) -> str:
    """What was done on the page before, in words."""
    action, count = request.query_params.get("done", ""), request.query_params.get("count", "")
    if action not in set(Action) or not count.isdecimal() or len(count) > 9:
        return ""
    number = int(count)
    return f"{number:,} finding{'' if number == 1 else 's'} {_DONE[action]}."
