"""``kgcheck findings``: the findings of a run by filters, with what was decided about them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import flags_of, format_options, workspace_options
from kgcheck.cli.output import note
from kgcheck.curation.findings import FindingFilter, FindingPage

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("findings")
@flags_of(FindingFilter)
@click.option("--run", default="latest", show_default=True, help="The run, or the beginning of its id.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many [default: 50 of a table].")
@click.option("--after", metavar="FINDING", help="Begin after this one: the last of the page before.")
@format_options(("table", "json", "jsonl", "csv", "parquet"))
@workspace_options("ledger", progress=False)
def command(
    workspace: "Workspace",
    run: str,
    limit: int | None,
    after: str | None,
    format_: str,
    out: Path | None,
    **filters: Any,
) -> None:
    """List the findings of a run, the refuted first, each with what became of it and what was decided about it.

    Those that the run did not find again are listed after these where they are asked for: --state fixed, gone,
    unchecked.
    """
    from kgcheck.cli.show import TABLE_LIMIT, show_listed

    most = TABLE_LIMIT if limit is None and format_ == "table" else limit
    page = FindingPage(workspace.list_findings(run, **filters), after, most)
    show_listed(page, format_, out, head=lambda: {"run": page.run, "next": page.next})
    if page.next:
        note(f"there are more: --after {page.next}")
    if not page.count:
        note(f"run {page.run} has no such finding: kgcheck runs lists the others")
