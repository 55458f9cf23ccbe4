"""``kgcheck runs``: what the ledger holds."""

from pathlib import Path

import click

from kgcheck.cli.options import ledger_option
from kgcheck.cli.output import json_result


@click.command("runs")
@ledger_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(ledger: Path | None, format_: str) -> None:
    """List the runs in the ledger, newest first."""
    from kgcheck.cli.console import results
    from kgcheck.cli.environment import read_settings
    from kgcheck.ledger.ledger import Ledger
    from kgcheck.report.tables import run_table

    with Ledger(ledger or read_settings().ledger, create=False) as kept:
        runs = [(run, kept.tallies(run)) for run in kept.runs()]
    if format_ == "json":
        json_result([r.as_row() for r, _ in runs])
    else:
        results().print(run_table(runs))
