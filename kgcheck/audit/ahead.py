"""Finds the plainly supported edges of one unit while what is left of the unit before it is judged."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import duckdb

T = TypeVar("T")


class Ahead(Generic[T]):
    """Does one thing ahead of its time, in a thread of its own. Leaving the block waits for it.

    Args:
        db: A working database.

    Attributes:
        db: Another connection to it, with temporary tables of its own, for what is done ahead alone.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db.cursor()
        self._thread = ThreadPoolExecutor(1)
        self._begun: tuple[object, Future[T]] | None = None

    def begin(self, of: object, what: Callable[..., T], *about: Any) -> None:
        """Begin something, unless something else is begun and not taken yet.

        Args:
            of: What it is of.
            what: A function.
            about: Its arguments.
        """
        if self._begun is None:
            self._begun = of, self._thread.submit(what, *about)

    def take(self, of: object, what: Callable[..., T], *about: Any) -> T:
        """What was begun, or what is done now, where nothing of the kind was begun.

        Args:
            of: What it is of.
            what: A function.
            about: Its arguments.

        Returns:
            What the function gives.

        Raises:
            BaseException: Whatever ended it.
        """
        begun, self._begun = self._begun, None
        if begun is None:
            return what(*about)
        if begun[0] == of:
            return begun[1].result()
        # Its connection is free once it has ended, however it did.
        begun[1].exception()
        return what(*about)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()
        self.db.close()
