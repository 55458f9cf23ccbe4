"""Run a protocol's steps: ready analyses, and given or model-written programs in the sandbox.

A program is for a task that is read out of a step; it is given, or a model writes it, again with its errors until one
does the task.
"""

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from kgcheck.context import Context, noting
from kgcheck.curation.findings import list_findings
from kgcheck.errors import InputError, InputFormat, LedgerError, MissingExtra, ProgramError, UnknownName, UsageError
from kgcheck.inputs import read_whole, sha256_of
from kgcheck.ledger.run import Run
from kgcheck.llm.budget import Limits, Meter, total_meter
from kgcheck.llm.forms import messages_of
from kgcheck.model import CheckType, Outcome, Triple, Value
from kgcheck.options import Spending
from kgcheck.outputs import write_text
from kgcheck.protocols.design.material import DesignRules
from kgcheck.protocols.programs.analyses import AnalysisResult, ReadyAnalysis, ready_analysis, write_result
from kgcheck.protocols.programs.sandbox import Language, ProgramLimits, ProgramRun, read_program_results, run_program
from kgcheck.protocols.programs.scripts import parse_python
from kgcheck.protocols.protocol import (
    ItemKind,
    StepItem,
    StepParameter,
    StudyGrounds,
    StudyNode,
    StudyProtocol,
    StudyStep,
    digest_of_things,
)
from kgcheck.protocols.rules import ProtocolRules, model_task

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

LONGEST_PROGRAM = 100_000

RESULTS = "results.json"


class TaskFile(StepItem):
    """Input or output of a program with its file, and the step that made it, if any."""

    kind: ItemKind
    file: str
    step: str = Field(default="", description="id of the step that leaves it; empty where it is given")


class ProgramTask(Value):
    """Task for a program."""

    id: str = Field(description="of the step")
    description: str
    language: Language = "python"
    inputs: tuple[TaskFile, ...] = ()
    outputs: tuple[TaskFile, ...] = ()
    parameters: tuple[StepParameter, ...] = ()
    statistics: tuple[str, ...] = ()


class ProgramAttempt(Value):
    """One program for a task: why it was not run, how it ran, what it lacks, and how bad that is."""

    problems: tuple[str, ...] = Field(default=(), description="why it was not run")
    run: ProgramRun | None = None
    lacks: tuple[str, ...] = Field(default=(), description="files that it should have left, and what is wrong in them")
    level: Literal[1, 2, 3, 4] | None = Field(default=None, description="none where all is well")


class ProgramRecord(Value):
    """All attempts at a task, the last one last."""

    task: ProgramTask
    written_by: str = Field(default="", description="a model, or empty: the program was given")
    attempts: tuple[ProgramAttempt, ...] = Field(min_length=1)

    @property
    def success(self) -> bool:
        """Tell whether the last program came to its end and left what it should."""
        return self.attempts[-1].level is None


class ErrorLevel(Value):
    """The signs of errors of a level."""

    level: Literal[1, 2, 3, 4]
    errors: frozenset[str]
    words: tuple[str, ...]
    limits: frozenset[str]


class ProgramRules(ProtocolRules):
    """Names of files, and levels of errors."""

    file = "programs"
    suffixes: dict[ItemKind, str]
    levels: tuple[ErrorLevel, ...]


def program_tasks(protocol: StudyProtocol, language: Language = "python") -> tuple[ProgramTask, ...]:
    """The tasks of a protocol: its steps that make something and that no ready analysis runs."""
    made: dict[str, TaskFile] = {}
    tasks = []
    for step in protocol.steps:
        outputs = tuple(_file(item, step.id) for item in step.outputs)
        if outputs and not step.analysis:
            inputs = tuple(made.get(item.name.casefold()) or _file(item) for item in step.inputs)
            tasks.append(
                ProgramTask(
                    id=step.id,
                    description=step.text,
                    language=language,
                    inputs=inputs,
                    outputs=outputs,
                    parameters=step.parameters,
                    statistics=step.statistics,
                )
            )
        # A ready analysis leaves its results as one file, whatever its outputs are called.
        left = {"file": RESULTS} if step.analysis else {}
        made |= {output.name.casefold(): output.model_copy(update=left) for output in outputs}
    return tuple(tasks)


def _file(item: StepItem, step: str = "") -> TaskFile:
    stem = re.sub(r"[^a-z0-9]+", "_", item.name.casefold()).strip("_")[:60] or "item"
    return TaskFile(name=item.name, kind=item.kind, file=stem + ProgramRules.shipped().suffixes[item.kind], step=step)


def problems_of(program: str, language: Language) -> tuple[str, ...]:
    """List the problems of a program that can be seen without running it."""
    if not program.strip() or len(program) > LONGEST_PROGRAM:
        return (f"SyntaxError: a program has from 1 to {LONGEST_PROGRAM:,} characters",)
    if language != "python":
        return ()
    try:
        nodes = list(ast.walk(parse_python(program)))
    except InputFormat as error:
        return (error.message,)
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    # Of a name without points, nothing is imported to find it.
    modules = sorted({name.partition(".")[0] for name in imported} - {*sys.builtin_module_names})
    return tuple(f"ModuleNotFoundError: there is no module {n!r}" for n in modules if not PathFinder.find_spec(n))


def attempt_of(task: ProgramTask, run: ProgramRun, folder: Path) -> ProgramAttempt:
    """Evaluate the run of a program as an attempt at a task."""
    if not run.clean:
        return ProgramAttempt(run=run, level=error_level(run.stderr, run.limit or ""))
    left = {file.name for file in run.files}
    lacks = [f"it left no {output.file}" for output in task.outputs if output.file not in left]
    try:
        read_program_results(folder)
    except InputFormat as error:
        lacks.append(error.message.replace(str(folder), "").lstrip("/"))
    return ProgramAttempt(run=run, lacks=tuple(lacks), level=4 if lacks else None)


def error_level(stderr: str, limit: str = "") -> Literal[1, 2, 3, 4]:
    r"""Grade the severity of an error, after the paper's table.

    >>> error_level("Traceback …\nKeyError: 'gene'")
    3
    >>> error_level("", limit="seconds")
    1
    """
    levels = ProgramRules.shipped().levels
    if limit:
        return next((level.level for level in levels if limit in level.limits), 4)
    lines = [line.strip() for line in stderr[-2_000:].splitlines() if line.strip()]
    # The exception stands at the beginning of the last line that names one; a message may go on over several.
    names = [line.split(":")[0].rpartition(".")[2] for line in reversed(lines[-10:])]
    if found := next((level.level for name in names for level in levels if name in level.errors), None):
        return found
    last = "\n".join(lines[-10:])
    return next((level.level for level in levels if any(words in last for words in level.words)), 4)


def program_figures(records: Sequence[ProgramRecord]) -> str:
    """Count how programs fared: the paper's success rate, and what was not completed by the level of its last error."""
    last = [record.attempts[-1].level or 4 for record in records if not record.success]
    levels = ", ".join(f"{last.count(level)} of level {level}" for level in sorted(set(last)))
    return f"{len(records) - len(last)} of {len(records)} programs succeeded{'; errors: ' if levels else ''}{levels}"


MOST_ATTEMPTS = 4

_SHOWN = 2_000  # characters of what a program wrote to stderr that go back to the writer
_LIBRARIES = {
    "python": "There are numpy, pandas, scipy and statsmodels.",
    "r": "There is base R with the package stats.",
}


class ProgramAnswer(BaseModel):
    """The form of an answer."""

    program: str = Field(min_length=1, max_length=LONGEST_PROGRAM)


def write_program(
    task: ProgramTask,
    client: "ChatClient",
    meter: Meter,
    attempt: Callable[[str], ProgramAttempt],
    most: int = MOST_ATTEMPTS,
) -> tuple[str, ProgramRecord]:
    """Have a program written for a task, and written again with its errors, until one does it."""
    system = model_task("write a program").format(language=task.language, libraries=_LIBRARIES[task.language])
    question: dict[str, Any] = {"task": task.model_dump(mode="json", exclude={"language"})}
    attempts: list[ProgramAttempt] = []
    program = ""
    while len(attempts) < most and (not attempts or attempts[-1].level is not None):
        if attempts:
            last = attempts[-1]
            errors = [*last.problems, *last.lacks]
            if last.run and last.run.limit:
                errors.append(f"it was ended: {last.run.limit} limit")
            if last.run and not last.run.clean:
                errors.append(f"exit {last.run.exit}: {last.run.stderr[-_SHOWN:]}")
            question["before"] = {"program": program, "errors": errors}
        answer, _ = client.answer(messages_of(system, question), ProgramAnswer, meter=meter)
        program = answer.program
        attempts.append(checked(program, task, attempt))
    return program, ProgramRecord(task=task, written_by=client.model, attempts=tuple(attempts))


def checked(program: str, task: ProgramTask, attempt: Callable[[str], ProgramAttempt]) -> ProgramAttempt:
    """Look a program over, and run it if nothing is wrong with it."""
    if problems := problems_of(program, task.language):
        return ProgramAttempt(problems=problems, level=error_level(problems[0]))
    return attempt(program)


KEY = "run.json"  # file that tells what the results beside it were made of
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
    notes: tuple[str, ...] = ()


class RunOptions(NamedTuple):
    """Options of a run of steps."""

    only: str = ""
    genes: tuple[str, ...] = ()
    target: str = ""
    seed: int = 1
    programs: Path | None = None
    inputs: Mapping[str, Path] = {}
    limits: ProgramLimits = ProgramLimits()
    spending: Spending = Spending()
    writer: "tuple[ChatClient, Meter] | None" = None


class StepPrograms:
    """Runs programs for the steps of a protocol."""

    def __init__(self, context: Context, protocol: StudyProtocol, out: Path, given: RunOptions) -> None:
        self._context, self._out, self._given = context, out, given
        self._tasks = {task.id: task for task in program_tasks(protocol)}
        self._meter = total_meter(context.settings) if context.brain == "llm" else None
        self._noted: list[str] = []

    def run(self, step: str) -> StepOutcome:
        """Run the program of a step; its notes are those that no step before it had."""
        with noting() as notes:
            try:
                outcome = self._outcome(step, notes)
            finally:
                notes[:] = [note for note in notes if note not in self._noted]
                self._noted += notes
        return outcome._replace(notes=tuple(notes))

    def _outcome(self, step: str, notes: list[str]) -> StepOutcome:
        given, task = self._given, self._tasks.get(step)
        named = [given.programs / f"{step}{suffix}" for suffix in _SUFFIXES] if given.programs else []
        program = next((path for path in named if path.is_file()), None)
        if program:
            # A program that is given is run, whatever its step says that it makes.
            known = task or ProgramTask(id=step, description="")
            task = known.model_copy(update={"language": _SUFFIXES[program.suffix]})
        if task is None or (program is None and self._meter is None and given.writer is None):
            return StepOutcome(step, "skipped", None, "neither an analysis nor a program is named")
        inputs, folder = self._inputs(task), self._out / step
        text = read_whole(program) if program else ""
        digests = {name: sha256_of(path) for name, path in inputs.items()}
        writer = given.writer[0].model if given.writer else self._context.settings.llm_model
        model = "" if program else writer
        key = digest_of_things([task.model_dump(mode="json"), text, digests, given.limits.model_dump(), model])
        if is_kept(folder, key):
            return StepOutcome(step, "kept", folder)
        forget(folder)
        text, record = self._tried(task, text, inputs, folder / FILES, notes)
        write_text(folder / f"program.{'py' if task.language == 'python' else 'R'}", text)
        write_text(folder / RECORD, record.model_dump_json(indent=2) + "\n")
        if not record.success:
            last = record.attempts[-1]
            why = next(filter(None, (*last.problems, *last.lacks, last.run.end if last.run else "")), "")
            return StepOutcome(step, "failed", folder, f"level {last.level}: {why}", record)
        # What a program left is data of others: it goes on only as what it was read as.
        results = read_program_results(folder / FILES)
        write_text(folder / RESULTS, json.dumps(results, indent=2, allow_nan=False) + "\n")
        write_text(folder / KEY, key)
        return StepOutcome(step, "done", folder, record=record)

    def _tried(
        self, task: ProgramTask, text: str, inputs: Mapping[str, Path], folder: Path, notes: list[str]
    ) -> tuple[str, ProgramRecord]:
        given = self._given

        def attempt(program: str) -> ProgramAttempt:
            run = run_program(program, folder, language=task.language, inputs=inputs, limits=given.limits)
            return attempt_of(task, run, folder)

        if text:
            return text, ProgramRecord(task=task, attempts=(checked(text, task, attempt),))
        if given.writer:
            return write_program(task, *given.writer, attempt)
        from kgcheck.llm.client import ChatClient

        with ChatClient(self._context.settings, notes) as client:
            meter = Meter(Limits.of(given.spending), client.prices, self._meter)
            return write_program(task, client, meter, attempt)

    def _inputs(self, task: ProgramTask) -> dict[str, Path]:
        """The files of a task by the names that it finds them under: given ones, and what earlier steps left."""
        found = {}
        for item in task.inputs:
            is_result = item.file == RESULTS
            path = self._given.inputs.get(item.name)
            if path is None:
                if not item.step:
                    raise UsageError(f"{task.id} needs {item.name!r}, which no step makes", "name a file with --input")
                left = self._out / item.step
                path = left / RESULTS if is_result else left / FILES / item.file
            if (item.step and path.is_symlink()) or not path.is_file():
                raise InputFormat(f"{task.id} needs {item.name!r}, and {path} is no file", "run the step that makes it")
            # Several steps may leave a results.json.
            found[f"{item.step}_{RESULTS}" if is_result else item.file] = path
        return found


def is_kept(folder: Path, key: str) -> bool:
    """Tell whether a folder has results made from exactly these inputs."""
    kept = folder / KEY
    return (folder / RESULTS).is_file() and kept.is_file() and kept.read_text(encoding="utf-8") == key


def forget(folder: Path) -> None:
    """Take away the results of an earlier run: they would stand beside a record that is not theirs."""
    for name in (KEY, RESULTS):
        (folder / name).unlink(missing_ok=True)


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
    refuted, run, note = _refuted(context, analysis)
    graph = AnalysisGraph(context.graph, refuted, context.resolver())
    found = run_analysis(analysis, graph, genes, target=target, parameters=parameters, seed=seed)
    if run is None:
        return found.model_copy(update={"notes": (*found.notes, note)})
    return found.model_copy(update={"run": run.id, "releases": {r.source: r.release for r in run.releases}})


def refusal_of(context: Context, study: StudyGrounds, name: str) -> str:
    """The reason why a ready analysis can say nothing of a study over the graph; empty where it can."""
    analysis = ready_analysis(name)
    genes, target, _ = _study_set(context, study, analysis)
    few = {n: f"{p.least:g}" for n, p in analysis.parameters.items() if n == "permutations"}
    try:
        analyse(context, name, genes, target=target, parameters=few)
    except UsageError as error:
        return error.message
    except MissingExtra:
        # Whoever runs it has what it takes.
        return ""
    return ""


def run_steps(
    context: Context, protocol: StudyProtocol, out: Path, options: RunOptions | None = None
) -> Iterator[StepOutcome]:
    """Run the steps of a protocol, each into a folder of its own; one that was run with the same things is kept."""
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
            noted = tuple(getattr(error, "__notes__", ()))
            yield StepOutcome(step.id, "failed", None, error.message, notes=noted)


def _run_analysis(
    context: Context, protocol: StudyProtocol, step: StudyStep, folder: Path, given: RunOptions
) -> StepOutcome:
    analysis = ready_analysis(step.analysis)
    settings = dict(parameter.setting for parameter in step.parameters)
    parameters = {name: value for name, value in settings.items() if name in analysis.parameters}
    genes, target, notes = _study_set(context, protocol, analysis)
    genes, target = given.genes or genes, given.target or target
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
    return StepOutcome(step.id, "done", folder, notes=(*(() if given.genes else notes), *found.notes, *found.dropped))


def _study_set(
    context: Context, protocol: StudyGrounds, analysis: ReadyAnalysis
) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """The genes and the target of a protocol, as its design took them, and what is left out."""
    labels = [link.label for link in analysis.targets]
    members = DesignRules.shipped().analyses[analysis.name].members
    nodes = protocol.nodes
    if not nodes:
        # A protocol that nobody designed over a graph: its names are resolved now.
        taken = [
            (name, context.resolver().in_graph(label, name))
            for name in protocol.objective.about
            for label in (analysis.member, *labels)
        ]
        nodes = tuple(StudyNode(ref=one[0].ref, name=name) for name, one in taken if len(one) == 1)
    chosen = protocol.model_copy(update={"nodes": nodes})
    genes = chosen.of_labels([analysis.member])
    target = next((node.ref.id for label in labels for node in chosen.of_labels([label])), "")
    own = {name.casefold() for node in genes for name in node.called}
    others = {name.casefold() for node in nodes if node.ref.label not in members for name in node.called}
    left = [name for name in protocol.objective.about if name.casefold() not in own | others]
    notes = tuple(f"{name} is no {analysis.member} that stands: left out of the set" for name in left)
    return tuple(node.ref.id for node in genes), target, notes


def _refuted(context: Context, analysis: ReadyAnalysis) -> tuple[list[Triple], Run | None, str]:
    """Edges that the newest run that looked at them refuted, without those of findings that a person rejected.

    Beside them the newest audit of the graph, or a note that there is none.
    """
    relations = {name for link in (*analysis.links, *analysis.targets) for name in (link.relation, link.up)}
    reader = context.verified_if_there()
    if reader is None:
        return [], None, "there is no ledger: nobody has looked at the edges"
    store_id = context.graph.store_id()
    with context.reading() as ledger:
        runs = [run for run in ledger.runs() if run.store_id == store_id]
        newest = next((run for run in runs if not run.is_check), None)
        if newest is None:
            return [], None, "no audit of this graph is in the ledger: nobody has looked at the edges"
        found = {
            finding.task.fingerprint: finding.task
            for run in runs
            for finding in ledger.findings(run, [Outcome.REFUTED])
            if finding.task.type is CheckType.TRIPLE and finding.task.relation in relations
        }
        rejected: set[str] = set()
        with suppress(UnknownName):
            listed = list_findings(ledger, newest.id, types=["triple"], outcomes=["refuted"], decisions=["rejected"])
            rejected = {c.finding.task.fingerprint for c in listed.page() if c.finding}
    edges = []
    for fingerprint, task in found.items():
        judged = reader.of(task)
        stands = judged is not None and judged.outcome is not Outcome.REFUTED
        if not stands and fingerprint not in rejected and task.relation and task.object:
            edges.append(Triple(head=task.subject, relation=task.relation, tail=task.object))
    return edges, newest, ""
