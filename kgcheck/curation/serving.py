"""Jobs by their schedules, in the foreground: APScheduler says when, each run is a process of its own."""

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kgcheck.curation.project import Project
from kgcheck.curation.schedule import Schedule, as_trigger
from kgcheck.errors import MissingExtra, UsageError
from kgcheck.ledger.jobs import JobRuns, JobState
from kgcheck.ledger.ledger import now

if TYPE_CHECKING:
    pass

Start = Callable[[str, datetime | None], int]
"""Runs a job, with the time of the schedule that it is of, and gives its exit code."""

_AFTER_LEASE = timedelta(seconds=1)


class Server:
    """Runs the jobs of a project when they are due, until it is stopped."""

    def __init__(
        self,
        project: Project,
        runs: JobRuns,
        start: Start,
        note: Callable[[str], None],
        *,
        executor: Any = None,
        workers: int = 1,
    ) -> None:
        try:
            from apscheduler.executors.pool import ThreadPoolExecutor
            from apscheduler.schedulers.blocking import BlockingScheduler
        except ImportError as error:
            raise MissingExtra("kgcheck jobs serve", "jobs") from error
        self._project = project
        self._runs = runs
        self._start = start
        self._note = note
        self._schedules: dict[str, Schedule] = {
            name: schedule for name in project.values.jobs if (schedule := project.schedule_of(name))
        }
        if not self._schedules:
            raise UsageError(f"no job of {project.path} has a schedule", 'for example schedule = "30 2 * * *"')
        self.scheduler: BlockingScheduler = BlockingScheduler(
            executors={"default": executor or ThreadPoolExecutor(workers)},
            # However late, a run is done once; never twice at a time.
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
            timezone=UTC,
        )

    def serve(self, stop: Callable[[], None] = lambda: None) -> None:
        """Run what was missed, then everything when it is due; until it is interrupted."""
        for name, schedule in self._schedules.items():
            self._catch_up(name, schedule)
            self.scheduler.add_job(self._due, as_trigger(schedule), id=name, args=[name])
            self._note(f"{name}: next at {schedule.after(now()).isoformat(timespec='seconds')}")
        try:
            self.scheduler.start()
        finally:
            stop()
            if self.scheduler.running:
                # Waits for those under way.
                self.scheduler.shutdown(wait=True)

    def _catch_up(self, name: str, schedule: Schedule) -> None:
        """What was missed runs once, however often it was; what was cut off goes on."""
        since = self._runs.schedule_since(name, f"{schedule.text} {schedule.zone}", now())
        if not self._project.job(name).catch_up:
            return
        done = self._runs.last_planned(name)
        missed = schedule.last(max(since, done) if done else since, now())
        last = next(iter(self._runs.history(name, 1)), None)
        if missed:
            self._note(f"{name}: missed at {missed.isoformat(timespec='seconds')}, runs now")
            self.scheduler.add_job(self._call, id=f"{name}, missed", args=[name, missed])
        elif last and last.state in (JobState.INTERRUPTED, JobState.LOST):
            self._note(f"{name}: was cut off, goes on now")
            self.scheduler.add_job(self._call, id=f"{name}, cut off", args=[name, last.planned])
        elif last and last.state is JobState.RUNNING:
            at = max(last.lease_until + _AFTER_LEASE, now())
            self._note(f"{name}: under way by {last.worker}; if it is not any more, it goes on at {at:%H:%M:%S} UTC")
            self.scheduler.add_job(
                self._if_lost, "date", run_date=at, id=f"{name}, lost", args=[name, last.number, last.planned]
            )

    def _due(self, name: str) -> None:
        schedule = self._schedules[name]
        moment = now()
        self._call(name, schedule.last(moment - timedelta(days=367), moment))

    def _if_lost(self, name: str, number: int, planned: datetime | None) -> None:
        run = self._runs.get(number)
        if run.state is JobState.RUNNING and run.lease_until < now():
            self._note(f"{name}: was killed, goes on now")
            self._call(name, planned)

    def _call(self, name: str, planned: datetime | None) -> None:
        self._note(f"{name}: begins")
        code = self._start(name, planned)
        self._note(f"{name}: ended with {code}")


class Processes:
    """Runs of jobs as processes; all that are under way can be stopped."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def start(self, name: str, planned: datetime | None) -> int:
        """Run a job, and wait until it ends."""
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
