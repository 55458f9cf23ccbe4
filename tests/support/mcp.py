"""A workspace for tests of the Model Context Protocol, and ways to talk to its server."""

import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import anyio
import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

T = TypeVar("T")


def talk(server: Any, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    """Do some work with a client of a server: the server itself, or a transport."""

    async def main() -> T:
        with anyio.fail_after(60):
            async with Client(server) as client:
                return await work(client)

    return anyio.run(main)


def text_of(result: CallToolResult) -> str:
    """What a model reads of a result."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def given(result: CallToolResult) -> dict[str, Any]:
    """What a tool gave; both of its forms are the same."""
    assert not result.is_error, text_of(result)
    whole = result.structured_content
    assert isinstance(whole, dict)
    assert whole == json.loads(text_of(result))
    return whole


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """An ASGI application served by uvicorn on loopback, in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=20))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        ends = time.monotonic() + 60
        while not server.started and time.monotonic() < ends:
            time.sleep(0.02)
        assert server.started
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()


def talk_http(address: str, work: Callable[[Client], Coroutine[Any, Any, T]], token: str | None = None) -> T:
    """Do some work with a client over HTTP, whose bearer has a token or none."""

    async def main() -> T:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with anyio.fail_after(60):
            async with (
                httpx2.AsyncClient(headers=headers, timeout=30) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                return await work(client)

    return anyio.run(main)
