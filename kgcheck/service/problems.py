"""Errors as problems by RFC 9457: what was wrong, what to do next, and a status that says whose fault it is."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from kgcheck.errors import EXIT_INCOMPLETE, JobUnderWay, KgcheckError, StoreLocked, UnknownName
from kgcheck.service.access import NotAllowed

MEDIA_TYPE = "application/problem+json"

_STATUS: tuple[tuple[type[KgcheckError], int], ...] = (
    (NotAllowed, 403),
    (UnknownName, 404),
    (JobUnderWay, 409),
    (StoreLocked, 409),
)


def status_of(error: KgcheckError) -> int:
    """The HTTP status of an error: 4xx where another request would do better, 503 where something is away.

    Returns:
        The status.

    >>> status_of(UnknownName("run", "x", ()))
    404
    """
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status
    return 503 if error.exit_code == EXIT_INCOMPLETE else 400


def problem(status: int, title: str, detail: str, **more: Any) -> JSONResponse:
    """A problem as an answer."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return JSONResponse(body, status, media_type=MEDIA_TYPE)


def problem_of(request: Request, error: KgcheckError) -> JSONResponse:
    """The problem that an error is."""
    more = {"hint": error.hint} if error.hint else {}
    answer = problem(getattr(error, "status", status_of(error)), type(error).__name__, error.message, **more)
    answer.headers.update(getattr(error, "headers", {}))
    return answer


def add_handlers(app: FastAPI) -> None:
    """Answer with problems wherever a KgcheckError ends a request.

    Args:
        app: The application.
    """

    @app.exception_handler(KgcheckError)
    def refused(request: Request, error: KgcheckError) -> JSONResponse:
        return problem_of(request, error)
