"""``kgcheck verified``: whether an edge was looked at, when, and by which record it is right or wrong."""

import click

from kgcheck.cli.options import ledger_option, profile_option, store_option, table_or_json_option
from kgcheck.cli.output import json_result, note


@click.command("verified")
@click.argument("edge")
@store_option()
@profile_option()
@ledger_option()
@table_or_json_option()
def command(edge: str, store: str | None, profile: str, ledger: str | None, format_: str) -> None:
    """Show what the newest audit that looked at EDGE found: "P04637 ACTS_ON Q00987".

    Ends with 0 where it is supported, 1 where it is refuted or cannot be told, and 3 where nobody has looked or could.
    """
    from kgcheck.cli.console import results
    from kgcheck.report.tables import verified_table
    from kgcheck.workspace import Workspace

    with Workspace(store=store, profile=profile, ledger=ledger) as workspace:
        found = workspace.verified(edge)
    if format_ == "json":
        json_result(found.model_dump(mode="json") if found else None)
    else:
        results().print(verified_table(edge, found))
    if found is None:
        note("it is looked up by ids, as the graph has them: kgcheck check knows names, too")
    outcome = found.outcome.value if found else "unavailable"
    click.get_current_context().exit({"supported": 0, "unavailable": 3}.get(outcome, 1))
