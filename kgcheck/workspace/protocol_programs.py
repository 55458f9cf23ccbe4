"""What steps of a protocol run over a workspace: ready analyses over what of its graph stands, and programs."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kgcheck.errors import InputError, LedgerError, ProgramError, UnknownName, UsageError
from kgcheck.model import CheckType, Outcome, Triple
from kgcheck.outputs import write_text
from kgcheck.workspace.step_programs import (
    KEY,
    RunOptions,
    StepOutcome,
    StepPrograms,
    forget,
    is_kept,
)

if TYPE_CHECKING:
    from kgcheck.ledger.run import Run
    from kgcheck.protocols.programs.analyses import AnalysisResult, ReadyAnalysis
    from kgcheck.protocols.protocol import StudyProtocol, StudyStep
    from kgcheck.workspace.workspace import Workspace


class _Refuted(NamedTuple):
    edges: list[Triple]
    run: "Run | None"
    notes: tuple[str, ...]


def analyse(
    workspace: "Workspace",
    name: str,
    genes: Iterable[str],
    *,
    target: str = "",
    parameters: dict[str, str] | None = None,
    seed: int = 1,
) -> "AnalysisResult":
    """Run a ready analysis over the graph, without the edges that its audits refuted.

    Args:
        workspace: Whose graph and ledger.
        name: Of the analysis.
        genes: The gene set: ids, or names as the graph has them.
        target: The node that it is about beside them, e.g. a disease.
        parameters: Those that are not as by default.
        seed: Of random numbers.

    Returns:
        What it found.
    """
    from kgcheck.protocols.programs.analyses import ready_analysis
    from kgcheck.protocols.programs.methods import AnalysisGraph, run_analysis

    analysis = ready_analysis(name)
    refuted = _refuted(workspace, analysis)
    graph = AnalysisGraph(workspace.graph, refuted.edges)
    found = run_analysis(analysis, graph, genes, target=target, parameters=parameters, seed=seed)
    about: dict[str, object] = {"notes": (*found.notes, *refuted.notes)}
    if refuted.run:
        about |= {"run": refuted.run.id, "releases": {r.source: r.release for r in refuted.run.releases}}
    return found.model_copy(update=about)


def run_steps(
    workspace: "Workspace", protocol: "StudyProtocol", out: Path, options: RunOptions | None = None
) -> Iterator[StepOutcome]:
    """Run the steps of a protocol that a ready analysis or a program runs; each into a folder of its own.

    A step whose folder has the results of the same analysis over the same graph, or of the same program over the same
    inputs, is not run again. With the brain ``llm``, a model writes the programs that are not given.

    Args:
        workspace: Whose graph, ledger and brain.
        protocol: The protocol.
        out: Folder of the folders.
        options: How they are run.

    Yields:
        What became of each step, in order.

    Raises:
        UnknownName: The protocol has no such step.
    """
    given = options or RunOptions()
    known = {step.id: step for step in protocol.steps}
    if given.only and given.only not in known:
        raise UnknownName("step", given.only, known)
    programs = StepPrograms(workspace, protocol, out, given)
    for step in [known[given.only]] if given.only else known.values():
        try:
            if step.analysis:
                yield _run_analysis(workspace, protocol, step, out / step.id, given)
            else:
                yield programs.run(step.id)
        except (InputError, ProgramError, UsageError) as error:
            yield StepOutcome(step.id, "failed", None, error.message)


def _run_analysis(
    workspace: "Workspace", protocol: "StudyProtocol", step: "StudyStep", folder: Path, given: RunOptions
) -> StepOutcome:
    from kgcheck.protocols.programs.analyses import ready_analysis, write_result
    from kgcheck.protocols.protocol import digest_of_things

    analysis = ready_analysis(step.analysis)
    named = {p.name.casefold().replace(" ", "_"): str(p.number or p.value) for p in step.parameters}
    parameters = {name: value for name, value in named.items() if name in analysis.parameters}
    about, genes, target = protocol.objective.about, given.genes, given.target
    if not genes:
        genes = tuple(name for name in about if _is_there(workspace, analysis.member, name))
    if not target:
        labels = [link.label for link in analysis.targets]
        target = next((name for label in labels for name in about if _is_there(workspace, label, name)), "")
    runs: list[str] = []
    with suppress(LedgerError):
        runs = [run.id for run, _ in workspace.runs(limit=1)]
    state = workspace.graph.state()
    key = digest_of_things(
        [analysis.model_dump(mode="json"), parameters, genes, target, given.seed, workspace.store, state, runs]
    )
    # A graph that cannot say whether it changed is looked at again.
    if state and is_kept(folder, key):
        return StepOutcome(step.id, "kept", folder)
    forget(folder)
    found = analyse(workspace, analysis.name, genes, target=target, parameters=parameters, seed=given.seed)
    write_result(found, folder)
    write_text(folder / KEY, key)
    return StepOutcome(step.id, "done", folder)


def _is_there(workspace: "Workspace", label: str, name: str) -> bool:
    of = workspace.schema.label(label)
    return name in workspace.graph.nodes(of, [name]) or len(workspace.graph.ids_named(of, name, 2)) == 1


def _refuted(workspace: "Workspace", analysis: "ReadyAnalysis") -> _Refuted:
    """Edges that the newest run that looked at them refuted, without those of findings that a person rejected."""
    relations = {link.relation for link in analysis.links} | {link.up for link in analysis.links}
    relations |= {link.relation for link in analysis.targets}
    reader = workspace._judged()
    if reader is None:
        return _Refuted([], None, ("there is no ledger: nobody has looked at the edges",))
    store_id = workspace.graph.store_id()
    with workspace._reading() as ledger:
        runs = [run for run in ledger.runs() if run.store_id == store_id]
        found = {
            finding.task.fingerprint: finding.task
            for run in runs
            for finding in ledger.findings(run, [Outcome.REFUTED])
            if finding.task.type is CheckType.TRIPLE and finding.task.relation in relations
        }
    if not runs:
        return _Refuted([], None, ("no audit of this graph is in the ledger: nobody has looked at the edges",))
    rejected: set[str] = set()
    with suppress(UnknownName):
        listed = workspace.list_findings(runs[0].id, types=["triple"], outcomes=["refuted"], decisions=["rejected"])
        rejected = {c.finding.task.fingerprint for c in listed.page() if c.finding}
    edges = []
    for fingerprint, task in found.items():
        judged = reader.of(task)
        stands = judged is not None and judged.outcome is not Outcome.REFUTED
        if not stands and fingerprint not in rejected and task.relation and task.object:
            edges.append(Triple(head=task.subject, relation=task.relation, tail=task.object))
    return _Refuted(edges, runs[0], ())
