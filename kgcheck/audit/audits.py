"""Start or resume an audit of a Context; read an unchanged graph from an earlier run's extract."""

from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from kgcheck.audit.inputs import find_earlier
from kgcheck.audit.papers import Papers, PapersOnEdge
from kgcheck.audit.run import Audit
from kgcheck.context import Context, noting
from kgcheck.errors import UsageError
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.llm.budget import Limits, RunMeter, prices_of, spent_note, total_meter
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions, AuditScope
from kgcheck.profile.schema import Schema


class AuditedRun(NamedTuple):
    """A run, what papers say of its edges where they were asked and speak, and notes."""

    run: Run
    papers: tuple[PapersOnEdge, ...]
    notes: tuple[str, ...]


def options_in(context: Context, scope: AuditScope) -> AuditOptions:
    """The options of an audit of a context, as the ledger keeps them."""
    if context.live and not context.reference and set(scope.types) == {CheckType.POTENTIAL}:
        raise UsageError(
            "edges that the graph lacks are listed by a snapshot: services are asked about edges that are named",
            "name a snapshot with --reference, or ask about one edge: kgcheck check ... --live",
        )
    if CheckType.EVIDENCE in scope.types and not (context.literature or context.reference):
        raise UsageError(
            "the papers that edges cite are read in an index, and none is named",
            "fill one with kgcheck corpus for-graph, and add --literature DIR",
        )
    papers, pins = (str(path.resolve()) if path else None for path in (context.literature, context.pins))
    if context.drafted_store:
        types = tuple(kind for kind in scope.types if kind in _decided(context.schema))
        if not types:
            raise UsageError(
                f"nothing decides {', '.join(scope.types)} in a graph of which nothing but a draft is known",
                "leave out --type; name a snapshot that lists its ids (--reference), or write a profile that names "
                "sources: kgcheck profile init (docs/forms.md)",
            )
        scope = scope.model_copy(update={"types": types, "graph_date": context.graph_date(scope.graph_date)})
    return AuditOptions(**dict(scope.scope), live=context.live, brain=context.brain, literature=papers, pins=pins)


def _decided(schema: Schema) -> set[CheckType]:
    """The kinds of checks for which a schema knows a source, or needs none."""
    if any(pattern.checks for pattern in schema.relations):
        return set(CheckType)
    return {CheckType.STRUCTURE, CheckType.EVIDENCE} | (
        {CheckType.EXISTENCE, CheckType.ATTRIBUTE} if schema.sources else set()
    )


def audit(
    context: Context, options: AuditOptions, *, since: str | None = None, run_id: str | None = None
) -> AuditedRun:
    """Audit the graph; while it is as it was in an earlier run, it is read from what that kept of it."""
    return _audit(context, options, None, since, run_id)


def resume(context: Context, run: Run) -> AuditedRun:
    """Go on with an audit that was cut off, with what it was asked for; on this store and these references."""
    return _audit(context, AuditOptions.model_validate(run.options), run, None, None)


def _audit(
    context: Context, options: AuditOptions, begun: Run | None, since: str | None, run_id: str | None
) -> AuditedRun:
    if context.with_retired:
        # The next audit, which leaves it out, would call every finding about it gone.
        raise UsageError("an audit leaves out what is retired", "audit in a workspace without with_retired")
    graph, folder = context.graph, Path(options.literature) if options.literature else None
    total, prices = total_meter(context.settings, options.total), prices_of(context.settings)
    is_of_model = options.team_budget > 0 and options.brain == "llm"
    of_papers = RunMeter(Limits(), prices, total)
    # Prices that are lacking are told before the work, not after it.
    of_team = RunMeter(Limits(money=options.team_money if is_of_model else None), prices, total)
    with (
        ExitStack() as waiting,
        noting() as notes,
        Ledger(context.ledger) as ledger,
        context.open_live(wanted=options.live or options.team_budget > 0) as live,
        context.judging_reader(notes, options, folder, Limits(), of_papers) as reader,
    ):
        papers = Papers(reader) if reader else None
        brain = context.brain_maker(Limits(), notes=notes, total=of_team)
        make_brain = waiting.enter_context(brain) if is_of_model else None
        work = Audit(graph, context.reference, ledger, context.settings, context.progress, live, papers, make_brain)
        earlier = find_earlier(ledger, since, graph) if since else None
        run = work.resume(begun) if begun else work.start(options, earlier, run_id)
        for source, failure in (live.failures if live else {}).items():
            notes.append(f"{source}: {failure}: when it is back, kgcheck audit --resume goes on")
        for source, refusal in (live.refusals if live else {}).items():
            notes.append(f"{source}: {refusal}: asking again is of no use")
        if CheckType.EVIDENCE in options.types and not any(t.type is CheckType.EVIDENCE for t in ledger.tallies(run)):
            notes.append("no edge that was looked at cites a paper by PMID, PMCID or DOI")
        if papers:
            notes += papers.notes() if set(options.types) != {CheckType.EVIDENCE} else ()
            notes += [f"papers: {note}" for note in spent_note(of_papers)]
    return AuditedRun(run, tuple(papers.found) if papers else (), tuple(notes))
