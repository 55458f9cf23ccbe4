"""``kgcheck runs``, ``report`` and ``diff``: the audits in a ledger, and their findings in any form."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import THRESHOLDS
from kgcheck.cli.options import (
    fail_on_option,
    format_options,
    shown_limit_option,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import note, show, show_or_write, show_rows

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("report")
@click.argument("run", default="latest")
@format_options()
@shown_limit_option()
@click.option("--methods", is_flag=True, help="Instead, how the graph was checked, as a paragraph for a paper.")
@workspace_options("ledger", progress=False)
def report(workspace: "Workspace", run: str, format_: str, out: Path | None, limit: int | None, methods: bool) -> None:
    """Show the findings of RUN: its id, the beginning of its id, or `latest`."""
    from kgcheck.cli.show import show_run

    found = workspace.run(run)
    if methods:
        from kgcheck.report.methods import methods_text

        show_or_write(f"{methods_text(found, workspace.tallies(found))}\n", out)
        return
    show_run(workspace, found, workspace.tallies(found), format_=format_, out=out, limit=limit)


@click.command("runs")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def runs(workspace: "Workspace", format_: str) -> None:
    """List the runs in the ledger, newest first."""
    from kgcheck.report.tables import run_table

    runs = workspace.runs()
    show(format_, [run.as_row() for run, _ in runs], run_table(runs))


STATES = ("new", "changed", "unchecked", "fixed", "gone", "still")


@click.command("diff")
@click.argument("before", required=False, metavar="[RUN]")
@click.argument("after", required=False, metavar="[RUN]")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only findings in this state.")
@click.option("--limit", type=click.IntRange(min=0), help="Show at most so many findings [default: 50 of a table].")
@format_options(("table", "json", "jsonl", "csv"))
@fail_on_option(THRESHOLDS, default="never")
@workspace_options("ledger", progress=False)
def diff(
    workspace: "Workspace",
    before: str | None,
    after: str | None,
    states: tuple[str, ...],
    limit: int | None,
    format_: str,
    out: Path | None,
    fail_on: str,
) -> None:
    """Compare two runs of a store: the latest audit with the one before of the same options, unless RUNs are named.

    One RUN is the earlier one; of two, the earlier one comes first. What is still as it was is counted, and listed only
    with --state still. `fixed` was checked again and holds no more, `gone` is no longer in the graph, and `unchecked`
    was not looked at, or could not be.

    Exit codes: 0 clean, 1 findings at or over --fail-on, 2 usage or configuration.
    """
    from kgcheck.cli.show import TABLE_LIMIT, most_shown, show_listed

    diff = workspace.diff(before, after)
    found = diff.findings(states or STATES[:-1], limit=most_shown(limit, format_))
    if format_ == "table" and out is None and (parts := diff.part_rows()):
        show_rows(format_, parts[:TABLE_LIMIT], tuple(parts[0]))
    show_listed(found, format_, out, head=diff.as_row)
    note(*diff.lines())
    click.get_current_context().exit(diff.exit_code(fail_on))
