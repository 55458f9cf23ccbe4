"""The overview: how the newest audit ended, what is new since then, the references and the jobs; and its charts."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, HTTPException, Path, Request, Response

from kgcheck.ledger.ledger import PinnedRelease, Run
from kgcheck.model import CheckType, Reason, Tally, TallyMark
from kgcheck.report.tables import marks
from kgcheck.service.access import Open, Viewer
from kgcheck.service.page.charts import WIDTH, Rows, chart, chart_height
from kgcheck.service.page.rendering import PageRoute, render, static_files
from kgcheck.service.page.tasks import job_list
from kgcheck.service.page.triage import latest_audit
from kgcheck.service.state import Served
from kgcheck.workspace.workspace import Workspace

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_MOST_BARS = 14
_MOST_RUNS = 24
_MOST_REASONS = 10
_CHARTS = {
    "labels": "Outcome by label",
    "relations": "Outcome by relation",
    "trend": "Findings over runs",
}


class Figures(NamedTuple):
    """What charts are made of."""

    run: Run
    counts: Counter[TallyMark]
    labels: Rows
    relations: Rows
    trend: Rows

    def rows(self, name: str) -> Rows:
        return {"labels": self.labels, "relations": self.relations, "trend": self.trend}[name]


class ChartTable(NamedTuple):
    """A chart, and the same as a table."""

    name: str
    title: str
    width: int
    height: int
    columns: list[str]
    rows: list[tuple[str, list[int]]]


@router.get("/")
def overview(request: Request, service: Served, asking: Viewer) -> Response:
    """How the graph stands."""
    with service.reading() as workspace:
        figures = figures_of(workspace)
        if figures is None:
            return render(request, "overview", asking, run=None, store=workspace.store)
        listed = workspace.list_findings(figures.run)
        facets = workspace.facets(listed)
    reasons = [(name, Reason(name).words, n) for name, n in facets.listed("reasons").items()]
    return render(
        request, "overview", asking,
        run=figures.run, store=figures.run.store, counts=figures.counts, total=figures.counts.total(),
        found=facets.marks, followed=facets.followed,
        states=facets.of("states"), before=listed.diff.before_id,
        decisions=facets.of("decisions"), reason_counts=reasons[:_MOST_REASONS],
        charts=[_table(figures, name) for name in _CHARTS if figures.rows(name)], jobs=job_list(service),
        sources=sources_of(figures.run.releases),
    )  # fmt: skip


class SourceAge(NamedTuple):
    """A reference source, with how old what was looked into is."""

    source: str
    releases: tuple[PinnedRelease, ...]
    newest: str
    oldest: str


def sources_of(releases: Iterable[PinnedRelease]) -> list[SourceAge]:
    """The sources of releases, those whose newest release is oldest first."""
    by_source: dict[str, list[PinnedRelease]] = {}
    for release in releases:
        by_source.setdefault(release.source, []).append(release)
    found = []
    for source, some in by_source.items():
        days = sorted(r.released for r in some if r.released)
        found.append(SourceAge(source, tuple(some), days[-1] if days else "", days[0] if days else ""))
    return sorted(found, key=lambda s: (s.newest or "9", s.source))


def figures_of(workspace: Workspace) -> Figures | None:
    """The figures of the newest audit and those before it on the same store; None where there is none."""
    run = latest_audit(workspace)
    if run is None:
        return None
    tallies = workspace.tallies(run)
    audits = [(r, t) for r, t in workspace.runs(limit=4 * _MOST_RUNS) if not r.is_check and r.store_id == run.store_id]
    trend = [
        (f"{r.started:%Y-%m-%d %H:%M}", mark.value, marks(t)[mark])
        for r, t in reversed(audits[:_MOST_RUNS])
        for mark in (TallyMark.REFUTED, TallyMark.LACKS_IT, TallyMark.INSUFFICIENT)
    ]
    nodes = [t for t in tallies if t.target.label and not t.target.relation and t.type is not CheckType.STRUCTURE]
    edges = [t for t in tallies if t.target.relation and t.type is not CheckType.STRUCTURE]
    return Figures(
        run,
        marks(tallies),
        _bars(nodes, lambda t: t.target.label or ""),
        _bars(edges, lambda t: t.target.relation or ""),
        tuple(trend) if len(audits) > 1 else (),
    )


def _bars(tallies: Iterable[Tally], name: Callable[[Tally], str]) -> Rows:
    counts: dict[str, Counter[TallyMark]] = {}
    for tally in tallies:
        counts.setdefault(name(tally), Counter())[tally.mark] += tally.count
    wrong = {n: some[TallyMark.REFUTED] + some[TallyMark.LACKS_IT] for n, some in counts.items()}
    worst = sorted(counts, key=lambda n: (-wrong[n], -counts[n].total(), n))[:_MOST_BARS]
    return tuple((n, mark.value, counts[n][mark]) for n in worst for mark in TallyMark if counts[n][mark])


def _table(figures: Figures, name: str) -> ChartTable:
    rows = figures.rows(name)
    columns = [mark.value for mark in TallyMark if any(series == mark.value for _, series, _ in rows)]
    found: dict[str, dict[str, int]] = {}
    for of, series, count in rows:
        found.setdefault(of, {})[series] = count
    table = [(of, [counts.get(column, 0) for column in columns]) for of, counts in found.items()]
    return ChartTable(name, _CHARTS[name], WIDTH, chart_height(name, rows), columns, table)


@router.get("/static/{name}")
def static_file(asking: Open, name: Annotated[str, Path(pattern="^[a-z_]+[.](css|js|svg)$")]) -> Response:
    """A file of the page: its address ends in its version, so that it may be kept."""
    if name not in static_files():
        raise HTTPException(404, f"there is no file {name}")
    file = static_files()[name]
    return Response(
        file.content, media_type=file.media_type, headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )


@router.get("/charts/{name}.svg")
def chart_file(
    request: Request,
    name: Literal["labels", "relations", "trend"],
    service: Served,
    asking: Viewer,
    theme: Literal["light", "dark"] = "light",
) -> Response:
    """A chart of the newest audit as SVG, which a page shows as an image."""
    with service.reading() as workspace:
        figures = figures_of(workspace)
    if figures is None:
        raise HTTPException(404, "there is no audit yet")
    svg = chart(name, figures.rows(name), theme)
    return Response(svg, media_type="image/svg+xml", headers={"Cache-Control": "private, max-age=300"})
