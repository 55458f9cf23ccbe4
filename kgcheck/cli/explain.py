"""``kgcheck explain``: one finding with all its evidence."""

from pathlib import Path

import click

from kgcheck.cli.options import ledger_option
from kgcheck.cli.output import json_result


@click.command("explain")
@click.argument("finding")
@ledger_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(finding: str, ledger: Path | None, format_: str) -> None:
    """Show FINDING, a fingerprint or the beginning of one: what was checked, the verdict, and all evidence."""
    from kgcheck.cli.console import results
    from kgcheck.cli.environment import read_settings
    from kgcheck.ledger.ledger import Ledger
    from kgcheck.report.tables import explain_finding

    with Ledger(ledger or read_settings().ledger, create=False) as kept:
        found = kept.finding(finding)
    if format_ == "json":
        json_result(found.as_row())
    else:
        results().print(explain_finding(found))
