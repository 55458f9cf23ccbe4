"""Logs (JSON lines) and traces (OpenTelemetry) of the service.

A line or a span has the route as it stands in the API (``/v1/runs/{run}``), never its path or query, which hold what
people look for; and of a fault where it happened, not its message, which may quote the same.
"""

import logging
import os
import re
import secrets
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kgcheck import __version__
from kgcheck.cleartext import refuse_cleartext
from kgcheck.errors import MissingExtra
from kgcheck.redact import redact
from kgcheck.service.middleware import HttpMiddleware
from kgcheck.visible import visible

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUEST_ID = "x-request-id"
"""The header that names a request, in both directions."""

REQUESTS = logging.getLogger("kgcheck.requests")

_request: ContextVar[str | None] = ContextVar("request", default=None)
_GIVEN = re.compile(rb"[A-Za-z0-9._-]{1,64}")


def start_logging() -> None:
    """Write the logs of this process as JSON lines on stderr, instead of whatever wrote them before."""
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

    def with_request(record: logging.LogRecord) -> bool:
        record.request = getattr(record, "request", None) or _request.get()
        return True

    names = {"levelname": "level", "name": "logger"}
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines([*names, "message", "request"], rename_fields=names, timestamp="at"))
    handler.addFilter(with_request)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("kgcheck").setLevel(logging.INFO)
    # It says when it starts, and where it listens; its own lines of requests hold the query.
    logging.getLogger("uvicorn.error").setLevel(logging.INFO)
    logging.getLogger("uvicorn.access").disabled = True
    logging.captureWarnings(capture=True)


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
        given = next((value for key, value in scope["headers"] if key == REQUEST_ID.encode()), b"")
        name = given.decode() if _GIVEN.fullmatch(given) else secrets.token_hex(8)
        began, status, mark = time.perf_counter(), 0, _request.set(name)
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
    # From the gate of the service, or from Starlette's own authentication.
    principal = getattr(scope.get("state", {}).get("caller"), "principal", None)
    name = principal.name if principal else getattr(scope.get("user"), "display_name", None)
    fields = {
        "who": name or "-",
        "method": scope["method"],
        "route": route_of(scope),
        "status": status,
        "duration_ms": round(1000 * (time.perf_counter() - began), 1),
    }
    if isinstance(error, Exception):
        fields["fault"] = where_of(error)
    REQUESTS.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra=fields)


def route_of(scope: "Scope") -> str:
    """The route that a request took, as it stands in the API: ``/v1/runs/{run}``."""
    # A route of a router that another one includes knows only its own part of the path.
    route = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    # A mounted part (static files) has no route of its own.
    return getattr(route, "path_format", None) or getattr(route, "path", None) or "(none)"


_EXTRA, _NAME = "telemetry", "kgcheck"
_started: "TracerProvider | None" = None
_SILENT: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}
"""OpenTelemetry's own way puts the message of an error, and where it happened, into the span."""


def traced(app: "ASGIApp", provider: "TracerProvider | None") -> "ASGIApp":
    """An application with a span for every request."""
    return app if provider is None else _Traced(app, provider.get_tracer(_NAME, __version__))


@contextmanager
def task_span(kind: str, name: str) -> Iterator[None]:
    """A span for a task, where spans go anywhere."""
    if _started is None:
        yield
        return
    tracer = _started.get_tracer(_NAME, __version__)
    with tracer.start_as_current_span(f"task {kind}", **_SILENT) as span:
        span.set_attributes({"kgcheck.task.kind": kind, "kgcheck.task.id": name})
        with _marked(span):
            yield


def start_telemetry(exporter: "SpanExporter | None" = None, *, cleartext_hosts: str = "") -> "TracerProvider":
    """Send spans to where OpenTelemetry's variables say, over HTTP; in batches, so that no request waits for it.

    What is left is sent when the process ends.
    """
    global _started
    if exporter is None:
        endpoint, headers = (
            os.environ.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or os.environ.get(f"OTEL_EXPORTER_OTLP_{name}") or ""
            for name in ("ENDPOINT", "HEADERS")
        )
        address = urlsplit(endpoint)
        # Headers may carry a token, and an address a password.
        if address.scheme != "https" and address.hostname and (headers or "@" in address.netloc):
            refuse_cleartext(address.hostname, cleartext_hosts, "write OTEL_EXPORTER_OTLP_ENDPOINT with https://")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtra("telemetry", _EXTRA) from error
    # What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say comes before it.
    own = {"service.name": os.environ.get("OTEL_SERVICE_NAME") or _NAME, "service.version": __version__}
    provider = TracerProvider(resource=Resource.create(own))
    provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
    _started = provider
    return provider


def stop_telemetry() -> None:
    """Send what is left, and make no more spans of tasks."""
    global _started
    if _started is not None:
        _started.shutdown()
        _started = None


class _Traced(HttpMiddleware):
    def __init__(self, app: "ASGIApp", tracer: Any) -> None:
        super().__init__(app)
        self._tracer = tracer

    async def handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        how = {"context": extract(headers), "kind": SpanKind.SERVER, **_SILENT}
        with self._tracer.start_as_current_span(scope["method"], **how) as span:

            async def sending(message: "Message") -> None:
                if message["type"] == "http.response.start":
                    method, route, status = scope["method"], route_of(scope), message["status"]
                    span.update_name(f"{method} {route}")
                    known = {"http.request.method": method, "http.route": route, "http.response.status_code": status}
                    span.set_attributes(known | ({"kgcheck.request.id": name} if (name := _request.get()) else {}))
                    if status >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            with _marked(span):
                await self._app(scope, receive, sending)


@contextmanager
def _marked(span: Any) -> Iterator[None]:
    """Mark a span of what failed by the kind of error: its message may hold what people look for."""
    from opentelemetry.trace import Status, StatusCode

    try:
        yield
    except BaseException as error:
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(Status(StatusCode.ERROR))
        raise
