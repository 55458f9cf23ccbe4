"""``kgcheck batch kgqa`` and ``kgcheck batch kgcheck``: BioKGBench's tasks with its metrics."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import (
    Decorator,
    FilePath,
    brain_options,
    literature_option,
    offline_option,
    profile_option,
    reference_option,
    store_option,
    table_or_json_option,
    workers_option,
)
from kgcheck.cli.output import json_result, note

if TYPE_CHECKING:
    from kgcheck.workspace.batches import BatchResult


def _out_option() -> Decorator:
    return click.option(
        "--out",
        type=FilePath(file_okay=False),
        help="Folder for results.jsonl and metrics.json [default: .kgcheck/batch/<name of FILE>]",
    )


@click.command("kgqa")
@click.argument("file", type=FilePath())
@store_option()
@_out_option()
@workers_option("Items")
@profile_option()
@brain_options()
@literature_option(configured=False)
@table_or_json_option()
def kgqa(
    file: Path,
    store: str | None,
    out: Path | None,
    workers: int,
    profile: str,
    brain: str,
    tokens: int | None,
    money: float | None,
    index: Path | None,
    format_: str,
) -> None:
    """Answer the questions of FILE, a JSON list or JSON lines as BioKGBench has them, and score the answers."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.batches import answer_questions
    from kgcheck.workspace.opening import Spending

    with Workspace(store=store, profile=profile, brain=brain, literature=index, progress=RichProgress()) as workspace:
        spending = Spending(tokens, money)
        _show(answer_questions(workspace, file, out=out, workers=workers, spending=spending), format_)


@click.command("kgcheck")
@click.argument("file", type=FilePath())
@store_option()
@reference_option()
@click.option("--live", is_flag=True, help="Ask UniProt and STRING, too; what they say comes before the snapshot.")
@offline_option()
@literature_option()
@_out_option()
@workers_option("Items")
@profile_option()
@brain_options()
@table_or_json_option()
def kgcheck(
    file: Path,
    store: str | None,
    reference: Path | None,
    live: bool,
    offline: bool,
    index: Path | None,
    out: Path | None,
    workers: int,
    profile: str,
    brain: str,
    tokens: int | None,
    money: float | None,
    format_: str,
) -> None:
    """Check the items of FILE, as kgcheck bench make writes them or with BioKGBench's instructions, and score them."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.batches import check_items
    from kgcheck.workspace.opening import Spending

    with Workspace(
        store=store,
        reference=reference,
        literature=index,
        profile=profile,
        live=live,
        offline=offline,
        brain=brain,
        progress=RichProgress(),
    ) as workspace:
        spending = Spending(tokens, money)
        _show(check_items(workspace, file, out=out, workers=workers, spending=spending), format_)


def _show(done: "BatchResult", format_: str) -> None:
    from kgcheck.cli.console import results
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.report.tables import metrics_table
    from kgcheck.workspace.batches import metrics_json

    for text in done.notes:
        note(text)
    if format_ == "json":
        json_result(metrics_json(done.metrics))
    else:
        results().print(metrics_table(done.metrics))
    note(f"{done.batch.done} done now, {done.batch.before} before; results: {done.results}")
    if done.batch.failed:
        note(f"{done.batch.failed} ended with an error; run the same command to try them again")
        click.get_current_context().exit(EXIT_INCOMPLETE)
