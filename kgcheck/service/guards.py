"""Gate and other guards of requests: authentication, roles, body size and time limits.

The gate stands before anything of a body is read: who may not call a route cannot make the service read what they send.
A route that names nothing that it needs lets nobody in.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, HTTPException, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgcheck.errors import KgcheckError, LedgerError
from kgcheck.ledger.accounts import Role
from kgcheck.service.access import (
    CSRF_HEADER,
    SAFE,
    BodyTooLarge,
    Caller,
    Needs,
    NotAllowed,
    NotOfThisSite,
    NotSignedIn,
    Principal,
    Refused,
    TookTooLong,
    TooManyRequests,
    action_of,
    check_csrf,
    check_host,
    check_site,
    comes_by_proxy,
    cookie_of,
    somebody,
)
from kgcheck.service.middleware import HttpMiddleware, SecurityHeaders
from kgcheck.service.problems import refusal
from kgcheck.service.state import Service

LOG = logging.getLogger(__name__)

_THREADS = 16
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class Door(NamedTuple):
    """A route, and what it needs: nothing where it is open to everybody, or names nobody."""

    path: str
    methods: frozenset[str]
    matches: Callable[[Scope], tuple[Match, Scope]]
    needs: Needs | None
    is_open: bool


def doors(app: FastAPI) -> Iterator[Door]:
    """Every route of an application, in the order in which they are looked for."""
    for route in iter_route_contexts(app.routes):
        calls = list(_calls(getattr(route, "dependant", None)))
        wanted = [call for call in calls if isinstance(call, Needs)]
        needed = max(wanted, key=lambda one: list(Role).index(one.role), default=None)
        # The description of the API says what everybody may read in the documentation.
        is_open = needed is None and (somebody in calls or route.path == app.openapi_url)
        yield Door(route.path or "", frozenset(route.methods or ()), route.matches, needed, is_open)


def _calls(dependant: Dependant | None) -> Iterator[Any]:
    for part in dependant.dependencies if dependant else ():
        yield part.call
        yield from _calls(part)


class Gate:
    """Lets requests through to their routes, or answers itself."""

    def __init__(self, app: ASGIApp, router_app: FastAPI, service: Service) -> None:
        self._app = app
        self._of = router_app
        self._service = service
        self._doors: list[Door] = []
        # Threads of its own: those of the routes may all wait for a store that is written to.
        self._threads = CapacityLimiter(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no other routes; a new kind of them would need a gate of its own.
            return
        request = Request(scope, receive)
        door = self._door(scope)

        async def recording(message: Message) -> None:
            if message["type"] == "http.response.start" and request.method not in SAFE:
                # Before anything of the answer is sent: who has it finds it in the record.
                status = int(message["status"])
                await to_thread.run_sync(self._record, request, door, status, limiter=self._threads)
            await send(message)

        try:
            await to_thread.run_sync(self._check, request, door, limiter=self._threads)
        except KgcheckError as error:
            # A record that any page elsewhere could fill would be of no use.
            is_recorded = isinstance(error, Refused) and not isinstance(error, TooManyRequests)
            is_recorded &= hasattr(request.state, "caller")
            await refusal(request, error)(scope, receive, recording if is_recorded else send)
            return
        await self._app(scope, receive, recording)

    def _door(self, scope: Scope) -> Door | None:
        # Not at the beginning: routes are added until the first request comes.
        self._doors = self._doors or list(doors(self._of))
        partial = None
        for door in self._doors:
            match door.matches(scope)[0]:
                case Match.FULL:
                    return door
                case Match.PARTIAL:
                    partial = partial or door
        return partial

    def _check(self, request: Request, door: Door | None) -> None:
        options, rates, is_open = self._service.options, self._service.rates, bool(door and door.is_open)
        check_host(request.headers.get("host", ""), options.names)
        check_site(request.method, request.headers, options.hosts)
        try:
            caller = self._caller(request)
        except NotSignedIn as error:
            caller = Caller(None, why=error)
            if (error.is_wrong or request.method not in SAFE) and not is_open and not rates.failed(address_of(request)):
                raise TooManyRequests("too many wrong tokens from this address", "wait a minute") from error
        except LedgerError:
            if not is_open:
                raise
            # Whether the service is ready can be asked also while the ledger is away.
            caller = Caller(None)
        request.state.caller = caller
        if caller.principal and caller.counted and not rates.may_send(caller.counted):
            why = f"more than {options.limits.per_minute:,} requests of {caller.principal.name} in a minute"
            raise TooManyRequests(why, "wait a minute, or ask for more at a time")
        if door is None or is_open:
            return
        if door.needs is None:
            raise NotAllowed("this route names nobody who may call it", "this is a fault in kgcheck: please report it")
        door.needs.admit(caller)
        if not caller.csrf or request.method in SAFE:
            return
        given = request.headers.get(CSRF_HEADER)
        if given is not None:
            check_csrf(caller, given)
        elif request.headers.get("content-type", "").partition(";")[0].strip().lower() not in _FORMS:
            # A form has a field for it, which is looked at when the form is read.
            hint = "a session needs it for whatever changes something"
            raise NotOfThisSite("the header X-CSRF-Token is missing", hint)

    def _caller(self, request: Request) -> Caller:
        users = self._service.users
        if not users.there_are_any():
            return self._local(request)
        if "authorization" in request.headers:
            found = users.by_token(_bearer(request))
            if found is None:
                raise NotSignedIn("the token is none, has expired or was revoked", is_wrong=True)
            return Caller(Principal(name=found.name, role=found.role), counted=f"token {found.id}")
        signed_in = users.by_session(cookie_of(request))
        if signed_in is None:
            raise NotSignedIn("nobody is signed in", "send a token: Authorization: Bearer kgc_...")
        session, token_ = signed_in
        principal = Principal(name=token_.name, role=token_.role, session=session.digest)
        return Caller(principal, session.csrf, counted=f"token {token_.id}")

    def _local(self, request: Request) -> Caller:
        """While there are no users: whoever started the service, and nobody else."""
        hint = "make a user: kgcheck token add NAME --role admin"
        if not self._service.options.is_local:
            raise NotSignedIn("the service has no users yet", hint)
        if comes_by_proxy(request.headers):
            raise NotSignedIn("a proxy stands before the service, which has no users", hint)
        start = self._service.start_token
        if "authorization" in request.headers:
            if found := start.by_token(_bearer(request)):
                return Caller(found)
            raise NotSignedIn("this is not the token that the service was started with", is_wrong=True)
        if found := start.by_cookie(cookie_of(request)):
            return Caller(found, start.csrf)
        where = "open the address with the token that kgcheck serve printed; a script sends it as a bearer's"
        raise NotSignedIn("nobody is signed in", where)

    def _record(self, request: Request, door: Door | None, status: int) -> None:
        caller: Caller = getattr(request.state, "caller", Caller(None))
        places = door.matches(request.scope)[1].get("path_params", {}) if door else {}
        objects, route = " ".join(map(str, places.values())), door.path if door else ""
        action = action_of(caller.principal, address_of(request), request.method, route, objects, status)
        try:
            self._service.actions.add(action)
        except LedgerError as error:
            # What was done is done, and who did it must learn so.
            LOG.error("an action of %s is not in the record: %s", action.name, error.message)


def address_of(request: Request) -> str:
    """From where a request comes."""
    return request.client.host if request.client else ""


def _bearer(request: Request) -> str:
    """The token of the one Authorization header; empty where that is another, or one of several."""
    given = request.headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" and len(given) == 1 else ""


_MOST_FIELDS = 1_000


class Application(FastAPI):
    """FastAPI with the security headers around all of it: also around what answers when something fails."""

    def build_middleware_stack(self) -> ASGIApp:
        return SecurityHeaders(super().build_middleware_stack())


def add_guards(app: FastAPI, service: Service) -> None:
    """Guard an application."""
    app.add_middleware(BodyLimit, most=service.options.limits.body_bytes)
    app.add_middleware(Gate, router_app=app, service=service)
    app.add_middleware(TimeLimit, seconds=service.options.limits.seconds)


class BodyLimit(HttpMiddleware):
    """Ends requests whose body is larger than it may be, whether they say so before or not; forms with many fields."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        super().__init__(app)
        self._most = most
        words = f"the body of a request may have {most:,} bytes, and a form {_MOST_FIELDS:,} fields"
        self._refused = BodyTooLarge(words, "send less at a time")

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, count, fields = Request(scope, receive), 0, 0
        is_form = request.headers.get("content-type", "").lower().startswith("application/x-www-form-urlencoded")
        stated = request.headers.get("content-length", "0")
        if not stated.isdecimal() or int(stated) > self._most:
            await refusal(request, self._refused)(scope, receive, send)
            return

        async def counted() -> Message:
            nonlocal count, fields
            message = await receive()
            body = message.get("body", b"")
            count += len(body)
            # Starlette counts the fields of a form, but for those without a name.
            fields += body.count(b"&") if is_form else 0
            if count > self._most or fields > _MOST_FIELDS:
                # The one kind of error that FastAPI lets through while it reads a body.
                raise HTTPException(self._refused.status, self._refused.message)
            return message

        await self._app(scope, counted, send)


class TimeLimit(HttpMiddleware):
    """Answers for what takes too long until its answer begins.

    A thread cannot be ended: what it does goes on until it ends by itself, at the latest by the limits on statements.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        super().__init__(app)
        self._seconds = seconds
        self._late: set[asyncio.Future[Any]] = set()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, given_up = asyncio.Event(), False

        async def in_time(message: Message) -> None:
            if given_up:
                return
            begun.set()
            await send(message)

        answer = asyncio.ensure_future(self._app(scope, receive, in_time))
        waiting = asyncio.create_task(begun.wait())
        try:
            await asyncio.wait({answer, waiting}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            if begun.is_set() or answer.done():
                await answer
                return
        except asyncio.CancelledError:
            answer.cancel()
            raise
        finally:
            waiting.cancel()
        given_up = True
        answer.cancel()
        self._late.add(answer)

        def ended(answer: asyncio.Future[Any]) -> None:
            self._late.discard(answer)
            if not answer.cancelled():
                answer.exception()

        answer.add_done_callback(ended)
        late = TookTooLong(f"there was no answer within {self._seconds:g} s", "ask for less; long work is a task")
        await refusal(Request(scope, receive), late)(scope, receive, send)
