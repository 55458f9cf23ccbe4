"""KGQA and KGCheck over ../shared/data, with the rules: ``python -m benchmarks.kgqa``."""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from kgcheck.agents.request import TaskType
from kgcheck.agents.toolbox import with_papers
from kgcheck.bench import kgcheck as checks
from kgcheck.bench import kgqa
from kgcheck.bench.items import Item
from kgcheck.bench.make import BenchMaker
from kgcheck.bench.truth import Truths
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader
from kgcheck.literature.formats import read_documents
from kgcheck.literature.judges import Judges, trained_judge
from kgcheck.literature.names import AllNames, StoreNames
from kgcheck.literature.search import LiteratureIndex
from kgcheck.loading.load import load_directory
from kgcheck.profile.corpus_files import corpus_recipe
from kgcheck.profile.schema import load_schema
from kgcheck.questions.answer import Questions
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.names import SnapshotNames
from kgcheck.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
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
        with Truths(reference) as truths:
            items = BenchMaker(opened, truths).make(PER_TYPE).items
        yield from _checks(opened, reference, items)
        yield from _papers(opened, reference, items, folder / "papers")


def _papers(store: EmbeddedStore, reference: Path, items: Sequence[Item], folder: Path) -> Iterator[str]:
    """The literature type with papers beside the snapshot: SciFact's abstracts and the notes of the demo, by words."""
    corpus = DATA / "scifact" / "corpus.csv"
    notes = ROOT / "corpus" / "demo" / "notes.jsonl"
    read = [*read_documents(corpus, corpus_recipe("scifact")), *read_documents(notes, corpus_recipe("jsonl"))]
    with Corpus(folder, create=True) as made:
        with made.store.writing():
            for document in (d for d in read if isinstance(d, Document)):
                made.store.add(document)
        made.build(None)
    schema = store.schema
    for name, snapshot in (("the snapshot and papers", reference), ("papers alone", None)):
        with (
            LiteratureIndex(folder) as index,
            SnapshotSource(snapshot, schema, Settings()) as source,
            closing(SnapshotNames(reference, schema)) as known,
        ):
            reader = TripleReader(index, Judges([trained_judge()]), AllNames([StoreNames(store), known]), schema)
            reader.judges.counts_all = True
            asking, outside = with_papers(source, schema, None, reader)
            checker = checks.Checker(store, asking, outside=outside)
            results = [checker.work(item) for item in items if item.type is TaskType.CURATED]
        found = checks.metrics(json.loads(json.dumps(results)))["all"]
        yield (
            f"| KGCheck, curated interaction ({found.items}), {name} | exact match {found.exact_match:.1f}, "
            f"executability {found.executability:.1f}; papers speak of {found.papers_speak or 0:.1f}, right in "
            f"{found.papers_right or 0:.1f} of these, decide {found.by_papers or 0:.1f}; "
            f"{1000 * found.seconds / found.items:.0f} ms an item |"
        )


def _checks(store: EmbeddedStore, reference: Path, items: Sequence[Item]) -> Iterator[str]:
    with SnapshotSource(reference, store.schema, Settings()) as source:
        checker = checks.Checker(store, source)
        results = [checker.work(item) for item in items]
    for kind, found in checks.metrics(json.loads(json.dumps(results))).items():
        yield (
            f"| KGCheck, {kind} ({found.items}) | exact match {found.exact_match:.1f}, executability "
            f"{found.executability:.1f}, {1000 * found.seconds / found.items:.0f} ms an item |"
        )


if __name__ == "__main__":
    main()
