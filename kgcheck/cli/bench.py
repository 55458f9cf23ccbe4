"""``kgcheck bench``: benchmark sets over one's own graph."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, profile_option, store_option
from kgcheck.cli.output import result, say


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
    help="Snapshot made by kgcheck reference build: it says what is true.",
)
@click.option("--out", type=FilePath(dir_okay=False), required=True, help="JSON lines file to write.")
@click.option("--per-type", type=click.IntRange(min=2), default=90, show_default=True, help="Items of each task type.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choice.")
@profile_option()
def make(store: str, reference: Path, out: Path, per_type: int, seed: int, profile: str) -> None:
    """Make a KGCheck set from a graph and a snapshot: real disagreements and seeded ones, balanced, leakage-checked."""
    from kgcheck.batch.make import BenchMaker, leaks
    from kgcheck.batch.truth import Truths
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.errors import KgcheckError
    from kgcheck.graph.open import open_store
    from kgcheck.outputs import write_text
    from kgcheck.sources.snapshot import Snapshot

    schema = read_schema(profile)
    Snapshot(reference, schema).close()
    with open_store(store, schema, read_settings()) as opened, Truths(reference) as truths:
        made = BenchMaker(opened, truths, seed, RichProgress()).make(per_type)
    found = leaks(made.items)
    if found:
        raise KgcheckError("; ".join(leak.what for leak in found[:5]), "choose another --seed or fewer items")
    write_text(out, "".join(f"{item.model_dump_json(exclude_none=True)}\n" for item in made.items))
    for name, counts in made.cells.items():
        result(f"{name}: {', '.join(f'{n} {label}' for label, n in counts.items())}")
    say(f"{len(made.items)} items: {out}")
