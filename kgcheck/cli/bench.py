"""``kgcheck bench``: benchmark sets over one's own graph."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, profile_option, store_option
from kgcheck.cli.output import result, say

if TYPE_CHECKING:
    from kgcheck.bench.truth import TruthSource
    from kgcheck.profile.schema import Schema


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
    store: str, reference: Path, truth_from: Path | None, out: Path, per_type: int, seed: int, profile: str
) -> None:
    """Make a KGCheck set over a graph: real disagreements and seeded errors, balanced, leakage-checked."""
    from kgcheck.bench.make import BenchMaker, leaks
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.errors import KgcheckError
    from kgcheck.graph.open import open_store
    from kgcheck.outputs import write_text
    from kgcheck.reference.snapshot import Snapshot

    schema = read_schema(profile)
    Snapshot(reference, schema).close()
    with (
        _truth(reference, truth_from, schema) as truths,
        open_store(store, schema, read_settings()) as opened,
    ):
        made = BenchMaker(opened, truths, seed, RichProgress()).make(per_type)
    found = leaks(made.items)
    if found:
        raise KgcheckError("; ".join(leak.what for leak in found[:5]), "choose another --seed or fewer items")
    write_text(out, "".join(f"{item.model_dump_json(exclude_none=True)}\n" for item in made.items))
    for name, counts in made.cells.items():
        result(f"{name}: {', '.join(f'{n} {label}' for label, n in counts.items())}")
    say(f"{len(made.items)} items: {out}")


@contextmanager
def _truth(reference: Path, truth_from: Path | None, schema: "Schema") -> "Iterator[TruthSource]":
    """What says what is true; a set that is made and judged by the same data says so."""
    from kgcheck.bench.truth import LabelledFacts, Truths
    from kgcheck.errors import InputMissing, UsageError
    from kgcheck.reference.snapshot import Snapshot

    if truth_from is None:
        told = "the same snapshot says what is true and judges: the set measures the judging alone; see --truth-from"
        say(f"warning: {told}")
        with Truths(reference) as truths:
            yield truths
        return
    if not truth_from.is_file():
        raise InputMissing(f"there is no file {truth_from}", "name a snapshot or a file of labelled facts")
    if truth_from.suffix != ".duckdb":
        yield LabelledFacts(truth_from, schema)
        return
    Snapshot(truth_from, schema).close()
    with Truths(truth_from) as truths:
        shared = truths.shared_with(reference) if not truth_from.samefile(reference) else None
        if shared is None:
            raise UsageError(f"{truth_from} is the snapshot that judges", "name another one, or leave --truth-from out")
        if shared:
            sources = ", ".join(shared)
            say(f"warning: both snapshots were built from the same file of {sources}: there they are not independent")
        yield truths
