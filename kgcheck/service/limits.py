"""Limits of the service: request rates, failed sign-ins, body size, time and connections.

uvicorn refuses every request beyond its limit of connections. Here a new connection takes the place of the one that has
waited longest for its client; where all are at work, it may ask for health alone.
"""

import asyncio
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, cast

import h11
import uvicorn
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from pydantic import Field
from uvicorn.middleware.proxy_headers import _TrustedHosts
from uvicorn.protocols.http.flow_control import CLOSE_HEADER, service_unavailable
from uvicorn.protocols.http.h11_impl import H11Protocol

from kgcheck.model import Value
from kgcheck.options import ListeningOptions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ServiceLimits(Value):
    """The limits of a service."""

    body_bytes: int = Field(default=2 * 1024 * 1024, gt=0, description="largest body of a request")
    seconds: float = Field(default=60.0, gt=0, description="longest time until an answer begins")
    per_minute: int = Field(default=1_200, gt=0, description="requests of one token or session in a minute")
    failures: int = Field(default=20, gt=0, description="failed sign-ins and wrong tokens of one address in a minute")
    tasks: int = Field(default=2, gt=0, description="tasks at the same time")
    connections: int = Field(default=512, gt=0, description="connections at the same time")
    per_address: int = Field(default=128, gt=0, description="those of one address, unless it is a proxy's")
    waiting_s: float = Field(default=15.0, gt=0, description="longest wait for a request, and for more of it")
    taking_s: float = Field(default=60.0, gt=0, description="longest wait for a client to take more of its answer")


class Rates:
    """Counts requests in memory: of each process by itself."""

    def __init__(self, limits: ServiceLimits) -> None:
        # It forgets addresses that come no more; MovingWindowRateLimiter keeps each of them for ever.
        self._counter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._requests = RateLimitItemPerMinute(limits.per_minute)
        self._failures = RateLimitItemPerMinute(limits.failures)

    def may_send(self, principal: str) -> bool:
        """Count a request of somebody, and whether it is not one too many."""
        return self._counter.hit(self._requests, "requests", principal)

    def failed(self, address: str) -> bool:
        """Count a failed sign-in or wrong token, and whether it is not one too many."""
        return self._counter.hit(self._failures, "failures", address)

    def may_try(self, address: str) -> bool:
        return self._counter.test(self._failures, "failures", address)


HEADERS_BYTES = 32 * 1024
"""Most of one request before its body."""

RESERVE = 32
"""Connections beyond the limit, which may ask for health."""

LEAST_BYTES_S = 500
"""So many bytes of a request give it another second."""

LOOK_S = 0.5


class ListeningConfig(uvicorn.Config):
    """Configuration of a server: trusted proxies, limits, and the paths of health checks."""

    def __init__(
        self,
        app: "ASGIApp",
        listening: ListeningOptions,
        limits: ServiceLimits,
        *,
        health: Collection[str],
        end_s: int = 20,
    ) -> None:
        self.limits = limits
        self.health = frozenset(health)
        self.proxies = _TrustedHosts(list(listening.proxies))
        super().__init__(
            app,
            host=listening.host,
            port=listening.port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(listening.proxies),
            forwarded_allow_ips=list(listening.proxies),
            timeout_graceful_shutdown=end_s,
            timeout_keep_alive=max(1, int(limits.waiting_s)),
            h11_max_incomplete_event_size=HEADERS_BYTES,
            http=Connection,
            ws="none",
        )


class Connection(H11Protocol):
    """A connection that is given up when its client neither sends what it has begun nor takes what it asked for."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for it, and wait for its first request."""
        super().connection_made(transport)
        self._settings = cast(ListeningConfig, self.config)
        self.is_spare = self.is_given_up = False
        self._phase: tuple[object, str] = (None, "")
        self._since, self._received = self.loop.time(), 0
        self._watch()
        self._timer = self.loop.call_later(LOOK_S, self._look)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._received:
            self._since = self.loop.time()
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    @property
    def waits_since(self) -> float | None:
        """Time since which its client is waited for; None while that is the one who waits."""
        return None if self._phase[1] == "work" else self._since

    def give_up(self) -> None:
        """End it now, whatever is under way."""
        self.is_given_up = True
        self.transport.abort()

    def _watch(self) -> None:
        phase = (self.cycle, self._kind())
        if phase != self._phase:
            self._phase, self._since, self._received = phase, self.loop.time(), 0

    def _kind(self) -> str:
        if self.transport.is_closing():
            return "closing"
        if self.cycle is None or self.cycle.response_complete:
            # What still comes of a request that is answered is thrown away.
            return "rest" if self.conn.their_state is h11.SEND_BODY else "head"
        if self.flow.write_paused:
            return "stalled"
        is_wanted = not self.flow.read_paused and not self.cycle.waiting_for_100_continue
        return "body" if self.cycle.more_body and is_wanted else "work"

    def _look(self) -> None:
        self._watch()
        limits, waited, kind = self._settings.limits, self.loop.time() - self._since, self._phase[1]
        if kind in ("closing", "stalled"):
            if waited > limits.taking_s:
                self.give_up()
        elif kind != "work":
            pace = 0.0 if kind == "rest" else self._received / LEAST_BYTES_S
            if waited > limits.waiting_s + pace:
                self.transport.close()
        self._timer = self.loop.call_later(LOOK_S, self._look)

    def _make_room(self) -> None:
        limits, address = self._settings.limits, self.client[0] if self.client else ""
        others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
        others = [one for one in others if not one.is_given_up]
        counted = [one for one in others if not one.is_spare]
        same = [one for one in counted if one.client and one.client[0] == address]
        if len(same) >= limits.per_address and address not in self._settings.proxies:
            crowd = same
        elif len(counted) >= limits.connections:
            crowd = counted
        else:
            return
        if _end_idlest(crowd):
            return
        self.is_spare = True
        self.app = cast("uvicorn._types.ASGI3Application", _HealthAlone(self.app, self._settings.health))
        reserve = [one for one in others if one.is_spare]
        if len(reserve) >= RESERVE and not _end_idlest(reserve):
            self.give_up()


def _end_idlest(connections: Iterable[Connection]) -> bool:
    waiting = [(since, one) for one in connections if (since := one.waits_since) is not None]
    if waiting:
        min(waiting, key=lambda pair: pair[0])[1].give_up()
    return bool(waiting)


class _HealthAlone:
    """Answers what tells of the health of a service, once, and refuses everything else."""

    def __init__(self, app: "ASGIApp", paths: Collection[str]) -> None:
        self._app = app
        self._paths = paths

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def last(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), CLOSE_HEADER]
            await send(message)

        if scope["type"] == "http" and scope["path"] in self._paths:
            await self._app(scope, receive, last)
        else:
            await service_unavailable(scope, receive, send)  # type: ignore[arg-type]
