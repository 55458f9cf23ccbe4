"""KGQA and KGCheck over ../shared/data, with the rules: ``python -m benchmarks.kgqa``."""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kgcheck.batch import kgcheck as checks
from kgcheck.batch import kgqa
from kgcheck.batch.make import BenchMaker
from kgcheck.batch.truth import Truths
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.load import load_directory
from kgcheck.graph.schema import load_schema
from kgcheck.kgqa.answer import Questions
from kgcheck.settings import Settings
from kgcheck.sources.build import build_snapshot
from kgcheck.sources.observe import SnapshotSource

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PER_TYPE = 90


def main() -> None:
    """Measure, and print one line a figure."""
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as folder:
        for line in measured(Path(folder)):
            sys.stdout.write(f"{line}\n")


def measured(folder: Path) -> Iterator[str]:
    """Load, ask and check.

    Args:
        folder: For the graph and the snapshot.

    Yields:
        Rows of the table in benchmarks/README.md.
    """
    schema, settings = load_schema(), Settings()
    store, reference = folder / "graph.lbdb", folder / "reference.duckdb"
    with EmbeddedStore(store, schema, create=True) as opened:
        load_directory(DATA / "ckg_import", opened, settings, quarantine=folder / "q.jsonl")
    build_snapshot(DATA, reference, schema, settings)
    with EmbeddedStore(store, schema) as opened:
        started = time.perf_counter()
        questions = Questions(opened)
        yield f"| reading {opened.counts().total_nodes:,} nodes' names | {time.perf_counter() - started:.1f} s |"
        dev = kgqa.read_questions(DATA / "biokgbench" / "kgqa_dev.json")
        took, results = [], []
        for question in dev:
            started = time.perf_counter()
            results.append(kgqa.work_of(questions.ask)(question))
            took.append(1000 * (time.perf_counter() - started))
        for kind, found in kgqa.metrics(results).items():
            yield (
                f"| KGQA dev, {kind} ({found.questions}) | F1 {found.f1:.1f}, exact match {found.exact_match:.1f}, "
                f"executability {found.executability:.1f} |"
            )
        slow = sorted(took)[int(0.95 * len(took))]
        yield f"| a question, p50 (p95) | {statistics.median(took):.1f} ms ({slow:.1f} ms) |"
        yield from _checks(opened, reference)


def _checks(store: EmbeddedStore, reference: Path) -> Iterator[str]:
    with Truths(reference) as truths:
        made = BenchMaker(store, truths).make(PER_TYPE)
    with SnapshotSource(reference, store.schema, Settings()) as source:
        checker = checks.Checker(store, source)
        results = [checker.work(item) for item in made.items]
    for kind, found in checks.metrics(json.loads(json.dumps(results))).items():
        yield (
            f"| KGCheck, {kind} ({found.items}) | exact match {found.exact_match:.1f}, executability "
            f"{found.executability:.1f}, {1000 * found.seconds / found.items:.0f} ms an item |"
        )


if __name__ == "__main__":
    main()
