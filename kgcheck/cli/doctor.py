"""``kgcheck doctor``: what this machine has, and what brings the rest."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import show
from kgcheck.errors import EXIT_USAGE

if TYPE_CHECKING:
    from kgcheck.cli.facilities import Facility
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
    # One screen: what is there needs no more words.
    shown = [row | {"found": _in_words(one)} for row, one in zip(rows, found, strict=True)]
    show(format_, rows, rows_table(shown, ("name", "state", "found")))
    return EXIT_USAGE if any(one.stops_the_main_job for one in found) else 0


def _in_words(one: "Facility") -> str:
    """Describe a facility; a missing one by what needs it and the command that brings it."""
    if one.state == "ok":
        return one.found
    return "; ".join(filter(None, (one.found, one.needed_for and f"for {one.needed_for}", one.command)))
