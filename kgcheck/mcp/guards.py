"""Authentication of MCP callers by token, their roles and limits, and the log of their actions."""

import logging
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from kgcheck.errors import LedgerError, UsageError
from kgcheck.ledger.accounts import Role, Users
from kgcheck.ledger.actions import ActionEntry, ActionTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.service.access import BodyTooLarge, Principal, action_of
from kgcheck.service.bodies import json_of
from kgcheck.service.limits import Rates, ServiceLimits
from kgcheck.service.middleware import HttpMiddleware
from kgcheck.service.sessions import StartToken

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from kgcheck.ledger.place import LedgerPlace

LONGEST_TOKEN = 256


class LedgerTokens:
    """Looks tokens up in the ledger, as the SDK asks for it."""

    def __init__(self, users: Users | StartToken) -> None:
        self._users = users

    async def verify_token(self, token: str) -> AccessToken | None:
        """Check a token; None where it counts for nobody."""
        if len(token) > LONGEST_TOKEN:
            return None
        entry = await anyio.to_thread.run_sync(self._users.by_token, token)
        if entry is None:
            return None
        # Its id stands for the token: nothing that is kept in memory for as long as a session needs the secret.
        return AccessToken(token=entry.id, client_id=entry.name, subject=entry.id, scopes=[entry.role.value])


class Asking:
    """Tells of the call under way who asks."""

    def __init__(self, most: Role, local: str | None) -> None:
        self.most = most
        self._local = local

    def principal(self) -> Principal:
        """Return the principal of the call."""
        token = get_access_token()
        if token is None:
            if self._local is None:
                raise UsageError("nobody is signed in", "send a token: Authorization: Bearer kgc_...")
            return Principal(name=self._local, role=self.most)
        role = Role(token.scopes[0])
        return Principal(name=token.client_id, role=self.most if role.may(self.most) else role)

    def needs(self, role: Role) -> Principal:
        """Return the principal of the call, where their role is enough."""
        asking = self.principal()
        if not asking.role.may(role):
            raise UsageError(f"{asking.name} is a {asking.role.value} here", f"this needs the role {role.value}")
        return asking


LOG = logging.getLogger(__name__)


class ActionRecord:
    """Writes into the ledger who did what. A ledger that is not there is not made for it."""

    def __init__(self, place: "LedgerPlace") -> None:
        self._place = place

    async def add(self, who: Principal | None, address: str, route: str, objects: str, status: int) -> None:
        """Write an action down; that it cannot be written stops nobody, and stands in the log."""
        await anyio.to_thread.run_sync(self._write, action_of(who, address, "MCP", route, objects, status))

    def _write(self, action: ActionEntry) -> None:
        try:
            with Ledger(self._place, create=False) as ledger:
                ActionTable(ledger.database).add(action)
        except LedgerError as error:
            LOG.error("an action of %s is not in the record: %s", action.name, error.message)


class _ByToken(HttpMiddleware):
    """Lets each token send so many requests in a minute; where there are none, nobody is counted."""

    def __init__(self, app: "ASGIApp", rates: Rates) -> None:
        super().__init__(app)
        self._rates = rates

    async def handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        user = scope.get("user")
        if isinstance(user, AuthenticatedUser) and not self._rates.may_send(f"token {user.access_token.subject}"):
            await _too_many("the token has sent too many requests in a minute")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _Tries(HttpMiddleware):
    """Lets each address try so many wrong tokens in a minute, and writes down that it tried."""

    def __init__(self, app: "ASGIApp", rates: Rates, record: ActionRecord) -> None:
        super().__init__(app)
        self._rates = rates
        self._record = record

    async def handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
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


class _FewValues(HttpMiddleware):
    """Reads the body of a request of somebody known, and parses it in a thread before the SDK does."""

    def __init__(self, app: "ASGIApp", most_bytes: int) -> None:
        super().__init__(app)
        self._most_bytes = most_bytes

    async def handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if not isinstance(scope.get("user"), AuthenticatedUser):
            await self._app(scope, receive, send)
            return
        body = bytearray()
        try:
            async for part in Request(scope, receive).stream():
                body += part
                if len(body) > self._most_bytes:
                    raise BodyTooLarge(f"a body may have {self._most_bytes:,} bytes", "send less")
            if body:
                await anyio.to_thread.run_sync(json_of, body)
        except ClientDisconnect:
            return
        except BodyTooLarge as error:
            await refusal(error.status, error.message, error.hint)(scope, receive, send)
            return
        except ValueError:
            await refusal(400, "the body is no JSON", "send a message of JSON-RPC")(scope, receive, send)
            return
        read: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> "Message":
            return read.pop() if read else await receive()

        await self._app(scope, again, send)


def guard(app: "Starlette", record: ActionRecord, limits: ServiceLimits, most_bytes: int) -> "ASGIApp":
    """Guard the SDK's application as the service guards its own."""
    rates = Rates(limits)
    # At the end: after the SDK has found out whose token it is.
    app.user_middleware.append(Middleware(_ByToken, rates=rates))
    app.user_middleware.append(Middleware(_FewValues, most_bytes=most_bytes))
    return _Tries(app, rates, record)


def _too_many(words: str) -> JSONResponse:
    return refusal(429, words, "wait a minute", {"retry-after": "60"})


def refusal(status: int, words: str, hint: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An answer to who is not let in."""
    return JSONResponse({"error": words, "hint": hint}, status, headers)


def about(arguments: dict[str, Any]) -> str:
    """The findings that a call is about, as they stand in the record: nothing else of what was sent.

    >>> about({"findings": ["fb7a191abc56beb2", 3], "note": "a secret"})
    'fb7a191abc56beb2'
    """
    found = arguments.get("findings")
    return " ".join(one for one in found if isinstance(one, str)) if isinstance(found, list) else ""
