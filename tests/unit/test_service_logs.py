"""Logs and traces of a service: what stands in them, and what never does."""

import io
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kgcheck.errors import ConfigurationError
from kgcheck.ledger.accounts import Role
from kgcheck.service.access import Principal
from kgcheck.service.telemetry import RequestLog, start_logging, start_telemetry, stop_telemetry, task_span, traced
from tests.support.mcp import serving

SECRET = "kgc_0123456789ab_" + "s" * 43
ASKED = "a-rare-disease"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the logs of the service write; the tests' own are put back afterwards."""
    loggers = [logging.getLogger(name) for name in (None, "kgcheck", "uvicorn.error", "uvicorn.access")]
    before = [(one, one.handlers[:], one.level, one.disabled) for one in loggers]
    show = warnings.showwarning
    start_logging()
    handler = logging.getLogger().handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    stream = io.StringIO()
    handler.setStream(stream)
    yield stream
    logging.captureWarnings(capture=False)
    warnings.showwarning = show
    for one, handlers, level, disabled in before:
        one.handlers[:], one.disabled = handlers, disabled
        one.setLevel(level)


def lines(written: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def application() -> FastAPI:
    app = FastAPI()

    @app.get("/v1/things/{thing}")
    def thing(thing: str, request: Request) -> dict[str, str]:
        class Caller:
            principal = Principal(name="ada", role=Role.VIEWER)

        request.state.caller = Caller()
        logging.getLogger("kgcheck.things").info("looked at a thing; https://me:hunter2@host/?key=abc")
        return {"thing": thing}

    @app.get("/v1/broken")
    def broken() -> None:
        raise RuntimeError(f"nothing is known of {ASKED}")

    return app


HEADERS = {"Authorization": f"Bearer {SECRET}", "Cookie": f"kgcheck={SECRET}"}


def test_a_line_says_who_did_what_and_never_what_was_asked(written: io.StringIO) -> None:
    with serving(RequestLog(application())) as address:
        answer = httpx2.get(f"{address}/v1/things/{ASKED}?q={ASKED}&token={SECRET}", headers=HEADERS, timeout=30)
        httpx2.get(f"{address}/nowhere/{ASKED}", timeout=30)
        httpx2.get(f"{address}/v1/broken?q={ASKED}", headers=HEADERS, timeout=30)

    done = [line for line in lines(written) if line["logger"] == "kgcheck.requests"]
    first = {name: done[0][name] for name in ("level", "message", "who", "method", "route", "status", "request")}
    assert first == {
        "level": "INFO", "message": "request", "who": "ada", "method": "GET", "route": "/v1/things/{thing}",
        "status": 200, "request": answer.headers["x-request-id"],
    }  # fmt: skip
    assert done[0]["duration_ms"] >= 0
    assert done[0]["at"].startswith("20")
    assert (done[1]["route"], done[1]["status"], done[1]["who"]) == ("(none)", 404, "-")
    assert (done[2]["route"], done[2]["status"], done[2]["level"]) == ("/v1/broken", 500, "ERROR")
    assert "RuntimeError at " in done[2]["fault"]
    assert ASKED not in written.getvalue()
    assert SECRET not in written.getvalue()
    assert "hunter2" not in written.getvalue()


def test_lines_of_one_request_carry_its_id(written: io.StringIO) -> None:
    with serving(RequestLog(application())) as address:
        own = httpx2.get(f"{address}/v1/things/x", headers={"X-Request-Id": "proxy-17"}, timeout=30)
        odd = httpx2.get(f"{address}/v1/things/x", headers={"X-Request-Id": 'x" \\x1b[31m'}, timeout=30)

    assert own.headers["x-request-id"] == "proxy-17"
    assert len(odd.headers["x-request-id"]) == 16
    about = [line for line in lines(written) if line["logger"] == "kgcheck.things"]
    assert [line["request"] for line in about] == ["proxy-17", odd.headers["x-request-id"]]
    assert "https://***@host/?key=***" in about[0]["message"]


def test_what_would_forge_a_line_is_spelt_out(written: io.StringIO) -> None:
    logging.getLogger("kgcheck.x").warning('one\n{"level": "INFO"}\x1b[2J %s', SECRET[:4])

    (line,) = lines(written)
    assert line["message"].startswith('one\\x0a{"level": "INFO"}\\x1b[2J')


def test_an_error_is_logged_without_what_it_says(written: io.StringIO) -> None:
    try:
        raise KeyError(ASKED)
    except KeyError:
        logging.getLogger("kgcheck.x").exception("it failed")

    (line,) = lines(written)
    assert line["exc_info"].startswith("KeyError at ")
    assert ASKED not in written.getvalue()


# Traces


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    yield exporter
    stop_telemetry()


def test_a_span_for_every_request_and_task(spans: InMemorySpanExporter) -> None:
    provider = start_telemetry(spans)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with serving(RequestLog(traced(application(), provider))) as address:
        httpx2.get(f"{address}/v1/things/{ASKED}?q={ASKED}", headers={**HEADERS, "traceparent": parent}, timeout=30)
        httpx2.get(f"{address}/v1/broken", timeout=30)
    with task_span("audit", "t1"):
        pass
    with pytest.raises(RuntimeError), task_span("audit", "t2"):
        raise RuntimeError(ASKED)
    provider.force_flush()

    found = {(span.name, (span.attributes or {}).get("kgcheck.task.id")): span for span in spans.get_finished_spans()}
    thing, broken = found["GET /v1/things/{thing}", None], found["GET /v1/broken", None]
    assert thing.attributes
    assert thing.attributes["http.response.status_code"] == 200
    assert thing.context
    assert f"{thing.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert not broken.status.is_ok
    assert found["task audit", "t1"].status.is_unset
    assert found["task audit", "t2"].attributes == {
        "kgcheck.task.kind": "audit", "kgcheck.task.id": "t2", "error.type": "RuntimeError",
    }  # fmt: skip
    everything = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert ASKED not in everything
    assert SECRET not in everything


@pytest.mark.parametrize(
    ("endpoint", "headers", "named", "is_refused"),
    [
        ("http://collector.example:4318", "authorization=Bearer x", "", True),
        ("http://me:secret@collector.example:4318", "", "other", True),
        ("HTTP://127.1:4318", "x-key=y", "", True),
        ("https://collector.example:4318", "x-key=y", "", False),
        ("http://collector:4318", "", "", False),
        ("http://collector:4318", "x-key=y", "collector", False),
        ("http://127.0.0.1:1", "x-key=y", "", False),
        ("", "x-key=y", "", False),
    ],
)
@pytest.mark.parametrize("kind", ["", "TRACES_"])
def test_no_header_goes_to_a_collector_in_the_clear(
    endpoint: str, headers: str, named: str, is_refused: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT", endpoint)
    monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{kind}HEADERS", headers)
    with pytest.raises(ConfigurationError, match="in the clear") if is_refused else nullcontext():
        start_telemetry(cleartext_hosts=named)
    stop_telemetry()


def test_a_collector_that_is_away_stops_no_request() -> None:
    class Away(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            assert all(isinstance(span, ReadableSpan) for span in spans)
            return SpanExportResult.FAILURE

    provider = start_telemetry(Away())
    try:
        with serving(traced(application(), provider)) as address:
            assert httpx2.get(f"{address}/v1/things/x", timeout=30).json() == {"thing": "x"}
    finally:
        stop_telemetry()


@pytest.mark.parametrize(
    ("endpoint", "headers", "named"),
    [
        ("http://collector:4318", "", ""),
        ("http://collector:4318", "x-key=y", "collector"),
        ("http://127.0.0.1:1", "x-key=y", ""),
        ("", "x-key=y", ""),
    ],
)
def test_a_collector_without_secrets_or_near_gets_its_spans(
    endpoint: str, headers: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)

    start_telemetry(cleartext_hosts=named)
    stop_telemetry()
