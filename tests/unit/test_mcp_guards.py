"""Guards of MCP over HTTP: a body that comes in many parts."""

from functools import partial
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from kgcheck.mcp.guards import _ByToken
from kgcheck.service.limits import Rates, ServiceLimits
from tests.support.spent import spent

USER = AuthenticatedUser(AccessToken(token="1", client_id="ada", scopes=["viewer"]))
PARTS, BYTES = 5_000, 16


def read(parts: int) -> None:
    """Read a body that comes in so many parts, as the application behind the guard does."""
    body = b"[" + b" " * (parts * BYTES - 2) + b"]"
    sent = iter(range(0, len(body), BYTES))
    found: list[Any] = []

    async def receive() -> Any:
        at = next(sent)
        return {"type": "http.request", "body": body[at : at + BYTES], "more_body": at + BYTES < len(body)}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found.append((await receive())["body"])

    anyio.run(partial(_ByToken(app, Rates(ServiceLimits()), 1 << 20), {"type": "http", "user": USER}, receive, send))
    assert found == [body]


def test_ten_times_the_parts_take_about_ten_times_as_long() -> None:
    few, many = (min(spent(partial(read, parts)) for _ in range(3)) for parts in (PARTS, 10 * PARTS))

    assert many < 25 * few
