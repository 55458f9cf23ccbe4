"""``kgcheck bench``: benchmark sets over one's own graph."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, workspace_options
from kgcheck.cli.output import note, result
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.group("bench")
def command() -> None:
    """Make benchmark sets."""


@command.command("make")
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
def make(workspace: "Workspace", truth_from: Path | None, out: Path, per_type: int, seed: int) -> None:
    """Make a KGCheck set over a graph: real disagreements and seeded errors, balanced, leakage-checked."""
    from kgcheck.bench.batches import make_set
    from kgcheck.outputs import write_text

    done = make_set(workspace, truth_from, per_type=per_type, seed=seed)
    for text in done.notes:
        note(text)
    items = done.made.items
    write_text(out, "".join(f"{item.model_dump_json(exclude_none=True)}\n" for item in items))
    for name, counts in done.made.cells.items():
        result(f"{name}: {', '.join(f'{n} {label}' for label, n in counts.items())}")
    note(f"{how_many(len(items), 'item')}: {out}")
