"""The jobs of a kgcheck.toml: listed, shown and run, for programs that serve them."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgcheck.curation.listing import history_rows, job_row, job_rows, next_rows
from kgcheck.curation.project import Project, read_project
from kgcheck.workspace.jobs import job_ledger, run_job

if TYPE_CHECKING:
    from kgcheck.curation.jobs import JobWork
    from kgcheck.ledger.work import Work
    from kgcheck.progress import Progress


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

    def check(self, name: str) -> None:
        """Refuse a name that is none of a job.

        Args:
            name: The job.

        Raises:
            UnknownName: There is no such job.
        """
        self.project.job(name)

    def run(
        self, name: str, *, planned: datetime | None = None, progress: "Progress | None" = None
    ) -> "tuple[Work, JobWork]":
        """Run a job; see `kgcheck.workspace.jobs.run_job`."""
        return run_job(self.project, name, planned=planned, progress=progress)
