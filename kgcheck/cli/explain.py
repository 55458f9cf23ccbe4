"""``kgcheck explain``: one finding with all its evidence."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import json_result

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("explain")
@click.argument("finding")
@workspace_options("ledger", "store", "profile", progress=False)
@table_or_json_option()
def command(workspace: "Workspace", finding: str, format_: str) -> None:
    """Show FINDING, a fingerprint, the beginning of one, or what was checked: the verdict, and all evidence.

    What was checked is said as kgcheck check takes it, in quotes: "APOE ACTS_ON APP".
    """
    from kgcheck.cli.console import results
    from kgcheck.curation.forms import decision_line
    from kgcheck.report.tables import explain_finding

    found = workspace.finding(finding)
    decided, state = workspace.decided(found), workspace.state_of(found)
    if format_ == "json":
        row = decided.model_dump(mode="json")
        json_result(found.as_row() | {"state": state, "decision_state": row["state"], "decision": row["decision"]})
    else:
        results().print(explain_finding(found, state or "", decision_line(decided)))
