"""GraphExperiments: run ready analyses and programs to support a manuscript's improvement."""

import ast
import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kgcheck import clock
from kgcheck.context import Context
from kgcheck.errors import MissingExtra, ModelAnswer, ProgramError, StoreMissing
from kgcheck.grounding.facts.named import NameTable
from kgcheck.grounding.improve import Experiment, ExperimentRequest
from kgcheck.grounding.improvement_log import RESULTS
from kgcheck.inputs import parse_json, read_whole
from kgcheck.protocols.programs.analyses import ReadyAnalysis, ready_analyses
from kgcheck.protocols.programs.sandbox import best_guard
from kgcheck.protocols.programs.steps import RunOptions, StepOutcome, run_steps
from kgcheck.protocols.protocol import Objective, StepItem, StudyProtocol, StudySection, StudyStep

if TYPE_CHECKING:
    from kgcheck.grounding.manuscript import Manuscript
    from kgcheck.llm.budget import Meter
    from kgcheck.llm.client import ChatClient

MOST_GENES = 500

_ANALYSIS, _PROGRAM = "S1.1", "S1.2"


class GraphExperiments:
    """Runs ready analyses over what of the graph stands, each once, about the genes that a manuscript names.

    Where programs can be confined, the model that writes has one program more: over the results of the analysis alone,
    for what the judge advises.
    """

    def __init__(self, context: Context, client: "ChatClient", meter: "Meter") -> None:
        self._context, self._client, self._meter = context, client, meter

    def run(self, request: ExperimentRequest) -> Experiment:
        try:
            importlib.import_module("kgcheck.protocols.programs.methods")
        except MissingExtra as error:
            return Experiment("", None, f"{error.message} ({error.hint}): nothing was run")
        try:
            named = _named(self._context, request.text)
        except StoreMissing:
            return Experiment("", None, "no graph is named: nothing was run")
        analysis, genes, target = _chosen(request, named)
        if analysis is None:
            return Experiment("", None, f"no analysis is left for the {len(genes)} genes of the text: nothing was run")
        no_program = ""
        try:
            best_guard()
        except ProgramError as error:
            no_program = error.message
        protocol = _protocol(request, analysis, genes, with_program=not no_program)
        options = RunOptions(genes=genes, target=target, writer=(self._client, self._meter))
        outcomes: dict[str, StepOutcome] = {}
        try:
            for outcome in run_steps(self._context, protocol, request.folder, options):
                outcomes[outcome.step] = outcome
        except ModelAnswer as error:
            no_program = error.message
        return _experiment(request, analysis, genes, target, outcomes, no_program)


def _named(context: Context, text: "Manuscript") -> dict[str, list[str]]:
    """The nodes that a manuscript names for sure, by label, each once."""
    found: dict[str, dict[str, None]] = {}
    for things in NameTable(context.graph).things(text).values():
        for thing in things:
            for label, ids in thing.ids.items():
                if thing.sure and len(ids) == 1:
                    found.setdefault(label, {})[ids[0]] = None
    return {label: list(ids) for label, ids in found.items()}


def _chosen(
    request: ExperimentRequest, named: dict[str, list[str]]
) -> tuple[ReadyAnalysis | None, tuple[str, ...], str]:
    """The analysis that was not run yet and that most of the judge's words are for; its genes and its target."""
    wanted = request.wanted.casefold()
    left = [a for a in ready_analyses().values() if a.name not in request.done]
    left.sort(key=lambda a: -sum(word.casefold() in wanted for word in a.words))
    genes: tuple[str, ...] = ()
    for analysis in left:
        genes = tuple(named.get(analysis.member, ())[:MOST_GENES])
        target = next((named[link.label][0] for link in analysis.targets if named.get(link.label)), "")
        if len(genes) >= analysis.least_genes and (target or not analysis.targets):
            return analysis, genes, target
    return None, genes, ""


def _protocol(
    request: ExperimentRequest, analysis: ReadyAnalysis, genes: Iterable[str], *, with_program: bool
) -> StudyProtocol:
    steps = (
        StudyStep(id=_ANALYSIS, text=analysis.title, outputs=analysis.outputs, analysis=analysis.name),
        StudyStep(
            id=_PROGRAM,
            text=f"From the results of the {analysis.name} analysis alone, compute what a reviewer asks for, as far as"
            f" they tell: {request.wanted}",
            inputs=analysis.outputs,
            outputs=(StepItem(name="what was computed", kind="table"),),
        ),
    )
    objective = Objective(
        title=(request.text.title or "a manuscript")[:300], objective=request.wanted[:5_000], about=tuple(genes)
    )
    section = StudySection(id="S1", heading="Analysis", steps=steps if with_program else steps[:1])
    return StudyProtocol(objective=objective, made_at=clock.now(), sections=(section,))


def _experiment(
    request: ExperimentRequest,
    analysis: ReadyAnalysis,
    genes: tuple[str, ...],
    target: str,
    outcomes: dict[str, StepOutcome],
    why_none: str,
) -> Experiment:
    ran = outcomes.get(_ANALYSIS)
    if ran is None or ran.state == "failed":
        return Experiment(analysis.name, None, f"{analysis.name} failed: {ran.message if ran else why_none}")
    results = _results(request, _ANALYSIS)
    results.pop("about", None)
    what = f"{analysis.name} of {len(genes)} genes{f' and {target}' if target else ''}"
    program = outcomes.get(_PROGRAM)
    if program is None or program.state not in ("done", "kept"):
        message = program.message if program and program.state == "failed" else why_none
        return Experiment(analysis.name, results, f"{what}{f'; no program: {message}' if message else ''}")
    # A number that a program states was written, and not computed.
    written = ast.walk(ast.parse(read_whole(request.folder / _PROGRAM / "program.py")))
    known = {abs(n) for node in written if isinstance(node, ast.Constant) and (n := _number(node.value)) is not None}
    values = _results(request, _PROGRAM)
    numbers = {name: number for name, value in values.items() if (number := _number(value)) is not None}
    computed = {name: values[name] for name, number in numbers.items() if abs(number) not in known}
    results |= {"computed": computed} if computed else {}
    stated = len(numbers) - len(computed)
    note = f"; {stated} numbers that stand in the program itself are left out" if stated else ""
    return Experiment(analysis.name, results, f"{what}; a program computed {len(computed)} numbers{note}")


def _results(request: ExperimentRequest, step: str) -> dict[str, Any]:
    found = parse_json(read_whole(request.folder / step / RESULTS))
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> int | float | None:
    """A number, or that of a result with its unit."""
    own = value.get("value") if isinstance(value, dict) else value
    return own if isinstance(own, int | float) and not isinstance(own, bool) else None
