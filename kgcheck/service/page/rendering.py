"""The web page that a request is for: templates with escaping, errors, redirects, static files."""

import hashlib
from datetime import UTC, date, datetime
from functools import cache
from importlib import resources
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from fastapi import Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment
from markupsafe import Markup, escape

from kgcheck import __version__, clock
from kgcheck.errors import KgcheckError
from kgcheck.graph.neighbourhood import NearEnd, NearNode
from kgcheck.ledger.accounts import Role
from kgcheck.literature.documents import Document, place_of
from kgcheck.literature.edge_reader import address
from kgcheck.literature.verify import Opinion
from kgcheck.model import Ref
from kgcheck.plurals import how_many
from kgcheck.report.comparison import STATES
from kgcheck.report.documents import bar, html_environment
from kgcheck.report.tables import shown_marks
from kgcheck.report.wording import MARKS, TYPES
from kgcheck.service.access import Curator, Principal, Viewer, caller_of
from kgcheck.service.api.shapes import place_name
from kgcheck.service.state import Served, Service
from kgcheck.visible import visible

_FRAGMENT = "X-Fragment"
"""Header of a request of our own script, which takes a part of a page and not a whole one."""

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_TITLES = {
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    409: "Not now",
    413: "Too large",
    421: "Not here",
    422: "That cannot be read",
    429: "Too many requests",
    503: "Out of reach",
}


class StaticFile(NamedTuple):
    """A file of the page, with what its address ends in, so that it may be kept for good."""

    content: bytes
    media_type: str
    version: str


@cache
def static_files() -> dict[str, StaticFile]:
    """The files of the page by name: style, script, icon."""
    found = {}
    for file in (resources.files("kgcheck.service.page") / "static").iterdir():
        if kind := _TYPES.get(file.name.rpartition(".")[2]):
            content = file.read_bytes()
            found[file.name] = StaticFile(content, kind, hashlib.sha256(content).hexdigest()[:12])
    return found


class Page(NamedTuple):
    """A page that is asked for: the request, the service, and who asks."""

    request: Request
    service: Service
    asking: Principal

    @property
    def is_fragment(self) -> bool:
        """Our own script asks, for a part of a page."""
        return _FRAGMENT in self.request.headers

    def render(self, template: str, **content: Any) -> HTMLResponse:
        """A page, or a part of one."""
        return _rendered(self.request, template, self.asking, **content)

    def redirect(self, path: str) -> RedirectResponse:
        """To another page of ours, after something was done."""
        return RedirectResponse(f"{_base_of(self.request)}{path}", 303)


async def _of_viewer(request: Request, service: Served, asking: Viewer) -> Page:
    return Page(request, service, asking)


async def _of_curator(request: Request, service: Served, asking: Curator) -> Page:
    return Page(request, service, asking)


Viewed = Annotated[Page, Depends(_of_viewer)]
"""A page for whoever may look."""

Curated = Annotated[Page, Depends(_of_curator)]
"""A page for whoever may decide."""


def _base_of(request: Request) -> str:
    """The prefix of a reverse proxy that stands before every path of ours; empty without one."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def _rendered(
    request: Request, template: str, asking: Principal | None, *, status: int = 200, **content: Any
) -> HTMLResponse:
    base = _base_of(request)
    common = {
        "base": base,
        "status": status,
        "path": request.scope["path"].removeprefix(base),
        "asking": asking,
        "may_decide": bool(asking and asking.role.may(Role.CURATOR)),
        "csrf_token": caller_of(request).csrf,
        "version": __version__,
        "static": {name: f"{base}/static/{name}?v={file.version}" for name, file in static_files().items()},
    }
    text = _environment().get_template(f"{template}.html").render(common | content)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


def error_page(request: Request, status: int, error: Exception) -> Response | None:
    """An error as a page or, for our own script, as a part of one; None where neither is asked for."""
    is_fragment = _FRAGMENT in request.headers
    if not is_fragment and "text/html" not in request.headers.get("accept", ""):
        return None
    words, hint = {404: "There is no such page.", 405: "This page takes no such request."}, ""
    match error:
        case KgcheckError():
            detail, hint = error.message, error.hint
        case RequestValidationError():
            detail = "; ".join(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors()[:5])
        case HTTPException():
            detail = words.get(status, str(error.detail))
        case _:
            detail = words.get(status, "Something went wrong that nobody foresaw.")
    title = _TITLES.get(status, "That cannot be done" if status < 500 else "Something went wrong")
    shown: dict[str, Any] = {"status": status, "title": title, "detail": detail, "hint": hint}
    return _rendered(request, "_problem" if is_fragment else "problem", caller_of(request).principal, **shown)


def node_address(end: Ref | NearEnd | NearNode) -> str:
    """The path of the page of a node."""
    return f"/nodes/{quote(end.label, safe='')}/{quote(end.id, safe='')}"


@cache
def _environment() -> Environment:
    env = html_environment("kgcheck.service.page")
    env.filters.update(
        bar=bar,
        n=lambda number: f"{number:,}",
        when=_when,
        age=age,
        plural=how_many,
        address=address,
        highlight=highlight,
        node=node_address,
        place=place_name,
        section=_section_of,
    )
    env.globals.update(types=TYPES, marks=MARKS, shown_marks=shown_marks, state_words=STATES)
    return env


def _section_of(text: Document | Opinion) -> str:
    """The section of a paper that a text is from; empty of an abstract, as most texts are."""
    return "" if text.section == "abstract" and not text.heading else place_of(text.section, text.heading)


def _when(at: datetime | str) -> Markup:
    try:
        moment = (datetime.fromisoformat(at) if isinstance(at, str) else at).astimezone(UTC)
    except ValueError:
        return escape(visible(str(at)))
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), f"{moment:%Y-%m-%d %H:%M} UTC")


def age(day: str, today: date | None = None) -> str:
    """The time since a day, in words; empty where it is not known.

    >>> age("2026-01", date(2026, 11, 22))
    '10 months'
    """
    try:
        year, month, number = ([int(part) for part in day.split("-")] + [1, 1])[:3]
        days = ((today or clock.today()) - date(year, month, number)).days
    except ValueError:
        return ""
    if days < 30:
        return "" if days < 0 else "today" if days == 0 else how_many(days, "day")
    return how_many(days // 365, "year") if days >= 730 else how_many(days // 30, "month")


def highlight(text: str, quotes: list[str]) -> Markup:
    """A text in which exact quotes are marked."""
    shown, at = Markup(""), 0
    for start, marked in sorted((text.find(q), q) for q in set(quotes) if q and q in text):
        if start >= at:
            shown += escape(visible(text[at:start])) + Markup("<mark>{}</mark>").format(visible(marked))
            at = start + len(marked)
    return shown + escape(visible(text[at:]))
