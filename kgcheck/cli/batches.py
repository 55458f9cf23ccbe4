"""``kgcheck batch kgqa`` and ``kgcheck batch kgcheck``: BioKGBench's tasks with its metrics."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.literature import literature_option
from kgcheck.cli.options import (
    Decorator,
    FilePath,
    brain_options,
    offline_option,
    profile_option,
    reference_option,
    store_option,
    workers_option,
)
from kgcheck.cli.output import json_result, say

if TYPE_CHECKING:
    from kgcheck.bench.runner import Batch
    from kgcheck.settings import Settings


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
@literature_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def kgqa(file: Path, store: str, out: Path | None, profile: str, format_: str, **asked: Any) -> None:
    """Answer the questions of FILE, a JSON list or JSON lines as BioKGBench has them, and score the answers."""
    from kgcheck.bench import kgqa as batch
    from kgcheck.bench.runner import keep_options, read_results, run_batch
    from kgcheck.cli.brains import open_asker
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.graph.open import open_store

    questions = batch.unique(batch.read_questions(file))
    settings, schema = read_settings(), read_schema(profile)
    folder = out or settings.home / "batch" / f"kgqa-{file.stem}"
    kept = {"task": "kgqa", "store": str(store), "profile": profile, **_brain(asked, settings), **_sources(asked)}
    with (
        open_store(store, schema, settings) as opened,
        open_asker(asked["brain"], opened, settings, asked) as ask,
    ):
        keep_options(folder, kept)
        done = run_batch(
            ((q.id, q) for q in questions),
            batch.work_of(ask),
            folder / "results.jsonl",
            workers=asked["workers"],
            progress=RichProgress(),
            description="answering",
            total=len(questions),
        )
    results = read_results(folder / "results.jsonl")
    show(batch.metrics([results[q.id] for q in questions]), folder, done, format_)


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
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def kgcheck(
    file: Path, store: str, reference: Path | None, out: Path | None, profile: str, format_: str, **asked: Any
) -> None:
    """Check the items of FILE, as kgcheck bench make writes them or with BioKGBench's instructions, and score them."""
    from kgcheck.agents.outside import with_papers
    from kgcheck.bench import kgcheck as batch
    from kgcheck.bench.items import read_items
    from kgcheck.bench.runner import keep_options, read_results, run_batch
    from kgcheck.cli.brains import brain_maker
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import live_sources, read_schema, reading_settings
    from kgcheck.cli.literature import open_papers
    from kgcheck.evidence.source import SnapshotSource
    from kgcheck.graph.open import open_store
    from kgcheck.loading.manifest import graph_dates

    settings, schema = reading_settings(offline=asked["offline"]), read_schema(profile)
    items = read_items(file, schema)
    folder = out or settings.home / "batch" / f"kgcheck-{file.stem}"
    kept = {"task": "kgcheck", "store": str(store), "reference": str(reference), "profile": profile}
    with (
        open_store(store, schema, settings) as opened,
        live_sources(schema, settings, wanted=asked["live"]) as live,
        SnapshotSource(reference, schema, settings, live, graph_dates(opened.meta(), schema)) as source,
        open_papers(asked["index"], opened, reference, settings) as reader,
        brain_maker(asked["brain"], settings, asked) as brain,
    ):
        keep_options(folder, kept | _brain(asked, settings) | _sources(asked))
        asking, outside = with_papers(source, schema, live, reader)
        done = run_batch(
            ((item.id, item) for item in items),
            batch.Checker(opened, asking, brain, outside=outside).work,
            folder / "results.jsonl",
            workers=asked["workers"],
            progress=RichProgress(),
            description="checking",
            total=len(items),
        )
        for name, failure in (live.failures | live.refusals if live else {}).items():
            say(f"{name}: {failure}")
    results = read_results(folder / "results.jsonl")
    show(batch.metrics([results[item.id] for item in items]), folder, done, format_)


def _brain(asked: dict[str, Any], settings: "Settings") -> dict[str, Any]:
    """What a batch keeps about its brain."""
    return {"brain": asked["brain"]} | ({"model": settings.llm_model} if asked["brain"] == "llm" else {})


def _sources(asked: dict[str, Any]) -> dict[str, Any]:
    """What a batch keeps about the sources beside the snapshot, where there are any."""
    return {n: str(asked[n]) for n in ("live", "index") if asked.get(n)}


def show(metrics: Any, folder: Path, done: "Batch", format_: str) -> None:
    """Write metrics.json and show it.

    Args:
        metrics: Metrics by type.
        folder: Of the batch.
        done: How the batch went.
        format_: table or json.
    """
    import json

    from kgcheck.cli.console import results
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.outputs import write_text
    from kgcheck.report.tables import metrics_table

    text = json.dumps({kind: value.model_dump() for kind, value in metrics.items()}, indent=2)
    write_text(folder / "metrics.json", text + "\n")
    if format_ == "json":
        json_result(text)
    else:
        results().print(metrics_table(metrics))
    say(f"{done.done} done now, {done.before} before; results: {folder / 'results.jsonl'}")
    if done.failed:
        say(f"{done.failed} ended with an error; run the same command to try them again")
        click.get_current_context().exit(EXIT_INCOMPLETE)
