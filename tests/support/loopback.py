"""An HTTP server on loopback that answers from routes and misbehaves as a test wants.

with Loopback() as server:
    server.route("GET", r"/entry/(.+)", lambda seen, accession: Reply(body={"id": accession}))
    server.faults += [busy(), reset()]        # for the next two calls; then the routes answer
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from kgcheck.providers.http import Http


class Reply(NamedTuple):
    """An answer; a body that is no bytes is sent as JSON."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = {}

    @property
    def raw(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Seen(NamedTuple):
    """A call that came in."""

    method: str
    path: str
    query: dict[str, str]
    form: dict[str, str]
    headers: dict[str, str]
    at: float
    body: str = ""


Route = Callable[..., Reply]
Fault = Callable[[BaseHTTPRequestHandler, Reply], None]
"""Answers in place of a route; what the route would have said is given."""


class Loopback:
    """The server, in a thread of its own."""

    def __init__(self) -> None:
        self.calls: list[Seen] = []
        self.faults: list[Fault] = []
        self.always: Fault | None = None
        self._routes: list[tuple[str, re.Pattern[str], Route]] = []
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner._answer(self)

            do_POST = do_GET

            def log_message(self, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *args: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def route(self, method: str, path: str, answer: Route) -> None:
        """Answer calls whose path matches; the groups of the pattern are arguments."""
        self._routes.append((method, re.compile(path), answer))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        form = handler.rfile.read(length).decode()
        parts = urlsplit(handler.path)
        seen = Seen(
            handler.command,
            parts.path,
            _single(parts.query),
            _single(form),
            dict(handler.headers),
            time.monotonic(),
            form,
        )
        with self._lock:
            self.calls.append(seen)
            fault = self.faults.pop(0) if self.faults else self.always
        reply = self._routed(seen)
        with suppress(ConnectionError):
            (fault or send)(handler, reply)

    def _routed(self, seen: Seen) -> Reply:
        for method, path, answer in self._routes:
            match = path.fullmatch(seen.path)
            if match and method == seen.method:
                return answer(seen, *match.groups())
        return Reply(404, b"<!DOCTYPE html><html><body>nginx</body></html>", {"Content-Type": "text/html"})


def send(
    handler: BaseHTTPRequestHandler, reply: Reply, *, length: int | None = None, body: bytes | None = None
) -> None:
    """Send an answer; `length` and `body` may lie."""
    handler.send_response(reply.status)
    headers = {"Content-Type": "application/json"} | dict(reply.headers)
    sent = reply.raw if body is None else body
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(sent) if length is None else length))
    handler.end_headers()
    handler.wfile.write(sent)


def answers(status: int, body: Any = b"", **headers: str) -> Fault:
    """Another status and body than the route's."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, reply: send(handler, Reply(status, body, named))


def busy(retry_after: str | None = None) -> Fault:
    """429, with or without Retry-After."""
    headers = {"Retry_After": retry_after} if retry_after is not None else {}
    return answers(429, {"messages": ["too many"]}, **headers)


def page(status: int = 200) -> Fault:
    """HTML where there should be JSON."""
    return answers(status, b"<!DOCTYPE html>\n<html><body>maintenance</body></html>", Content_Type="text/html")


def error_in_200() -> Fault:
    """The status of success and the body of an error."""
    return answers(200, {"url": "http://127.0.0.1/", "messages": ["Internal server error"]})


def truncated(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    """Half of the JSON, as if that were all."""
    send(handler, reply, body=reply.raw[: len(reply.raw) // 2] or b"[")


def cut_off(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    """Half of the body that the headers promise."""
    send(handler, reply, length=len(reply.raw) + 100)
    handler.close_connection = True


def reset(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    """The connection is reset before any answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # Nothing else ends it at once: the streams of the handler hold on to the socket.
    os.close(handler.connection.detach())


@dataclass(frozen=True)
class Slow:
    """A fault that takes time."""

    answer: Fault

    def __call__(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        self.answer(handler, reply)


def limits(fault: Fault | None = None) -> dict[str, Any]:
    """How long a client waits: a slow fault is soon given up; nothing else is, however busy the machine."""
    timeout, total = (0.25, 0.4) if isinstance(fault, Slow) else (30, 60)
    return {"http_timeout_s": timeout, "http_total_s": total}


def addresses(url: str, *names: str) -> dict[str, Any]:
    """Settings by which services are asked at an address, without waiting."""
    from kgcheck.settings import Settings

    given = {f"{name}_url": url for name in names} | {f"{name}_calls_per_s": 1e6 for name in names}
    return {name: value for name, value in given.items() if name in Settings.model_fields}


@contextmanager
def clients(folder: Path, **given: Any) -> Iterator[Callable[..., Http]]:
    """Makes what asks services, with these settings and others; its answers are kept in a folder."""
    from kgcheck.providers.http import Http
    from kgcheck.settings import Settings

    with ExitStack() as opened:

        def make(**more: Any) -> Http:
            settings = Settings(**(limits() | {"http_attempts": 2, "cache_dir": folder} | given | more))
            return opened.enter_context(Http(settings, sleep=lambda seconds: None))

        yield make


def slow_headers(seconds: float) -> Slow:
    """Nothing at all for a while."""

    def fault(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        time.sleep(seconds)
        send(handler, reply)

    return Slow(fault)


def dripping_headers(seconds: float) -> Slow:
    """A byte of a header now and then."""

    def fault(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        _drip(handler, seconds)

    return Slow(fault)


def slow_body(seconds: float) -> Slow:
    """A byte of the body now and then."""

    def fault(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        send(handler, reply, length=1_000_000, body=b"[")
        _drip(handler, seconds)

    return Slow(fault)


def huge(size: int) -> Fault:
    """A body of so many bytes."""

    def fault(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        send(handler, reply, length=size, body=b"[")
        with suppress(ConnectionError):
            for _ in range(size // 65536):
                handler.wfile.write(b" " * 65536)

    return fault


def _drip(handler: BaseHTTPRequestHandler, seconds: float) -> None:
    ends = time.monotonic() + seconds
    with suppress(OSError):
        while time.monotonic() < ends:
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)
    handler.close_connection = True


def _single(text: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}
