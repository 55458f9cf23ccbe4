"""Connections that keep the service waiting: idle, slow, half and silent ones shut nobody out."""

from __future__ import annotations

import asyncio
import http.client
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
import uvicorn

from kgcheck.options import ListeningOptions
from kgcheck.service.limits import RESERVE, ListeningConfig, ServiceLimits
from tests.support.chance import new_seed

SECONDS = 60
"""Longest wait of a test for what takes a second on a machine with nothing else to do."""

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HANGS = HEAD.replace(b"/ ", b"/hangs ")


class Application:
    """Answers at once, after a body, never or without end."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.hanging = 0
        self.loop: asyncio.AbstractEventLoop | None = None

    def release(self) -> None:
        """Let those go on that hang."""
        if self.loop:
            self.loop.call_soon_threadsafe(self.free.set)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.loop = asyncio.get_running_loop()
        if scope["type"] == "lifespan":
            return
        if scope["path"] == "/hangs":
            self.hanging += 1
            await self.free.wait()
            self.hanging -= 1
        if scope["path"] == "/body":
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                if not message["more_body"]:
                    break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"transfer-encoding", b"chunked")]})
        while scope["path"] == "/endless":
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"well"})


class Listening:
    """A server on loopback, in a thread."""

    def __init__(self, server: uvicorn.Server, app: Application) -> None:
        self.app = app
        self.server = server
        self.port: int = server.servers[0].sockets[0].getsockname()[1]

    @property
    def open(self) -> int:
        return len(self.server.server_state.connections)

    def connect(self, sent: bytes = b"") -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
        made.sendall(sent)
        return made

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()


@contextmanager
def listening(proxies: tuple[str, ...] = (), **limits: Any) -> Iterator[Listening]:
    app = Application()
    how = ServiceLimits(**{"waiting_s": SECONDS, **limits})
    config = ListeningConfig(app, ListeningOptions(port=0, proxies=proxies), how, health=["/health"], end_s=1)
    config.lifespan = "off"
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield Listening(server, app)
    finally:
        server.should_exit = True
        thread.join(SECONDS)


def until(true: Callable[[], Any]) -> None:
    ends = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


def is_ended(one: socket.socket) -> bool:
    """Whether the other side has ended a connection; it says nothing else meanwhile."""
    try:
        while one.recv(65_536):
            pass
    except OSError as error:
        return not isinstance(error, TimeoutError)
    return True


def test_idle_connections_shut_nobody_out() -> None:
    with listening(per_address=16) as served, ExitStack() as stack:
        idle = [stack.enter_context(served.connect()) for _ in range(80)]
        assert [served.get("/") for _ in range(3)] == [200] * 3
        assert served.get("/health") == 200
        until(lambda: served.open <= 16)
        # The one that had waited longest had to go, and not the newest.
        assert is_ended(idle[0])
        idle[-1].sendall(HEAD)
        assert idle[-1].recv(12) == b"HTTP/1.1 200"


DRIPS = {
    "nothing": (b"", b""),
    "headers": (b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"x"),
    "a body": (b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", b"x"),
    "chunks": (b"POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "half a body": (b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nx", b""),
    "after an answer": (HEAD, b""),
    "headers after an answer": (HEAD + b"GET / HTTP/1.1\r\nX: ", b"x"),
    "the rest of an answered body": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", b"x"),
}


@pytest.mark.parametrize("kind", DRIPS)
def test_a_client_that_keeps_it_waiting_is_not_waited_for(kind: str) -> None:
    begins, drip = DRIPS[kind]
    with listening(waiting_s=0.3) as served, served.connect(begins) as slow:
        slow.settimeout(0.02)
        ends = time.monotonic() + SECONDS
        while not is_ended(slow):
            assert time.monotonic() < ends
            with suppress(OSError):
                slow.send(drip)
        until(lambda: not served.open)


def test_a_client_that_goes_on_is_waited_for() -> None:
    with listening(waiting_s=0.5) as served:
        body = b"POST /body HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n"
        with served.connect(body + b"x" * 3_000) as slow:
            for _ in range(19):
                time.sleep(0.1)
                slow.sendall(b"x" * 3_000)
            assert slow.recv(12) == b"HTTP/1.1 200"


def test_who_does_not_take_the_answer_is_not_waited_for() -> None:
    with listening(taking_s=0.3) as served, served.connect(HEAD.replace(b"/ ", b"/endless ")) as idle:
        until(lambda: served.open)
        until(lambda: not served.open)
        assert is_ended(idle)


def test_where_all_are_at_work_health_is_answered() -> None:
    with listening(per_address=4) as served, ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(served.connect(HANGS))
        until(lambda: served.app.hanging == 4)
        assert [served.get(path) for path in ("/", "/health", "/hangs", "/health")] == [503, 200, 503, 200]
        # Nor do those that wait for nothing take the place of those that ask for health.
        for _ in range(2 * RESERVE):
            stack.enter_context(served.connect())
        assert served.get("/health") == 200
        until(lambda: served.open <= 4 + RESERVE + 1)
        assert served.app.hanging == 4
        served.app.release()
        until(lambda: not served.app.hanging)
        assert served.get("/") == 200


def test_a_proxy_has_no_limit_of_its_own() -> None:
    with listening(proxies=("127.0.0.0/8",), per_address=2, connections=12) as served, ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(served.connect(HANGS))
        until(lambda: served.app.hanging == 12)
        assert [served.get(path) for path in ("/", "/health")] == [503, 200]


def test_whatever_connections_do_others_are_answered() -> None:
    """Connections that do anything by chance: health is answered all the time, and all of them end."""
    draw = random.Random(new_seed(7))  # noqa: S311
    pieces = [b"", HEAD, HANGS, HEAD[:9], *(begins for begins, _ in DRIPS.values()), b"\r\n", b"x" * 2_000, b"\0\xff"]
    with listening(per_address=12, connections=20, waiting_s=0.5, taking_s=0.5) as served:
        made: list[socket.socket] = []
        for number in range(400):
            with suppress(OSError):
                if draw.random() < 0.4 or not made:
                    made.append(served.connect(draw.choice(pieces)))
                elif draw.random() < 0.8:
                    draw.choice(made).send(draw.choice(pieces))
                else:
                    made.pop(draw.randrange(len(made))).close()
            if number % 20 == 0:
                assert served.get("/health") == 200
                until(lambda: served.open <= 12 + RESERVE + 1)
        served.app.release()
        until(lambda: served.open == 0)
        for one in made:
            one.close()
        assert served.get("/") == 200
