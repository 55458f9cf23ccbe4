"""Run benchmark batches over a Context, resumably: questions, checks, claims; make check sets.

A result is one line of a JSON Lines file, written whole once its item is done; what a kill left of a line is cut off
when the batch goes on.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

from kgcheck.choices import SCOPE_NAMES
from kgcheck.context import Context, live_failures, live_sources, noting, open_verifier
from kgcheck.errors import (
    LET_READ,
    LET_WRITE,
    BudgetSpent,
    ChangedMeanwhile,
    InputError,
    InputFormat,
    InputMissing,
    KgcheckError,
    UsageError,
)
from kgcheck.graph.store import new_state
from kgcheck.inputs import parse_json, read_whole
from kgcheck.llm.budget import Limits, spent_note, total_meter
from kgcheck.llm.kept import fresh_replies
from kgcheck.locks import lock_open_file
from kgcheck.model import Value
from kgcheck.options import BatchOptions, ClaimOptions, ItemOptions, JudgeOptions
from kgcheck.outputs import make_folder, write_text
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import SAMPLING, Settings
from kgcheck.visible import as_json

if TYPE_CHECKING:
    from kgcheck.bench.make import BenchSet
    from kgcheck.bench.metrics import ClaimMetrics, Spread
    from kgcheck.bench.scv import Scope
    from kgcheck.bench.truth import TruthSource

T = TypeVar("T")
Result = dict[str, Any]

_WINDOW = 4
"""Items a worker that are handed out ahead, so that no worker waits and an endless list is not read at once."""


class Batch(NamedTuple):
    """Progress of a batch: items done now, done before, and those of now that ended with an error."""

    done: int
    before: int
    failed: int


def run_batch(
    items: Iterable[tuple[str, T]],
    work: Callable[[T], Result],
    out: Path,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    description: str = "working",
    total: int | None = None,
) -> Batch:
    """Do every item that has no result yet, or one of an item of that id that was another.

    An error of the tree ends its item alone: the result is ``{"id": ..., "error": ...}``, and the item is done again
    when the batch is run again. Where the budget of the whole batch is spent, no further item is begun, and those that
    it stopped stay open. Any other error ends the batch; what is done stays done.
    """
    spent: list[BudgetSpent] = []
    counts = Counter[str]()
    with _appending(out) as file:
        kept = {i: result.get("item") for i, result in _read(file, out).items() if "error" not in result}
        file.seek(0, 2)
        with (
            (progress or NoProgress()).step(description, total) as step,
            ThreadPoolExecutor(max_workers=max(workers, 1)) as pool,
        ):
            running: dict[Future[Result], str] = {}

            def drain(most: int) -> None:
                """Write what is done, until no more items than that are under way."""
                while len(running) > most:
                    for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                        name = running.pop(future)
                        try:
                            result = future.result()
                        except BudgetSpent as error:
                            spent.append(error)
                            continue
                        _append(file, out, {"id": name, **result})
                        counts.update(done=1, failed=int("error" in result))
                        step.advance()

            try:
                for name, item in _once(items):
                    if name in kept and kept[name] in (None, _digest(item)):
                        counts["before"] += 1
                        step.advance()
                        continue
                    if spent:
                        break
                    running[pool.submit(_guarded, work, item)] = name
                    drain(workers * _WINDOW - 1)
                drain(0)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    if spent:
        raise spent[0]
    return Batch(counts["done"], counts["before"], counts["failed"])


def read_results(path: Path) -> dict[str, Result]:
    """Results by id, in the order in which the items were first done; the last line of an id counts."""
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except OSError as error:
        raise InputError(f"cannot read the results {path}: {error.strerror}", LET_READ) from error


def keep_options(folder: Path, options: Mapping[str, Any]) -> None:
    """Write down what a batch was asked for, or refuse to go on with one that was asked for something else."""
    path = folder / "batch.json"
    try:
        make_folder(folder)
        if path.exists():
            before = parse_json(read_whole(path))
            wanted = json.loads(json.dumps(options))
            if before != wanted:
                names = sorted(k for k in {*before, *wanted} if before.get(k) != wanted.get(k))
                if "graph" in names:
                    raise ChangedMeanwhile(
                        f"the graph has changed since the batch in {folder} began", "name another folder with --out"
                    )
                raise UsageError(
                    f"{folder} holds a batch with other options: {', '.join(names)}", "name another folder with --out"
                )
            return
        write_text(path, json.dumps(options, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}", "name another folder with --out") from error
    except ValueError as error:
        raise InputFormat(f"{path} is not what a batch left there", "name another folder with --out") from error


def set_aside(folder: Path) -> None:
    """Let a batch begin anew, each of its runs; its results stay beside it."""
    for began in (folder / "batch.json", *folder.glob("run-*/batch.json")):
        if (results := began.with_name("results.jsonl")).exists():
            results.replace(began.with_name("results.before.jsonl"))
        began.unlink(missing_ok=True)


def _digest(item: object) -> str:
    return sha256(repr(item).encode(errors="surrogatepass")).hexdigest()[:12]


def _guarded(work: Callable[[T], Result], item: T) -> Result:
    try:
        return {**work(item), "item": _digest(item)}
    except BudgetSpent:
        raise
    except KgcheckError as error:
        return {"error": error.message}


def _append(file: IO[bytes], out: Path, result: Result) -> None:
    try:
        file.write(as_json(result).encode() + b"\n")
        file.flush()
    except OSError as error:
        raise InputError(f"cannot write the results {out}: {error.strerror}", "free disk space") from error


def _once(items: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    seen: set[str] = set()
    for name, item in items:
        if name in seen:
            raise UsageError(f"two items have the id {name!r}", "give each item an id of its own")
        seen.add(name)
        yield name, item


@contextmanager
def _appending(out: Path) -> Iterator[IO[bytes]]:
    try:
        make_folder(out.parent)
        file = out.open("a+b")
    except OSError as error:
        raise InputError(f"cannot write the results {out}: {error.strerror}", LET_WRITE) from error
    with file:
        if not lock_open_file(file.fileno(), exclusive=True):
            raise UsageError(f"another process is writing to {out}", "wait until it ends")
        file.seek(0)
        text = file.read()
        file.truncate(text.rfind(b"\n") + 1)
        yield file


def _read(file: IO[bytes], path: Path) -> dict[str, Result]:
    file.seek(0)
    results: dict[str, Result] = {}
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            break
        try:
            result = parse_json(line)
            results[result["id"]] = result
        except (ValueError, TypeError, KeyError) as error:
            raise InputFormat(f"{path}, line {number}: not a result", "name another file") from error
    return results


ITEM_SECONDS = 60.0
"""Most seconds of a model for one item of a batch of checks."""


@dataclass(frozen=True)
class BatchResult:
    """Result of a batch of questions or checks, with its metrics over all items and by type.

    Of a batch that was repeated, the metrics are means over its runs, and ``spread`` has standard deviations.
    """

    metrics: Mapping[str, Value]
    folder: Path
    batch: Batch
    notes: tuple[str, ...] = ()
    spread: "Mapping[str, Spread]" = field(default_factory=dict)

    @property
    def json(self) -> str:
        """The metrics as they stand in metrics.json; of several runs their mean and spread."""
        means = {kind: value.model_dump(mode="json") for kind, value in self.metrics.items()}
        return as_json({"mean": means, "spread": self.spread} if self.spread else means, indent=2)

    def written(self) -> Self:
        """Write metrics.json."""
        write_text(self.folder / "metrics.json", self.json + "\n")
        return self

    @property
    def results(self) -> Path:
        """The file with one line an item, or the folder of the runs with theirs."""
        return self.folder if self.spread else self.folder / "results.jsonl"

    @property
    def result_files(self) -> list[Path]:
        """The files with one line an item, one a run."""
        return sorted(self.folder.glob("run-*/results.jsonl")) if self.spread else [self.results]


@dataclass(frozen=True)
class ClaimsResult(BatchResult):
    """Result of a batch of claims; ``stopped`` says why some are open, where the budget was spent."""

    claims: int = 0
    open: int = 0
    stopped: str = ""

    @property
    def measured(self) -> "ClaimMetrics":
        """The metrics over all claims."""
        return cast("ClaimMetrics", self.metrics["all"])

    @property
    def json(self) -> str:
        """The metrics; of several runs or scopes by their names, with their spread."""
        several = self.spread or len(self.metrics) > 1
        return super().json if several else self.measured.model_dump_json(indent=2)

    @property
    def report(self) -> Path:
        """The report to read, or the folder of the runs with theirs."""
        return self.folder if self.spread or len(self.metrics) > 1 else self.folder / "report.md"


R = TypeVar("R", bound=BatchResult)


def repeated(folder: Path, times: int, run: Callable[[Path], R]) -> R:
    """Run a batch several times, each in a folder of its own, and average its metrics; once in the folder itself."""
    from kgcheck.bench.metrics import averaged

    if times == 1:
        return run(folder)
    runs: list[R] = []
    for number in range(1, times + 1):
        runs.append(run(folder / f"run-{number}"))
        if isinstance(runs[-1], ClaimsResult) and runs[-1].stopped:
            break
    means = {kind: averaged([done.metrics[kind] for done in runs]) for kind in runs[0].metrics}
    return replace(
        runs[-1],
        metrics={kind: mean for kind, (mean, _) in means.items()},
        spread={kind: spread for kind, (_, spread) in means.items()},
        folder=folder,
        batch=summed(done.batch for done in runs),
        notes=tuple(dict.fromkeys(note for done in runs for note in done.notes)),
    ).written()


def done_items(
    context: Context, folder: Path, items: Sequence[Any], work: Callable[[Any], Result], workers: int, description: str
) -> tuple[Batch, dict[str, Result], str]:
    """Do the items of a batch, by their ids, that its folder has no result of.

    Returns:
        Its progress, all results, and why it was stopped, where a budget for all items is spent.
    """
    batch, stopped = Batch(0, 0, 0), ""
    named = ((item.id, item) for item in items)
    shown: dict[str, Any] = {"progress": context.progress, "description": description, "total": len(items)}
    try:
        batch = run_batch(named, work, folder / "results.jsonl", workers=workers, **shown)
    except BudgetSpent as error:
        stopped = error.message
    return batch, read_results(folder / "results.jsonl"), stopped


def summed(batches: Iterable[Batch]) -> Batch:
    """Add up the progress of batches."""
    return Batch(*map(sum, zip(*batches, strict=True)))


@fresh_replies()
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
    kept = {"task": "kgqa", **graph_identity(context), "profile": context.profile, **_protocol(wanted)}
    limits = Limits.of(wanted)
    with noting() as notes, context.asker(limits, notes, one_call=True, published=wanted.published) as ask:

        def run(folder: Path) -> BatchResult:
            keep_options(folder, kept | brain_identity(context) | _papers(context))
            batch, results, _ = done_items(context, folder, questions, kgqa.work_of(ask), wanted.workers, "answering")
            found = kgqa.metrics([results[q.id] | {"type": q.type} for q in questions])
            return BatchResult(found, folder, batch, (*notes, *_note_change(context, kept))).written()

        return repeated(folder, wanted.repeat, run)


@fresh_replies()
def check_items(
    context: Context,
    file: Path,
    *,
    out: Path | None = None,
    options: ItemOptions | None = None,
) -> BatchResult:
    """Check the items of a file, as `make_set` or BioKGBench writes them, by the agent team, and score them."""
    from kgcheck.agents.toolbox import with_papers
    from kgcheck.bench import kgcheck
    from kgcheck.bench.items import read_items
    from kgcheck.evidence.source import SnapshotSource
    from kgcheck.loading.manifest import graph_dates

    settings, schema, reference = context.settings, context.schema, context.reference
    wanted, items = options or ItemOptions(), read_items(file, schema)
    folder, judging = out or settings.home / "batch" / f"kgcheck-{file.stem}", JudgeOptions(verifiers=wanted.verifiers)
    kept = {"task": "kgcheck", **graph_identity(context), "reference": str(reference), "profile": context.profile}
    kept |= (
        _protocol(wanted)
        | brain_identity(context)
        | ({"live": str(context.live)} if context.live else {})
        | _papers(context)
    )
    if wanted.verifiers:
        kept |= {"verifiers": list(wanted.verifiers)} | (model_identity(settings) if "llm" in wanted.verifiers else {})
    graph = context.graph
    with (
        noting() as notes,
        live_sources(context.schema, context.settings, wanted=context.live) as live,
        SnapshotSource(reference, schema, settings, live, graph_dates(graph.meta(), schema)) as source,
        context.brain_maker(
            Limits.of(wanted, ITEM_SECONDS), notes=notes, one_call=True, leads=True, published=wanted.published
        ) as brain,
        context.judging_reader(notes, judging, context.literature, Limits.of(wanted, ITEM_SECONDS)) as reader,
    ):
        if reader:
            reader.judges.counts_all = True
            notes.append(
                f"papers count as {reader.judges.name} judges them, as published: its precision is not asked for"
            )
        sources, outside = with_papers(source, schema, live, reader)
        checker = kgcheck.Checker(graph, sources, brain, outside=outside, by_model=context.brain == "llm")

        def run(folder: Path) -> BatchResult:
            keep_options(folder, kept)
            batch, results, _ = done_items(context, folder, items, checker.work, wanted.workers, "checking")
            found = kgcheck.metrics([results[item.id] | {"type": item.type.value} for item in items])
            changed = (*live_failures(live), *_note_change(context, kept))
            return BatchResult(found, folder, batch, (*notes, *changed)).written()

        return repeated(folder, wanted.repeat, run)


@fresh_replies()
def verify_claims(
    context: Context,
    file: Path,
    out: Path,
    options: ClaimOptions | None = None,
    *,
    recipe: str | None = None,
) -> ClaimsResult:
    """Verify the claims of a file, and measure the answers where the claims have labels.

    The file is read by its recipe, or else known by its form. A batch that was cut off goes on in its folder.
    """
    from kgcheck.bench.metrics import measure, write_report
    from kgcheck.bench.scv import RANKED, ClaimWork, PublishedWork, read_items
    from kgcheck.llm.client import ChatClient

    wanted = options or ClaimOptions()
    listed, settings = read_items(file, recipe), context.settings
    items, within = listed[: wanted.limit], tuple(dict.fromkeys(name for item in listed for name in item.documents))
    published, limits = wanted.published, Limits.of(wanted)
    verifier = "llm" if published else wanted.verifier
    spent = total_meter(settings, wanted.total)
    with noting() as notes, ExitStack() as opened:
        index = context.index(notes) if context.literature else None
        embedder = index.embedder if index else None
        reader = opened.enter_context(open_verifier(verifier, embedder, settings, limits, spent, notes))
        kept = {
            "task": "scv",
            "file": str(file.resolve()),
            "verifier": reader.name,
            **(model_identity(settings) if verifier == "llm" else {"model": None}),
            "top": RANKED if published else wanted.top,
            "paraphrases": wanted.paraphrases,
            "index": index.manifest.folder if index else None,
            **_protocol(wanted),
        }
        client = opened.enter_context(ChatClient(settings, notes)) if published else None

        def run(name: str, folder: Path) -> ClaimsResult:
            keep_options(folder, described := kept | {"scope": name})
            scope = cast("Scope", SCOPE_NAMES.get(name, name))
            work = ClaimWork(index, reader, scope, wanted.top, within, strict=not wanted.paraphrases)
            if client:
                work = PublishedWork(index, reader, scope, RANKED, within, client=client, limits=limits, total=spent)
            batch, results, stopped = done_items(context, folder, items, work, wanted.workers, "verifying claims")
            metrics = measure(
                items, results, lambda name: next((d.spans for d in index.documents([name])), ()) if index else ()
            )
            write_report(folder, metrics, described)
            left = sum(item.id not in results for item in items)
            return ClaimsResult({"all": metrics}, folder, batch, (), {}, len(items), left, stopped)

        if wanted.scope == "each":
            done = {name: repeated(out / name, wanted.repeat, partial(run, name)) for name in SCOPE_NAMES}
        else:
            done = {"all": repeated(out, wanted.repeat, partial(run, wanted.scope))}
        last, together = done.get("match", done["all"]), done.values()
        return replace(
            last,
            metrics={name: one.measured for name, one in done.items()},
            spread={name: one.spread["all"] for name, one in done.items() if one.spread},
            folder=out,
            batch=summed(one.batch for one in together),
            claims=sum(one.claims for one in together),
            open=sum(one.open for one in together),
            stopped=next((one.stopped for one in together if one.stopped), ""),
            notes=(*notes, *spent_note(spent)),
        )


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


def graph_identity(context: Context) -> dict[str, str]:
    """The identity of a batch's graph; one whose state nobody knows is taken for another each time."""
    state = context.graph.state() or new_state()
    return {"store": context.graph.store_id(), "graph": sha256(state.encode()).hexdigest()}


def _note_change(context: Context, kept: Mapping[str, Any]) -> list[str]:
    """Say that others changed the graph since a batch began, where the graph can tell."""
    if context.graph.state() is None or kept.items() >= graph_identity(context).items():
        return []
    return ["warning: the graph changed meanwhile: an answer may be of before or of after; begin the batch anew"]


def brain_identity(context: Context) -> dict[str, Any]:
    """Return a batch's record of its brain."""
    return {"brain": context.brain} | (model_identity(context.settings) if context.brain == "llm" else {})


def _protocol(options: BatchOptions) -> dict[str, str]:
    """Return a batch's record of its protocol, where it is not kgcheck's own."""
    return {"protocol": options.protocol} if options.published else {}


def model_identity(settings: Settings) -> dict[str, Any]:
    """Return a batch's record of its model, with what is asked of it where that is set."""
    sampling = {name: getattr(settings, f"llm_{name}") for name in SAMPLING}
    return {"model": settings.llm_model} | {name: value for name, value in sampling.items() if value is not None}


def _papers(context: Context) -> dict[str, str]:
    return {"index": str(context.literature)} if context.literature else {}
