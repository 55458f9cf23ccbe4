"""What stands around requests over HTTP: how many there may be and how long one may take; and the record of actions."""

import logging
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.middleware import Middleware
from starlette.responses import JSONResponse

from kgcheck.errors import LedgerError
from kgcheck.ledger.actions import ActionEntry, ActionTable
from kgcheck.ledger.ledger import Ledger, now
from kgcheck.service.limits import Rates, ServiceLimits
from kgcheck.service.roles import Principal
from kgcheck.visible import visible

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from kgcheck.ledger.place import LedgerPlace

LOG = logging.getLogger(__name__)
_LONGEST = 500


class ActionRecord:
    """Writes into the ledger who did what. A ledger that is not there is not made for it."""

    def __init__(self, place: "LedgerPlace") -> None:
        self._place = place

    async def add(self, who: Principal | None, address: str, route: str, about: str, status: int) -> None:
        """Write an action down; that it cannot be written stops nobody, and stands in the log."""
        action = ActionEntry(
            at=now(),
            name=who.name if who else "",
            role=who.role.value if who else "",
            address=address,
            method="MCP",
            route=route,
            object=visible(about)[:_LONGEST],
            status=status,
        )
        await anyio.to_thread.run_sync(self._write, action)

    def _write(self, action: ActionEntry) -> None:
        try:
            with Ledger(self._place, create=False) as ledger:
                ActionTable(ledger.database).add(action)
        except LedgerError as error:
            LOG.error("an action of %s is not in the record: %s", action.name, error.message)


class _ByToken:
    """Lets each token send so many requests in a minute; where there are none, nobody is counted."""

    def __init__(self, app: "ASGIApp", rates: Rates) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        user = scope.get("user")
        if isinstance(user, AuthenticatedUser) and not self._rates.may_send(f"token {user.access_token.subject}"):
            await _too_many("the token has sent too many requests in a minute")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _Tries:
    """Lets each address try so many wrong tokens in a minute, and writes down that it tried."""

    def __init__(self, app: "ASGIApp", rates: Rates, record: ActionRecord) -> None:
        self._app = app
        self._rates = rates
        self._record = record

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        is_ended = False

        async def counting(message: "Message") -> None:
            nonlocal is_ended
            if is_ended:
                return
            if message["type"] == "http.response.start" and message["status"] == 401:
                if not self._rates.failed(address):
                    is_ended = True
                    await _too_many("too many wrong tokens from this address")(scope, receive, send)
                    return
                # Not what was too much: a record that anybody could fill would be of no use.
                await self._record.add(None, address, scope["path"][:100], "", 401)
            await send(message)

        await self._app(scope, receive, counting)


class _InTime:
    """Ends requests whose body does not come in time. How long a call may take is a matter of the call."""

    def __init__(self, app: "ASGIApp", seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ends, is_whole, is_late, begun = anyio.current_time() + self._seconds, False, False, False

        async def in_time() -> "Message":
            nonlocal is_whole, is_late
            if is_whole:
                return await receive()
            with anyio.CancelScope(deadline=ends):
                message = await receive()
                is_whole = not message.get("more_body", False)
                return message
            is_late = True
            if not begun:
                late = _refusal(503, f"the body did not come within {self._seconds:g} s", "send less at a time")
                await late(scope, receive, send)
            # For the application it is as if the client had gone.
            return {"type": "http.disconnect"}

        async def sending(message: "Message") -> None:
            nonlocal begun
            begun = True
            if not is_late:
                await send(message)

        await self._app(scope, in_time, sending)


def guard(app: "Starlette", record: ActionRecord, limits: ServiceLimits) -> "ASGIApp":
    """Guard the SDK's application as the service guards its own."""
    rates = Rates(limits)
    # At the end: after the SDK has found out whose token it is.
    app.user_middleware.append(Middleware(_ByToken, rates=rates))
    return _InTime(_Tries(app, rates, record), limits.seconds)


def _too_many(words: str) -> JSONResponse:
    return _refusal(429, words, "wait a minute", {"retry-after": "60"})


def _refusal(status: int, words: str, hint: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": words, "hint": hint}, status, headers)


def about(arguments: dict[str, Any]) -> str:
    """The findings that a call is about, as they stand in the record: nothing else of what was sent.

    >>> about({"findings": ["fb7a191abc56beb2", 3], "note": "a secret"})
    'fb7a191abc56beb2'
    """
    found = arguments.get("findings")
    return " ".join(one for one in found if isinstance(one, str)) if isinstance(found, list) else ""
