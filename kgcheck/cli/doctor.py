"""``kgcheck doctor``: what this machine has, and what brings the rest."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import show
from kgcheck.errors import EXIT_USAGE

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("doctor")
@workspace_options("store", "reference", "ledger", "literature", "profile", progress=False)
@table_or_json_option()
def command(workspace: "Workspace", format_: str) -> int:
    """Tell what this machine has of all that kgcheck can use, with the command that brings what is missing.

    Ends with 0 where a graph can be audited, whatever else is missing, and with 2 where none can.
    """
    from kgcheck.cli.facilities import facilities
    from kgcheck.report.tables import rows_table

    found = facilities(workspace)
    rows = [one.model_dump(mode="json") for one in found]
    show(format_, rows, rows_table(rows, ("name", "state", "found", "needed_for", "command")))
    return EXIT_USAGE if any(one.stops_the_main_job for one in found) else 0
