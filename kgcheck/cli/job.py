"""``kgcheck job``: list, show and run the jobs of kgcheck.toml, now or by their schedules."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import Decorator, FilePath, table_or_json_option
from kgcheck.cli.output import json_result, note, result, show

if TYPE_CHECKING:
    from kgcheck.curation.project import Project


def config_option() -> Decorator:
    """``--config``."""
    return click.option(
        "--config",
        envvar="KGCHECK_CONFIG",
        type=FilePath(dir_okay=False),
        help="The file [default: kgcheck.toml in this folder or the nearest one above]",
    )


def read_config(config: Path | None, *, warn: bool = False) -> "Project":
    """kgcheck.toml, read and checked whole."""
    from kgcheck.curation.project import overlaps, read_project
    from kgcheck.curation.project_file import NAME, FoundFile, find_file
    from kgcheck.errors import InputMissing

    found = FoundFile(config, is_named=True) if config else find_file()
    if found is None:
        raise InputMissing(f"there is no {NAME} in this folder or above", "kgcheck init writes one")
    project = read_project(found.path, is_named=found.is_named)
    for one, other, _, at in overlaps(project) if warn else ():
        note(f"warning: jobs {one} and {other} begin at the same time on one store, {at:%Y-%m-%d %H:%M %Z}")
    return project


@click.group("job")
def command() -> None:
    """List, show and run the jobs of kgcheck.toml, now or by their schedules, and see what became of them."""


@command.command("list")
@config_option()
@table_or_json_option()
def list_(config: Path | None, format_: str) -> None:
    """List the jobs, each with its schedule and its last run."""
    from kgcheck.report.tables import rows_table
    from kgcheck.workspace.job_listing import job_rows

    rows = job_rows(read_config(config, warn=True))
    show(format_, rows, rows_table(rows, ("job", "kind", "schedule", "next", "last", "state", "severity")))


@command.command("show")
@click.argument("name")
@config_option()
def show_(name: str, config: Path | None) -> None:
    """Show the job NAME whole, with what it takes by default, as JSON."""
    from kgcheck.workspace.job_listing import job_row

    json_result(job_row(read_config(config), name))


@command.command("run")
@click.argument("name")
@config_option()
@click.option("--planned", type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z"]), hidden=True)
@table_or_json_option()
def run(name: str, config: Path | None, planned: datetime | None, format_: str) -> None:
    """Run the job NAME now. One that was cut off goes on; one that is under way elsewhere is not started twice.

    Exit codes: 0 clean or only warnings, 1 an error by the thresholds of the job, 2 usage or configuration,
    3 something was unavailable, or the job is under way elsewhere.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.workspace.jobs import run_job

    ended, done = run_job(read_config(config), name, planned=planned, progress=RichProgress())
    for text in done.notes:
        note(text)
    if format_ == "json":
        json_result(ended.as_job_run())
    else:
        new = f"; {done.new:,} new or reopened" if done.new else ""
        result(f"{name}: {done.severity.value}: {done.message}{new}")
        for crossed in done.crossed:
            result(f"  {crossed}")
        for path in done.reports:
            result(f"  report: {path}")
    for sent in ended.result.get("notifications", ()):
        note(f"notification {sent['name']}: {'sent' if sent['sent'] else sent['why']}")
    click.get_current_context().exit(done.severity.exit_code)


@command.command("next")
@config_option()
@click.option("--count", type=click.IntRange(1, 1000), default=10, show_default=True, help="So many of them.")
@table_or_json_option()
def next_(config: Path | None, count: int, format_: str) -> None:
    """Show when jobs are to run next."""
    from kgcheck.report.tables import rows_table
    from kgcheck.workspace.job_listing import next_rows

    rows = next_rows(read_config(config), count)
    show(format_, rows, rows_table(rows, ("at", "zone", "job")))


@command.command("history")
@click.argument("name", required=False)
@config_option()
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many runs.")
@table_or_json_option()
def history(name: str | None, config: Path | None, limit: int, format_: str) -> None:
    """List the runs of all jobs, or of the job NAME, the newest first."""
    from kgcheck.report.tables import rows_table
    from kgcheck.workspace.job_listing import history_rows

    rows = history_rows(read_config(config), name, limit)
    show(format_, rows, rows_table(rows, ("job", "state", "severity", "started", "finished", "attempt", "message")))


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
