"""``kgcheck report``: the findings of a run again, in any form."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import format_options, limit_option, workspace_options

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("report")
@click.argument("run", default="latest")
@format_options()
@limit_option()
@workspace_options("ledger", progress=False)
def command(workspace: "Workspace", run: str, format_: str, out: Path | None, limit: int | None) -> None:
    """Show the findings of RUN: its id, the beginning of its id, or `latest`."""
    from kgcheck.cli.show import show_run

    found = workspace.run(run)
    show_run(workspace, found, workspace.tallies(found), format_=format_, out=out, limit=limit)
