"""Steps of a protocol, run over a context: ready analyses of what stands in its graph, and programs in the sandbox."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from kgcheck.context import Context
from kgcheck.curation.findings import list_findings
from kgcheck.errors import InputError, InputFormat, LedgerError, ProgramError, UnknownName, UsageError
from kgcheck.inputs import read_whole
from kgcheck.ledger.run import Run
from kgcheck.llm.budget import Limits, Meter, total_meter
from kgcheck.model import CheckType, Outcome, Triple
from kgcheck.options import Spending
from kgcheck.outputs import write_text
from kgcheck.protocols.programs.analyses import AnalysisResult, ReadyAnalysis, ready_analysis, write_result
from kgcheck.protocols.programs.record import Language, ProgramLimits, read_program_results
from kgcheck.protocols.programs.sandbox import run_program
from kgcheck.protocols.programs.tasks import (
    RESULTS,
    ProgramAttempt,
    ProgramRecord,
    ProgramTask,
    attempt_of,
    checked,
    program_tasks,
    write_program,
)
from kgcheck.protocols.protocol import StudyProtocol, StudyStep, digest_of_things

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

KEY = "run.json"
"""File that tells what the results beside it were made of."""

RECORD, FILES = "record.json", "files"
StepState = Literal["done", "kept", "failed", "skipped"]
_SUFFIXES: dict[str, Language] = {".py": "python", ".R": "r", ".r": "r"}


class StepOutcome(NamedTuple):
    """Outcome of a step: ``kept``: done before with the same things; ``skipped``: nothing runs it."""

    step: str
    state: StepState
    folder: Path | None
    message: str = ""
    record: ProgramRecord | None = None


class RunOptions(NamedTuple):
    """Options of a run of steps."""

    only: str = ""
    genes: tuple[str, ...] = ()
    target: str = ""
    seed: int = 1
    programs: Path | None = None
    inputs: Mapping[str, Path] = {}
    limits: ProgramLimits | None = None
    spending: Spending = Spending()
    writer: "tuple[ChatClient, Meter] | None" = None


class StepPrograms:
    """Runs programs for the steps of a protocol."""

    def __init__(self, context: Context, protocol: StudyProtocol, out: Path, given: RunOptions) -> None:
        self._context = context
        self._out = out
        self._given = given
        self._limits: ProgramLimits = given.limits or ProgramLimits()
        self._tasks = {task.id: task for task in program_tasks(protocol)}
        self._meter = total_meter(context.settings) if context.brain == "llm" else None
        self._model = given.writer[0].model if given.writer else context.settings.llm_model

    def run(self, step: str) -> StepOutcome:
        """Run the program of a step, or have one written."""
        task, program = self._tasks.get(step), self._program(step)
        if program:
            # A program that is given is run, whatever its step says that it makes.
            task = (task or ProgramTask(id=step, description="")).model_copy(
                update={"language": _SUFFIXES[program.suffix]}
            )
        if task is None or (program is None and self._meter is None and self._given.writer is None):
            return StepOutcome(step, "skipped", None, "neither an analysis nor a program is named")
        inputs = self._inputs(task)
        text = read_whole(program) if program else ""

        digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in inputs.items()}
        model = "" if program else self._model
        key = digest_of_things([task.model_dump(mode="json"), text, digests, self._limits.model_dump(), model])
        folder = self._out / step
        if is_kept(folder, key):
            return StepOutcome(step, "kept", folder)
        forget(folder)
        text, record = self._tried(task, text, inputs, folder)
        write_text(folder / f"program.{'py' if task.language == 'python' else 'R'}", text)
        write_text(folder / RECORD, record.model_dump_json(indent=2) + "\n")
        if not record.success:
            last = record.attempts[-1]
            why = (*last.problems, *last.lacks, _last_line(last))
            return StepOutcome(step, "failed", folder, f"level {last.level}: {next(filter(None, why), '')}", record)

        # What a program left is data of others: it goes on only as what it was read as.
        results = read_program_results(folder / FILES)
        write_text(folder / "results.json", json.dumps(results, indent=2, allow_nan=False) + "\n")
        write_text(folder / KEY, key)
        return StepOutcome(step, "done", folder, record=record)

    def _tried(
        self, task: ProgramTask, text: str, inputs: Mapping[str, Path], folder: Path
    ) -> tuple[str, ProgramRecord]:

        def attempt(program: str) -> ProgramAttempt:
            run = run_program(program, folder / FILES, language=task.language, inputs=inputs, limits=self._limits)
            return attempt_of(task, run, folder / FILES)

        if text:
            return text, ProgramRecord(task=task, attempts=(checked(text, task, attempt),))
        if self._given.writer:
            return write_program(task, *self._given.writer, attempt)
        from kgcheck.llm.client import ChatClient

        with ChatClient(self._context.settings) as client:
            meter = Meter(Limits.of(self._given.spending), client.prices, self._meter)
            return write_program(task, client, meter, attempt)

    def _program(self, step: str) -> Path | None:
        folder = self._given.programs
        named = [folder / f"{step}{suffix}" for suffix in _SUFFIXES] if folder else []
        return next((path for path in named if path.is_file()), None)

    def _inputs(self, task: ProgramTask) -> dict[str, Path]:
        """The files of a task by the names that it finds them under: given ones, and what earlier steps left."""
        found = {}
        for item in task.inputs:
            if item.name in self._given.inputs:
                path = self._given.inputs[item.name]
            elif item.step:
                left = self._out / item.step
                path = left / RESULTS if item.file == RESULTS else left / FILES / item.file
            else:
                raise UsageError(f"{task.id} needs {item.name!r}, which no step makes", "name a file with --input")
            if (item.step and path.is_symlink()) or not path.is_file():
                raise InputFormat(f"{task.id} needs {item.name!r}, and {path} is no file", "run the step that makes it")
            # Several steps may leave a results.json.
            found[f"{item.step}_{RESULTS}" if item.file == RESULTS else item.file] = path
        return found


def is_kept(folder: Path, key: str) -> bool:
    """Tell whether a folder has results made from exactly these inputs."""
    kept = folder / KEY
    return (folder / "results.json").is_file() and kept.is_file() and kept.read_text(encoding="utf-8") == key


def forget(folder: Path) -> None:
    """Take away the results of an earlier run: they would stand beside a record that is not theirs."""
    for name in (KEY, "results.json"):
        (folder / name).unlink(missing_ok=True)


def _last_line(attempt: ProgramAttempt) -> str:
    if attempt.run is None:
        return ""
    if attempt.run.limit:
        return f"it was ended by its limit of {attempt.run.limit}"
    lines = attempt.run.stderr.strip().splitlines()
    return lines[-1] if lines else f"it ended with {attempt.run.signal or attempt.run.exit}"


class _Refuted(NamedTuple):
    edges: list[Triple]
    run: Run | None
    notes: tuple[str, ...]


def analyse(
    context: Context,
    name: str,
    genes: Iterable[str],
    *,
    target: str = "",
    parameters: dict[str, str] | None = None,
    seed: int = 1,
) -> AnalysisResult:
    """Run a ready analysis over the graph, without the edges that its audits refuted."""
    from kgcheck.protocols.programs.methods import AnalysisGraph, run_analysis

    analysis = ready_analysis(name)
    refuted = _refuted(context, analysis)
    graph = AnalysisGraph(context.graph, refuted.edges, context.resolver())
    found = run_analysis(analysis, graph, genes, target=target, parameters=parameters, seed=seed)
    about: dict[str, object] = {"notes": (*found.notes, *refuted.notes)}
    if refuted.run:
        about |= {"run": refuted.run.id, "releases": {r.source: r.release for r in refuted.run.releases}}
    return found.model_copy(update=about)


def run_steps(
    context: Context, protocol: StudyProtocol, out: Path, options: RunOptions | None = None
) -> Iterator[StepOutcome]:
    """Run the steps of a protocol that a ready analysis or a program runs; each into a folder of its own.

    A step whose folder has the results of the same analysis over the same graph, or of the same program over the same
    inputs, is not run again. With the brain ``llm``, a model writes the programs that are not given.
    """
    given = options or RunOptions()
    known = {step.id: step for step in protocol.steps}
    if given.only and given.only not in known:
        raise UnknownName("step", given.only, known)
    programs = StepPrograms(context, protocol, out, given)
    for step in [known[given.only]] if given.only else known.values():
        try:
            if step.analysis:
                yield _run_analysis(context, protocol, step, out / step.id, given)
            else:
                yield programs.run(step.id)
        except (InputError, ProgramError, UsageError) as error:
            yield StepOutcome(step.id, "failed", None, error.message)


def _run_analysis(
    context: Context, protocol: StudyProtocol, step: StudyStep, folder: Path, given: RunOptions
) -> StepOutcome:
    analysis = ready_analysis(step.analysis)
    named = {p.name.casefold().replace(" ", "_"): str(p.number or p.value) for p in step.parameters}
    parameters = {name: value for name, value in named.items() if name in analysis.parameters}
    resolver = context.resolver()
    about, genes, target = protocol.objective.about, given.genes, given.target
    if not genes:
        genes = tuple(name for name in about if len(resolver.in_graph(analysis.member, name)) == 1)
    if not target:
        labels = [link.label for link in analysis.targets]
        target = next((name for label in labels for name in about if len(resolver.in_graph(label, name)) == 1), "")
    runs: list[str] = []
    with suppress(LedgerError), context.reading() as ledger:
        runs = [run.id for run in ledger.runs()[:1]]
    state = context.graph.state()
    key = digest_of_things(
        [analysis.model_dump(mode="json"), parameters, genes, target, given.seed, context.store, state, runs]
    )
    # A graph that cannot say whether it changed is looked at again.
    if state and is_kept(folder, key):
        return StepOutcome(step.id, "kept", folder)
    forget(folder)
    found = analyse(context, analysis.name, genes, target=target, parameters=parameters, seed=given.seed)
    write_result(found, folder)
    write_text(folder / KEY, key)
    return StepOutcome(step.id, "done", folder)


def _refuted(context: Context, analysis: ReadyAnalysis) -> _Refuted:
    """Edges that the newest run that looked at them refuted, without those of findings that a person rejected."""
    relations = {link.relation for link in analysis.links} | {link.up for link in analysis.links}
    relations |= {link.relation for link in analysis.targets}
    reader = context.verified_if_there()
    if reader is None:
        return _Refuted([], None, ("there is no ledger: nobody has looked at the edges",))
    store_id = context.graph.store_id()
    with context.reading() as ledger:
        runs = [run for run in ledger.runs() if run.store_id == store_id]
        found = {
            finding.task.fingerprint: finding.task
            for run in runs
            for finding in ledger.findings(run, [Outcome.REFUTED])
            if finding.task.type is CheckType.TRIPLE and finding.task.relation in relations
        }
    newest = next((run for run in runs if not run.is_check), None)
    if newest is None:
        return _Refuted([], None, ("no audit of this graph is in the ledger: nobody has looked at the edges",))
    rejected: set[str] = set()
    with suppress(UnknownName), context.reading() as ledger:
        listed = list_findings(ledger, newest.id, types=["triple"], outcomes=["refuted"], decisions=["rejected"])
        rejected = {c.finding.task.fingerprint for c in listed.page() if c.finding}
    edges = []
    for fingerprint, task in found.items():
        judged = reader.of(task)
        stands = judged is not None and judged.outcome is not Outcome.REFUTED
        if not stands and fingerprint not in rejected and task.relation and task.object:
            edges.append(Triple(head=task.subject, relation=task.relation, tail=task.object))
    return _Refuted(edges, newest, ())
