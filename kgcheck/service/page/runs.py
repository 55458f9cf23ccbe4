"""Runs, one run, and two side by side."""

from typing import Annotated

from fastapi import APIRouter, Form, Path, Query, Request, Response

from kgcheck.model import CheckType
from kgcheck.report.documents import by_target, unasked
from kgcheck.report.tables import marks, shown_marks
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.page.charts import bars, trend_of
from kgcheck.service.page.rendering import PageRoute, redirect, render
from kgcheck.service.state import Served
from kgcheck.workspace.tasks import AuditWanted

router = APIRouter(route_class=PageRoute, include_in_schema=False)

RunId = Annotated[str, Path(pattern="^[0-9A-Za-z-]{1,64}$")]
_PAGE = 50
_FEW = 25


@router.get("/runs")
def runs(request: Request, service: Served, asking: Viewer, after: str | None = Query(None, max_length=64)) -> Response:
    """The runs, newest first."""
    with service.reading() as workspace:
        found = workspace.runs(after, _PAGE + 1)
    rows = [(run, marks(tallies)) for run, tallies in found[:_PAGE]]
    shown = shown_marks(*(counts for _, counts in rows))
    later = rows[-1][0].id if len(found) > _PAGE else None
    return render(request, "runs", asking, rows=rows, shown=shown, after=after, next=later)


@router.post("/runs")
def begin(
    request: Request, service: Served, asking: Curator, like: Annotated[str, Form(max_length=64)] = ""
) -> Response:
    """Begin an audit, of everything, or of what an earlier one looked at, so that the two can be compared."""
    wanted = {}
    if like:
        with service.reading() as workspace:
            options = workspace.run(like).options
        wanted = {name: options[name] for name in AuditWanted.model_fields if options.get(name) is not None}
    return redirect(request, f"/tasks/{service.tasks.start('audit', wanted, asking).id}")


@router.get("/runs/{name}")
def run(request: Request, name: RunId, service: Served, asking: Viewer) -> Response:
    """A run with its counts."""
    with service.reading() as workspace:
        found = workspace.run(name)
        tallies = workspace.tallies(found)
        diff = None if found.is_check else workspace.diff(after=found)
        states = {state.value: count for state, count in diff.counts.items()} if diff else {}
        findings = list(workspace.findings(found, limit=1)) if found.is_check else []
        facets = None if found.is_check else workspace.facets(workspace.list_findings(found))
        trend = None if found.is_check else trend_of(workspace, found)
    nodes = [t for t in tallies if t.target.label and not t.target.relation and t.type is not CheckType.STRUCTURE]
    edges = [t for t in tallies if t.target.relation and t.type is not CheckType.STRUCTURE]
    return render(
        request, "run", asking, run=found, counts=marks(tallies), total=marks(tallies).total(), trend=trend,
        labels=bars(nodes, lambda t: t.target.label or ""), relations=bars(edges, lambda t: t.target.relation or ""),
        targets=by_target(tallies),
        states=states, before=diff.before_id if diff else None, unasked=unasked(tallies),
        checked=findings[0] if findings else None,
        found=facets.marks if facets else None, followed=facets.followed if facets else 0,
    )  # fmt: skip


@router.get("/diff")
def diff(
    request: Request,
    service: Served,
    asking: Viewer,
    before: str | None = Query(None, max_length=64),
    after: str | None = Query(None, max_length=64),
) -> Response:
    """Show what became of the findings of one run in a later one."""
    with service.reading() as workspace:
        found = workspace.diff(before or None, after or None)
        states = {state.value: count for state, count in found.counts.items()}
        some = {name: list(found.findings([name], limit=_FEW)) for name, count in states.items() if count}
        others = [
            run for run, _ in workspace.runs(limit=_PAGE) if not run.is_check and run.store_id == found.after.store_id
        ]
    return render(request, "diff", asking, diff=found, states=states, some=some, runs=others, few=_FEW)
