"""Limits of a service: of one request, of one principal, and of work at a time."""

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from pydantic import Field

from kgcheck.model import Value


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
        """Return whether an address may try to sign in."""
        return self._counter.test(self._failures, "failures", address)
