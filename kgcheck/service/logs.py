"""Logs of the service: JSON lines, and one for each request.

A line has the route as it stands in the API (``/v1/runs/{run}``), never its path or query, which hold what people look
for; and of a fault where it happened, not its message, which may quote the same.
"""

import logging
import re
import secrets
import sys
import time
import traceback
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from kgcheck.errors import MissingExtra
from kgcheck.redact import redact
from kgcheck.service.middleware import HttpMiddleware
from kgcheck.visible import visible

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

REQUEST_ID = "x-request-id"
"""The header that names a request, in both directions."""

REQUESTS = logging.getLogger("kgcheck.requests")

_request: ContextVar[str | None] = ContextVar("request", default=None)
_GIVEN = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_NOBODY, _NO_ROUTE = "-", "(none)"


def start_logging() -> None:
    """Write the logs of this process as JSON lines on stderr, instead of whatever wrote them before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter())
    handler.addFilter(_with_request)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("kgcheck").setLevel(logging.INFO)
    # It says when it starts, and where it listens; its own lines of requests hold the query.
    logging.getLogger("uvicorn.error").setLevel(logging.INFO)
    logging.getLogger("uvicorn.access").disabled = True
    logging.captureWarnings(capture=True)


def _formatter() -> logging.Formatter:
    try:
        from pythonjsonlogger.json import JsonFormatter
    except ImportError as error:
        raise MissingExtra("a log in JSON", "service") from error

    class Lines(JsonFormatter):
        """One object a line: what looks like a secret is taken out of all of its texts."""

        def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
            return {
                name: visible(redact(value)) if isinstance(value, str) else value
                for name, value in log_data.items()
                # What uvicorn adds for terminals says the same again.
                if value is not None and name != "color_message"
            }

        def formatException(self, ei: Any) -> str:
            return where_of(ei[1])

    return Lines(
        ["levelname", "name", "message", "request"],
        rename_fields={"levelname": "level", "name": "logger"},
        timestamp="at",
    )


def _with_request(record: logging.LogRecord) -> bool:
    """Put the id of the request under way beside every line that is written meanwhile."""
    if not hasattr(record, "request"):
        record.request = _request.get()
    return True


def where_of(error: BaseException | None) -> str:
    """Return the type of an error and where it happened, without its message.

    >>> try:
    ...     {}["the name of a patient"]
    ... except KeyError as error:
    ...     print(where_of(error).partition(" at ")[0])
    KeyError
    """
    if error is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} at " + " > ".join(f"{f.filename}:{f.lineno} {f.name}" for f in frames)


class RequestLog(HttpMiddleware):
    """Writes a line for every request, and gives it an id, which its answer carries.

    A caller's own id (a proxy's, say) is taken over where it is letters, digits, dots and dashes.
    """

    async def handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        name, began, status = _id_of(scope), time.perf_counter(), 0
        mark = _request.set(name)
        scope.setdefault("state", {})["request_id"] = name

        async def sending(message: "Message") -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (REQUEST_ID.encode(), name.encode())]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except BaseException as error:
            # One that nobody answered: a fault, or a client that has gone.
            _write(scope, status or (500 if isinstance(error, Exception) else 499), began, error)
            raise
        else:
            _write(scope, status, began)
        finally:
            _request.reset(mark)


def _write(scope: "Scope", status: int, began: float, error: BaseException | None = None) -> None:
    fields = {
        "who": _who(scope),
        "method": scope["method"],
        "route": route_of(scope),
        "status": status,
        "duration_ms": round(1000 * (time.perf_counter() - began), 1),
    }
    if isinstance(error, Exception):
        fields["fault"] = where_of(error)
    REQUESTS.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra=fields)


def _who(scope: "Scope") -> str:
    """Return the name of the caller, from the gate of the service or from Starlette's own authentication."""
    principal = getattr(scope.get("state", {}).get("caller"), "principal", None)
    name = principal.name if principal else getattr(scope.get("user"), "display_name", None)
    return name or _NOBODY


def route_of(scope: "Scope") -> str:
    """The route that a request took, as it stands in the API: ``/v1/runs/{run}``."""
    # A route of a router that another one includes knows only its own part of the path.
    route = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    # A mounted part (static files) has no route of its own.
    return getattr(route, "path_format", None) or getattr(route, "path", None) or _NO_ROUTE


def _id_of(scope: "Scope") -> str:
    given = next((value for key, value in scope["headers"] if key == REQUEST_ID.encode()), b"")
    return given.decode() if _GIVEN.fullmatch(given) else secrets.token_hex(8)
