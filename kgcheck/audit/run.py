"""Audit: run or resume the audit of a store, unit by unit into the ledger, with pinned releases."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kgcheck import __version__, clock
from kgcheck.audit.executors import Prefetcher, SerialExecutor
from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.papers import Papers, PapersOnEdge
from kgcheck.audit.plan import in_working_order, make_plan, sources_of
from kgcheck.audit.worker import Worker
from kgcheck.context import Context, live_sources, noting
from kgcheck.duck import allow, working_database
from kgcheck.errors import LedgerError, StoreUnavailable, UsageError
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.extracts import GraphExtract
from kgcheck.graph.open import place_of
from kgcheck.graph.store import Counts, GraphStore, PlacedStore, StatingStore
from kgcheck.ledger.comparisons import run_before
from kgcheck.ledger.ledger import Ledger, PinnedRelease, Run, new_run_id
from kgcheck.ledger.place import folder_beside
from kgcheck.ledger.run import BUILT_FROM, CHANGED, COULD_NOT_LOOK, GRAPH, KGCHECK, PROFILE, REFERENCE, SINCE
from kgcheck.ledger.verified import VerifiedFiles
from kgcheck.llm.budget import Limits, RunMeter, prices_of, spent_note, total_meter
from kgcheck.loading.manifest import built_from, graph_dates
from kgcheck.model import CheckType, Outcome
from kgcheck.options import AuditOptions, AuditScope
from kgcheck.progress import NoProgress, Progress
from kgcheck.reference.overlay import attach_snapshot
from kgcheck.reference.snapshot import SourceRelease, damage_named, releases_of
from kgcheck.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgcheck.agents.team import Brain
    from kgcheck.reference.live import LiveReference

SMALL_GRAPH, SMALL_SNAPSHOT = 1_000_000, 200 << 20
"""Nodes and edges, and bytes: hardly a table has much more than the 122,880 rows by which DuckDB shares work out."""

TINY_GRAPH, TINY_SNAPSHOT = 20_000, 16 << 20
"""Nodes and edges, and bytes: to find the best order of joins takes longer than to join such tables in any order."""

OLD_YEARS = 3
"""A reference of this age or older is warned about."""


@dataclass(eq=False)
class Audit:
    """One audit of one graph."""

    store: GraphStore
    snapshot: Path | None
    ledger: Ledger
    settings: Settings
    progress: Progress = field(default_factory=NoProgress)
    live: "LiveReference | None" = None
    papers: Papers | None = None
    make_brain: "Callable[[GraphStore], Brain] | None" = None

    def start(self, options: AuditOptions, since: Run | None = None, run_id: str | None = None) -> Run:
        """Audit the graph from the beginning; while it is as it was in an earlier run, it is read from its extract."""
        releases = releases_of(self.snapshot, self.store.schema)
        # Before anything is read of the graph: what others change from here on is told.
        made = describe_inputs(self.store, self.snapshot, releases)
        counts, schema = self.store.counts(), self.store.schema
        wanted = sources_of(make_plan(options, schema, counts), schema)
        place, store_id = store_place(self.store), self.store.store_id()
        self.ledger.name_store(place, store_id)
        before = self.ledger.audit_before(store_id)
        used = [release for release in releases if release.source in wanted]
        asks_sources = schema.sources and set(options.types) != {CheckType.EVIDENCE}
        warnings = list(_warnings(self.snapshot, used, live=options.live) if asks_sources else ())
        built = built_from(self.store.meta())
        if circular := sorted({release.source for release in used if release.sha256 in built}):
            made |= {BUILT_FROM: ", ".join(circular)}
        if since and not (since.made_with.get(GRAPH) and made[GRAPH]):
            warnings.append(f"the graph was read anew: nothing shows that it is as it was in run {since.id}")
        elif since and since.made_with[GRAPH] != made[GRAPH]:
            warnings.append(f"the graph was read anew: it has changed since run {since.id}")
        elif since:
            made |= {SINCE: since.id}
        if isinstance(self.store, StatingStore):
            made |= {part: str(count) for part, count in self.store.parts().items()}
        run = Run(
            id=run_id or new_run_id(),
            started=clock.now(),
            store=place,
            store_id=store_id,
            profile=schema.address,
            reference=str(self.snapshot.resolve()) if self.snapshot else None,
            releases=pinned(releases),
            warnings=tuple(warnings),
            options=options.model_dump(mode="json"),
            nodes=counts.nodes,
            edges=counts.edges,
            # It reads the whole graph once more, as only structure does.
            unknown=self.store.unknown() if CheckType.STRUCTURE in options.types else {},
            compared_with=before.id if before else None,
            made_with=made,
        )
        return self._work(run, counts, new=True)

    def resume(self, run: Run) -> Run:
        """Go on with a run that was cut off, from the first piece of work that is not in the ledger."""
        if run.finished:
            raise UsageError(f"run {run.id} is finished", "start a new one without --resume")
        check_store(run, self.store)
        counts = self.store.counts()
        # As text: a run of format 1 has but the first digits of a digest.
        releases = pinned(releases_of(self.snapshot, self.store.schema))
        now_, then = (list(map(str, stated)) for stated in (releases, run.releases))
        state, before = self.store.state(), run.made_with.get(GRAPH)
        changed = ""
        if (counts.nodes, counts.edges, now_) != (run.nodes, run.edges, then):
            changed = "the graph or the snapshot has changed since run {} began"
        elif not (state and before):
            changed = "nothing shows that the graph is as it was when run {} began"
        elif state != before:
            changed = "the graph has changed since run {} began"
        if changed:
            raise LedgerError(changed.format(run.id), "start a new run without --resume")
        self.ledger.reopen(run)
        return self._work(run, counts, new=False)

    def _work(self, run: Run, counts: Counts, *, new: bool) -> Run:
        options = AuditOptions.model_validate(run.options)
        units = in_working_order(make_plan(options, self.store.schema, counts), counts.edges)
        live = self.live if options.live else None
        before = self.ledger.run(run.compared_with) if run.compared_with else None
        limits = self.settings
        if not limits.duckdb_threads and self._is_at_most(SMALL_GRAPH, SMALL_SNAPSHOT, counts):
            # A second thread of DuckDB would have little to do, and cost as much.
            limits = limits.model_copy(update={"duckdb_threads": 1})
        with (
            working_database(limits) as db,
            damage_named(self.snapshot),
            SerialExecutor() as executor,
            Prefetcher[Any](db) as prefetcher,
        ):
            if self._is_at_most(TINY_GRAPH, TINY_SNAPSHOT, counts):
                db.execute("SET disabled_optimizers = 'join_order'").fetchall()
            verified = VerifiedFiles.of(self.ledger, self.settings.home) if self.settings.keep_verified else None
            if verified:
                # The working database may write there, and nowhere else.
                allow(db, verified.of_run(run.id))
            dates = graph_dates(self.store.meta(), self.store.schema, options.graph_date)
            join = EvidenceJoin(db, self.snapshot, live.attach if live else attach_snapshot, dates)
            scanned: GraphStore | GraphExtract = self.store
            # An embedded graph is read as fast as an extract.
            if not isinstance(scanned, PlacedStore) and self.settings.keep_extract:
                folder = folder_beside(self.ledger.place, "extracts", self.settings.home)
                scanned = GraphExtract(self.store, folder, reuse=SINCE in run.made_with)
            copy = GraphCopy(db, scanned, whole=CheckType.STRUCTURE in options.types)
            # What services and readers of papers bring is dear: it is in the ledger before much more is asked.
            waits = (None, None) if live or self.papers else (executor, prefetcher)
            parts = (db, self.store, copy, join, self.ledger, run, before)
            worker = Worker(*parts, live, self.papers, verified, *waits)
            worker.prepare(units)
            if new:
                self.ledger.start(run)
            done = self.ledger.done(run)
            with _resumable(run), self.progress.step("auditing", len(units)) as step:
                for unit in units:
                    worker.work(unit, done)
                    run = self._noted(run)
                    if unit is units[-1]:
                        worker.finish()
                    step.advance()
                executor.wait()
            shared = {label.name: label.shares_ids_with for label in self.store.schema.labels}
            self.ledger.link_causes(run, shared)
            if options.team_budget:
                run = self._noted(self._let_team_decide(run, options))
                self.ledger.link_causes(run, shared)
            earlier = run_before(self.ledger.runs(), run)
            with self.progress.step("comparing with the run before") if earlier else nullcontext():
                worker.compare(units, earlier)
            run = self._noted(self._warned(run))
        # Where a service could not be looked at, the run is not whole: it goes on when the service is back.
        is_blind = COULD_NOT_LOOK in run.team or self.ledger.unlooked(run)
        return run if is_blind else self.ledger.finish(run)

    def _is_at_most(self, elements: int, size: int, counts: Counts) -> bool:
        """Tell whether the graph has at most so many nodes and edges, and the snapshot so many bytes."""
        of_snapshot = self.snapshot.stat().st_size if self.snapshot else 0
        return counts.total_nodes + counts.total_edges <= elements and of_snapshot <= size

    def _warned(self, run: Run) -> Run:
        """The run, with warnings where others changed the graph, and on what is so by construction."""
        before = run.made_with.get(GRAPH)
        if before and self.store.state() != before:
            warning = "the graph changed while it was audited: a finding may be of before or of after; audit it again"
            made = run.made_with | {GRAPH: "", CHANGED: "yes"}
            run = run.model_copy(update={"warnings": (*run.warnings, warning), "made_with": made})
        if not (built := run.made_with.get(BUILT_FROM)):
            return run
        # What no other files bear out than those the graph was built from.
        same, counts = f"the graph was built from the same files of {built}: ", Counter[bool]()
        for tally in self.ledger.tallies(run):
            if tally.outcome is Outcome.SUPPORTED:
                counts[bool(tally.sources) and set(tally.sources) <= set(built.split(", "))] += tally.count
        warning = (
            f"{same}{counts[True]:,} of {counts.total():,} supported are so by construction, as no other source spoke;"
            " another release can tell more"
        )
        return run.model_copy(update={"warnings": (*(w for w in run.warnings if not w.startswith(same)), warning)})

    def _noted(self, run: Run) -> Run:
        """The run with the releases that services named by now, in the ledger too."""
        newer = run.with_live(self.live.releases) if self.live else run
        if newer != run:
            self.ledger.note(newer)
        return newer

    def _let_team_decide(self, run: Run, options: AuditOptions) -> Run:
        # Few runs have a team, and it takes a while to be imported.
        from kgcheck.agents.toolbox import with_papers
        from kgcheck.audit.funnel import Funnel, TeamSources, is_note

        schema = self.store.schema
        dates = graph_dates(self.store.meta(), schema, options.graph_date)
        with SnapshotSource(self.snapshot, schema, self.settings, self.live, dates) as source:
            reader = self.papers.reader if self.papers else None
            asking, outside = with_papers(source, schema, self.live, reader)
            sources = TeamSources(asking, outside, self.live, self.make_brain)
            funnel = Funnel(self.store, sources, self.ledger, self.settings.home / "transcripts")
            ways = funnel.decide(run, options, self.progress)
        if not options.keep_all:
            self.ledger.drop_unlooked(run)
        # A run that goes on has some from before.
        warnings = [text for text in run.warnings if not is_note(text)]
        return run.model_copy(update={"team": ways, "warnings": (*warnings, *funnel.notes)})


def store_place(store: GraphStore) -> str:
    """Return the place of a store, the same from every folder."""
    return place_of(store.name) if store.backend == "embedded" else store.name


def is_named(store: GraphStore, store_id: str, place: str) -> bool:
    """Tell whether a store is the one of this name, or lies at this place, where a place was all it had."""
    return store_id == store.store_id() or store_id == place == store_place(store)


def check_store(run: Run, store: GraphStore) -> None:
    """Refuse a run of another store; where a store is, does not matter."""
    if not is_named(store, run.store_id, run.store):
        raise UsageError(
            f"run {run.id} is of the store that was at {run.store}, and {store_place(store)} is another one",
            f"add --store {run.store}, or where that store is now",
        )


def pinned(releases: Iterable[SourceRelease]) -> tuple[PinnedRelease, ...]:
    """Releases of a snapshot, as runs keep them."""
    return tuple(
        PinnedRelease(source=r.source, release=r.release, file=r.file, sha256=r.sha256, released=r.released)
        for r in releases
    )


def _warnings(snapshot: Path | None, releases: Iterable[SourceRelease], *, live: bool) -> Iterator[str]:
    """Warn of what no snapshot decides, and of old ones: only they may be wrong about a graph that is newer."""
    if not snapshot:
        decided = "what UniProt and STRING decide" if live else "the structure of the graph"
        yield f"no reference snapshot: only {decided} can be checked"
        return
    newest: dict[str, str] = {}
    for r in releases:
        newest[r.source] = max(newest.get(r.source, ""), r.released)
    for source, day in sorted(newest.items()):
        years = clock.now().year - int(day[:4]) if day[:4].isdigit() else None
        if years is None:
            yield f"the release of {source} has no date: what it does not know may be newer than it"
        elif years >= OLD_YEARS:
            yield f"{source} is of {day}, {years} years old: what the graph has from later releases looks wrong to it"


@contextmanager
def _resumable(run: Run) -> Iterator[None]:
    """Say of a store that stopped answering that the run goes on when it is back."""
    try:
        yield
    except StoreUnavailable as error:
        raise StoreUnavailable(error.message, f"{error.hint}; then go on: kgcheck audit --resume {run.id}") from error


def describe_inputs(store: GraphStore, snapshot: Path | None, releases: Iterable[SourceRelease]) -> dict[str, str]:
    """Name what a run is made with, for Run.made_with."""
    return {
        KGCHECK: __version__,
        PROFILE: store.schema.digest,
        GRAPH: store.state() or "",
        REFERENCE: _digest(snapshot, releases) if snapshot else "",
    }


def find_earlier(ledger: Ledger, name: str, store: GraphStore) -> Run:
    """Find the finished audit of a store that an id names, or the newest that looked into a snapshot."""
    if (path := Path(name)).is_file():
        digest = _digest(path, releases_of(path, store.schema))
        looked = (r for r in ledger.runs() if _is_finished(r, store) and r.made_with.get(REFERENCE) == digest)
        if found := next(looked, None):
            return found
        raise UsageError(f"no finished run of {store.name} looked into {path}", "leave out --changed-since")
    run = ledger.run(name)
    if not _is_finished(run, store):
        same = run.store_id == store.store_id()
        state = "is no finished audit" if same else f"is of the store that was at {run.store}"
        raise UsageError(f"run {run.id} {state}", "kgcheck runs lists the runs; name a finished audit of this store")
    return run


def _digest(snapshot: Path, releases: Iterable[SourceRelease]) -> str:
    parts = [str(snapshot.stat().st_size), *sorted(release.model_dump_json() for release in releases)]
    return sha256("\n".join(parts).encode()).hexdigest()


def _is_finished(run: Run, store: GraphStore) -> bool:
    return bool(run.finished and not run.is_check and run.store_id == store.store_id())


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
        # Of some kinds a schema knows a source, or needs none.
        decided = {CheckType.STRUCTURE, CheckType.EVIDENCE}
        decided |= {CheckType.EXISTENCE, CheckType.ATTRIBUTE} if context.schema.sources else set()
        decided = set(CheckType) if any(pattern.checks for pattern in context.schema.relations) else decided
        types = tuple(kind for kind in scope.types if kind in decided)
        if not types:
            raise UsageError(
                f"nothing decides {', '.join(scope.types)} in a graph of which nothing but a draft is known",
                "leave out --type; name a snapshot that lists its ids (--reference), or write a profile that names "
                "sources: kgcheck profile init (docs/forms.md)",
            )
        scope = scope.model_copy(update={"types": types, "graph_date": context.graph_date(scope.graph_date)})
    return AuditOptions(**dict(scope.scope), live=context.live, brain=context.brain, literature=papers, pins=pins)


def audit(
    context: Context,
    options: AuditOptions,
    *,
    begun: Run | None = None,
    since: str | None = None,
    run_id: str | None = None,
) -> AuditedRun:
    """Audit the graph, where unchanged from the extract of an earlier run; or go on with a run that was cut off."""
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
        live_sources(context.schema, context.settings, wanted=options.live or options.team_budget > 0) as live,
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
