"""``kgcheck diff``: what became of the findings of one run in a later one."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import THRESHOLDS
from kgcheck.cli.options import fail_on_option, format_options, workspace_options
from kgcheck.cli.output import note

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


STATES = ("new", "changed", "unchecked", "fixed", "gone", "still")


@click.command("diff")
@click.argument("before", required=False, metavar="[RUN]")
@click.argument("after", required=False, metavar="[RUN]")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only findings in this state.")
@click.option("--limit", type=click.IntRange(min=0), help="Show at most so many findings [default: 50 of a table].")
@format_options(("table", "json", "jsonl", "csv"))
@fail_on_option(THRESHOLDS, default="never")
@workspace_options("ledger", progress=False)
def command(
    workspace: "Workspace",
    before: str | None,
    after: str | None,
    states: tuple[str, ...],
    limit: int | None,
    format_: str,
    out: Path | None,
    fail_on: str,
) -> None:
    """Compare two runs of a store: the latest audit with the one before of the same options, unless RUNs are named.

    One RUN is the earlier one; of two, the earlier one comes first. What is still as it was is counted, and listed only
    with --state still. `fixed` was checked again and holds no more, `gone` is no longer in the graph, and `unchecked`
    was not looked at, or could not be.

    Exit codes: 0 clean, 1 findings at or over --fail-on, 2 usage or configuration.
    """
    from kgcheck.cli.show import TABLE_LIMIT, show_listed

    diff = workspace.diff(before, after)
    most = TABLE_LIMIT if limit is None and format_ == "table" else limit
    show_listed(diff.findings(states or STATES[:-1], limit=most), format_, out, head=diff.as_row)
    for line in diff.lines():
        note(line)
    code = diff.exit_code(fail_on)
    click.get_current_context().exit(code)
