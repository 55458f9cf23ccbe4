"""Turn errors into HTTP problem responses (RFC 9457), with a status and a hint."""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import iter_route_contexts
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from kgcheck import errors
from kgcheck.errors import ChangedMeanwhile, KgcheckError, UsageError
from kgcheck.model import Value
from kgcheck.service.access import SAFE, NotSignedIn
from kgcheck.service.bodies import SHOWN_ERRORS

MEDIA_TYPE = "application/problem+json"
CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""Content of an answer that is a problem, as OpenAPI has it."""

API = "/v1"
_DESCRIBED = (errors.__name__, "kgcheck.service.")
"""Modules whose errors the API describes."""

_log = logging.getLogger(__name__)

_STATUS = (
    (404, (errors.UnknownName,)),
    # A patch that was edited, or whose files are gone: the service reads no other file that a client can mean.
    (409, (ChangedMeanwhile, errors.JobUnderWay, errors.StoreLocked, errors.InputError)),
    (400, (UsageError,)),
    (503, (errors.ConfigurationError, errors.IndexFault, errors.LedgerError, errors.MissingExtra, errors.ModelError)),
    (503, (errors.ProgramError, errors.SnapshotError, errors.StoreError)),
)
"""The first that fits counts; an error of the service may state its own as ``status``."""


class NotServed(UsageError):
    """The request needs something that this service was started without: papers, or a kgcheck.toml."""

    status = 404


class FieldProblem(Value):
    """Error in one value of a request."""

    where: str = Field(description="body, query, path or header, and the way to the value", examples=["query.limit"])
    detail: str


class Problem(Value):
    """An error by RFC 9457."""

    type: str = Field(description="names the kind of error", examples=["urn:kgcheck:problem:unknown-name"])
    title: str = Field(description="the kind of error in words")
    status: int = Field(ge=400, le=599)
    detail: str = Field(description="what was wrong here")
    instance: str = Field(description="the path that was asked for")
    hint: str | None = Field(default=None, description="what to do next")
    errors: list[FieldProblem] | None = Field(default=None, description="of a request that is not well-formed: where")
    present: dict[str, str] | None = Field(
        default=None, description="of what has changed: how it is now, by what was looked at"
    )


def status_of(error: KgcheckError) -> int:
    """The HTTP status of an error: 4xx where another request would do better, 503 where something is away.

    >>> status_of(errors.UnknownName("run", "x", ()))
    404
    """
    if stated := getattr(error, "status", None):
        return HTTPStatus(stated).value
    found = next((status for status, kinds in _STATUS if isinstance(error, kinds)), None)
    return found or (503 if error.exit_code == errors.EXIT_INCOMPLETE else 400)


def problem(request: Request, name: str, status: int, detail: str, **more: Any) -> Response:
    """A problem as an answer."""
    headers = more.pop("headers", None)
    body = Problem(
        type=f"urn:kgcheck:problem:{name}",
        title=name.replace("-", " ").capitalize(),
        status=status,
        detail=detail,
        instance=request.url.path,
        **more,
    )
    return JSONResponse(body.model_dump(mode="json", exclude_none=True), status, headers, media_type=MEDIA_TYPE)


def paged(request: Request, status: int, error: Exception, headers: Mapping[str, str] | None = None) -> Response | None:
    """Render an error as a page, for a person who looks at one.

    ``app.state.error_page``, a function of a request, a status and an error, makes it where it is set.
    """
    page = getattr(request.app.state, "error_page", None)
    made: Response | None = page(request, status, error) if page and not is_api(request) else None
    if made:
        made.headers.update(headers or {})
    return made


def is_api(request: Request) -> bool:
    """Return whether a request is for the API, and not for the page."""
    path: str = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    return path.startswith(f"{API}/")


def add_handlers(app: FastAPI) -> None:
    """Answer each request that ends with an error: with a page where a person looks at one, else with a problem."""

    @app.exception_handler(KgcheckError)
    def refused(request: Request, error: KgcheckError) -> Response:
        return refusal(request, error)

    @app.exception_handler(RequestValidationError)
    def wrong(request: Request, error: RequestValidationError) -> Response:
        # What was sent is not shown again: it may be long, hostile or secret.
        found = [FieldProblem(where=_where(e["loc"]), detail=str(e["msg"])) for e in error.errors()[:SHOWN_ERRORS]]
        detail = "; ".join(f"{one.where}: {one.detail}" for one in found[:3])
        return paged(request, 422, error) or problem(request, "invalid-request", 422, detail, errors=found)

    @app.exception_handler(HTTPException)
    def without_route(request: Request, error: HTTPException) -> Response:
        name = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "request-refused")
        hint = f"{API}/openapi.json describes what there is" if error.status_code in (404, 405) else None
        path = request.scope["path"][:200]
        words = {404: f"there is nothing under {path}", 405: f"{path} takes other methods"}
        detail = words.get(error.status_code, str(error.detail))
        # No other header of an error that is not kgcheck's own is passed on. The router knows one route's methods.
        headers = {}
        if error.status_code == 405:
            met = [one for one in iter_route_contexts(app.routes) if one.matches(request.scope)[0] is not Match.NONE]
            headers = {"Allow": ", ".join(sorted({method for one in met for method in one.methods or ()}))}
        return paged(request, error.status_code, error, headers) or problem(
            request, name, error.status_code, detail, hint=hint, headers=headers
        )

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> Response:
        _log.error("%s %s", request.method, request.scope["path"], exc_info=error)
        detail = "something went wrong that nobody foresaw; the log of the service has it"
        return paged(request, 500, error) or problem(request, "internal-error", 500, detail)


def _where(loc: tuple[int | str, ...]) -> str:
    # Names of fields that nobody knows come from outside.
    return ".".join(str(part)[:80].encode("utf-8", "replace").decode() for part in loc)


def refusal(request: Request, error: KgcheckError) -> Response:
    """The answer to a request that is not let in, or cannot be done."""
    # A person looks at a page, or sends a form of one, and no program at the API.
    is_person = (request.method in SAFE or not is_api(request)) and "text/html" in request.headers.get("accept", "")
    if isinstance(error, NotSignedIn) and is_person:
        from kgcheck.service.sign_in import sign_in_page

        after = None if request.method in SAFE else _page_before(request)
        return sign_in_page(request, status=HTTPStatus.UNAUTHORIZED, after=after, headers=error.headers)
    status, headers = status_of(error), getattr(error, "headers", None)
    if page := paged(request, status, error, headers):
        return page
    # Kinds that the API does not describe are called after what they are a kind of.
    described = next(kind for kind in type(error).__mro__ if kind.__module__.startswith(_DESCRIBED))
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", described.__name__).lower()
    present = (error.present or None) if isinstance(error, ChangedMeanwhile) else None
    return problem(request, name, status, error.message, hint=error.hint or None, headers=headers, present=present)


def _page_before(request: Request) -> str:
    """The page that a form was on: what it was sent to is none that can be looked at."""
    before = urlsplit(request.headers.get("referer", ""))
    if before.netloc != request.headers.get("host", ""):
        return "/"
    return before.path + (f"?{before.query}" if before.query else "")
