"""``kgcheck jobs``: the scheduler, in the foreground."""

from pathlib import Path

import click

from kgcheck.cli.job import config_option, read_config
from kgcheck.cli.output import note


@click.group("jobs")
def command() -> None:
    """Run jobs by their schedules."""


@command.command("serve")
@config_option()
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Jobs at the same time, by schedule."
)
def serve(config: Path | None, workers: int) -> None:
    """Run the jobs of kgcheck.toml when they are due, in the foreground, until Ctrl-C or SIGTERM.

    What was missed while nothing ran is made up for, once. A job under way when this ends is asked to end, too: what it
    did is kept, and it goes on at the next start.
    """
    from kgcheck.curation.serving import Processes, Server
    from kgcheck.workspace.jobs import job_runs

    project = read_config(config, warn=True)
    processes = Processes(project)
    with job_runs(project) as runs:

        def stop() -> None:
            note("stopping: jobs under way end, and go on at the next start")
            processes.stop()

        Server(project, runs, processes.start, note, workers=workers).serve(stop)
