"""``kgcheck runs``: what the ledger holds."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import show

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("runs")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def command(workspace: "Workspace", format_: str) -> None:
    """List the runs in the ledger, newest first."""
    from kgcheck.report.tables import run_table

    runs = workspace.runs()
    show(format_, [run.as_row() for run, _ in runs], run_table(runs))
