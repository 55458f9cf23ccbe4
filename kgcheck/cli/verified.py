"""``kgcheck verified``: whether an edge was looked at, when, and by which record it is right or wrong."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import json_result

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("verified")
@click.argument("edge")
@workspace_options("store", "profile", "ledger", progress=False)
@table_or_json_option()
def command(workspace: "Workspace", edge: str, format_: str) -> None:
    """Show what the newest audit that looked at EDGE found: "P04637 ACTS_ON Q00987".

    Ends with 0 where it is supported, 1 where it is refuted or cannot be told, and 3 where nobody has looked or could.
    """
    from kgcheck.cli.console import results
    from kgcheck.report.tables import verified_table

    found = workspace.verified(edge)
    if format_ == "json":
        json_result(found.model_dump(mode="json") if found else None)
    else:
        results().print(verified_table(edge, found))
    outcome = found.outcome.value if found else "unavailable"
    click.get_current_context().exit({"supported": 0, "unavailable": 3}.get(outcome, 1))
