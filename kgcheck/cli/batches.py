"""``kgcheck batch`` and ``bench``: run questions, checks or claims in bulk; make benchmark sets."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import (
    FilePath,
    index_option,
    literature_option,
    options_of,
    out_folder_option,
    part_options,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import note, result, show
from kgcheck.errors import EXIT_INCOMPLETE
from kgcheck.options import BatchOptions, ClaimOptions, ItemOptions, MeasureOptions, SetOptions
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.bench.batches import BatchResult
    from kgcheck.model import Value
    from kgcheck.workspace import Workspace


@click.group("batch")
def batch() -> None:
    """Answer or check many items; a batch that was cut off goes on where it stopped."""


_OUT = click.option(
    "--out",
    type=FilePath(file_okay=False),
    help="Folder for results.jsonl and metrics.json [default: .kgcheck/batch/<name of FILE>]",
)


@batch.command("kgqa")
@click.argument("file", type=FilePath())
@workspace_options("store", "profile", "brain", literature=literature_option(configured=False))
@_OUT
@options_of(BatchOptions)
@table_or_json_option()
def batch_kgqa(workspace: "Workspace", options: BatchOptions, file: Path, out: Path | None, format_: str) -> None:
    """Answer the questions of FILE, a JSON list or JSON lines as BioKGBench has them, and score the answers."""
    from kgcheck.bench.batches import answer_questions

    _show(answer_questions(workspace, file, out=out, options=options), format_)


@batch.command("kgcheck")
@click.argument("file", type=FilePath())
@workspace_options("store", "reference", "live", "offline", "literature", "profile", "brain")
@_OUT
@options_of(ItemOptions)
@table_or_json_option()
def batch_kgcheck(workspace: "Workspace", options: ItemOptions, file: Path, out: Path | None, format_: str) -> None:
    """Check the items of FILE, as kgcheck bench make writes them or with BioKGBench's instructions, and score them."""
    from kgcheck.bench.batches import check_items

    _show(check_items(workspace, file, out=out, options=options), format_)


def _show(done: "BatchResult", format_: str) -> None:
    from kgcheck.report.tables import metrics_table

    note(*done.notes)
    show(format_, done.json, metrics_table(done.metrics, done.spread))
    note(f"{done.batch.done} done now, {done.batch.before} before; results: {done.results}")
    if done.batch.failed:
        note(f"{done.batch.failed} ended with an error; run the same command to try them again")
        click.get_current_context().exit(EXIT_INCOMPLETE)


@batch.command("scv")
@click.argument("file", type=FilePath())
@workspace_options(literature=index_option(required=False))
@options_of(ClaimOptions)
@click.option("--recipe", help="How to read FILE: a recipe under corpus/claims [default: known by its form]")
@out_folder_option("Folder for results.jsonl, metrics.json and report.md; a batch that was cut off goes on.")
@table_or_json_option()
def batch_scv(
    workspace: "Workspace",
    file: Path,
    options: ClaimOptions,
    recipe: str | None,
    out: Path,
    format_: str,
) -> None:
    """Verify the claims of FILE, and measure the answers where the claims have labels.

    Exit codes: 0 done, 2 usage or configuration, 3 some claims ended with an error, or are open because the budget is
    spent: the same command goes on with them.
    """
    from kgcheck.bench.batches import verify_claims
    from kgcheck.bench.metrics import lines, scope_rows
    from kgcheck.report.safe_console import RowTable

    done = verify_claims(workspace, file, out, options, recipe=recipe)
    table = RowTable(("measure", "value"), lines(done.measured, done.spread.get("all")))
    if len(done.metrics) > 1:
        table = RowTable(("scope", "accuracy", "right quotes", "error"), scope_rows(done.metrics, done.spread))
    show(format_, done.json, table)
    note(*done.notes)
    batch = done.batch
    went = f"{batch.done} done now, {batch.before} before, {batch.failed} with an error"
    if done.stopped:
        went = f"{done.stopped}; {done.open} of {done.claims} claims are open: run the same command again to go on"
    note(f"{went}; report: {done.report}")
    click.get_current_context().exit(EXIT_INCOMPLETE if batch.failed or done.stopped else 0)


@batch.command("set")
@click.argument("file", type=FilePath())
@workspace_options("store", "profile", "brain")
@options_of(SetOptions)
@out_folder_option("Folder for results.jsonl; a run that was cut off goes on.")
def batch_set(workspace: "Workspace", file: Path, options: SetOptions, out: Path) -> None:
    """Answer the questions of FILE, a set of kgcheck bench questions or a file of HeurekaBench; see bench grade.

    Exit codes: 0 done, 2 usage or configuration, 3 some items ended with an error, or are open because the budget is
    spent: the same command goes on with them.
    """
    from kgcheck.bench.question_runs import run_set

    done = run_set(workspace, file, out, options)
    went = f"{done.batch.done} done now, {done.batch.before} before, {done.batch.failed} with an error"
    if done.stopped:
        went = f"{done.stopped}; {done.left} questions are open: run the same command again to go on"
    note(*done.notes, f"{went}; results: {out}")
    click.get_current_context().exit(EXIT_INCOMPLETE if done.batch.failed or done.left else 0)


@click.group("bench")
def bench() -> None:
    """Make benchmark sets, grade answers, and measure judges of papers."""


DEV = click.option(
    "--dev",
    type=FilePath(dir_okay=False),
    help="Write about one item of eleven here; nothing that is asked about is in both files.",
)


def write_set(
    items: "Sequence[Value]", entities: "Callable[[Any], Iterable[str]]", out: Path, dev: Path | None, seed: int
) -> None:
    """Write a set as JSON lines, in two parts where a file for the dev part is named; whole, where it has no parts."""
    from kgcheck.bench.make import dev_and_test
    from kgcheck.bench.question_sets import write_models

    files = {out: items}
    write_models(out, items)
    if dev:
        files = dict(zip((dev, out), dev_and_test(items, entities, seed=seed), strict=True))
    for path, part in files.items():
        write_models(path, part)
        note(f"{how_many(len(part), 'item')}: {path}")


@bench.command("make")
@workspace_options(
    *("store", "profile"),
    reference=click.option(
        "--reference",
        envvar="KGCHECK_REFERENCE",
        type=FilePath(),
        required=True,
        help="Snapshot made by kgcheck reference build: the one that the set is to be checked against.",
    ),
)
@click.option(
    "--truth-from",
    type=FilePath(),
    help="What says what is true: another snapshot (.duckdb) of other sources or releases, or a file of labelled"
    " facts (JSON lines). Without it, --reference says so itself, and the set measures the judging alone.",
)
@click.option("--out", type=FilePath(dir_okay=False), required=True, help="JSON lines file to write.")
@click.option("--per-type", type=click.IntRange(min=2), default=90, show_default=True, help="Items of each task type.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choice.")
@DEV
def bench_make(
    workspace: "Workspace", truth_from: Path | None, out: Path, per_type: int, seed: int, dev: Path | None
) -> None:
    """Make a KGCheck set over a graph: real disagreements and seeded errors, balanced, leakage-checked."""
    from kgcheck.bench.batches import make_set
    from kgcheck.bench.make import entities_of

    made, notes = make_set(workspace, truth_from, per_type=per_type, seed=seed)
    note(*notes)
    write_set(made.items, entities_of, out, dev, seed)
    for name, counts in made.cells.items():
        result(f"{name}: {', '.join(f'{n} {label}' for label, n in counts.items())}")


@bench.command("claims")
@click.argument("files", nargs=-1, required=True, type=FilePath())
@workspace_options(literature=index_option())
@click.option("--out", type=FilePath(dir_okay=False), required=True, help="JSON lines file to write.")
@DEV
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choice of the dev part.")
def bench_claims(workspace: "Workspace", files: tuple[Path, ...], out: Path, dev: Path | None, seed: int) -> None:
    """Join the labelled claims of FILES over one index into a set in BioKGBench's form, for kgcheck batch scv.

    Questions that yes or no answers become the claims that a yes affirms, where their verb is plain; others are left
    out, as are claims whose papers are not in the index. With --dev, no paper is in both parts.
    """
    from kgcheck.bench.scv import join_claims

    notes: list[str] = []
    made, left_out = join_claims(files, workspace.index(notes))
    note(*notes, *(f"{how_many(count, 'item')} left out: {why}" for why, count in left_out.items()))
    write_set(made, lambda claim: claim.evidence, out, dev, seed)


@bench.command("judge")
@click.argument("file", type=FilePath())
@workspace_options("ledger", "profile")
@options_of(MeasureOptions)
@click.option("--recipe", help="How to read FILE: a recipe under corpus/claims [default: known by its form]")
@_OUT
@table_or_json_option()
def bench_judge(
    workspace: "Workspace", file: Path, options: MeasureOptions, recipe: str | None, out: Path | None, format_: str
) -> None:
    """Measure a judge of papers on FILE, labelled evidence of edges, and keep its calibration in the ledger.

    Where a judge is right often enough, by Wilson's lower bound of its precision (--trust of check and audit), what it
    reads in papers decides; elsewhere it informs. Several judges are measured together, where they agree. Without
    --verifier, the trained one.

    Exit codes: 0 measured and kept, 2 usage or configuration, 3 not kept: some items ended with an error, or are open
    because the budget is spent (the same command goes on), or an endpoint answered by several models.
    """
    from kgcheck.bench.judge import measure_judges, rows_of
    from kgcheck.report.tables import rows_table

    done = measure_judges(workspace, file, options, out=out, recipe=recipe)
    note(*done.notes)
    if done.calibration is None:
        note(f"not kept: {done.why}; results: {done.folder / 'results.jsonl'}")
        click.get_current_context().exit(EXIT_INCOMPLETE)
    made = done.calibration
    rows = rows_of(made)
    show(format_, made.model_dump(mode="json"), rows_table(rows, tuple(rows[0]) if rows else ("stance",)))
    error = "" if made.error is None else f"; calibration error {made.error:.3f}"
    note(
        f"{made.judge} ({made.model}): {made.found:,} of {made.labelled:,} statements and denials found, of "
        f"{how_many(made.items, 'item')}{error}; kept in {workspace.ledger}"
    )


@bench.command("models")
@click.argument("file", type=FilePath(dir_okay=False))
@part_options("store", "reference", "profile", literature=index_option(required=False))
@click.option("--out", type=FilePath(file_okay=False), required=True, help="Folder for the results of every model.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Items at the same time.")
@table_or_json_option()
def bench_models(parts: dict[str, Any], file: Path, out: Path, workers: int, format_: str) -> None:
    """Run the sets of FILE by each of its models, several times, and print the tables of BioKGBench's paper.

    FILE is TOML: runs, [sets] with kgqa, scv and kgcheck, and [[models]] with name, group, model, base_url, key (the
    variable that holds it) and prices; without a model, kgcheck's own rules. Its form is in docs/howto_batches.md.
    """
    from rich.console import Group
    from rich.text import Text

    from kgcheck.bench.models import paper_tables, run_models
    from kgcheck.cli.options import open_workspace
    from kgcheck.report.safe_console import RowTable

    made = run_models(file, lambda **more: open_workspace(parts | more), out, workers)
    notes = dict.fromkeys(text for done in made.values() for result in done.values() for text in result.notes)
    tables = paper_tables(made)
    note(*notes)
    shown = [
        part
        for title, columns, rows in tables
        for part in (Text(title, "bold"), RowTable(columns, rows, keys=columns[:2]), Text())
    ]
    show(format_, [dict(zip(("title", "columns", "rows"), table, strict=True)) for table in tables], Group(*shown))
    if any(result.batch.failed for done in made.values() for result in done.values()):
        note("some items ended with an error; run the same command to try them again")
        click.get_current_context().exit(EXIT_INCOMPLETE)


@bench.command("judges")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def bench_judges(workspace: "Workspace", format_: str) -> None:
    """List the calibrations of judges of papers: that which comes with kgcheck, and those that the ledger keeps.

    Each row is a stance and relation, with the trust from which the judge decides there.
    """
    from kgcheck.bench.judge import rows_of
    from kgcheck.report.tables import rows_table

    notes: list[str] = []
    made = workspace.calibrations(notes)
    note(*notes)
    rows = [{"judge": c.judge, "model": c.model, "evidence": c.evidence, **row} for c in made for row in rows_of(c)]
    show(format_, [c.model_dump(mode="json") for c in made], rows_table(rows, tuple(rows[0])))
