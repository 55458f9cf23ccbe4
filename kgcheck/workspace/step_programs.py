"""Programs that steps of a protocol run in the sandbox: given ones, or such as a model writes."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from kgcheck.errors import InputFormat, UsageError
from kgcheck.inputs import read_whole
from kgcheck.outputs import write_text
from kgcheck.workspace.opening import Spending, total_meter

if TYPE_CHECKING:
    from kgcheck.llm.budget import Meter
    from kgcheck.llm.client import ChatClient
    from kgcheck.protocols.programs.record import Language, ProgramLimits
    from kgcheck.protocols.programs.tasks import ProgramAttempt, ProgramRecord, ProgramTask
    from kgcheck.protocols.protocol import StudyProtocol
    from kgcheck.workspace.workspace import Workspace

KEY = "run.json"
"""File that tells what the results beside it were made of."""

RECORD, FILES = "record.json", "files"
StepState = Literal["done", "kept", "failed", "skipped"]
_SUFFIXES: "dict[str, Language]" = {".py": "python", ".R": "r", ".r": "r"}


class StepOutcome(NamedTuple):
    """What became of a step: ``kept`` was done before with the same things, ``skipped`` has nothing that runs it."""

    step: str
    state: StepState
    folder: Path | None
    message: str = ""
    record: "ProgramRecord | None" = None


class RunOptions(NamedTuple):
    """How steps are run.

    Attributes:
        only: Id of the one step to run; by default all.
        genes: The gene set; by default what the objective is about.
        target: The node beside it, e.g. a disease; by default what the objective is about, too.
        seed: Of random numbers.
        programs: Folder of programs for steps, each called by the step: ``S1.2.py``, ``S1.2.R``.
        inputs: Files for inputs that no step makes, by the name of the input.
        limits: What a program may take.
        spending: What a model may take for the programs of one step.
        writer: The model that writes programs, with what counts for it; by default that of the workspace's brain.
    """

    only: str = ""
    genes: tuple[str, ...] = ()
    target: str = ""
    seed: int = 1
    programs: Path | None = None
    inputs: "Mapping[str, Path]" = {}
    limits: "ProgramLimits | None" = None
    spending: Spending = Spending()
    writer: "tuple[ChatClient, Meter] | None" = None


class StepPrograms:
    """Runs programs for the steps of a protocol.

    Args:
        workspace: Whose brain writes those that are not given.
        protocol: The protocol.
        out: Folder of the folders of steps.
        given: How they are run.
    """

    def __init__(self, workspace: "Workspace", protocol: "StudyProtocol", out: Path, given: RunOptions) -> None:
        from kgcheck.protocols.programs.record import ProgramLimits
        from kgcheck.protocols.programs.tasks import program_tasks

        self._workspace = workspace
        self._out = out
        self._given = given
        self._limits: ProgramLimits = given.limits or ProgramLimits()
        self._tasks = {task.id: task for task in program_tasks(protocol)}
        self._meter = total_meter(workspace.settings) if workspace.brain == "llm" else None
        self._model = given.writer[0].model if given.writer else workspace.settings.llm_model

    def run(self, step: str) -> StepOutcome:
        """Run the program of a step, or have one written.

        Args:
            step: Its id.

        Returns:
            What became of it.
        """
        task, program = self._tasks.get(step), self._program(step)
        if program:
            from kgcheck.protocols.programs.tasks import ProgramTask

            # A program that is given is run, whatever its step says that it makes.
            task = (task or ProgramTask(id=step, description="")).model_copy(
                update={"language": _SUFFIXES[program.suffix]}
            )
        if task is None or (program is None and self._meter is None and self._given.writer is None):
            return StepOutcome(step, "skipped", None, "neither an analysis nor a program is named")
        inputs = self._inputs(task)
        text = read_whole(program) if program else ""
        from kgcheck.protocols.protocol import digest_of_things

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
        from kgcheck.protocols.programs.record import read_program_results

        # What a program left is data of others: it goes on only as what it was read as.
        results = read_program_results(folder / FILES)
        write_text(folder / "results.json", json.dumps(results, indent=2, allow_nan=False) + "\n")
        write_text(folder / KEY, key)
        return StepOutcome(step, "done", folder, record=record)

    def _tried(
        self, task: "ProgramTask", text: str, inputs: Mapping[str, Path], folder: Path
    ) -> "tuple[str, ProgramRecord]":
        from kgcheck.protocols.programs.sandbox import run_program
        from kgcheck.protocols.programs.tasks import ProgramRecord, attempt_of, checked, write_program

        def attempt(program: str) -> "ProgramAttempt":
            run = run_program(program, folder / FILES, language=task.language, inputs=inputs, limits=self._limits)
            return attempt_of(task, run, folder / FILES)

        if text:
            return text, ProgramRecord(task=task, attempts=(checked(text, task, attempt),))
        if self._given.writer:
            return write_program(task, *self._given.writer, attempt)
        from kgcheck.llm.budget import Meter
        from kgcheck.llm.client import ChatClient

        with ChatClient(self._workspace.settings) as client:
            meter = Meter(self._given.spending.limits(), client.prices, self._meter)
            return write_program(task, client, meter, attempt)

    def _program(self, step: str) -> Path | None:
        folder = self._given.programs
        named = [folder / f"{step}{suffix}" for suffix in _SUFFIXES] if folder else []
        return next((path for path in named if path.is_file()), None)

    def _inputs(self, task: "ProgramTask") -> dict[str, Path]:
        """The files of a task by the names that it finds them under: given ones, and what earlier steps left."""
        from kgcheck.protocols.programs.tasks import RESULTS

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
    """Whether a folder has results that were made of just these things."""
    kept = folder / KEY
    return (folder / "results.json").is_file() and kept.is_file() and kept.read_text(encoding="utf-8") == key


def forget(folder: Path) -> None:
    """Take away the results of an earlier run: they would stand beside a record that is not theirs."""
    for name in (KEY, "results.json"):
        (folder / name).unlink(missing_ok=True)


def _last_line(attempt: "ProgramAttempt") -> str:
    if attempt.run is None:
        return ""
    if attempt.run.limit:
        return f"it was ended by its limit of {attempt.run.limit}"
    lines = attempt.run.stderr.strip().splitlines()
    return lines[-1] if lines else f"it ended with {attempt.run.signal or attempt.run.exit}"
