"""``kgcheck batch scv``: verify many claims."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import SCOPES
from kgcheck.cli.options import (
    FilePath,
    index_option,
    inference_option,
    spending_options,
    table_or_json_option,
    total_options,
    verifier_option,
    workers_option,
)
from kgcheck.cli.output import json_result, note

if TYPE_CHECKING:
    from rich.table import Table

    from kgcheck.bench.metrics import ClaimMetrics


@click.command("scv")
@click.argument("file", type=FilePath())
@index_option()
@verifier_option()
@inference_option()
@spending_options()
@total_options()
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="corpus",
    show_default=True,
    help="What is read for a claim: what a search finds, the documents that it names, or the passages given with it.",
)
@click.option("--top", type=click.IntRange(1, 50), default=3, show_default=True, help="Papers to read in the corpus.")
@click.option("--recipe", help="How to read FILE: a recipe under corpus/claims [default: known by its form]")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many claims.")
@workers_option("Claims")
@click.option(
    "--out",
    required=True,
    type=FilePath(file_okay=False),
    help="Folder for results.jsonl, metrics.json and report.md; a batch that was cut off goes on.",
)
@table_or_json_option()
def command(
    file: Path,
    index: Path | None,
    verifier: str,
    inference: Path | None,
    tokens: int | None,
    money: float | None,
    total_tokens: int | None,
    total_money: float | None,
    scope: str,
    top: int,
    recipe: str | None,
    limit: int | None,
    workers: int,
    out: Path,
    format_: str,
) -> None:
    """Verify the claims of FILE, and measure the answers where the claims have labels.

    Exit codes: 0 done, 2 usage or configuration, 3 some claims ended with an error, or are open because the budget is
    spent: the same command goes on with them.
    """
    from kgcheck.cli.console import RichProgress, results
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.batches import verify_claims
    from kgcheck.workspace.opening import Spending

    with Workspace(literature=index, progress=RichProgress()) as workspace:
        done = verify_claims(
            workspace,
            file,
            out,
            recipe=recipe,
            limit=limit,
            scope=scope,
            top=top,
            verifier=verifier,
            inference=inference,
            workers=workers,
            spending=Spending(tokens, money),
            total=Spending(total_tokens, total_money),
        )
    if format_ == "json":
        json_result(done.metrics.model_dump_json(indent=2))
    else:
        results().print(_table(done.metrics))
    for text in done.notes:
        note(text)
    batch = done.batch
    went = f"{batch.done} done now, {batch.before} before, {batch.failed} with an error"
    if done.stopped:
        went = f"{done.stopped}; {done.open} of {done.claims} claims are open: run the same command again to go on"
    note(f"{went}; report: {done.report}")
    click.get_current_context().exit(EXIT_INCOMPLETE if done.metrics.errors or done.stopped else 0)


def _table(metrics: "ClaimMetrics") -> "Table":
    from rich.table import Table

    from kgcheck.bench.metrics import lines

    table = Table("measure", "value")
    for name, value in lines(metrics):
        table.add_row(name, value)
    return table
