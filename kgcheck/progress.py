"""How long work reports where it stands. The command line shows it with rich; libraries pass it through."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Step(Protocol):
    """One piece of work under way."""

    def advance(self, amount: int = 1) -> None:
        """`amount` more units are done."""


class Progress(Protocol):
    """Where steps are shown."""

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[Step]:
        """Show a step until the block ends; `total` units, or unknown."""
        yield _Silent()


class _Silent:
    def advance(self, amount: int = 1) -> None:
        """Show nothing."""


class NoProgress:
    """Shows nothing."""

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[Step]:
        """See Progress."""
        yield _Silent()
