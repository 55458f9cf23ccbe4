"""The files of the page and its charts."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Request, Response

from kgcheck.service.access import Open, Viewer
from kgcheck.service.page.charts import chart
from kgcheck.service.page.overview import figures_of
from kgcheck.service.page.rendering import PageRoute, static_files
from kgcheck.service.state import Served

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_A_YEAR = "public, max-age=31536000, immutable"


@router.get("/static/{name}")
def static_file(asking: Open, name: Annotated[str, Path(pattern="^[a-z_]+[.](css|js|svg)$")]) -> Response:
    """A file of the page: its address ends in its version, so that it may be kept."""
    if name not in static_files():
        raise HTTPException(404, f"there is no file {name}")
    file = static_files()[name]
    return Response(file.content, media_type=file.media_type, headers={"Cache-Control": _A_YEAR})


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
