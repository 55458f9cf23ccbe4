"""``kgcheck batch scv``: verify many claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.literature import verifier_option
from kgcheck.cli.options import FilePath, index_option, spending_options, total_options, workers_option
from kgcheck.cli.output import json_result, say

if TYPE_CHECKING:
    from kgcheck.bench.metrics import ClaimMetrics
    from kgcheck.literature.search import LiteratureIndex


@click.command("scv")
@click.argument("file", type=FilePath())
@index_option()
@verifier_option()
@spending_options()
@total_options()
@click.option(
    "--scope",
    type=click.Choice(("corpus", "documents", "passages")),
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
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(file: Path, index: Path | None, out: Path, format_: str, **asked: Any) -> None:
    """Verify the claims of FILE, and measure the answers where the claims have labels.

    Exit codes: 0 done, 2 usage or configuration, 3 some claims ended with an error, or are open because the budget is
    spent: the same command goes on with them.
    """
    from contextlib import ExitStack

    from kgcheck.bench.metrics import measure
    from kgcheck.bench.runner import Batch, keep_options, read_results, run_batch
    from kgcheck.bench.scv import ClaimWork, read_items
    from kgcheck.bench.scv_report import write_report
    from kgcheck.cli.console import RichProgress, results
    from kgcheck.cli.environment import read_settings
    from kgcheck.cli.literature import open_verifier, tell_spent, total_meter
    from kgcheck.errors import EXIT_INCOMPLETE, BudgetSpent
    from kgcheck.literature.search import open_index

    items = read_items(file, asked["recipe"])[: asked["limit"]]
    settings = read_settings()
    spent = total_meter(settings, asked)
    stopped: BudgetSpent | None = None
    with ExitStack() as stack:
        opened: LiteratureIndex | None = None
        if index:
            opened, note = open_index(index)
            stack.enter_context(opened)
            if note:
                say(note)
        verifier = stack.enter_context(
            open_verifier(asked["verifier"], opened.embedder if opened else None, settings, asked, spent)
        )
        options = {
            "task": "scv",
            "file": str(file.resolve()),
            "verifier": asked["verifier"],
            "model": settings.llm_model if asked["verifier"] == "llm" else None,
            "scope": asked["scope"],
            "top": asked["top"],
            "index": opened.manifest.folder if opened else None,
        }
        keep_options(out, options)
        done = Batch(0, 0, 0)
        try:
            done = run_batch(
                ((item.id, item) for item in items),
                ClaimWork(opened, verifier, asked["scope"], asked["top"]),
                out / "results.jsonl",
                workers=asked["workers"],
                progress=RichProgress(),
                description="verifying claims",
                total=len(items),
            )
        except BudgetSpent as error:
            stopped = error
        held = read_results(out / "results.jsonl")

        def spans(name: str) -> Any:
            return opened.documents([name])[0].spans if opened else ()

        metrics = measure(items, held, spans)
    write_report(out, metrics, options)
    if format_ == "json":
        json_result(metrics.model_dump_json(indent=2))
    else:
        results().print(_table(metrics))
    tell_spent(spent)
    if stopped:
        left = sum(item.id not in held for item in items)
        said = f"{stopped.message}; {left} of {len(items)} claims are open: run the same command again to go on"
    else:
        said = f"{done.done} done now, {done.before} before, {done.failed} with an error"
    say(f"{said}; report: {out / 'report.md'}")
    click.get_current_context().exit(EXIT_INCOMPLETE if metrics.errors or stopped else 0)


def _table(metrics: "ClaimMetrics") -> Any:
    from rich.table import Table

    from kgcheck.bench.scv_report import lines

    table = Table("measure", "value")
    for name, value in lines(metrics):
        table.add_row(name, value)
    return table
