"""``kgcheck runs``: what the ledger holds."""

import click

from kgcheck.cli.options import ledger_option, table_or_json_option
from kgcheck.cli.output import json_result


@click.command("runs")
@ledger_option()
@table_or_json_option()
def command(ledger: str | None, format_: str) -> None:
    """List the runs in the ledger, newest first."""
    from kgcheck.cli.console import results
    from kgcheck.report.tables import run_table
    from kgcheck.workspace import Workspace

    with Workspace(ledger=ledger) as workspace:
        runs = workspace.runs()
    if format_ == "json":
        json_result([run.as_row() for run, _ in runs])
    else:
        results().print(run_table(runs))
