"""Progress protocol of long work, with silent and callback implementations."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

ProgressCallback = Callable[[str, int, int | None], None]
"""Gets the description of a step, the units that are done, and their total where it is known."""


class ProgressStep(Protocol):
    """One piece of work under way."""

    def advance(self, amount: int = 1) -> None:
        """`amount` more units are done."""


class Progress(Protocol):
    """Display of steps."""

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[ProgressStep]:
        """Show a step until the block ends; `total` units, or unknown."""
        yield _SilentStep()


class _SilentStep:
    def advance(self, amount: int = 1) -> None:
        """Show nothing."""


class NoProgress(Progress):
    """Shows nothing."""


class CallbackProgress:
    """Calls a function when a step begins and whenever it goes on.

    >>> calls = []
    >>> with CallbackProgress(lambda *call: calls.append(call)).step("reading", 2) as step:
    ...     step.advance()
    >>> calls
    [('reading', 0, 2), ('reading', 1, 2)]
    """

    def __init__(self, callback: ProgressCallback) -> None:
        self._callback = callback

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[ProgressStep]:
        self._callback(description, 0, total)
        yield _CountedStep(self._callback, description, total)


class _CountedStep:
    def __init__(self, callback: ProgressCallback, description: str, total: int | None) -> None:
        self._callback, self._description, self._total, self._done = callback, description, total, 0

    def advance(self, amount: int = 1) -> None:
        self._done += amount
        self._callback(self._description, self._done, self._total)
