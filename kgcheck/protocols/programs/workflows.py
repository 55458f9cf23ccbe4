"""Workflows of scripts: in order of what they read and write, with every edit listed, run in the sandbox.

A script runs in a copy of its repository, in its own folder, so that its paths hold. A workflow by a model is data
until a person runs what lies in its folder.
"""

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from os.path import normpath
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from kgcheck.bench.insights import Insight
from kgcheck.errors import InputError, InputFormat, InputMissing, ProgramError
from kgcheck.inputs import read_whole, sha256_of, wrong_parts
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.plurals import how_many
from kgcheck.protocols.programs.sandbox import Language, ProgramLimits, ProgramRun, run_program
from kgcheck.protocols.programs.scripts import (
    CodeModel,
    ScriptDescription,
    ScriptSource,
    describe,
    parse_python,
    read_scripts,
)

WORKFLOW, FIGURES, ROOT = "workflow.json", "figures.json", "repository"
_PLOTS = Path(__file__).with_name("plots.py")
_LICENCE = re.compile(r"(?:un)?licen[cs]e|copying", re.IGNORECASE)
_MOST_FILES = 20_000
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_ABSOLUTE = re.compile(
    r"(?P<joined>\+\s*)?(?P<quote>[\"'])(?P<path>(?:/[^\"'\n/]+/|~/|[A-Za-z]:[/\\])[^\"'\n]*)(?P=quote)"
)
_LISTS_FILES = re.compile(r"\b(?:glob|listdir|iterdir|scandir|walk|list\.files)\b")
_STARTS: dict[Language, str] = {
    "python": """import os, runpy, sys, zipfile
zipfile.ZipFile("inputs/repository.zip").extractall(".")
sys.path[:0] = [os.path.abspath(place) for place in ({folder!r}, "repository", ".")]
import kgcheck_plots
kgcheck_plots.start()
os.chdir({folder!r})
sys.argv = [{script!r}]
runpy.run_path({script!r}, run_name="__main__")
""",
    "r": """utils::unzip("inputs/repository.zip")
setwd({folder!r})
source({script!r}, print.eval = TRUE)
""",
}


class WorkflowEdit(Value):
    """A change to a script or a data file, by its line where it has one."""

    file: str
    kind: Literal["path", "ids", "columns"]
    line: int = 0
    before: str
    after: str


class CodeStep(Value):
    """A script of a workflow as it is run."""

    scripts: tuple[str, ...] = Field(description="of the repository that it is made of")
    file: str = Field(description="its code, beside the workflow")
    place: str = Field(description="where it runs, in a copy of the repository")
    language: Language = "python"
    data: dict[str, str] = Field(default={}, description="data files by their places in that copy")
    folders: tuple[str, ...] = Field(default=(), description="that its code names, to be there")
    needs: tuple[str, ...] = Field(default=(), description="names of files that an earlier step leaves")


class CodeWorkflow(Value):
    """Steps that are to give the figures of an insight."""

    insight: str
    by: str = "rules"
    steps: tuple[CodeStep, ...] = ()
    edits: tuple[WorkflowEdit, ...] = ()
    lacks: tuple[str, ...] = Field(default=(), description="what it needs and nobody has, and what it leaves out")


class CodeRepository(NamedTuple):
    """A folder with its scripts and all its files, by their paths."""

    sources: Mapping[str, ScriptSource]
    described: Mapping[str, ScriptDescription]
    files: Mapping[str, Path]
    licensed: bool


class ProposedStep(BaseModel):
    """One step as a model proposes it."""

    scripts: list[str] = Field(min_length=1)
    program: str = Field(min_length=1, max_length=100_000)


class ProposedWorkflow(BaseModel):
    """The form of an answer."""

    steps: list[ProposedStep] = Field(min_length=1, max_length=20)


def open_repository(folder: Path, notes: list[str]) -> CodeRepository:
    """Read the scripts of a folder and list its files; links are left out."""
    every = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    real = folder.resolve()
    inside = [path for path in every if path.resolve() == real / path.relative_to(folder)][:_MOST_FILES]
    files = {path.relative_to(folder).as_posix(): path for path in inside}
    if len(every) > len(files):
        notes.append(f"{folder}: left out, as links or too many: {how_many(len(every) - len(files), 'file')}")
    sources = read_scripts(files, notes)
    if not sources:
        raise InputMissing(f"{folder} has no script that could be read", "scripts end with .py, .R or .ipynb")
    described = {source.path: describe(source) for source in sources}
    notes += [f"{path}: {script.problem}" for path, script in described.items() if script.problem]
    licensed = any(_LICENCE.match(name) and "/" not in name and path.stat().st_size for name, path in files.items())
    return CodeRepository({source.path: source for source in sources}, described, files, licensed)


def _name(path: str) -> str:
    return PurePosixPath(path.replace("\\", "/")).name


def _at(folder: str, path: str) -> str:
    """Place of a path in the copy of the repository; one that leads out of it lies at its top."""
    place = normpath(f"{folder}/{path}")
    return _name(path) if place.startswith("..") else place


class _Composer:
    """Composes the scripts of a workflow, and edits them where they name folders of another machine."""

    def __init__(self, repository: CodeRepository, data: Mapping[str, Path]) -> None:
        self.repository, self.given = repository, data
        self.own = {name: path for name, path in repository.files.items() if name not in repository.sources}
        self.names = {_name(name) for name in [*self.own, *data]}
        self.writes = {path: {_name(name) for name in d.writes} for path, d in repository.described.items()}
        self.lacks: list[str] = []
        self.edits: list[WorkflowEdit] = []

    def order(self, matched: Sequence[str]) -> list[str]:
        """Order scripts, with those that write what they read, by what each needs."""
        graph: dict[str, list[str]] = {}
        left = sorted(matched)
        while left:
            path = left.pop()
            reads = {_name(name) for name in self.repository.described[path].reads} - self.names
            makers = [other for other, names in sorted(self.writes.items()) if other != path and names & reads]
            left += [other for other in makers if other not in graph]
            graph[path] = makers
        try:
            return list(TopologicalSorter({path: graph[path] for path in sorted(graph)}).static_order())
        except CycleError as error:
            self.lacks.append(f"{', '.join(dict.fromkeys(error.args[1]))}: each reads what another one writes")
            return sorted(graph)

    def step(self, number: int, path: str, earlier: Sequence[str]) -> tuple[CodeStep, str]:
        source, described = self.repository.sources[path], self.repository.described[path]
        folder = PurePosixPath(ROOT, path).parent
        written = self.writes[path].union(*(self.writes[other] for other in earlier))
        # Whatever its code names, by a literal or in parts.
        every = bool(_LISTS_FILES.search(source.code))
        data = {_at(ROOT, n): str(p.absolute()) for n, p in self.own.items() if every or _name(n) in source.code}
        for name, given in self.given.items():
            if every or _name(name) in source.code:
                self._give(path, name, given, data)

        def relative(match: re.Match[str]) -> str:
            name = _name(match["path"])
            if match["joined"]:
                return match[0]
            data.update({f"{folder}/{name}": data[place] for place in [*data] if _name(place) == name})
            after = repr(name if "." in name else ".")
            self._note(path, match[0], match[0], after)
            return after

        code = _ABSOLUTE.sub(relative, source.code)
        there = {_name(place) for place in data}
        reads = {_name(read): read for read in described.reads}
        lost = reads.keys() - there - written - {_name(script) for script in self.repository.sources}
        self.lacks += [f"{path} names {reads[n]}: no data file, and no script that writes it" for n in sorted(lost)]
        named = [name for name in (*described.reads, *described.writes) if not _is_absolute(name)]
        stem = re.sub(r"[^A-Za-z0-9_]", "_", PurePosixPath(path).stem)[:60]
        step = CodeStep(
            scripts=(path,),
            file=f"{number:02}_{stem}.{'py' if source.language == 'python' else 'R'}",
            place=f"{ROOT}/{path.removesuffix('.ipynb')}",
            language=source.language,
            data=data,
            folders=tuple(sorted({_at(str(folder), f"{PurePosixPath(name).parent}") + "/" for name in named})),
            needs=tuple(sorted((reads.keys() & written) - there - self.writes[path])),
        )
        return step, code

    def _give(self, path: str, name: str, given: Path, data: dict[str, str]) -> None:
        """Put a file that was given in the place of the one that a script names."""
        folder = str(PurePosixPath(ROOT, path).parent)
        alike = [place for place in data if _name(place) == _name(name)]
        reads = [read for read in self.repository.described[path].reads if _name(read) == _name(name)]
        places = alike or [_at(folder, read) for read in reads if not _is_absolute(read)] or [_at(folder, name)]
        if "/" in name:
            places = [_at(ROOT, name)]
        elif len(alike) > 1:
            self.lacks.append(f"{path} may mean several files by {name}: give it as --data FOLDER/{name}=FILE")
            return
        for place in dict.fromkeys(places):
            data[place] = str(given.absolute())
            self._note(path, _name(name), place, str(given))

    def _note(self, file: str, at: str, before: str, after: str) -> None:
        code = self.repository.sources[file].code
        line = code.count("\n", 0, max(0, code.find(at))) + 1
        self.edits.append(WorkflowEdit(file=file, kind="path", line=line, before=before, after=after))


def _is_absolute(path: str) -> bool:
    return bool(re.match(r"/|~|[A-Za-z]:", path))


def compose(
    insight: Insight, matched: Sequence[str], repository: CodeRepository, data: Mapping[str, Path]
) -> tuple[CodeWorkflow, dict[str, str]]:
    """Compose a workflow by rules: its steps with the code of each, by its file."""
    composer = _Composer(repository, data)
    composer.lacks = [f"run kgcheck {name}, too" for name in matched if name not in repository.sources]
    order = composer.order([path for path in matched if path in repository.sources])
    made = [composer.step(place, path, order[: place - 1]) for place, path in enumerate(order, 1)]
    steps, lacks = tuple(step for step, _ in made), tuple(dict.fromkeys(composer.lacks))
    workflow = CodeWorkflow(insight=insight.id, steps=steps, edits=tuple(composer.edits), lacks=lacks)
    return workflow, {step.file: code for step, code in made}


def compose_by_model(
    insight: Insight,
    matched: Sequence[str],
    repository: CodeRepository,
    data: Mapping[str, Path],
    model: CodeModel,
) -> tuple[CodeWorkflow, dict[str, str]]:
    """Have a model compose a workflow; an answer with a script that was not matched, or no Python, is refused whole."""
    scripts = {path: repository.sources[path].code for path in matched if path in repository.sources}
    every = {**repository.files, **data}.items()
    known = {name: str(path.absolute()) for name, path in every if name not in repository.sources}
    about = insight.model_dump(include={"summary", "techniques", "grounding"})
    question = {"insight": about, "scripts": scripts, "data": sorted(known)[:200]}
    answer = model.answer("compose_workflow", question, ProposedWorkflow)
    steps, programs = [], {}
    try:
        for number, step in enumerate(answer.steps, 1):
            if unknown := set(step.scripts) - scripts.keys():
                raise InputFormat(f"it names {min(unknown)[:80]!r}, which is no script of the insight", "")
            parse_python(step.program)
            own = {_at(ROOT, name): path for name, path in known.items() if _name(name) in step.program}
            file = f"{number:02}_step.py"
            steps.append(CodeStep(scripts=tuple(step.scripts), file=file, place=f"{ROOT}/{file}", data=own))
            programs[file] = step.program
    except InputFormat as error:
        model.refused.append(f"{insight.id}: the model's workflow is refused: {error.message}")
        return CodeWorkflow(insight=insight.id, by=model.client.model), {}
    return CodeWorkflow(insight=insight.id, by=model.client.model, steps=tuple(steps)), programs


def write_workflow(folder: Path, workflow: CodeWorkflow, programs: Mapping[str, str]) -> None:
    """Write a workflow for a person to read."""
    for file, code in programs.items():
        write_text(folder / file, code)
    write_text(folder / WORKFLOW, workflow.model_dump_json(indent=2) + "\n")


class StepRun(NamedTuple):
    """Run of a step: none where it was not run; what it left, by place; and how it ended, in one line."""

    step: CodeStep
    run: ProgramRun | None
    left: dict[str, Path]
    line: str


def run_workflow(
    folder: Path, workflow: CodeWorkflow, repository: CodeRepository, limits: ProgramLimits
) -> list[StepRun]:
    """Run the steps that lie in a folder, each in a copy of its repository with what earlier ones left."""
    runs: list[StepRun] = []
    modules = {f"{ROOT}/{path}": source.code for path, source in repository.sources.items()}
    for step in workflow.steps:
        left = {place: path for run in runs for place, path in run.left.items()}
        lacking = sorted(set(step.needs) - {_name(place) for place in left})
        if lacking:
            line = f"not run: it needs {', '.join(lacking)}, which no step left"
            runs.append(StepRun(step, None, {}, line))
            continue
        try:
            with TemporaryDirectory() as beside:
                packed = Path(beside, "repository.zip")
                with zipfile.ZipFile(packed, "w", strict_timestamps=False) as target:
                    texts = modules | {step.place: read_whole(folder / step.file)}
                    files = {name: Path(path) for name, path in step.data.items()} | left | {"kgcheck_plots.py": _PLOTS}
                    for name, text in texts.items():
                        target.writestr(name, text)
                    for name, path in files.items():
                        target.write(path, name)
                    for name in step.folders:
                        target.writestr(name, "")
                place = PurePosixPath(step.place)
                program = _STARTS[step.language].format(folder=str(place.parent), script=place.name)
                out = folder / PurePosixPath(step.file).stem
                run = run_program(program, out, language=step.language, inputs={packed.name: packed}, limits=limits)
            digests = {name: sha256(text.encode()).hexdigest() for name, text in texts.items()}
            digests |= {name: sha256_of(path) for name, path in files.items()}
            made = {file.name: out / file.name for file in run.files if digests.get(file.name) != file.sha256}
            for file in run.files:
                if file.name not in made:
                    (out / file.name).unlink(missing_ok=True)
            runs.append(StepRun(step, run, made, run.end))
        except (InputError, OSError, ProgramError) as error:
            runs.append(StepRun(step, None, {}, f"not run: {error}"))
    return runs


def read_names(path: Path) -> dict[str, str]:
    """Read a table of ids and names; an id of several names is left out."""
    pairs = [line.split("\t" if "\t" in line else ",")[:2] for line in read_whole(path).splitlines() if line.strip()]
    if any(len(pair) < 2 or not all(pair) for pair in pairs):
        raise InputFormat(f"{path} is no table of ids and names", "two columns, by tabs or commas")
    if numbers := [one for one, _ in pairs if not re.search(r"[A-Za-z]", one)]:
        raise InputFormat(f"{path} has the id {numbers[0]!r}", "ids that are numbers cannot be told from data")
    several = {one for one, count in Counter(one for one, _ in {(a, b) for a, b in pairs}).items() if count > 1}
    return {one: name for one, name in pairs if one not in several}


def edit_data(
    workflow: CodeWorkflow, folder: Path, names: Mapping[str, str], columns: Mapping[str, str]
) -> CodeWorkflow:
    """Give a workflow copies of its tables in which ids are names, and columns are called as its scripts call them."""
    edits, lacks, copies, met = [*workflow.edits], [*workflow.lacks], dict[str, str](), set[str]()
    for name, path in sorted({item for step in workflow.steps for item in step.data.items()}):
        delimiter = DELIMITERS.get(PurePosixPath(name).suffix.lower())
        if delimiter is None or not (names or columns):
            continue
        try:
            rows = list(csv.reader(io.StringIO(read_whole(Path(path)), newline=""), delimiter=delimiter))
        except (InputError, csv.Error) as error:
            lacks.append(f"{name}: it is left as it is: {error}")
            continue
        head = rows[0] if rows else []
        renamed = {old: new for old, new in columns.items() if old in head and new not in head}
        met |= set(columns) & {*head}
        lacks += [f"{name} has a column {columns[old]!r} beside {old!r}" for old in head if columns.get(old) in head]
        ids = Counter(cell for row in rows for cell in row if _id(cell) in names)
        if not (renamed or ids):
            continue
        changed = [[names.get(_id(cell), cell) for cell in row] for row in rows]
        changed[0] = [renamed.get(cell, cell) for cell in changed[0]]
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(changed)
        write_text(folder / "data" / name, text.getvalue())
        copies[path] = str((folder / "data" / name).absolute())
        edits += [WorkflowEdit(file=name, kind="columns", line=1, before=a, after=b) for a, b in renamed.items()]
        if ids:
            one = next(iter(ids))
            about = f"{len(ids):,} ids in {sum(ids.values()):,} cells, as {one}"
            edits.append(WorkflowEdit(file=name, kind="ids", before=about, after=names[_id(one)]))
    lacks += [f"no table that it reads has a column {old!r}" for old in sorted(set(columns) - met) if workflow.steps]
    data = [{name: copies.get(path, path) for name, path in step.data.items()} for step in workflow.steps]
    steps = tuple(step.model_copy(update={"data": own}) for step, own in zip(workflow.steps, data, strict=True))
    return workflow.model_copy(update={"steps": steps, "edits": tuple(edits), "lacks": tuple(lacks)})


def _id(cell: str) -> str:
    return re.sub(r"^([A-Za-z]\w+)\.\d+$", r"\1", cell)


def refuse_other_files(workflow: CodeWorkflow, folder: Path, known: Sequence[Path]) -> None:
    """Refuse a workflow from a file that would take what neither its repository has nor a person gave."""
    own, paths = (folder / "data").resolve(), {path.resolve() for path in known}
    taken = [Path(path) for step in workflow.steps for path in step.data.values()]
    others = [str(path) for path in taken if path.resolve() not in paths and own not in path.resolve().parents]
    others += [step.file for step in workflow.steps if step.file != _name(step.file)]
    if others:
        raise InputFormat(
            f"{folder / WORKFLOW} takes {others[0]}, which nobody gave it",
            "give data with --data, as when it was composed; or compose it again, without --run",
        )


def read_workflow(folder: Path) -> CodeWorkflow | None:
    """Read the workflow that lies in a folder, if one does."""
    path = folder / WORKFLOW
    try:
        return CodeWorkflow.model_validate_json(read_whole(path)) if path.is_file() else None
    except ValidationError as error:
        raise InputFormat(f"{path} is no workflow: {wrong_parts(error)}", "compose it again, without --run") from error
