"""Traces by OpenTelemetry, where somebody wants them: a span for every request and for every task.

Off unless ``KGCHECK_TELEMETRY`` is set. Where spans go is said by OpenTelemetry's own variables
(``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_SERVICE_NAME``, ...). A span has the route as it stands in the API, the status
and the id of the request; nothing of what was sent or answered, and no name of who asked.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kgcheck import __version__
from kgcheck.cleartext import refuse_cleartext
from kgcheck.errors import MissingExtra
from kgcheck.service.logs import request_id, route_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        _refuse_cleartext(cleartext_hosts)
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


def _refuse_cleartext(named: str) -> None:
    """Refuse to send headers, which may carry a token, or a password of the address, in the clear."""
    endpoint, headers = (
        os.environ.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or os.environ.get(f"OTEL_EXPORTER_OTLP_{name}") or ""
        for name in ("ENDPOINT", "HEADERS")
    )
    address = urlsplit(endpoint)
    if address.scheme != "https" and address.hostname and (headers or "@" in address.netloc):
        refuse_cleartext(address.hostname, named, "write OTEL_EXPORTER_OTLP_ENDPOINT with https://")


class _Traced:
    def __init__(self, app: "ASGIApp", tracer: Any) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        how = {"context": extract(headers), "kind": SpanKind.SERVER, **_SILENT}
        with self._tracer.start_as_current_span(scope["method"], **how) as span:

            async def sending(message: "Message") -> None:
                if message["type"] == "http.response.start":
                    _describe(span, scope, message["status"])
                await send(message)

            with _marked(span):
                await self._app(scope, receive, sending)


def _describe(span: Any, scope: "Scope", status: int) -> None:
    from opentelemetry.trace import Status, StatusCode

    route = route_of(scope)
    span.update_name(f"{scope['method']} {route}")
    span.set_attributes(
        {"http.request.method": scope["method"], "http.route": route, "http.response.status_code": status}
    )
    if name := request_id():
        span.set_attribute("kgcheck.request.id", name)
    if status >= 500:
        span.set_status(Status(StatusCode.ERROR))


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
