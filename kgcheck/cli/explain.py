"""``kgcheck explain``: one finding with all its evidence."""

import click

from kgcheck.cli.options import ledger_option, table_or_json_option
from kgcheck.cli.output import json_result


@click.command("explain")
@click.argument("finding")
@ledger_option()
@table_or_json_option()
def command(finding: str, ledger: str | None, format_: str) -> None:
    """Show FINDING, a fingerprint or the beginning of one: what was checked, the verdict, and all evidence."""
    from kgcheck.cli.console import results
    from kgcheck.curation.forms import decision_line
    from kgcheck.report.tables import explain_finding
    from kgcheck.workspace import Workspace

    with Workspace(ledger=ledger) as workspace:
        found = workspace.finding(finding)
        decided, state = workspace.decided(found), workspace.state_of(found)
    if format_ == "json":
        row = decided.model_dump(mode="json")
        json_result(found.as_row() | {"state": state, "decision_state": row["state"], "decision": row["decision"]})
    else:
        results().print(explain_finding(found, state or "", decision_line(decided)))
