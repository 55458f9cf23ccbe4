"""``kgcheck batch``: many items of one kind, resumable, with the metrics of the benchmarks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import Decorator, profile_option, reference_option, store_option

if TYPE_CHECKING:
    from kgcheck.batch.runner import Batch


@click.group("batch")
def command() -> None:
    """Answer or check many items; a batch that was cut off goes on where it stopped."""


def _out_option() -> Decorator:
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder for results.jsonl and metrics.json [default: .kgcheck/batch/<name of FILE>]",
    )


@command.command("kgqa")
@click.argument("file", type=click.Path(path_type=Path))
@store_option()
@_out_option()
@profile_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def kgqa(file: Path, store: str, out: Path | None, profile: str, format_: str) -> None:
    """Answer the questions of FILE, a JSON list or JSON lines as BioKGBench has them, and score the answers."""
    from kgcheck.batch import kgqa as batch
    from kgcheck.batch.runner import keep_options, read_results, run_batch
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.graph.open import open_store
    from kgcheck.kgqa.answer import Questions

    questions = batch.unique(batch.read_questions(file))
    settings, schema, progress = read_settings(), read_schema(profile), RichProgress()
    folder = out or settings.home / "batch" / f"kgqa-{file.stem}"
    with open_store(store, schema, settings) as opened:
        keep_options(folder, {"task": "kgqa", "store": str(store), "profile": profile, "brain": "rules"})
        done = run_batch(
            ((q.id, q) for q in questions),
            batch.work_of(Questions(opened, progress).ask),
            folder / "results.jsonl",
            progress=progress,
            description="answering",
            total=len(questions),
        )
    results = read_results(folder / "results.jsonl")
    show(batch.metrics([results[q.id] for q in questions]), folder, done, format_)


@command.command("kgcheck")
@click.argument("file", type=click.Path(path_type=Path))
@store_option()
@reference_option()
@_out_option()
@profile_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def kgcheck(file: Path, store: str, reference: Path | None, out: Path | None, profile: str, format_: str) -> None:
    """Check the items of FILE, as kgcheck bench make writes them or with BioKGBench's instructions, and score them."""
    from kgcheck.batch import kgcheck as batch
    from kgcheck.batch.items import read_items
    from kgcheck.batch.runner import keep_options, read_results, run_batch
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.graph.open import open_store
    from kgcheck.sources.observe import SnapshotSource

    settings, schema = read_settings(), read_schema(profile)
    items = read_items(file, schema)
    folder = out or settings.home / "batch" / f"kgcheck-{file.stem}"
    asked = {"task": "kgcheck", "store": str(store), "reference": str(reference), "profile": profile, "brain": "rules"}
    with open_store(store, schema, settings) as opened, SnapshotSource(reference, schema, settings) as source:
        keep_options(folder, asked)
        done = run_batch(
            ((item.id, item) for item in items),
            batch.Checker(opened, source).work,
            folder / "results.jsonl",
            progress=RichProgress(),
            description="checking",
            total=len(items),
        )
    results = read_results(folder / "results.jsonl")
    show(batch.metrics([results[item.id] for item in items]), folder, done, format_)


def show(metrics: Any, folder: Path, done: "Batch", format_: str) -> None:
    """Write metrics.json and show it.

    Args:
        metrics: Metrics by type.
        folder: Of the batch.
        done: How the batch went.
        format_: table or json.
    """
    import json

    from kgcheck.cli.console import errors, results
    from kgcheck.cli.show import write
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.report.answers import metrics_table

    text = json.dumps({kind: value.model_dump() for kind, value in metrics.items()}, indent=2)
    write(folder / "metrics.json", text + "\n")
    if format_ == "json":
        click.echo(text)
    else:
        results().print(metrics_table(metrics))
    errors().print(f"{done.done} done now, {done.before} before; results: {folder / 'results.jsonl'}", soft_wrap=True)
    if done.failed:
        errors().print(f"{done.failed} ended with an error; run the same command to try them again", soft_wrap=True)
        click.get_current_context().exit(EXIT_INCOMPLETE)
