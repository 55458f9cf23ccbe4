"""Render the web pages' templates with escaping; error pages, redirects, static files."""

import hashlib
from datetime import UTC, date, datetime
from functools import cache
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import HTTPException, Request, Response
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
from kgcheck.service.access import Principal, caller_of
from kgcheck.service.api.shapes import place_name
from kgcheck.visible import visible

FRAGMENT = "X-Fragment"
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
    folder = resources.files("kgcheck.service.page") / "static"
    found = {}
    for file in folder.iterdir():
        if kind := _TYPES.get(file.name.rpartition(".")[2]):
            content = file.read_bytes()
            found[file.name] = StaticFile(content, kind, hashlib.sha256(content).hexdigest()[:12])
    return found


def base_of(request: Request) -> str:
    """Return the prefix of a reverse proxy that stands before every path of ours; empty without one."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def render(
    request: Request, template: str, asking: Principal | None, *, status: int = 200, **content: Any
) -> HTMLResponse:
    """A page, or a part of one."""
    common = {
        "base": base_of(request),
        "status": status,
        "path": request.scope["path"].removeprefix(base_of(request)),
        "asking": asking,
        "may_decide": bool(asking and asking.role.may(Role.CURATOR)),
        "csrf_token": caller_of(request).csrf,
        "version": __version__,
        "static": {name: f"{base_of(request)}/static/{name}?v={file.version}" for name, file in static_files().items()},
    }
    text = _environment().get_template(f"{template}.html").render(common | content)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


def node_address(end: Ref | NearEnd | NearNode) -> str:
    """The path of the page of a node."""
    return f"/nodes/{quote(end.label, safe='')}/{quote(end.id, safe='')}"


def redirect(request: Request, path: str) -> RedirectResponse:
    """To another page of ours, after something was done."""
    return RedirectResponse(f"{base_of(request)}{path}", 303)


def is_fragment(request: Request) -> bool:
    """Return whether our own script asks, for a part of a page."""
    return FRAGMENT in request.headers


def error_page(request: Request, status: int, error: Exception) -> Response | None:
    """Render an error as a page; None unless a page, or our own script, asks for one."""
    if "text/html" not in request.headers.get("accept", "") and not is_fragment(request):
        return None
    if isinstance(error, KgcheckError):
        return problem_page(request, status, error.message, error.hint)
    if isinstance(error, RequestValidationError):
        return problem_page(request, status, "; ".join(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors()[:5]))
    words = {404: "There is no such page.", 405: "This page takes no such request."}
    detail = str(error.detail) if isinstance(error, HTTPException) else "Something went wrong that nobody foresaw."
    return problem_page(request, status, words.get(status, detail))


def problem_page(request: Request, status: int, detail: str, hint: str = "") -> Response:
    """Render an error as a page or, for our own script, as a part of one."""
    template = "_problem" if is_fragment(request) else "problem"
    title = _TITLES.get(status, "That cannot be done" if status < 500 else "Something went wrong")
    asking = caller_of(request).principal
    return render(request, template, asking, status=status, title=title, detail=detail, hint=hint)


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
        section=section_of,
    )
    env.globals.update(types=TYPES, marks=MARKS, shown_marks=shown_marks, state_words=STATES)
    return env


def section_of(text: Document | Opinion) -> str:
    """Name the section of a paper that a text is from; empty of an abstract, as most texts are."""
    return "" if text.section == "abstract" and not text.heading else place_of(text.section, text.heading)


def _when(at: datetime | str) -> Markup:
    """A moment as people read it; rows for tables have it as text."""
    try:
        moment = (datetime.fromisoformat(at) if isinstance(at, str) else at).astimezone(UTC)
    except ValueError:
        return escape(visible(str(at)))
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), f"{moment:%Y-%m-%d %H:%M} UTC")


def age(day: str | date, today: date | None = None) -> str:
    """Return the time since a day, in words; empty where it is not known.

    >>> age("2026-01", date(2026, 11, 22))
    '10 months'
    """
    now = today or clock.today()
    if isinstance(day, str):
        try:
            year, month, number = ([int(part) for part in day.split("-")] + [1, 1])[:3]
            day = date(year, month, number)
        except ValueError:
            return ""
    days = (now - day).days
    if days < 0:
        return ""
    for size, word in ((365, "year"), (30, "month")):
        if days >= 2 * size or (size == 30 and days >= size):
            return how_many(days // size, word)
    return "today" if days == 0 else how_many(days, "day")


def highlight(text: str, quotes: list[str]) -> Markup:
    """A text in which exact quotes are marked."""
    shown = Markup("")
    at = 0
    spans = sorted((text.find(q), q) for q in set(quotes) if q and q in text)
    for start, quote_ in spans:
        if start >= at:
            marked = Markup("<mark>{}</mark>").format(visible(quote_))
            shown += escape(visible(text[at:start])) + marked
            at = start + len(quote_)
    return shown + escape(visible(text[at:]))
