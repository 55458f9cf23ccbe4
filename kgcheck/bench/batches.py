"""Run benchmark batches over a Context, resumably: questions, checks, claims; make check sets."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kgcheck.bench.runner import Batch, keep_options, read_results, run_batch
from kgcheck.context import Context, live_failures, noting, open_verifier
from kgcheck.errors import BudgetSpent, InputMissing, KgcheckError, UsageError
from kgcheck.graph.store import new_state
from kgcheck.llm.budget import Limits, spent_note, total_meter
from kgcheck.model import Value
from kgcheck.options import BatchOptions, ClaimOptions, ItemOptions, JudgeOptions
from kgcheck.outputs import write_text
from kgcheck.settings import SAMPLING, Settings
from kgcheck.visible import as_json

if TYPE_CHECKING:
    from kgcheck.bench.make import BenchSet
    from kgcheck.bench.metrics import ClaimMetrics
    from kgcheck.bench.scv import Scope
    from kgcheck.bench.truth import TruthSource

ITEM_SECONDS = 60.0
"""Most seconds of a model for one item of a batch of checks."""


@dataclass(frozen=True)
class BatchResult:
    """Result of a batch of questions or checks, with its metrics over all items and by type."""

    metrics: Mapping[str, Value]
    folder: Path
    batch: Batch
    notes: tuple[str, ...] = ()

    @property
    def results(self) -> Path:
        """The file with one line an item."""
        return self.folder / "results.jsonl"


@dataclass(frozen=True)
class ClaimsResult:
    """Result of a batch of claims; ``stopped`` says why some are open, where the budget was spent."""

    metrics: "ClaimMetrics"
    folder: Path
    batch: Batch
    claims: int
    open: int
    stopped: str = ""
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> Path:
        """The report to read."""
        return self.folder / "report.md"


def answer_questions(
    context: Context,
    file: Path,
    *,
    out: Path | None = None,
    options: BatchOptions | None = None,
) -> BatchResult:
    """Answer the questions of a file, as BioKGBench has them, and score the answers."""
    from kgcheck.bench import kgqa

    wanted = options or BatchOptions()
    questions = kgqa.unique(kgqa.read_questions(file))
    folder = out or context.settings.home / "batch" / f"kgqa-{file.stem}"
    kept = {"task": "kgqa", **_graph(context), "profile": context.profile}
    with noting() as notes, context.asker(Limits.of(wanted), notes, one_call=True) as ask:
        keep_options(folder, kept | _brain(context) | _papers(context))
        batch = run_batch(
            ((q.id, q) for q in questions),
            kgqa.work_of(ask),
            folder / "results.jsonl",
            workers=wanted.workers,
            progress=context.progress,
            description="answering",
            total=len(questions),
        )
        notes += _note_change(context, kept)
        results = read_results(folder / "results.jsonl")
        return _measured(kgqa.metrics([results[q.id] for q in questions]), folder, batch, notes)


def check_items(
    context: Context,
    file: Path,
    *,
    out: Path | None = None,
    options: ItemOptions | None = None,
) -> BatchResult:
    """Check the items of a file, as `make_set` or BioKGBench writes them, by the agent team, and score them."""
    from kgcheck.agents.outside import with_papers
    from kgcheck.bench import kgcheck
    from kgcheck.bench.items import read_items
    from kgcheck.evidence.source import SnapshotSource
    from kgcheck.loading.manifest import graph_dates

    settings, schema, reference = context.settings, context.schema, context.reference
    wanted, items = options or ItemOptions(), read_items(file, schema)
    folder, judging = out or settings.home / "batch" / f"kgcheck-{file.stem}", JudgeOptions(verifiers=wanted.verifiers)
    kept = {"task": "kgcheck", **_graph(context), "reference": str(reference), "profile": context.profile}
    kept |= _brain(context) | ({"live": str(context.live)} if context.live else {}) | _papers(context)
    if wanted.verifiers:
        kept |= {"verifiers": list(wanted.verifiers)} | (_model(settings) if "llm" in wanted.verifiers else {})
    graph = context.graph
    with (
        noting() as notes,
        context.open_live(wanted=context.live) as live,
        SnapshotSource(reference, schema, settings, live, graph_dates(graph.meta(), schema)) as source,
        context.brain_maker(Limits.of(wanted, ITEM_SECONDS), notes=notes, one_call=True) as brain,
        context.judging_reader(notes, judging, context.literature, Limits.of(wanted, ITEM_SECONDS)) as reader,
    ):
        if reader:
            reader.judges.counts_all = True
            notes.append(
                f"papers count as {reader.judges.name} judges them, as published: its precision is not asked for"
            )
        sources, outside = with_papers(source, schema, live, reader)
        keep_options(folder, kept)
        batch = run_batch(
            ((item.id, item) for item in items),
            kgcheck.Checker(graph, sources, brain, outside=outside).work,
            folder / "results.jsonl",
            workers=wanted.workers,
            progress=context.progress,
            description="checking",
            total=len(items),
        )
        notes += [*live_failures(live), *_note_change(context, kept)]
        results = read_results(folder / "results.jsonl")
        return _measured(kgcheck.metrics([results[item.id] for item in items]), folder, batch, notes)


def verify_claims(
    context: Context,
    file: Path,
    out: Path,
    options: ClaimOptions | None = None,
    *,
    recipe: str | None = None,
    inference: Path | None = None,
) -> ClaimsResult:
    """Verify the claims of a file, and measure the answers where the claims have labels.

    The file is read by its recipe, or else known by its form. A batch that was cut off goes on in its folder.
    """
    from kgcheck.bench.metrics import measure, write_report
    from kgcheck.bench.scv import ClaimWork, read_items

    wanted = options or ClaimOptions()
    items = read_items(file, recipe)[: wanted.limit]
    settings, stopped, batch = context.settings, "", Batch(0, 0, 0)
    spent = total_meter(settings, wanted.total)
    with noting() as notes:
        index = context.index(notes) if context.literature else None
        embedder = index.embedder if index else None
        with open_verifier(wanted.verifier, embedder, settings, Limits.of(wanted), spent, inference, notes) as reader:
            kept = {
                "task": "scv",
                "file": str(file.resolve()),
                "verifier": reader.name,
                **(_model(settings) if wanted.verifier == "llm" else {"model": None}),
                "scope": wanted.scope,
                "top": wanted.top,
                "strict": wanted.strict,
                "index": index.manifest.folder if index else None,
            }
            keep_options(out, kept)
            try:
                batch = run_batch(
                    ((item.id, item) for item in items),
                    ClaimWork(index, reader, cast("Scope", wanted.scope), wanted.top, strict=wanted.strict),
                    out / "results.jsonl",
                    workers=wanted.workers,
                    progress=context.progress,
                    description="verifying claims",
                    total=len(items),
                )
            except BudgetSpent as error:
                stopped = error.message
        results = read_results(out / "results.jsonl")
        metrics = measure(
            items, results, lambda name: next((d.spans for d in index.documents([name])), ()) if index else ()
        )
        write_report(out, metrics, kept)
        notes += spent_note(spent)
    left = sum(item.id not in results for item in items)
    return ClaimsResult(metrics, out, batch, len(items), left, stopped, tuple(notes))


def make_set(
    context: Context, truth_from: Path | None = None, *, per_type: int = 90, seed: int = 0
) -> "tuple[BenchSet, list[str]]":
    """Make a set of checks over a graph, and notes: real disagreements, seeded errors, balanced, leakage-checked."""
    from kgcheck.bench.make import BenchMaker, leaks
    from kgcheck.reference.snapshot import Snapshot

    reference = context.reference
    if reference is None:
        raise UsageError("a set is made against a reference", "name a snapshot with --reference")
    Snapshot(reference, context.schema).close()
    with noting() as notes, _truth(context, reference, truth_from, notes) as truths:
        made = BenchMaker(context.graph, truths, seed, context.progress).make(per_type)
        if found := leaks(made.items):
            raise KgcheckError("; ".join(found[:5]), "choose another --seed or fewer items")
        return made, notes


@contextmanager
def _truth(context: Context, reference: Path, truth_from: Path | None, notes: list[str]) -> "Iterator[TruthSource]":
    """Open the source of truth; a set that is made and judged by the same data says so."""
    from kgcheck.bench.truth import LabelledFacts, Truths
    from kgcheck.reference.snapshot import Snapshot

    if truth_from is None:
        notes.append(
            "warning: the same snapshot says what is true and judges: the set measures the judging alone;"
            " see --truth-from"
        )
        with Truths(reference) as truths:
            yield truths
        return
    if not truth_from.is_file():
        raise InputMissing(f"there is no file {truth_from}", "name a snapshot or a file of labelled facts")
    if truth_from.suffix != ".duckdb":
        yield LabelledFacts(truth_from, context.schema)
        return
    Snapshot(truth_from, context.schema).close()
    with Truths(truth_from) as truths:
        shared = truths.shared_with(reference) if not truth_from.samefile(reference) else None
        if shared is None:
            raise UsageError(f"{truth_from} is the snapshot that judges", "name another one, or leave --truth-from out")
        if shared:
            sources = ", ".join(shared)
            notes.append(
                f"warning: both snapshots were built from the same file of {sources}: there they are not independent"
            )
        yield truths


def _measured(metrics: Mapping[str, Value], folder: Path, batch: Batch, notes: Sequence[str]) -> BatchResult:
    result = BatchResult(metrics, folder, batch, tuple(notes))
    write_text(folder / "metrics.json", metrics_json(metrics) + "\n")
    return result


def metrics_json(metrics: Mapping[str, Value]) -> str:
    """Metrics as they stand in metrics.json."""
    return as_json({kind: value.model_dump() for kind, value in metrics.items()}, indent=2)


def _graph(context: Context) -> dict[str, str]:
    """The identity of a batch's graph; one whose state nobody knows is taken for another each time."""
    state = context.graph.state() or new_state()
    return {"store": context.graph.store_id(), "graph": hashlib.sha256(state.encode()).hexdigest()}


def _note_change(context: Context, kept: Mapping[str, Any]) -> list[str]:
    """Say that others changed the graph since a batch began, where the graph can tell."""
    if context.graph.state() is None or kept.items() >= _graph(context).items():
        return []
    return ["warning: the graph changed meanwhile: an answer may be of before or of after; begin the batch anew"]


def _brain(context: Context) -> dict[str, Any]:
    """Return a batch's record of its brain."""
    return {"brain": context.brain} | (_model(context.settings) if context.brain == "llm" else {})


def _model(settings: Settings) -> dict[str, Any]:
    """Return a batch's record of its model, with what is asked of it where that is set."""
    sampling = {name: getattr(settings, f"llm_{name}") for name in SAMPLING}
    return {"model": settings.llm_model} | {name: value for name, value in sampling.items() if value is not None}


def _papers(context: Context) -> dict[str, str]:
    """Return a batch's record of its papers, where there are any."""
    return {"index": str(context.literature)} if context.literature else {}
