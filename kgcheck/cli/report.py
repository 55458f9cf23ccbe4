"""``kgcheck report``: the findings of a run again, in any form."""

from pathlib import Path

import click

from kgcheck.cli.options import format_options, ledger_option, limit_option


@click.command("report")
@click.argument("run", default="latest")
@format_options()
@limit_option()
@ledger_option()
def command(run: str, format_: str, output: Path | None, limit: int | None, ledger: str | None) -> None:
    """Show the findings of RUN: its id, the beginning of its id, or `latest`."""
    from kgcheck.cli.show import show_run
    from kgcheck.workspace import Workspace

    with Workspace(ledger=ledger) as workspace:
        found = workspace.run(run)
        show_run(workspace, found, workspace.tallies(found), format_=format_, output=output, limit=limit)
