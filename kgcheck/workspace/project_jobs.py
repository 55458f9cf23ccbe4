"""The jobs of a kgcheck.toml: listed, shown and run, for programs that serve them."""

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_after_delay, wait_fixed

from kgcheck.curation.config import LoadJob
from kgcheck.curation.jobs import LEASE
from kgcheck.curation.listing import history_rows, job_row, job_rows, next_rows
from kgcheck.curation.project import Project, read_project
from kgcheck.errors import JobUnderWay
from kgcheck.workspace.jobs import job_ledger, run_job
from kgcheck.workspace.tasks import JobWanted, TaskKind, TaskWork
from kgcheck.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kgcheck.curation.jobs import JobWork
    from kgcheck.ledger.jobs import JobRun
    from kgcheck.progress import Progress

JOB_KINDS = _JOB, _LOAD = "job", "load_job"
"""Kinds of tasks that are runs of jobs; a load writes to a graph."""


class ProjectJobs:
    """The jobs of a file, which is read anew whenever it is asked.

    Args:
        config: kgcheck.toml.
    """

    def __init__(self, config: Path) -> None:
        self._config = config

    @property
    def project(self) -> Project:
        """The file as it is now.

        Raises:
            InputMissing: It is not there.
            WrongFile: Something is wrong in it.
        """
        return read_project(self._config)

    def rows(self) -> list[dict[str, Any]]:
        """The jobs, each with its schedule and its last run."""
        project = self.project
        return job_rows(project, job_ledger(project))

    def row(self, name: str) -> dict[str, Any]:
        """A job whole, as `kgcheck job show` prints it.

        Args:
            name: The job.

        Returns:
            What stands in the file, with what it takes by default.

        Raises:
            UnknownName: There is no such job.
        """
        project = self.project
        return job_row(project, job_ledger(project), name)

    def next(self, count: int) -> list[dict[str, Any]]:
        """The next firings of all jobs, in order."""
        return next_rows(self.project, count)

    def history(self, name: str | None, limit: int) -> list[dict[str, Any]]:
        """Runs of jobs, the newest first.

        Args:
            name: Only of this job.
            limit: At most so many.

        Returns:
            The runs.

        Raises:
            UnknownName: There is no such job, and never was.
        """
        project = self.project
        return history_rows(project, job_ledger(project), name, limit)

    def task_kind(self, name: str) -> str:
        """The kind of task that a run of a job is: a load writes to a graph, the others do not.

        Args:
            name: The job.

        Returns:
            ``job``, or ``load_job``.

        Raises:
            UnknownName: There is no such job.
        """
        return _LOAD if isinstance(self.project.job(name), LoadJob) else _JOB

    def kinds(self) -> dict[str, TaskKind]:
        """The kinds of tasks that are runs of jobs."""
        return {name: TaskKind(name, JobWanted, self._work, writes) for name, writes in ((_JOB, False), (_LOAD, True))}

    def run(
        self, name: str, *, planned: datetime | None = None, progress: "Progress | None" = None
    ) -> "tuple[JobRun, JobWork]":
        """Run a job; see `kgcheck.workspace.jobs.run_job`."""
        return run_job(self.project, name, planned=planned, progress=progress)

    def _work(self, workspace: Workspace, work: TaskWork) -> dict[str, Any]:
        """Run a job as a task. A job opens what its file names, and not the workspace of the service."""
        name = JobWanted.model_validate(work.task.parameters).job

        def wait(seconds: float) -> None:
            # Each step is a chance for the task to be ended.
            with work.progress.step("waiting until the run that was killed counts as such"):
                time.sleep(seconds)

        # One that this task began before it was killed is taken over as soon as its lease has run out.
        again = Retrying(
            retry=retry_if_exception_type(JobUnderWay),
            stop=stop_after_delay(LEASE + timedelta(seconds=30)) if work.task.attempt > 1 else stop_after_attempt(1),
            wait=wait_fixed(1),
            sleep=wait,
            reraise=True,
        )
        ended, done = again(self.run, name, progress=work.progress)
        return {
            "run": ended.run,
            "number": ended.number,
            "state": ended.state.value,
            "severity": done.severity.value,
            "message": done.message,
            "new": done.new,
            "notes": list(done.notes),
        }
