"""One check by the agent team: the request as words or as a task, and what is kept of it."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from kgcheck import clock
from kgcheck.agents.outside import with_papers
from kgcheck.agents.request import Request, forms, parse_request
from kgcheck.agents.team import CheckStopped, Team, TeamConclusion
from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import Event, Transcript
from kgcheck.audit.naming import NodeNames
from kgcheck.audit.run import pinned_releases, store_place
from kgcheck.errors import UsageError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.ledger.ledger import Ledger, Run, new_run_id
from kgcheck.llm.budget import Limits
from kgcheck.loading.manifest import graph_dates
from kgcheck.model import CheckTask, CheckType, Finding, Tally, Target, Triple
from kgcheck.outputs import write_text
from kgcheck.profile.schema import Schema
from kgcheck.workspace.opened import noting
from kgcheck.workspace.opening import Spending, live_sources, open_brain
from kgcheck.workspace.results import CheckResult

if TYPE_CHECKING:
    from kgcheck.workspace.workspace import Workspace

What = str | Sequence[str] | Triple | CheckTask
"""What can be checked: words, an edge, or a task."""


def request_of(what: What, schema: Schema) -> Request:
    """What is to be checked, as a request.

    Args:
        what: Words, an edge, or a task.
        schema: Profile.

    Returns:
        The request; an edge keeps the labels of its ends.

    Raises:
        UsageError: It is no check of one thing.
        UnknownName: A label, attribute or relation does not exist.
    """
    match what:
        case str():
            return parse_request([what], schema)
        case Triple():
            return _between(what, None, schema)
        case CheckTask(type=CheckType.STRUCTURE):
            raise UsageError("structure is checked by an audit, not as one thing", forms(schema))
        case CheckTask(relation=str() as relation, object=tail) if tail:
            return _between(Triple(head=what.subject, relation=relation, tail=tail), what.attribute, schema)
        case CheckTask():
            words = [what.type.value, what.subject.label, what.subject.id, *filter(None, [what.attribute])]
            return parse_request(words, schema)
        case _:
            return parse_request(what, schema)


def _between(edge: Triple, attribute: str | None, schema: Schema) -> Request:
    pattern = schema.pattern(edge.head.label, edge.relation, edge.tail.label)
    words = (edge.head.id, edge.relation, edge.tail.id)
    request = parse_request(["attribute", *words, attribute] if attribute else words, schema)
    return request.model_copy(update={"patterns": (pattern,)})


def check(
    workspace: "Workspace",
    what: What,
    *,
    graph_date: str | None,
    limits: Limits,
    spending: Spending,
    on_event: Callable[[Event], None] | None,
    on_text: Callable[[str], None] | None,
    run_id: str | None = None,
    keep: bool = True,
) -> CheckResult:
    """Check one thing; see Workspace.check."""
    settings, schema, reference = workspace.settings, workspace.schema, workspace.reference
    request, graph = request_of(what, schema), workspace.graph
    started, name = clock.now(), run_id or new_run_id()
    transcript, file = Transcript(on_event), settings.home / "transcripts" / f"{name}.jsonl"
    with (
        noting() as notes,
        live_sources(schema, settings, wanted=workspace.live) as live,
        SnapshotSource(reference, schema, settings, live, graph_dates(graph.meta(), schema, graph_date)) as source,
        Ledger(workspace.ledger) if keep else nullcontext() as ledger,
    ):
        toolbox = Toolbox(graph, *with_papers(source, schema, live, workspace.paper_reader(notes)))
        with open_brain(workspace.brain, schema, settings, spending.limits(limits.seconds), on_text) as brain:
            try:
                checked = Team(toolbox, brain, limits).check(request, transcript)
            except CheckStopped as stopped:
                notes.append(f"{stopped.message}: {stopped.hint}")
                checked = stopped.checked
            finally:
                if keep and transcript.events:
                    write_text(file, transcript.as_jsonl(), secret=True)
        run = Run(
            id=name,
            started=started,
            store=store_place(graph),
            store_id=graph.store_id(),
            profile=schema.address,
            reference=str(reference.resolve()) if reference else None,
            releases=pinned_releases(reference, schema),
            options={"check": request.text} | ({"transcript": str(file.resolve())} if keep else {}),
        ).with_live(live.releases if live else {})
        notes += [f"{source}: {why}" for source, why in (live.failures | live.refusals if live else {}).items()]
        notes += [f"warning: {warning}" for warning in run.warnings]
        (finding,), tally = NodeNames(graph).beside([_finding(checked, name)]), _tally(checked)
        if ledger:
            ledger.keep(run, finding, tally)
        if workspace.brain == "llm":
            notes.append(_model_note(checked, transcript.events))
    return CheckResult(finding, run, tally, checked, file if keep else None, tuple(notes))


def _model_note(checked: TeamConclusion, events: Sequence[Event]) -> str:
    """What a model took, and whether it would have concluded something else."""
    tokens, costs = sum(e.tokens for e in events), [e.cost for e in events if e.cost is not None]
    text = f"{tokens:,} tokens{f', {sum(costs):.4f} in money' if costs else ''}"
    if checked.differs and checked.concluded:
        text += f"; the model concluded {checked.concluded.value}, the evidence says {checked.verdict.outcome.value}"
    return text


def _finding(checked: TeamConclusion, run: str) -> Finding:
    return Finding(
        run=run,
        fingerprint=checked.task.fingerprint,
        task=checked.task,
        verdict=checked.verdict,
        change=checked.change,
    )


def _tally(checked: TeamConclusion) -> Tally:
    return Tally(
        type=checked.task.type,
        target=Target.of(checked.task),
        outcome=checked.verdict.outcome,
        reason=checked.verdict.reason,
        sources=tuple(sorted({e.source for e in checked.verdict.evidence})),
        count=1,
    )
