"""Check one fact by the agent team: read words or a task, run it, keep finding and transcript."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from kgcheck import clock
from kgcheck.agents.request import Request, forms, resolve_request
from kgcheck.agents.team import CheckStopped, Team, TeamConclusion
from kgcheck.agents.toolbox import Toolbox, with_papers
from kgcheck.agents.transcript import Event, Transcript
from kgcheck.audit.naming import NodeNames
from kgcheck.audit.run import pinned, store_place
from kgcheck.choices import CHECK_THRESHOLDS, chosen
from kgcheck.context import Context, live_failures, live_sources, noting
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE, UsageError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.ledger.ledger import Ledger, Run, new_run_id
from kgcheck.llm.budget import Limits, spent_note, total_meter
from kgcheck.loading.manifest import graph_dates
from kgcheck.model import CheckTask, CheckType, Finding, Tally, TallyMark, Target, Triple, Verdict
from kgcheck.options import CheckOptions
from kgcheck.outputs import write_text
from kgcheck.questions.resolver import NameResolver, Taken
from kgcheck.reference.snapshot import releases_of

Subject = str | Sequence[str] | Triple | CheckTask
"""Subject of a check: words, an edge, or a task."""


def exit_code(tallies: Sequence[Tally], fail_on: str = "refuted") -> int:
    """1 for what is at or over a threshold, else 3 if anything could not be looked at, else 0; remarks do not count.

    >>> exit_code([])
    0
    """
    chosen("threshold", fail_on, CHECK_THRESHOLDS)
    severities = {t.mark.severity for t in tallies if not t.reason.is_remark}
    failing = {"refuted": {0}, "insufficient": {0, 1}, "never": set()}[fail_on]
    if severities & failing:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if TallyMark.UNAVAILABLE.severity in severities else EXIT_CLEAN


@dataclass(frozen=True)
class CheckResult:
    """Conclusion of the team about one node, attribute or edge."""

    finding: Finding
    run: Run
    tally: Tally
    checked: TeamConclusion
    transcript: Path | None
    """The file; None where the check was not kept."""
    notes: tuple[str, ...] = ()
    taken: tuple[Taken, ...] = ()
    """Names that were taken for nodes."""

    @property
    def verdict(self) -> Verdict:
        return self.finding.verdict

    def exit_code(self, fail_on: str = "refuted") -> int:
        """1 for what is at or over a threshold, else 3 if it could not be looked at, else 0."""
        return exit_code([self.tally], fail_on)


def request_of(subject: Subject, resolver: NameResolver) -> Request:
    """Words, an edge or a task as a request for one check; words may name what they are about."""
    match subject:
        case Triple(head=head, relation=relation, tail=tail):
            return Request.of(
                CheckTask(type=CheckType.TRIPLE, subject=head, relation=relation, object=tail), resolver.schema
            )
        case CheckTask(type=CheckType.STRUCTURE | CheckType.EVIDENCE as kind):
            raise UsageError(f"{kind.value} is checked by an audit, not as one thing", forms(resolver.schema))
        case CheckTask():
            return Request.of(subject, resolver.schema)
        case _:
            return resolve_request([subject] if isinstance(subject, str) else subject, resolver)


def check(
    context: Context,
    request: Request,
    options: CheckOptions | None = None,
    *,
    on_event: Callable[[Event], None] | None = None,
    on_text: Callable[[str], None] | None = None,
    run_id: str | None = None,
    keep: bool = True,
) -> CheckResult:
    """Check one node, attribute or edge with the agent team, and keep the finding in the ledger and a transcript.

    A check that was stopped says so in its notes. ``run_id`` is none that any run has.
    """
    wanted = options or CheckOptions()
    settings, schema, reference, graph = context.settings, context.schema, context.reference, context.graph
    started, name = clock.now(), run_id or new_run_id()
    dates = graph_dates(graph.meta(), schema, context.graph_date(wanted.graph_date))
    spent = total_meter(settings, wanted.spending)
    transcript, file = Transcript(on_event), settings.home / "transcripts" / f"{name}.jsonl"
    with (
        noting() as notes,
        live_sources(context.schema, context.settings, wanted=context.live) as live,
        SnapshotSource(reference, schema, settings, live, dates) as source,
        context.brain_maker(Limits.of(wanted, wanted.seconds), on_text, notes, leads=wanted.leader) as make_brain,
        context.judging_reader(notes, wanted, context.literature, Limits.of(wanted, wanted.seconds), spent) as reader,
        Ledger(context.ledger) if keep else nullcontext() as ledger,
    ):
        toolbox = Toolbox(graph, *with_papers(source, schema, live, reader))
        limits = Limits(turns=wanted.turns, seconds=wanted.seconds)
        try:
            checked = Team(toolbox, make_brain(graph), limits).check(request, transcript)
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
            releases=pinned(releases_of(reference, schema)),
            options={"check": request.text} | ({"transcript": str(file.resolve())} if keep else {}),
        ).with_live(live.releases if live else {})
        notes += [*live_failures(live), *(f"papers: {note}" for note in spent_note(spent))]
        notes += [f"warning: {warning}" for warning in run.warnings]
        task, verdict = checked.task, checked.verdict
        found = Finding(run=name, fingerprint=task.fingerprint, task=task, verdict=verdict, change=checked.change)
        (finding,) = NodeNames(graph).beside([found])
        tally = Tally(
            type=task.type,
            target=Target.of(task),
            outcome=verdict.outcome,
            reason=verdict.reason,
            sources=tuple(sorted({e.source for e in verdict.evidence})),
            count=1,
        )
        if ledger:
            ledger.keep(run, finding, tally)
        if context.brain == "llm":
            notes.append(_model_note(checked, transcript.events))
    return CheckResult(finding, run, tally, checked, file if keep else None, tuple(notes), request.taken)


def _model_note(checked: TeamConclusion, events: Sequence[Event]) -> str:
    tokens, costs = sum(e.tokens for e in events), [e.cost for e in events if e.cost is not None]
    text = f"{tokens:,} tokens{f', {sum(costs):.4f} in money' if costs else ''}"
    if checked.concluded:
        beside = f"the evidence says {checked.verdict.outcome.value}" if checked.differs else "as the evidence says"
        text += f"; the model concluded {checked.concluded.value}, {beside}"
    return text
