"""Job scheduler: starts each job when due, in a subprocess, and makes up missed runs."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kgcheck import clock
from kgcheck.curation.project import Project
from kgcheck.curation.schedule import Schedule
from kgcheck.errors import UsageError
from kgcheck.ledger.work import WorkState, WorkTable

_LONGEST_WAIT_S = 60.0
"""After so long the clock is looked at again: it may have been set, or the machine asleep."""


class _Due(NamedTuple):
    """A run that is to begin."""

    at: datetime
    job: str
    planned: datetime | None = None
    """The time of the schedule that it is of; of one that the schedule begins, the latest that has passed."""
    by_schedule: bool = False
    unless_alive: int | None = None
    """A run of the job that may be under way elsewhere."""


class Server:
    """Runs the jobs of a project when they are due, until it is stopped: however late, once, never twice at a time."""

    def __init__(
        self,
        project: Project,
        runs: WorkTable,
        start: Callable[[str, datetime | None], int],
        note: Callable[[str], None],
        *,
        executor: Executor | None = None,
        workers: int = 1,
    ) -> None:
        self._project = project
        self._runs = runs
        # Runs a job, with the time of the schedule that it is of, and gives its exit code.
        self._start = start
        self._note = note
        schedules = ((name, project.schedule_of(name)) for name in project.values.jobs)
        self._schedules: dict[str, Schedule] = {name: schedule for name, schedule in schedules if schedule}
        if not self._schedules:
            raise UsageError(f"no job of {project.path} has a schedule", 'for example schedule = "30 2 * * *"')
        self._executor = executor or ThreadPoolExecutor(workers, "job")
        self._waiting: list[_Due] = []
        self._under_way: set[str] = set()
        self.woken = threading.Event()

    def serve(self, stop: Callable[[], None] = lambda: None) -> None:
        """Run what was missed, then everything when it is due; until it is interrupted."""
        for name, schedule in self._schedules.items():
            self._catch_up(name, schedule)
            self._plan(name)
            self._note(f"{name}: next at {schedule.after(clock.now()).isoformat(timespec='seconds')}")
        try:
            while True:
                self._begin_due()
                # Until the next run is to begin; those of jobs under way wait for their end.
                times = [due.at - clock.now() for due in self._waiting if due.job not in self._under_way]
                self.woken.wait(max(0.0, min([_LONGEST_WAIT_S, *(left.total_seconds() for left in times)])))
                self.woken.clear()
        finally:
            stop()
            # Waits for those under way.
            self._executor.shutdown(wait=True)

    def _catch_up(self, name: str, schedule: Schedule) -> None:
        """Run once what was missed, however often it was; resume what was cut off."""
        since = self._runs.schedule_since(name, f"{schedule.text} {schedule.zone}", clock.now())
        if not self._project.job(name).catch_up:
            return
        done = self._runs.last_planned(name)
        missed = schedule.last(max(since, done) if done else since, clock.now())
        last = next(iter(self._runs.history(name, 1)), None)
        if missed:
            self._note(f"{name}: missed at {missed.isoformat(timespec='seconds')}, runs now")
            self._waiting.append(_Due(clock.now(), name, missed))
        elif last and last.state in (WorkState.INTERRUPTED, WorkState.LOST):
            self._note(f"{name}: was cut off, goes on now")
            self._waiting.append(_Due(clock.now(), name, last.planned))
        elif last and last.state is WorkState.RUNNING:
            at = max((last.lease_until or last.created) + timedelta(seconds=1), clock.now())
            self._note(f"{name}: under way by {last.worker}; if it is not any more, it goes on at {at:%H:%M:%S} UTC")
            self._waiting.append(_Due(at, name, last.planned, unless_alive=last.number))

    def _plan(self, name: str) -> None:
        self._waiting.append(_Due(self._schedules[name].after(clock.now()), name, by_schedule=True))

    def _begin_due(self) -> None:
        for due in sorted(due for due in self._waiting if due.at <= clock.now()):
            # What came due while its job was under way waits, and is done once.
            if due.job in self._under_way:
                continue
            self._waiting.remove(due)
            planned = due.planned
            if due.by_schedule:
                planned = self._schedules[due.job].last(due.at - timedelta(seconds=1), clock.now())
                self._plan(due.job)
            if due.unless_alive is not None:
                run = self._runs.get(due.unless_alive)
                if run.state is not WorkState.RUNNING or (run.lease_until or run.created) >= clock.now():
                    continue
                self._note(f"{due.job}: was killed, goes on now")
            self._under_way.add(due.job)
            self._executor.submit(self._call, due.job, planned)

    def _call(self, name: str, planned: datetime | None) -> None:
        self._note(f"{name}: begins")
        try:
            code = self._start(name, planned)
            self._note(f"{name}: ended with {code}")
        except OSError as error:
            self._note(f"{name}: could not be begun: {error.strerror}")
        finally:
            self._under_way.discard(name)
            self.woken.set()


class Processes:
    """Runs of jobs as processes; all that are under way can be stopped."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def start(self, name: str, planned: datetime | None) -> int:
        command = [sys.executable, "-m", "kgcheck", "job", "run", name]
        if self._project.is_named:
            command += ["--config", str(self._project.path.absolute())]
        if planned:
            command += ["--planned", f"{planned.astimezone(UTC):%Y-%m-%dT%H:%M:%S%z}"]
        with self._lock:
            if self._stopped:
                return -1
            # In its own folder the file is found again, if nobody named it, and trusted as it is then.
            # Names of jobs are letters, digits and _ . - by the rules of the file; no shell is between.
            process = subprocess.Popen(command, cwd=self._project.folder)  # noqa: S603
            self._running.add(process)
        try:
            return process.wait()
        finally:
            with self._lock:
                self._running.discard(process)

    def stop(self) -> None:
        """Ask all to end, as Ctrl-C does: what they did is kept, and they can be gone on with."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()
