"""Run the MCP server over stdio for one client, or over HTTP (ASGI) for many."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import uvicorn
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from sse_starlette.sse import AppStatus
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgcheck.errors import UsageError
from kgcheck.ledger.accounts import Role, Users, whoami
from kgcheck.ledger.ledger import Ledger
from kgcheck.mcp.guards import ActionRecord, Asking, LedgerTokens, guard, refusal
from kgcheck.mcp.server import ToolServer, make_server
from kgcheck.options import ListeningOptions, TextOptions
from kgcheck.service.access import (
    LOOPBACK,
    NotSignedIn,
    Refused,
    check_host,
    check_site,
    comes_by_proxy,
    is_loopback,
)
from kgcheck.service.limits import ListeningConfig, ServiceLimits
from kgcheck.service.middleware import HttpMiddleware, SecurityHeaders
from kgcheck.service.sessions import StartToken
from kgcheck.service.telemetry import RequestLog, start_logging
from kgcheck.workspace.workspace import Workspace

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH, HEALTH = "/mcp", "/health"
MOST_BYTES = 1024 * 1024
"""Largest body of a request."""

_NO_USERS = (
    "a proxy stands before the server, and nobody has a token",
    "kgcheck token add NAME --role viewer makes one; without any, only this machine is served",
)
_IDLE_S, _SESSIONS = 1_800.0, 256
_STOP_S, _END_S, _LOOK_S = 30, 5, 0.2
"""Seconds for calls under way when the server is to end, then for connections, and between two looks."""


def run_stdio(workspace: Workspace, role: Role, sources: TextOptions | None = None) -> None:
    """Serve whoever started this process, until they close its standard input."""
    start_logging()
    server = make_server(workspace, Asking(role, whoami()), sources)
    # A client that wants no more closes stdin, or asks the process to end.
    with suppress(KeyboardInterrupt):
        anyio.run(server.run_stdio_async)


@contextmanager
def users_of(workspace: Workspace) -> Iterator[Users | None]:
    """Open the users with tokens in the ledger; None where there never was a token."""
    place = workspace.ledger
    if isinstance(place, Path) and not place.exists():
        yield None
        return
    with Ledger(place) as ledger:
        users = Users(ledger.database)
        yield users if users.there_are_any() else None


def make_app(
    workspace: Workspace,
    role: Role,
    tokens: Users | StartToken,
    hosts: Sequence[str] = (),
    limits: ServiceLimits | None = None,
    sources: TextOptions | None = None,
) -> "tuple[ToolServer, ASGIApp]":
    """The server as an ASGI application."""
    # Tokens are made by kgcheck: nobody signs in anywhere, so no server is named that would issue them.
    auth = AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None)
    verifier = LedgerTokens(tokens)
    server = make_server(workspace, Asking(role, None), sources, auth=auth, token_verifier=verifier)
    server.custom_route(HEALTH, methods=["GET"])(_health)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BYTES,
        session_idle_timeout=_IDLE_S,
        max_sessions=_SESSIONS,
        # The SDK's own lets pages of every port of an allowed host in.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    guarded = guard(app, ActionRecord(workspace.ledger), limits or ServiceLimits(), MOST_BYTES)
    has_users = not isinstance(tokens, StartToken)
    return server, RequestLog(SecurityHeaders(_OwnSite(guarded, hosts, has_users=has_users)))


class _Patient(uvicorn.Server):
    """Lets calls under way end when it is asked to end itself; the SDK's streams would be cut off at once."""

    def __init__(self, config: uvicorn.Config, server: ToolServer) -> None:
        super().__init__(config)
        self._server = server
        AppStatus.enable_automatic_graceful_drain = False

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, wait for the calls, then end the streams."""
        for one in self.servers:
            one.close()
        with anyio.move_on_after(_STOP_S):
            while self._server.under_way:
                await anyio.sleep(_LOOK_S)
        # The last answer is on its way.
        await anyio.sleep(_LOOK_S)
        AppStatus.should_exit = True
        await super().shutdown(sockets)


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


class _OwnSite(HttpMiddleware):
    """Refuses what is for another host, what pages elsewhere send and, without users, what a proxy passes on."""

    def __init__(self, app: "ASGIApp", names: Sequence[str], *, has_users: bool) -> None:
        super().__init__(app)
        self._names = frozenset(name.lower() for name in names)
        self._has_users = has_users

    async def handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["path"] == HEALTH:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            check_host(headers.get("host", ""), LOOPBACK | self._names)
            check_site(scope["method"], headers, self._names)
            if not self._has_users and comes_by_proxy(headers):
                raise NotSignedIn(*_NO_USERS)
        except Refused as error:
            await refusal(error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def run_http(
    workspace: Workspace,
    role: Role,
    listening: ListeningOptions,
    sources: TextOptions,
    *,
    announce: Callable[[str], None],
) -> None:
    """Serve over HTTP until Ctrl-C or SIGTERM; calls under way end first."""
    host, limits = listening.host, ServiceLimits(per_minute=listening.rate)
    with users_of(workspace) as users:
        if users is None and not is_loopback(host):
            raise UsageError(f"{host} can be reached by others, and nobody has a token", _NO_USERS[1])
        start = StartToken(workspace.settings, role)
        if users is None and not start.is_known:
            announce(f"while there are no users, clients send: Authorization: Bearer {start.value}")
        start_logging()
        own = [host] if host not in (*LOOPBACK, "0.0.0.0", "::") else []  # noqa: S104
        server, app = make_app(workspace, role, users or start, [*own, *listening.allowed_hosts], limits, sources)
        config = ListeningConfig(app, listening, limits, health=[HEALTH], end_s=_END_S)
        # uvicorn ends the calls under way, and then raises again what asked it to end.
        with suppress(KeyboardInterrupt):
            _Patient(config, server).run()
