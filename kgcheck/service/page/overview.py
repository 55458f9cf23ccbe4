"""The overview: how the newest audit ended, what is new since then and over the audits before, references and jobs."""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from fastapi import APIRouter, HTTPException, Path, Request, Response

from kgcheck.ledger.ledger import PinnedRelease
from kgcheck.report.tables import marks
from kgcheck.service.access import Open, Viewer
from kgcheck.service.page.charts import trend_of
from kgcheck.service.page.rendering import PageRoute, render, static_files
from kgcheck.service.page.tasks import job_list
from kgcheck.service.page.triage import latest_audit
from kgcheck.service.state import Served

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
def overview(request: Request, service: Served, asking: Viewer) -> Response:
    """Show the state of the graph."""
    with service.reading() as workspace:
        run = latest_audit(workspace)
        if run is None:
            return render(request, "overview", asking, run=None, store=workspace.store)
        listed = workspace.list_findings(run)
        facets = workspace.facets(listed)
        counts, trend = marks(workspace.tallies(run)), trend_of(workspace, run)
    return render(
        request, "overview", asking, run=run, store=run.store, counts=counts, total=counts.total(),
        found=facets.marks, followed=facets.followed,
        states=facets.of("states"), before=listed.diff.before_id, decisions=facets.of("decisions"), trend=trend,
        jobs=job_list(service), sources=sources_of(run.releases),
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


@router.get("/static/{name}")
def static_file(asking: Open, name: Annotated[str, Path(pattern="^[a-z_]+[.](css|js|svg)$")]) -> Response:
    """A file of the page: its address ends in its version, so that it may be kept."""
    if name not in static_files():
        raise HTTPException(404, f"there is no file {name}")
    file = static_files()[name]
    return Response(
        file.content, media_type=file.media_type, headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )
