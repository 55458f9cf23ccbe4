"""Runs the server: over stdio for a client that starts it itself, over HTTP for many."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from sse_starlette.sse import AppStatus
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgcheck.errors import UsageError
from kgcheck.ledger.ledger import Ledger
from kgcheck.mcp.access import Asking, LedgerTokens, TokenLookup
from kgcheck.mcp.guards import ActionRecord, guard
from kgcheck.mcp.server import ToolServer, make_server
from kgcheck.mcp.text_sources import TextSources
from kgcheck.service.headers import SecurityHeaders
from kgcheck.service.limits import ServiceLimits
from kgcheck.service.listening import listening
from kgcheck.service.logs import RequestLog, start_logging
from kgcheck.service.origin import LOOPBACK, is_loopback
from kgcheck.service.roles import Role
from kgcheck.workspace.patching import whoami
from kgcheck.workspace.users import Users
from kgcheck.workspace.workspace import Workspace

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
MOST_BYTES = 1024 * 1024
"""Largest body of a request."""

_FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"}
_NO_USERS = (
    "a proxy stands before the server, and nobody has a token",
    "kgcheck token add NAME --role viewer makes one; without any, only this machine is served",
)
_IDLE_S, _SESSIONS, _CONNECTIONS = 1_800.0, 256, 512
_STOP_S, _END_S, _LOOK_S = 30, 5, 0.2
"""How long calls under way may go on when the server is asked to end, then their connections, and between two looks."""


def run_stdio(workspace: Workspace, role: Role, sources: TextSources | None = None) -> None:
    """Serve whoever started this process, until they close its standard input."""
    start_logging()
    server = make_server(workspace, Asking(role, whoami()), sources)
    # A client that wants no more closes stdin, or asks the process to end.
    with suppress(KeyboardInterrupt):
        anyio.run(server.run_stdio_async)


@contextmanager
def users_of(workspace: Workspace) -> Iterator[Users | None]:
    """Who has tokens in the ledger."""
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
    users: TokenLookup | None,
    hosts: Sequence[str] = (),
    limits: ServiceLimits | None = None,
    sources: TextSources | None = None,
) -> "tuple[ToolServer, ASGIApp]":
    """The server as an ASGI application."""
    how: dict[str, Any] = {}
    if users:
        # Tokens are made by `kgcheck token add`: nobody signs in anywhere, so no server is named that would issue them.
        how["auth"] = AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None)
        how["token_verifier"] = LedgerTokens(users)
    server = make_server(workspace, Asking(role, None if users else whoami()), sources, **how)

    server.custom_route("/health", methods=["GET"])(_health)
    names = [*(f"[{host}]" if ":" in host else host for host in sorted(LOOPBACK)), *hosts]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            form for name in names for kind in ("http", "https") for form in (f"{kind}://{name}", f"{kind}://{name}:*")
        ],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BYTES,
        session_idle_timeout=_IDLE_S,
        max_sessions=_SESSIONS,
        transport_security=security,
    )
    guarded = guard(app, ActionRecord(workspace.ledger), limits or ServiceLimits())
    return server, RequestLog(SecurityHeaders(guarded if users else _Direct(guarded)))


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


class _Direct:
    """Refuses what a proxy passes on: without users this machine alone is served, and it comes from elsewhere."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if names & _FORWARDED:
            refusal = JSONResponse({"error": _NO_USERS[0], "hint": _NO_USERS[1]}, 401)
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def run_http(
    workspace: Workspace,
    role: Role,
    host: str,
    port: int,
    hosts: Sequence[str] = (),
    *,
    proxies: Sequence[str] = (),
    limits: ServiceLimits | None = None,
    sources: TextSources | None = None,
) -> None:
    """Serve over HTTP until Ctrl-C or SIGTERM; calls under way end first."""
    with users_of(workspace) as users:
        if users is None and not is_loopback(host):
            raise UsageError(f"{host} can be reached by others, and nobody has a token", _NO_USERS[1])
        start_logging()
        own = [host] if host not in (*LOOPBACK, "0.0.0.0", "::") else []  # noqa: S104
        server, app = make_app(workspace, role, users, [*own, *hosts], limits, sources)
        config = listening(app, host, port, proxies=proxies, connections=_CONNECTIONS, end_s=_END_S)
        # uvicorn ends the calls under way, and then raises again what asked it to end.
        with suppress(KeyboardInterrupt):
            _Patient(config, server).run()
