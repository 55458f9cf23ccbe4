"""``kgcheck batch scv``: verify many claims."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, index_option, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import note, show
from kgcheck.options import ClaimOptions

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("scv")
@click.argument("file", type=FilePath())
@workspace_options(literature=index_option())
@options_of(ClaimOptions)
@click.option(
    "--inference",
    type=FilePath(file_okay=False),
    help="Folder of a model of inference that helps trained [default: KGCHECK_INFERENCE].",
)
@click.option("--recipe", help="How to read FILE: a recipe under corpus/claims [default: known by its form]")
@click.option(
    "--out",
    required=True,
    type=FilePath(file_okay=False),
    help="Folder for results.jsonl, metrics.json and report.md; a batch that was cut off goes on.",
)
@table_or_json_option()
def command(
    workspace: "Workspace",
    file: Path,
    options: ClaimOptions,
    inference: Path | None,
    recipe: str | None,
    out: Path,
    format_: str,
) -> None:
    """Verify the claims of FILE, and measure the answers where the claims have labels.

    Exit codes: 0 done, 2 usage or configuration, 3 some claims ended with an error, or are open because the budget is
    spent: the same command goes on with them.
    """
    from kgcheck.bench.batches import verify_claims
    from kgcheck.bench.metrics import lines
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.report.cells import RowTable

    done = verify_claims(workspace, file, out, options, recipe=recipe, inference=inference)
    show(format_, done.metrics.model_dump_json(indent=2), RowTable(("measure", "value"), lines(done.metrics)))
    for text in done.notes:
        note(text)
    batch = done.batch
    went = f"{batch.done} done now, {batch.before} before, {batch.failed} with an error"
    if done.stopped:
        went = f"{done.stopped}; {done.open} of {done.claims} claims are open: run the same command again to go on"
    note(f"{went}; report: {done.report}")
    click.get_current_context().exit(EXIT_INCOMPLETE if done.metrics.errors or done.stopped else 0)
