"""``kgcheck job``, ``init`` and ``trust``: make kgcheck.toml; list, run and schedule its jobs."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, table_or_json_option
from kgcheck.cli.output import json_result, note, result, show_rows
from kgcheck.curation.project_file import NAME, FoundFile, find_file
from kgcheck.errors import InputMissing, KgcheckError, UsageError

if TYPE_CHECKING:
    from kgcheck.curation.project import Project


_CONFIG = click.option(
    "--config",
    envvar="KGCHECK_CONFIG",
    type=FilePath(dir_okay=False),
    help="The file [default: kgcheck.toml in this folder or the nearest one above]",
)


def _project(config: Path | None) -> "Project":
    """kgcheck.toml, read and checked whole."""
    from kgcheck.curation.project import read_project

    found = FoundFile(config, is_named=True) if config else _nearest_file()
    return read_project(found.path, is_named=found.is_named)


def _nearest_file() -> "FoundFile":
    if (found := find_file()) is None:
        raise InputMissing(f"there is no {NAME} in this folder or above", "kgcheck init writes one")
    return found


@click.group("job")
def job() -> None:
    """List, show and run the jobs of kgcheck.toml, now or by their schedules, and see what became of them."""


@job.command("list")
@_CONFIG
@table_or_json_option()
def job_list(config: Path | None, format_: str) -> None:
    """List the jobs, each with its schedule and its last run."""
    from kgcheck.workspace.jobs import job_rows

    rows = job_rows(_project(config))
    show_rows(format_, rows, ("job", "kind", "schedule", "next", "last", "state", "severity"))


@job.command("show")
@click.argument("name")
@_CONFIG
def job_show(name: str, config: Path | None) -> None:
    """Show the job NAME whole, with what it takes by default, as JSON."""
    from kgcheck.workspace.jobs import job_row

    json_result(job_row(_project(config), name))


@job.command("run")
@click.argument("name")
@_CONFIG
@click.option("--planned", type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z"]), hidden=True)
@table_or_json_option()
def job_run(name: str, config: Path | None, planned: datetime | None, format_: str) -> None:
    """Run the job NAME now. One that was cut off goes on; one that is under way elsewhere is not started twice.

    Exit codes: 0 clean or only warnings, 1 an error by the thresholds of the job, 2 usage or configuration,
    3 something was unavailable, or the job is under way elsewhere.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.workspace.jobs import run_job

    ended, done = run_job(_project(config), name, planned=planned, progress=RichProgress())
    note(*done.notes)
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


@job.command("history")
@click.argument("name", required=False)
@_CONFIG
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many runs.")
@table_or_json_option()
def job_history(name: str | None, config: Path | None, limit: int, format_: str) -> None:
    """List the runs of all jobs, or of the job NAME, the newest first."""
    from kgcheck.workspace.jobs import history_rows

    rows = history_rows(_project(config), name, limit)
    show_rows(format_, rows, ("job", "state", "severity", "started", "finished", "attempt", "message"))


@job.command("serve")
@_CONFIG
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Jobs at the same time, by schedule."
)
def job_serve(config: Path | None, workers: int) -> None:
    """Run the jobs of kgcheck.toml when they are due, in the foreground, until Ctrl-C or SIGTERM.

    What was missed while nothing ran is made up for, once. A job under way when this ends is asked to end, too: what it
    did is kept, and it goes on at the next start.
    """
    from kgcheck.curation.scheduler import Processes, Server
    from kgcheck.workspace.jobs import job_runs

    project = _project(config)
    processes = Processes(project)
    with job_runs(project) as runs:

        def stop() -> None:
            note("stopping: jobs under way end, and go on at the next start")
            processes.stop()

        Server(project, runs, processes.start, note, workers=workers).serve(stop)


@click.command("init")
@click.argument("folder", type=FilePath(file_okay=False), default=Path())
@click.option("--schema", is_flag=True, help="Print the JSON schema of kgcheck.toml for editors, and write nothing.")
def init(folder: Path, schema: bool) -> None:
    """Write a kgcheck.toml with comments into FOLDER, and its JSON schema for editors into FOLDER/.kgcheck.

    What is there is never overwritten.
    """
    from kgcheck.curation.project import json_schema, write_project

    if schema:
        json_result(json_schema())
        return
    path = write_project(folder)
    note(f"wrote {path}: put your stores and jobs into it, then kgcheck job list")


@click.command("trust")
@click.argument("path", required=False, type=FilePath())
@click.option("--list", "listed", is_flag=True, help="List the files that are trusted.")
@click.option("--revoke", "revoked", is_flag=True, help="Trust the file no more.")
def trust(path: Path | None, listed: bool, revoked: bool) -> None:
    """Trust the addresses of the kgcheck.toml at PATH, or of the nearest one from here upwards.

    A file that kgcheck finds by itself may come with a folder of somebody else. Passwords go to the servers that it
    names, and messages to where it says, only after this; other addresses in it have to be trusted again. A file that
    --config or KGCHECK_CONFIG names is trusted by that.
    """
    from kgcheck.curation.project import read_project
    from kgcheck.curation.trust import is_trusted, revoke, trust, trusted

    if listed and (path or revoked):
        raise UsageError("--list takes no PATH and no --revoke", "leave them out")
    if listed:
        for one in trusted():
            file = Path(one.path)
            try:
                state = "trusted" if is_trusted(file, read_project(file, whole=False).addresses) else "changed since"
            except KgcheckError as error:
                state = "gone" if isinstance(error, InputMissing) else "cannot be read"
            result(f"{one.path}: {state}, {one.at}")
        return
    if path and path.is_dir():
        path /= NAME
    if path is None:
        path = _nearest_file().path
    if revoked:
        revoke(path)
        note(f"{path} is not trusted any more")
        return
    addresses = read_project(path, whole=False).addresses
    if not addresses:
        note(f"{path} names no address: there is nothing to trust")
        return
    trust(path, addresses)
    for key, address in addresses.items():
        result(f"{key} = {address}")
    note(f"{path} is trusted with these addresses, until they change")
