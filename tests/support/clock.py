"""A clock of a test's own for the real scheduler of jobs."""

from datetime import UTC, datetime, timedelta
from typing import Any


class Clock:
    """In the place of the event that the scheduler waits for: waiting moves the clock on; it ends at a time."""

    def __init__(self, traveller: Any, end: datetime) -> None:
        self.traveller = traveller
        self.end = end
        self.woken = False

    def is_set(self) -> bool:
        return False

    def set(self) -> None:
        self.woken = True

    def clear(self) -> None:
        self.woken = False

    def wait(self, seconds: float) -> None:
        if self.woken:
            return
        then = min(datetime.now(UTC) + timedelta(seconds=min(seconds, 1e8)), self.end)
        self.traveller.move_to(then)
        if then >= self.end:
            raise KeyboardInterrupt
