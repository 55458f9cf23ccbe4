"""``kgcheck doctor``: what this machine has, and what brings the rest."""

from pathlib import Path

import click

from kgcheck.cli.options import (
    ledger_option,
    literature_option,
    profile_option,
    reference_option,
    store_option,
    table_or_json_option,
)
from kgcheck.cli.output import json_result
from kgcheck.errors import EXIT_USAGE


@click.command("doctor")
@store_option()
@reference_option()
@ledger_option()
@literature_option()
@profile_option()
@table_or_json_option()
def command(
    store: str | None, reference: Path | None, ledger: str | None, index: Path | None, profile: str, format_: str
) -> int:
    """Tell what this machine has of all that kgcheck can use, with the command that brings what is missing.

    Ends with 0 where a graph can be audited, whatever else is missing, and with 2 where none can.
    """
    from kgcheck.cli.console import results
    from kgcheck.report.tables import rows_table
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.doctor import facilities

    with Workspace(store=store, reference=reference, ledger=ledger, literature=index, profile=profile) as workspace:
        found = facilities(workspace)
    rows = [one.model_dump(mode="json") for one in found]
    if format_ == "json":
        json_result(rows)
    else:
        results().print(rows_table(rows, ("name", "state", "found", "needed_for", "command")))
    return EXIT_USAGE if any(one.stops_the_main_job for one in found) else 0
