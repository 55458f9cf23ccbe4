"""``kgcheck bench``: benchmark sets over one's own graph."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, profile_option, store_option
from kgcheck.cli.output import note, result
from kgcheck.plurals import how_many


@click.group("bench")
def command() -> None:
    """Make benchmark sets."""


@command.command("make")
@store_option()
@click.option(
    "--reference",
    envvar="KGCHECK_REFERENCE",
    type=FilePath(),
    required=True,
    help="Snapshot made by kgcheck reference build: the one that the set is to be checked against.",
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
@profile_option()
def make(
    store: str | None, reference: Path, truth_from: Path | None, out: Path, per_type: int, seed: int, profile: str
) -> None:
    """Make a KGCheck set over a graph: real disagreements and seeded errors, balanced, leakage-checked."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.outputs import write_text
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.batches import make_set

    with Workspace(store=store, reference=reference, profile=profile, progress=RichProgress()) as workspace:
        done = make_set(workspace, truth_from, per_type=per_type, seed=seed)
    for text in done.notes:
        note(text)
    items = done.made.items
    write_text(out, "".join(f"{item.model_dump_json(exclude_none=True)}\n" for item in items))
    for name, counts in done.made.cells.items():
        result(f"{name}: {', '.join(f'{n} {label}' for label, n in counts.items())}")
    note(f"{how_many(len(items), 'item')}: {out}")
