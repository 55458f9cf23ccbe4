"""The hold of a process on work that is under way, the progress that goes through it, and how the work ended."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Self

from kgcheck import clock
from kgcheck.closing import Closing
from kgcheck.errors import JobUnderWay, KgcheckError, LedgerError
from kgcheck.ledger.work import LEASE, WorkItem, WorkState, WorkTable
from kgcheck.progress import NoProgress, Progress, ProgressStep

SIGN_EVERY = timedelta(seconds=10)
"""Interval at which a worker says that it is alive (heartbeat)."""

LOOK_EVERY_S = 1.0
"""Least seconds between records of progress, when requests to end the work are heard, too."""


class Ending(Exception):
    """Ends work between two pieces of it. Not a KgcheckError: nothing went wrong."""


class Lease(Closing):
    """Says that work is alive and how far it has come, and hears that it is another's by now, or is to end.

    It is looked after by a thread of its own, never by the threads that work: they may be in a transaction of the
    ledger themselves.
    """

    def __init__(self, table: WorkTable, work: WorkItem, *, stopping: threading.Event | None = None) -> None:
        self.work = work
        self.lost = threading.Event()
        self.cancelled = threading.Event()
        self.step: dict[str, Any] = {}
        self._shown: dict[str, Any] = {}
        self._signed = work.started or clock.now()
        self._table = table
        self._stopping = stopping or threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, every: float = LOOK_EVERY_S) -> Self:
        """Look after it each time after so many seconds, until it is closed."""
        self._thread = threading.Thread(target=self._keep, args=(every,), name="lease", daemon=True)
        self._thread.start()
        return self

    def check(self) -> None:
        """End work that has been taken over, or is to end."""
        if self.lost.is_set() or self.cancelled.is_set() or self._stopping.is_set():
            raise Ending

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than the work is one's own."""
        self.lost.wait(seconds)
        self.check()

    def note(self, **values: Any) -> None:
        if not self._table.change(self.work, **values):
            self.lost.set()
            raise Ending
        self.work = self.work.model_copy(update=values)

    def watch(self, progress: Progress | None = None) -> Progress:
        """Progress at whose steps the work ends where it must."""
        return _Watched(progress or NoProgress(), self)

    def perform(self, work: Callable[[], dict[str, Any]]) -> None:
        """Do work that has a result, and write down how it ended; what went wrong in it is raised again."""
        try:
            try:
                self.check()
                result = work()
            except BaseException as error:
                self.note(**self.step, **ended_by(error, self.work, is_cancelled=self.cancelled.is_set()))
                raise
            self.note(**self.step, **_over(WorkState.DONE, result=result))
        except BaseException as error:
            if self.lost.is_set():
                raise JobUnderWay(
                    f"this run of job {self.work.job} gave no sign of life for so long that it counts as killed",
                    "kgcheck job history shows who has taken it over",
                ) from error
            raise

    def close(self) -> None:
        """Give no more signs."""
        self._closed.set()
        if self._thread:
            self._thread.join()

    def _keep(self, every: float) -> None:
        while not self._closed.wait(every) and not self.lost.is_set():
            try:
                self._look()
            except LedgerError:
                # Who cannot write to the ledger cannot take over either: the next sign may come through.
                continue

    def _look(self) -> None:
        """Write down how far the work has come and that it is alive, and see who wants it to end."""
        step, at = self.step, clock.now()
        values = dict(step) if step != self._shown else {}
        is_due = at - self._signed >= SIGN_EVERY
        values |= {"lease_until": at + LEASE} if is_due else {}
        if values and not self._table.change(self.work, **values):
            self.lost.set()
        self._shown = step
        self._signed = at if is_due else self._signed
        if self._table.wants_end(self.work.number):
            self.cancelled.set()


def _over(state: WorkState, **values: Any) -> dict[str, Any]:
    return {"state": state, "ended": clock.now(), "lease_until": None, **values}


def ended_by(error: BaseException, work: WorkItem, *, is_cancelled: bool = False) -> dict[str, Any]:
    """Values of work that an error ended."""
    name, is_of_service = type(error).__name__, bool(work.by)
    match error:
        case Ending() if not is_cancelled:
            # Handed back: it goes on with the next worker.
            return {"state": WorkState.WAITING, "worker": "", "lease_until": None, "attempt": 0}
        case Ending():
            return _over(WorkState.CANCELLED)
        case KgcheckError():
            shown = {"title": name, "detail": error.message} | ({"hint": error.hint} if error.hint else {})
            return _over(WorkState.FAILED, message=error.in_one_line, error=shown)
        case Exception() if is_of_service:
            fault = f"this is a fault in kgcheck: {name}"
            shown = {"title": "Fault", "detail": fault, "hint": "please report it"}
            return _over(WorkState.FAILED, message=fault, error=shown)
        case _:
            # Of a command also an error of a library in C, which is what Ctrl-C becomes there.
            return _over(WorkState.INTERRUPTED, message=f"interrupted: {name}")


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
