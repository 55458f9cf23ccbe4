"""Background threads of an audit: SerialExecutor runs calls in order, Prefetcher computes ahead."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Self, TypeVar

import duckdb

T = TypeVar("T")

_MOST_WAITING = 4
"""Most calls that wait for their turn: their arguments are kept in memory until then."""


class SerialExecutor:
    """Run calls in the background, in the order of their submission. Once one has failed, none after it is begun.

    Leaving the block waits for all of them.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._submitted: deque[Future[None]] = deque()
        self._failed = False

    def submit(self, func: Callable[..., object], *args: Any) -> None:
        """Run `func` in the background, after everything submitted before it."""
        self._wait(_MOST_WAITING - 1)
        self._submitted.append(self._thread.submit(self._next, func, *args))

    def wait(self) -> None:
        self._wait(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            # What was submitted before an error elsewhere is as right as it was, and is finished.
            self._thread.shutdown()

    def _wait(self, left: int) -> None:
        while self._submitted and (len(self._submitted) > left or self._submitted[0].done()):
            self._submitted.popleft().result()

    def _next(self, func: Callable[..., object], *args: Any) -> None:
        if self._failed:
            return
        try:
            func(*args)
        except BaseException:
            self._failed = True
            raise


class Prefetcher(Generic[T]):
    """Compute in the background what is needed next, one thing after the other. Leaving the block waits for them."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db.cursor()
        self._thread = ThreadPoolExecutor(1)
        self._submitted: deque[tuple[object, Future[T]]] = deque()

    def submit(self, key: object, func: Callable[..., T], *args: Any) -> None:
        """Start computing `key` in the background, once."""
        if all(submitted != key for submitted, _ in self._submitted):
            self._submitted.append((key, self._thread.submit(func, *args)))

    def take(self, key: object, func: Callable[..., T], *args: Any) -> T:
        """Return what was computed for `key`, if it is the first of what was submitted; else compute it now."""
        if self._submitted and self._submitted[0][0] == key:
            return self._submitted.popleft()[1].result()
        # Their connection is free once they have ended, however they did.
        self.wait()
        self._submitted.clear()
        return func(*args)

    def wait(self) -> None:
        """Wait until everything that was submitted has ended, however it did. It can still be taken."""
        for _, submitted in self._submitted:
            submitted.exception()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        self.db.close()
