"""Authentication of MCP callers by token, their roles and limits, and the log of their actions."""

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from kgcheck.errors import LedgerError, UsageError
from kgcheck.ledger.accounts import ActionTable, Role, Users
from kgcheck.ledger.ledger import Ledger
from kgcheck.service.access import BodyTooLarge, Principal, Refused, StartToken, TooManyRequests, action_of
from kgcheck.service.bodies import json_of
from kgcheck.service.limits import Rates, ServiceLimits
from kgcheck.service.middleware import HttpMiddleware

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from kgcheck.ledger.place import LedgerPlace

LONGEST_TOKEN = 256
_WAIT = "wait a minute"


class NoJson(Refused):
    """The body of a request is no JSON."""

    status = HTTPStatus.BAD_REQUEST


class LedgerTokens:
    """Looks tokens up in the ledger, as the SDK asks for it."""

    def __init__(self, users: Users | StartToken) -> None:
        self._users = users

    async def verify_token(self, token: str) -> AccessToken | None:
        if len(token) > LONGEST_TOKEN:
            return None
        # Its id stands for the token: nothing that is kept in memory for as long as a session needs the secret.
        entry = await anyio.to_thread.run_sync(self._users.by_token, token)
        if entry is None:
            return None
        return AccessToken(token=entry.id, client_id=entry.name, subject=entry.id, scopes=[entry.role.value])


class Asking:
    """Tells of the call under way who asks."""

    def __init__(self, most: Role, local: str | None) -> None:
        self.most = most
        self._local = local

    def principal(self) -> Principal:
        token = get_access_token()
        if token is None:
            if self._local is None:
                raise UsageError("nobody is signed in", "send a token: Authorization: Bearer kgc_...")
            return Principal(name=self._local, role=self.most)
        role = Role(token.scopes[0])
        return Principal(name=token.client_id, role=self.most if role.may(self.most) else role)

    def needs(self, role: Role) -> Principal:
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
        action = action_of(who, address, "MCP", route, objects, status)

        def write() -> None:
            try:
                with Ledger(self._place, create=False) as ledger:
                    ActionTable(ledger.database).add(action)
            except LedgerError as error:
                LOG.error("an action of %s is not in the record: %s", action.name, error.message)

        await anyio.to_thread.run_sync(write)


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
                    await refusal(TooManyRequests("too many wrong tokens from this address", _WAIT))(
                        scope, receive, send
                    )
                    return
                # Not what was too much: a record that anybody could fill would be of no use.
                await self._record.add(None, address, scope["path"][:100], "", 401)
            await send(message)

        await self._app(scope, receive, counting)


class _ByToken(HttpMiddleware):
    """Lets each token send so many requests in a minute, and parses their bodies in a thread before the SDK does."""

    def __init__(self, app: "ASGIApp", rates: Rates, most_bytes: int) -> None:
        super().__init__(app)
        self._rates = rates
        self._most_bytes = most_bytes

    async def handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        user = scope.get("user")
        if not isinstance(user, AuthenticatedUser):
            await self._app(scope, receive, send)
            return
        body = bytearray()
        try:
            if not self._rates.may_send(f"token {user.access_token.subject}"):
                raise TooManyRequests("the token has sent too many requests in a minute", _WAIT)
            async for part in Request(scope, receive).stream():
                body += part
                if len(body) > self._most_bytes:
                    raise BodyTooLarge(f"a body may have {self._most_bytes:,} bytes", "send less")
            if body:
                await anyio.to_thread.run_sync(json_of, body)
        except ClientDisconnect:
            return
        except Refused as error:
            await refusal(error)(scope, receive, send)
            return
        except ValueError:
            await refusal(NoJson("the body is no JSON", "send a message of JSON-RPC"))(scope, receive, send)
            return
        read: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> "Message":
            return read.pop() if read else await receive()

        await self._app(scope, again, send)


def guard(app: "Starlette", record: ActionRecord, limits: ServiceLimits, most_bytes: int) -> "ASGIApp":
    """Guard the SDK's application as the service guards its own."""
    rates = Rates(limits)
    # At the end: after the SDK has found out whose token it is.
    app.user_middleware.append(Middleware(_ByToken, rates=rates, most_bytes=most_bytes))
    return _Tries(app, rates, record)


def refusal(error: Refused) -> JSONResponse:
    """An answer to who is not let in."""
    return JSONResponse({"error": error.message, "hint": error.hint}, error.status, error.headers)


def about(arguments: dict[str, Any]) -> str:
    """The findings that a call is about, as they stand in the record: nothing else of what was sent.

    >>> about({"findings": ["fb7a191abc56beb2", 3], "note": "a secret"})
    'fb7a191abc56beb2'
    """
    found = arguments.get("findings")
    return " ".join(one for one in found if isinstance(one, str)) if isinstance(found, list) else ""
