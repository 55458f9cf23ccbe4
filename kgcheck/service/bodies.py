"""JsonRoute: parse and validate request bodies in a thread, with a bound on their values."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from kgcheck.service.access import BodyTooLarge

MOST_VALUES = 10_000
"""Most members of objects and lists in a body: each may be wrong, and becomes an error then."""

SHOWN_ERRORS = 20


def json_of(body: bytes | bytearray) -> Any:
    """Parse a body; BodyTooLarge where it has more values than any request needs, ValueError where it is no JSON."""
    count = 0

    def counting(members: int) -> None:
        nonlocal count
        count += members
        if count > MOST_VALUES:
            raise BodyTooLarge(f"the body of a request may have {MOST_VALUES:,} values", "send less at a time")

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Before those of one name are taken for one.
        counting(1 + len(pairs))
        return dict(pairs)

    try:
        document = json.loads(body, object_pairs_hook=whole)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    left = [document]
    while left:
        part = left.pop()
        if isinstance(part, list):
            counting(len(part))
        left.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
    return document


class JsonRoute(APIRoute):
    """A route whose body FastAPI looks at only once it is known to be right, or to have a few errors."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_checked(request: Request) -> Response:
            if self.body_field:
                await run_in_threadpool(self._check, await request.body())
            return await handle(request)

        return handle_checked

    def _check(self, body: bytes) -> None:
        try:
            document = json_of(body)
        except ValueError:
            # FastAPI says where.
            return
        if self.body_field and not self._embed_body_fields:
            _, errors = self.body_field.validate(document, loc=("body",))
            if errors:
                raise RequestValidationError(errors[:SHOWN_ERRORS])
