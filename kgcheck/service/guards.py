"""Middleware around every request, from outside in: headers, time, the gate, the size of a body."""

import asyncio
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgcheck.service.access import BodyTooLarge, Refused, TookTooLong
from kgcheck.service.gate import Gate
from kgcheck.service.headers import SecurityHeaders
from kgcheck.service.problems import refusal
from kgcheck.service.state import Service

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


class BodyLimit:
    """Ends requests whose body is larger than it may be, whether they say so before or not; forms with many fields."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, count, fields = Request(scope, receive), 0, 0
        is_form = request.headers.get("content-type", "").lower().startswith("application/x-www-form-urlencoded")
        stated = request.headers.get("content-length", "0")
        if not stated.isdecimal() or int(stated) > self._most:
            await refusal(request, self._refusal())(scope, receive, send)
            return

        async def counted() -> Message:
            nonlocal count, fields
            message = await receive()
            body = message.get("body", b"")
            count += len(body)
            # Starlette counts the fields of a form, but for those without a name.
            fields += body.count(b"&") if is_form else 0
            if count > self._most or fields > _MOST_FIELDS:
                error = self._refusal()
                # The one kind of error that FastAPI lets through while it reads a body.
                raise HTTPException(error.status, error.message)
            return message

        await self._app(scope, counted, send)

    def _refusal(self) -> Refused:
        return BodyTooLarge(
            f"the body of a request may have {self._most:,} bytes, and a form {_MOST_FIELDS:,} fields",
            "send less at a time",
        )


class TimeLimit:
    """Answers for what takes too long until its answer begins.

    A thread cannot be ended: what it does goes on until it ends by itself, at the latest by the limits on statements.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app = app
        self._seconds = seconds
        self._late: set[asyncio.Future[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
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
        answer.add_done_callback(self._ended)
        late = TookTooLong(f"there was no answer within {self._seconds:g} s", "ask for less; long work is a task")
        await refusal(Request(scope, receive), late)(scope, receive, send)

    def _ended(self, answer: "asyncio.Future[Any]") -> None:
        self._late.discard(answer)
        if not answer.cancelled():
            answer.exception()
