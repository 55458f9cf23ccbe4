"""Deadline of the current work as a context variable, which bounds the timeouts of calls in it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ends: ContextVar[float | None] = ContextVar("ends", default=None)


@contextmanager
def until(ends: float | None) -> Iterator[None]:
    """Let the work of the block end at a time, or at that of a block around it where it is earlier."""
    around = _ends.get()
    token = _ends.set(min((t for t in (ends, around) if t is not None), default=None))
    try:
        yield
    finally:
        _ends.reset(token)


def left() -> float | None:
    """Seconds that are left, never less than none, or None where nothing limits them.

    >>> with until(0.0):
    ...     left()
    0.0
    """
    ends = _ends.get()
    return None if ends is None else max(ends - time.monotonic(), 0.0)


def at_most(seconds: float) -> float:
    """So many seconds, or those that are left where they are fewer.

    >>> at_most(5.0)
    5.0
    """
    rest = left()
    return seconds if rest is None else min(seconds, rest)
