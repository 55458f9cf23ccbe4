"""Looks at the next units, as far as one query tells of them, while what is left of the unit before them is judged."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import duckdb

T = TypeVar("T")


class Ahead(Generic[T]):
    """Prefetch in a thread of its own, one task after the other. Leaving the block waits for them."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db.cursor()
        self._thread = ThreadPoolExecutor(1)
        self._begun: deque[tuple[object, Future[T]]] = deque()

    def begin(self, of: object, what: Callable[..., T], *about: Any) -> None:
        """Begin something after what is begun, unless it is begun itself."""
        if all(begun != of for begun, _ in self._begun):
            self._begun.append((of, self._thread.submit(what, *about)))

    def take(self, of: object, what: Callable[..., T], *about: Any) -> T:
        """Return the result of work that was begun; do it now if nothing or something else was begun first.

        Something else that was begun first is given up.
        """
        if self._begun and self._begun[0][0] == of:
            return self._begun.popleft()[1].result()
        # Their connection is free once they have ended, however they did.
        self.wait()
        self._begun.clear()
        return what(*about)

    def wait(self) -> None:
        """Wait until everything that was begun has ended, however it did. It can still be taken."""
        for _, begun in self._begun:
            begun.exception()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()
        self.db.close()
