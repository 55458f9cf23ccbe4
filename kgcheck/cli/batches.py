"""``kgcheck batch kgqa`` and ``kgcheck batch kgcheck``: BioKGBench's tasks with its metrics."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import (
    Decorator,
    FilePath,
    literature_option,
    options_of,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import note, show
from kgcheck.options import BatchOptions

if TYPE_CHECKING:
    from kgcheck.bench.batches import BatchResult
    from kgcheck.workspace import Workspace


def _out_option() -> Decorator:
    return click.option(
        "--out",
        type=FilePath(file_okay=False),
        help="Folder for results.jsonl and metrics.json [default: .kgcheck/batch/<name of FILE>]",
    )


@click.command("kgqa")
@click.argument("file", type=FilePath())
@workspace_options("store", "profile", "brain", literature=literature_option(configured=False))
@_out_option()
@options_of(BatchOptions)
@table_or_json_option()
def kgqa(
    workspace: "Workspace",
    options: BatchOptions,
    file: Path,
    out: Path | None,
    format_: str,
) -> None:
    """Answer the questions of FILE, a JSON list or JSON lines as BioKGBench has them, and score the answers."""
    from kgcheck.bench.batches import answer_questions

    _show(answer_questions(workspace, file, out=out, options=options), format_)


@click.command("kgcheck")
@click.argument("file", type=FilePath())
@workspace_options("store", "reference", "live", "offline", "literature", "profile", "brain")
@_out_option()
@options_of(BatchOptions)
@table_or_json_option()
def kgcheck(
    workspace: "Workspace",
    options: BatchOptions,
    file: Path,
    out: Path | None,
    format_: str,
) -> None:
    """Check the items of FILE, as kgcheck bench make writes them or with BioKGBench's instructions, and score them."""
    from kgcheck.bench.batches import check_items

    _show(check_items(workspace, file, out=out, options=options), format_)


def _show(done: "BatchResult", format_: str) -> None:
    from kgcheck.bench.batches import metrics_json
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.report.tables import metrics_table

    for text in done.notes:
        note(text)
    show(format_, metrics_json(done.metrics), metrics_table(done.metrics))
    note(f"{done.batch.done} done now, {done.batch.before} before; results: {done.results}")
    if done.batch.failed:
        note(f"{done.batch.failed} ended with an error; run the same command to try them again")
        click.get_current_context().exit(EXIT_INCOMPLETE)
