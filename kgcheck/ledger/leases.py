"""The hold of a process on work that is under way, and the progress that goes through it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Self

from kgcheck import clock
from kgcheck.closing import Closing
from kgcheck.errors import LedgerError
from kgcheck.ledger.work import WorkItem, WorkTable
from kgcheck.progress import NoProgress, Progress, ProgressStep


class Ending(Exception):
    """Ends work between two pieces of it. Not a KgcheckError: nothing went wrong."""


class Lease(Closing):
    """Says that work is alive and how far it has come, and hears that it is another's by now, or is to end.

    It is looked after by `keep`, or by who calls `look`, but never by the threads that work: they may be in a
    transaction of the ledger themselves.
    """

    def __init__(
        self, table: WorkTable, work: WorkItem, length: timedelta, *, stopping: threading.Event | None = None
    ) -> None:
        self.work = work
        self.lost = threading.Event()
        self.cancelled = threading.Event()
        self.step: dict[str, Any] = {}
        self._shown: dict[str, Any] = {}
        self._table = table
        self._length = length
        self._stopping = stopping or threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, every: float) -> Self:
        """Look after it from a thread, each time after so many seconds, until it is closed."""
        self._thread = threading.Thread(target=self._keep, args=(every,), name="lease", daemon=True)
        self._thread.start()
        return self

    def look(self, *, with_sign: bool = True) -> None:
        """Write down how far the work has come and that it is alive, and see who wants it to end."""
        step = self.step
        values = dict(step) if step != self._shown else {}
        values |= {"lease_until": clock.now() + self._length} if with_sign else {}
        if values and not self._table.change(self.work, **values):
            self.lost.set()
        self._shown = step
        if self._table.wants_end(self.work.number):
            self.cancelled.set()

    def check(self) -> None:
        """End work that has been taken over, or is to end."""
        if self.lost.is_set() or self.cancelled.is_set() or self._stopping.is_set():
            raise Ending

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than the work is one's own."""
        self.lost.wait(seconds)
        self.check()

    def note(self, **values: Any) -> None:
        """Write down what the work has come to."""
        if not self._table.change(self.work, **values):
            self.lost.set()
            raise Ending
        self.work = self.work.model_copy(update=values)

    def watch(self, progress: Progress | None = None) -> Progress:
        """Progress at whose steps the work ends where it must."""
        return _Watched(progress or NoProgress(), self)

    def close(self) -> None:
        """Give no more signs."""
        self._closed.set()
        if self._thread:
            self._thread.join()

    def _keep(self, every: float) -> None:
        while not self._closed.wait(every) and not self.lost.is_set():
            try:
                self.look()
            except LedgerError:
                # Who cannot write to the ledger cannot take over either: the next sign may come through.
                continue


class _Watched:
    def __init__(self, progress: Progress, lease: Lease) -> None:
        self._progress = progress
        self._lease = lease

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[ProgressStep]:
        with self._progress.step(description, total) as step:
            watched = _WatchedStep(step, self._lease, description, total)
            watched.advance(0)
            yield watched


class _WatchedStep:
    def __init__(self, step: ProgressStep, lease: Lease, description: str, total: int | None) -> None:
        self._step = step
        self._lease = lease
        self._shown: dict[str, Any] = {"step": description, "done": 0, "total": total}

    def advance(self, amount: int = 1) -> None:
        self._lease.check()
        self._shown = self._lease.step = {**self._shown, "done": self._shown["done"] + amount}
        if amount:
            self._step.advance(amount)
