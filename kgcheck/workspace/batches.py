"""Many questions, checks or claims over one workspace, resumable; and sets to do so with."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kgcheck.bench.runner import Batch, keep_options, read_results, run_batch
from kgcheck.choices import SCOPES, VERIFIERS, chosen
from kgcheck.errors import BudgetSpent, InputMissing, KgcheckError, UsageError
from kgcheck.graph.store import new_state
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.visible import as_json
from kgcheck.workspace.opened import noting
from kgcheck.workspace.opening import Spending, brain_maker, live_sources, open_verifier, spent_note, total_meter

if TYPE_CHECKING:
    from kgcheck.bench.make import BenchSet
    from kgcheck.bench.metrics import ClaimMetrics
    from kgcheck.bench.scv import Scope
    from kgcheck.bench.truth import TruthSource
    from kgcheck.workspace.workspace import Workspace

ITEM_SECONDS = 60.0
"""Most seconds of a model for one item of a batch of checks."""


@dataclass(frozen=True)
class BatchResult:
    """How a batch of questions or checks went, with its metrics over all items and by type."""

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
    """How a batch of claims went; ``stopped`` says why some are open, where the budget was spent."""

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
    workspace: "Workspace",
    file: Path,
    *,
    out: Path | None = None,
    workers: int = 1,
    spending: Spending | None = None,
) -> BatchResult:
    """Answer the questions of a file, as BioKGBench has them, and score the answers.

    Args:
        workspace: The graph, and the brain.
        file: A JSON list, or JSON lines.
        out: Folder for the results; what is done there already is not done again.
        workers: Questions at the same time.
        spending: The most that a model may take for each.

    Returns:
        The metrics: set F1, exact match, executability.
    """
    from kgcheck.bench import kgqa

    questions = kgqa.unique(kgqa.read_questions(file))
    folder = out or workspace.settings.home / "batch" / f"kgqa-{file.stem}"
    kept = {"task": "kgqa", **_graph(workspace), "profile": workspace.profile}
    with noting() as notes, workspace.asker(spending or Spending(), notes) as ask:
        keep_options(folder, kept | _brain(workspace) | _papers(workspace))
        batch = run_batch(
            ((q.id, q) for q in questions),
            kgqa.work_of(ask),
            folder / "results.jsonl",
            workers=workers,
            progress=workspace.progress,
            description="answering",
            total=len(questions),
        )
        results = read_results(folder / "results.jsonl")
        return _measured(kgqa.metrics([results[q.id] for q in questions]), folder, batch, notes)


def check_items(
    workspace: "Workspace",
    file: Path,
    *,
    out: Path | None = None,
    workers: int = 1,
    spending: Spending | None = None,
) -> BatchResult:
    """Check the items of a file, as `make_set` or BioKGBench writes them, by the agent team, and score them.

    Args:
        workspace: The graph, its references, papers and services, and the brain.
        file: A JSON list, or JSON lines.
        out: Folder for the results; what is done there already is not done again.
        workers: Items at the same time.
        spending: The most that a model may take for each.

    Returns:
        The metrics.
    """
    from kgcheck.agents.outside import with_papers
    from kgcheck.bench import kgcheck
    from kgcheck.bench.items import read_items
    from kgcheck.evidence.source import SnapshotSource
    from kgcheck.loading.manifest import graph_dates

    settings, schema, reference = workspace.settings, workspace.schema, workspace.reference
    items = read_items(file, schema)
    folder = out or settings.home / "batch" / f"kgcheck-{file.stem}"
    kept = {"task": "kgcheck", **_graph(workspace), "reference": str(reference), "profile": workspace.profile}
    kept |= _brain(workspace) | ({"live": str(workspace.live)} if workspace.live else {}) | _papers(workspace)
    graph, limits = workspace.graph, (spending or Spending()).limits(ITEM_SECONDS)
    with (
        noting() as notes,
        live_sources(schema, settings, wanted=workspace.live) as live,
        SnapshotSource(reference, schema, settings, live, graph_dates(graph.meta(), schema)) as source,
        brain_maker(workspace.brain, settings, limits) as brain,
    ):
        sources, outside = with_papers(source, schema, live, workspace.paper_reader(notes))
        keep_options(folder, kept)
        batch = run_batch(
            ((item.id, item) for item in items),
            kgcheck.Checker(graph, sources, brain, outside=outside).work,
            folder / "results.jsonl",
            workers=workers,
            progress=workspace.progress,
            description="checking",
            total=len(items),
        )
        notes += [f"{name}: {why}" for name, why in (live.failures | live.refusals if live else {}).items()]
        results = read_results(folder / "results.jsonl")
        return _measured(kgcheck.metrics([results[item.id] for item in items]), folder, batch, notes)


def verify_claims(
    workspace: "Workspace",
    file: Path,
    out: Path,
    *,
    recipe: str | None = None,
    limit: int | None = None,
    scope: str = "corpus",
    top: int = 3,
    verifier: str = "trained",
    inference: Path | None = None,
    workers: int = 1,
    spending: Spending | None = None,
    total: Spending | None = None,
) -> ClaimsResult:
    """Verify the claims of a file, and measure the answers where the claims have labels.

    Args:
        workspace: The papers; the scope ``passages`` needs none.
        file: The claims.
        out: Folder for results, metrics and report; a batch that was cut off goes on.
        recipe: How to read the file; otherwise known by its form.
        limit: Only the first so many claims.
        scope: What is read for a claim: what a search finds in the ``corpus``, the ``documents`` that it names, or the
            ``passages`` given with it.
        top: Papers to read in the corpus.
        verifier: trained or llm.
        inference: Folder of a model of inference for trained, if not that of the settings.
        workers: Claims at the same time.
        spending: The most that a model may take for each claim.
        total: The most that it may take for all; those that are left stay open.

    Returns:
        The metrics.
    """
    from kgcheck.bench.metrics import measure, write_report
    from kgcheck.bench.scv import ClaimWork, read_items

    within = cast("Scope", chosen("scope", scope, SCOPES))
    chosen("verifier", verifier, VERIFIERS)
    items = read_items(file, recipe)[:limit]
    settings, stopped, batch = workspace.settings, "", Batch(0, 0, 0)
    spent = total_meter(settings, total)
    with noting() as notes:
        index = workspace.index(notes) if workspace.literature else None
        embedder = index.embedder if index else None
        with open_verifier(verifier, embedder, settings, spending, spent, inference) as reader:
            options = {
                "task": "scv",
                "file": str(file.resolve()),
                "verifier": reader.name,
                "model": settings.llm_model if verifier == "llm" else None,
                "scope": scope,
                "top": top,
                "index": index.manifest.folder if index else None,
            }
            keep_options(out, options)
            try:
                batch = run_batch(
                    ((item.id, item) for item in items),
                    ClaimWork(index, reader, within, top),
                    out / "results.jsonl",
                    workers=workers,
                    progress=workspace.progress,
                    description="verifying claims",
                    total=len(items),
                )
            except BudgetSpent as error:
                stopped = error.message
        results = read_results(out / "results.jsonl")
        metrics = measure(items, results, lambda name: index.documents([name])[0].spans if index else ())
        write_report(out, metrics, options)
        notes += spent_note(spent)
    left = sum(item.id not in results for item in items)
    return ClaimsResult(metrics, out, batch, len(items), left, stopped, tuple(notes))


@dataclass(frozen=True)
class SetResult:
    """A benchmark set over a graph."""

    made: "BenchSet"
    notes: tuple[str, ...] = ()


def make_set(workspace: "Workspace", truth_from: Path | None = None, *, per_type: int = 90, seed: int = 0) -> SetResult:
    """Make a set of checks over a graph: real disagreements and seeded errors, balanced, leakage-checked.

    Args:
        workspace: The graph, and the snapshot that the set is to be checked against.
        truth_from: What says what is true: another snapshot (``.duckdb``), or a file of labelled facts. Without it, the
            workspace's own snapshot does, and the set measures the judging alone.
        per_type: Items of each task type.
        seed: Of the random choice.

    Returns:
        The items, with counts.

    Raises:
        UsageError: The workspace names no reference.
        KgcheckError: What an item asks would give its answer away.
    """
    from kgcheck.bench.make import BenchMaker, leaks
    from kgcheck.reference.snapshot import Snapshot

    reference = workspace.reference
    if reference is None:
        raise UsageError("a set is made against a reference", "name a snapshot with --reference")
    Snapshot(reference, workspace.schema).close()
    with noting() as notes, _truth(workspace, reference, truth_from, notes) as truths:
        made = BenchMaker(workspace.graph, truths, seed, workspace.progress).make(per_type)
        if found := leaks(made.items):
            raise KgcheckError("; ".join(leak.what for leak in found[:5]), "choose another --seed or fewer items")
        return SetResult(made, tuple(notes))


@contextmanager
def _truth(
    workspace: "Workspace", reference: Path, truth_from: Path | None, notes: list[str]
) -> "Iterator[TruthSource]":
    """What says what is true; a set that is made and judged by the same data says so."""
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
        yield LabelledFacts(truth_from, workspace.schema)
        return
    Snapshot(truth_from, workspace.schema).close()
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


def _graph(workspace: "Workspace") -> dict[str, str]:
    """The identity of a batch's graph; one whose state nobody knows is taken for another each time."""
    state = workspace.graph.state() or new_state()
    return {"store": workspace.graph.store_id(), "graph": hashlib.sha256(state.encode()).hexdigest()}


def _brain(workspace: "Workspace") -> dict[str, Any]:
    """What a batch keeps about its brain."""
    return {"brain": workspace.brain} | ({"model": workspace.settings.llm_model} if workspace.brain == "llm" else {})


def _papers(workspace: "Workspace") -> dict[str, str]:
    """What a batch keeps about its papers, where there are any."""
    return {"index": str(workspace.literature)} if workspace.literature else {}
