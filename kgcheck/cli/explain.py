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
    from kgcheck.report.tables import explain_finding
    from kgcheck.workspace import Workspace

    with Workspace(ledger=ledger) as workspace:
        found = workspace.finding(finding)
    if format_ == "json":
        json_result(found.as_row())
    else:
        results().print(explain_finding(found))
