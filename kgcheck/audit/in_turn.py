"""Work that is done in a thread of its own, one thing after the other, while the caller goes on."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

_MOST_WAITING = 4
"""So many things may wait for their turn: what they are about is kept in memory until then."""


class InTurn:
    """Does things in the order in which they are given. Once one has failed, none that was given after it is begun.

    Leaving the block waits for all of them.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._given: deque[Future[None]] = deque()
        self._failed = False

    def do(self, what: Callable[..., object], *about: Any) -> None:
        """Do something as soon as everything that was given before is done."""
        self._wait(_MOST_WAITING - 1)
        self._given.append(self._thread.submit(self._next, what, *about))

    def wait(self) -> None:
        """Wait until everything is done."""
        self._wait(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            # What was given before an error elsewhere is as right as it was, and is finished.
            self._thread.shutdown()

    def _wait(self, left: int) -> None:
        while self._given and (len(self._given) > left or self._given[0].done()):
            self._given.popleft().result()

    def _next(self, what: Callable[..., object], *about: Any) -> None:
        if self._failed:
            return
        try:
            what(*about)
        except BaseException:
            self._failed = True
            raise
