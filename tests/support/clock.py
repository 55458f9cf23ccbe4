"""A clock of a test's own for the server of jobs, and an executor without threads."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from datetime import datetime, timedelta
from typing import Any

from kgcheck import clock


class AtOnce(Executor):
    """Does each thing in the thread that asks for it."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        fn(*args, **kwargs)
        return Future()


class Clock:
    """In the place of the event that the server waits for: waiting moves the clock on; it ends at a time.

    Meanwhile people act, each at their time.
    """

    def __init__(self, traveller: Any, end: datetime, people: Mapping[datetime, Callable[[], object]] = {}) -> None:
        self.traveller = traveller
        self.end = end
        self.woken = False
        self._people = dict(sorted(people.items()))

    def set(self) -> None:
        self.woken = True

    def clear(self) -> None:
        self.woken = False

    def wait(self, seconds: float) -> None:
        now = clock.exact_now()
        if now >= self.end:
            raise KeyboardInterrupt
        if self.woken:
            return
        then = min([now + timedelta(seconds=seconds), self.end, *self._people])
        self.traveller.move_to(max(then, now))
        if then in self._people:
            self._people.pop(then)()
