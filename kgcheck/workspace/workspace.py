"""`Workspace`: kgcheck's Python API over one graph: load, audit, ask, verify, decide, patch."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kgcheck.choices import FORMATS, THRESHOLDS, chosen
from kgcheck.context import Context, noting
from kgcheck.errors import LedgerError, UnknownName, UsageError
from kgcheck.graph.neighbourhood import Neighbourhood, neighbourhood, refs_of
from kgcheck.ledger.place import is_same_place, ledger_place
from kgcheck.llm.budget import Limits
from kgcheck.loading.admin_import import OfflineImport
from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Ref, Tally, Triple
from kgcheck.options import (
    AuditOptions,
    AuditScope,
    CheckOptions,
    LoadOptions,
    Spending,
    TextOptions,
    VerifyOptions,
    options_from,
)
from kgcheck.outputs import write_text
from kgcheck.profile.import_files import load_recipe
from kgcheck.workspace.results import AskResult, AuditResult, Findings, SearchResult

if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event
    from kgcheck.audit.checks import CheckResult
    from kgcheck.audit.run import AuditedRun
    from kgcheck.curation.compare import ComparedFinding, RunDiff
    from kgcheck.curation.decisions import Made
    from kgcheck.curation.facets import Facets
    from kgcheck.curation.findings import FindingList, Occurrence
    from kgcheck.curation.patch_maker import PatchMade
    from kgcheck.curation.patches import PatchOutcome
    from kgcheck.curation.thresholds import Crossed
    from kgcheck.grounding.brief import Brief
    from kgcheck.grounding.claims.verification import MapResult, VerifyResult
    from kgcheck.grounding.ground import Grounded
    from kgcheck.grounding.improvement_log import ImprovementLog
    from kgcheck.grounding.score import ScoreCard
    from kgcheck.ledger.accounts import Users
    from kgcheck.ledger.copying import LedgerFacts
    from kgcheck.ledger.decisions import Decision
    from kgcheck.ledger.ledger import Run
    from kgcheck.ledger.patches import OperationEntry, PatchEntry
    from kgcheck.ledger.verified import Verified
    from kgcheck.literature.gather import GraphPapers, GraphPaperSource
    from kgcheck.loading.load import LoadSummary
    from kgcheck.protocols.checking.check import CheckedProtocol, DataSetLookup
    from kgcheck.protocols.checking.quality import StudyQuality
    from kgcheck.protocols.design.designs import DesignedProtocol
    from kgcheck.protocols.protocol import ExperimentalReport, Objective
    from kgcheck.reference.import_directory import BuiltDirectory
    from kgcheck.reference.snapshot import SourceRelease

Notes = tuple[str, ...]
PathLike = str | Path


class Workspace(Context):
    """A graph with its references, papers and ledger: what the command line, services and notebooks work on.

    Everything is opened when it is first needed and closed by `close`, at the end of a ``with`` block, or with the
    workspace itself. Nothing is printed: results carry their notes, and what ends with an error carries them, too
    (``error.__notes__``). Errors are KgcheckError. Several threads may use one workspace, but for `load` and `close`,
    which wait for nobody; several workspaces may be open at once. Options of a method are the fields of the class that
    it names, by keyword.

    Args:
        store: A path (embedded), or the address of a Neo4j server without credentials; or a store that is open already,
            or a py2neo.Graph, which is only read, and which whoever opened it closes. The default need not exist for
            what asks it only for names.
        reference: Snapshot of the references; without one, only structure can be checked.
        ledger: SQLite file with the runs, or ``postgresql://HOST/DATABASE`` (credentials in the settings); by default
            what the settings name, or ``ledger.sqlite`` in their home.
        literature: Folder of a literature index, whose papers are asked about edges.
        pins: File of what must or must not be in the graph; by default that of the working folder or beside the graph.
        profile: Kind of graph: the name of one that kgcheck has, or a folder, as a Path or as text with a slash.
        live: Ask UniProt and STRING, too.
        offline: Open no connection to a service: only answers that were kept.
        brain: What decides an agent's next step: ``rules``, or ``llm``, the endpoint of the settings.
        with_retired: Read what patches retired as if it were not.
        settings: Instead of those of the environment.
        progress: Where steps are shown, or a function that gets description, units done, and their total or None.

    Raises:
        UnknownName: There is no such brain.
        UsageError: A path is an address.

    >>> Workspace(brain="lm")
    Traceback (most recent call last):
    kgcheck.errors.UnknownName: there is no brain 'lm'
    """

    # The graph and its references

    def load(self, directory: PathLike, *, quarantine: PathLike | None = None, **options: Any) -> "LoadSummary":
        """Load an import directory into the store, which is made when it is missing; options: `LoadOptions`.

        Rows that cannot be loaded go to ``quarantine``, a JSON lines file. ``incomplete`` of the summary says why too
        many of them stayed out.
        """
        from kgcheck.curation.applied import curated_in
        from kgcheck.loading.load import import_folder
        from kgcheck.loading.process import load_into

        folder, wanted = import_folder(directory), options_from(LoadOptions, options)
        # A store that is written to is open for nobody else.
        self.close_graph()
        return load_into(
            self.store,
            folder,
            self.schema,
            self.settings,
            quarantine=self._quarantine(quarantine, folder),
            options=wanted,
            progress=self.progress,
            curated=curated_in,
        )

    def prepare_import(
        self, directory: PathLike, folder: PathLike, *, quarantine: PathLike | None = None, **options: Any
    ) -> "tuple[LoadSummary, OfflineImport]":
        """Write the files for ``neo4j-admin database import``, for a new and large database; options: `LoadOptions`."""
        from kgcheck.loading.load import import_folder, load_directory

        source, wanted = import_folder(directory), options_from(LoadOptions, options)
        files = OfflineImport(Path(folder), self.schema, database=self.settings.neo4j_database or "neo4j")
        kept = self._quarantine(quarantine, source)
        summary = load_directory(source, files, self.settings, quarantine=kept, options=wanted, progress=self.progress)
        return summary, files

    def build_reference(
        self, directory: PathLike, *, releases: Mapping[str, str] | None = None, notes: list[str] | None = None
    ) -> "tuple[SourceRelease, ...]":
        """Build the snapshot that `reference` names from every file under a folder that a recipe of the profile knows.

        ``releases`` are those of sources whose files do not state them; ``notes`` gets why files were left out.
        """
        from kgcheck.reference.build import build_snapshot

        if self.reference is None:
            raise UsageError("the workspace has no reference to build", "name a file with reference=")
        self._opened.reset()
        options: dict[str, Any] = {"releases": releases, "progress": self.progress, "notes": notes}
        build_snapshot(Path(directory), self.reference, self.schema, self.settings, **options)
        return self.releases()

    def build_import(
        self, out: PathLike, sources: PathLike | None = None, *, releases: Mapping[str, str] | None = None
    ) -> "BuiltDirectory":
        """Build an import directory: the nodes, properties and edges that the providers' files, or a snapshot, state.

        Of a folder of files, a snapshot is built first, ``reference.duckdb`` in the directory. Without ``sources``, the
        snapshot is the reference of the workspace; else what was built from becomes it.
        """
        from kgcheck.reference.import_directory import build_import

        given = self.reference if sources is None else Path(sources)
        if given is None:
            raise UsageError("the workspace has no reference to build from", "name a snapshot with reference=")
        if releases and given.is_file():
            raise UsageError("releases are of files, and a snapshot names its own", "leave them out")
        recipe = load_recipe(self.schema)
        built = build_import(given, Path(out), self.schema, recipe, self.settings, self.progress, releases)
        if sources is not None:
            self._opened.reset()
            self.reference = built.snapshot
        return built

    def releases(self) -> "tuple[SourceRelease, ...]":
        """The releases in the snapshot: source, release, date, file, hash, licence, rows; none without a reference."""
        from kgcheck.reference.snapshot import releases_of

        return releases_of(self.reference)

    def neighbourhood(self, centre: str | Finding | Ref | Triple, each: int = 5) -> "Neighbourhood":
        """A few neighbours along each relation of a node, an edge, or what a finding is about, with names."""
        refs = refs_of(self.finding(centre) if isinstance(centre, str) else centre)
        return neighbourhood(self.graph, refs, each)

    # Checks

    def audit(
        self,
        types: Iterable[str | CheckType] | AuditScope = (),
        *,
        changed_since: PathLike | None = None,
        run_id: str | None = None,
        **options: Any,
    ) -> AuditResult:
        """Check the graph, and keep every finding with its evidence in the ledger; options: `AuditScope`, or one whole.

        ``changed_since`` is a finished audit of this store, or the snapshot that it looked into: a graph on a server
        that is as it was then is read from what was kept of it. ``run_id`` is the id of the run, for who must know it
        before.
        """
        from kgcheck.audit.run import audit, options_in

        if not isinstance(types, AuditScope):
            named = [chosen("check type", str(name), [*CheckType, "all"]) for name in types]
            types = options_from(AuditScope, {"types": named, **options})
        since = str(changed_since) if changed_since else None
        return self._audited(audit(self, options_in(self, types), since=since, run_id=run_id))

    def resume(self, run: "str | Run | None" = None) -> AuditResult:
        """Go on with an audit that was cut off, with what it was asked for; the latest one, unless one is named."""
        from kgcheck.audit.run import audit

        begun = self.cut_off(run) if run is None or isinstance(run, str) else run
        return self._audited(audit(self, AuditOptions.model_validate(begun.options), begun=begun))

    def _audited(self, done: "AuditedRun") -> AuditResult:
        run, notes, left_out = done.run, done.notes, ""
        if store := self.drafted_store:
            kept = self.settings.home / f"quarantine-{Path(store.name).name}-{store.store_id()[:8]}.jsonl"
            store.files.keep_rejected(kept)
            left_out = store.files.incomplete()
            unread = f"what could not be read: {kept}" if store.files.rejected() else ""
            notes = (*notes, *filter(None, (unread, left_out, *store.unlooked())))
        findings, diff = Findings(self.ledger, run), self.diff(after=run)
        return AuditResult(run, tuple(self.tallies(run)), findings, notes, done.papers, diff, left_out)

    def check(
        self,
        subject: str | Sequence[str] | Triple | CheckTask,
        *,
        on_event: "Callable[[Event], None] | None" = None,
        on_text: Callable[[str], None] | None = None,
        run_id: str | None = None,
        keep: bool = True,
        **options: Any,
    ) -> "CheckResult":
        """Check one node, attribute or edge with the agent team, and keep the finding; options: `CheckOptions`.

        It is a Triple or CheckTask, or words: ``P04637 ACTS_ON Q00987``, ``existence Protein Q00015``, ``attribute Gene
        TP53 name``. ``on_event`` gets what each agent did, and ``on_text`` what a model says, as it happens. With
        ``keep=False`` nothing is written: neither to the ledger nor a transcript.
        """
        from kgcheck.audit.checks import check, request_of

        wanted, request = options_from(CheckOptions, options), request_of(subject, self.resolver())
        return check(self, request, wanted, on_event=on_event, on_text=on_text, run_id=run_id, keep=keep)

    # Questions and papers

    def ask(self, question: str, *, papers: bool = True, **options: Any) -> AskResult:
        """Answer a question from the graph, or with the brain ``llm`` from papers, too; options: `Spending`."""
        limits = Limits.of(options_from(Spending, options))
        with noting() as notes, self.asker(limits, notes, papers=papers) as ask:
            return AskResult(ask(question), tuple(notes))

    def verify(self, claim: str = "", *, triple: str | Triple | None = None, **options: Any) -> "VerifyResult":
        """Verify a claim, or an edge instead, by papers, with exact quotes; options: `VerifyOptions`."""
        from kgcheck.grounding.claims.verification import verify_claim

        return verify_claim(self, claim, triple=triple, options=options_from(VerifyOptions, options))

    def claims(self, *, papers: Sequence[str] = ()) -> "MapResult":
        """Map the claims of the papers, who agrees with whom and who contradicts whom; kept in the ledger."""
        from kgcheck.grounding.claims.verification import map_papers

        return map_papers(self, papers)

    def search(
        self, query: str, *, limit: int = 10, documents: Sequence[str] = (), sections: Sequence[str] = ()
    ) -> SearchResult:
        """Search the papers: all of them, some of them by id, or sections of some kinds."""
        from kgcheck.literature.search import find_papers

        with noting() as notes:
            hits = find_papers(self.index(notes), query, limit=limit, documents=documents, sections=sections)
        return SearchResult(hits, tuple(notes))

    def gather_papers(
        self, *, source: "GraphPaperSource" = "europepmc", limit: int = 200, model: str | None = None
    ) -> "GraphPapers":
        """Put at most ``limit`` more abstracts into the index, which is made where it is missing, and build it.

        First those that edges cite by PMID, then those that name both ends of edges that the latest audit left
        undecided. What came before a service was gone is kept.
        """
        from kgcheck.audit.funnel import UNDECIDED, in_order
        from kgcheck.literature.corpus import Corpus
        from kgcheck.literature.edge_reader import claim_of
        from kgcheck.literature.gather import cited_papers, gather_for_graph
        from kgcheck.literature.search import choose_model
        from kgcheck.providers.http import Http

        if self.literature is None:
            raise UsageError("no papers are named", "name the folder of a literature index: literature=")
        cited, names = cited_papers(self.graph), self.names()
        edges = dict.fromkeys(f.task.edge for f in in_order(self._latest_findings(UNDECIDED)) if f.task.edge)
        claims = []
        for edge in edges:
            with suppress(UnknownName):
                claims.append((str(edge), claim_of(edge, names, self.schema)))
        with Http(self.settings) as http, Corpus(self.literature, create=True, progress=self.progress) as corpus:
            embedder, _ = choose_model(model, corpus.model[0] if corpus.model else None)
            try:
                return gather_for_graph(cited, claims, corpus, http, source=source, limit=limit)
            finally:
                corpus.build(embedder)

    def _latest_findings(self, outcomes: Iterable[Outcome]) -> list[Finding]:
        """Findings of the newest audit of this store; none where there is none."""
        try:
            with self.reading() as ledger:
                run = ledger.audit_before(self.graph.store_id())
                return list(ledger.findings(run, outcomes)) if run else []
        except LedgerError:
            return []

    def brief(self, topic: str, *, limit: int = 100) -> "Brief":
        """Gather what is verified, stated, denied and open about a node or a topic."""
        from kgcheck.grounding.brief import make_brief

        return make_brief(self, topic, limit)

    # Manuscripts

    def ground(self, manuscript: PathLike, **options: Any) -> "tuple[Grounded, Notes]":
        """Hold a manuscript against graph, papers, its citations and results, as named; options: `TextOptions`."""
        from kgcheck.grounding.ground import ground_manuscript
        from kgcheck.grounding.manuscripts.reading import read_manuscript

        return ground_manuscript(self, read_manuscript(Path(manuscript)), options_from(TextOptions, options))

    def ground_text(
        self, text: str, form: Literal["markdown", "text"] = "markdown", **options: Any
    ) -> "tuple[Grounded, Notes]":
        """Hold a text that stands in no file against the same; options: `TextOptions`."""
        from kgcheck.grounding.ground import ground_manuscript
        from kgcheck.grounding.manuscripts.reading import read_given

        return ground_manuscript(self, read_given(text, form), options_from(TextOptions, options))

    def score(
        self, manuscript: PathLike, *, before: PathLike | None = None, **options: Any
    ) -> "tuple[ScoreCard, Notes]":
        """Score a manuscript in eight dimensions; with the brain ``llm`` a model judges it; options: `TextOptions`.

        Judgements of an earlier card, a JSON file, are kept for sections that are the same.
        """
        from kgcheck.grounding.score import score_manuscript

        earlier = Path(before) if before else None
        return score_manuscript(self, Path(manuscript), options_from(TextOptions, options), earlier)

    def improve(
        self, manuscript: PathLike, out: PathLike, *, rounds: int = 12, **options: Any
    ) -> "tuple[ImprovementLog, Notes]":
        """Make a manuscript better round by round, with models that judge and write; options: `TextOptions`.

        The file is never changed: what comes of it is in a folder, from which the same call goes on.
        """
        from kgcheck.grounding.improve import improve_manuscript
        from kgcheck.protocols.programs.experiments import GraphExperiments

        wanted = options_from(TextOptions, options)
        return improve_manuscript(self, Path(manuscript), Path(out), wanted, rounds, GraphExperiments)

    # Protocols

    def design_protocol(
        self,
        objective: "Objective",
        out: PathLike,
        *,
        papers: Sequence[PathLike] = (),
        reports: "Sequence[ExperimentalReport]" = (),
        search: PathLike | None = None,
        **options: Any,
    ) -> "DesignedProtocol":
        """Design a protocol into a folder, from papers, reports of papers, a search and the graph; options: `Spending`.

        With the brain ``llm`` a model writes and reviews it; the same call goes on where one was stopped.
        """
        from kgcheck.protocols.design.designs import design_protocol

        files, found = [Path(paper) for paper in papers], Path(search) if search else None
        spending = options_from(Spending, options)
        return design_protocol(
            self, objective, Path(out), papers=files, reports=reports, search=found, spending=spending
        )

    def check_protocols(
        self,
        files: Iterable[PathLike],
        *,
        bibliography: PathLike | None = None,
        data_sets: "DataSetLookup | None" = None,
    ) -> "tuple[list[CheckedProtocol], Notes]":
        """Check protocols: their facts again, papers, data sets, the order of their steps, and what they lack."""
        from kgcheck.protocols.checking.file_checks import check_files

        named = Path(bibliography) if bibliography else None
        return check_files(self, [Path(file) for file in files], named, data_sets)

    def check_given_protocol(
        self, text: str, *, bibliography: PathLike | None = None
    ) -> "tuple[CheckedProtocol, Notes]":
        """Check a protocol that stands in no file: the text of a ``protocol.json``."""
        from kgcheck.protocols.checking.file_checks import check_text

        return check_text(self, text, Path(bibliography) if bibliography else None)

    def score_protocol(
        self, file: PathLike, *, judges: Sequence[str] = (), **options: Any
    ) -> "tuple[StudyQuality, Notes]":
        """Measure a protocol; with the brain ``llm`` models judge it, by name; options: `Spending`."""
        from kgcheck.protocols.checking.file_checks import score_file

        return score_file(self, Path(file), judges, options_from(Spending, options))

    # Runs and findings

    def runs(self, after: str | None = None, limit: int | None = None) -> "list[tuple[Run, list[Tally]]]":
        """The runs in the ledger, newest first, each with its counts; from the one after a run on."""
        with self.reading() as ledger:
            runs = ledger.runs()
            first = runs.index(ledger.run(after)) + 1 if after else 0
            return [(run, ledger.tallies(run)) for run in runs[first:][:limit]]

    def run(self, name: str = "latest") -> "Run":
        """A run by its id, the beginning of its id, or ``latest``: the latest audit, where there is one."""
        with self.reading() as ledger:
            return ledger.run(name)

    def cut_off(self, name: str | None = None) -> "Run":
        """The run of that name, or the newest one that did not finish."""
        with self.reading() as ledger:
            return ledger.run(name) if name else ledger.cut_off()

    def tallies(self, run: "str | Run" = "latest") -> list[Tally]:
        """Counts of a run by type, part of the schema, outcome, reason and sources."""
        with self.reading() as ledger:
            return ledger.tallies(ledger.run(run) if isinstance(run, str) else run)

    def findings(
        self, run: "str | Run" = "latest", *, outcomes: Iterable[str | Outcome] = (), limit: int | None = None
    ) -> Findings:
        """The findings of a run, the refuted first, to go through, or as a table; of some outcomes only."""
        wanted = [Outcome(chosen("outcome", str(name), [*Outcome])) for name in outcomes]
        with self.reading() as ledger:
            return Findings(self.ledger, ledger.run(run) if isinstance(run, str) else run, wanted, limit)

    def finding(self, fingerprint: str) -> Finding:
        """The finding of that fingerprint, its beginning, or the words of a check, in the newest run that has it."""
        from kgcheck.curation.findings import find

        with self.reading() as ledger:
            return find(ledger, fingerprint, self.resolver)

    def known_finding(self, fingerprint: str) -> "ComparedFinding":
        """The finding of that fingerprint, or its beginning, in the newest run that has it, and where it stands."""
        from kgcheck.curation.findings import known_finding

        with self.reading() as ledger:
            return known_finding(ledger, fingerprint)

    def occurrences(self, fingerprint: str, limit: int = 100) -> "list[Occurrence]":
        """The runs that have the finding of that fingerprint, or its beginning, the newest first."""
        from kgcheck.curation.findings import occurrences

        with self.reading() as ledger:
            return occurrences(ledger, fingerprint, limit)

    def report(
        self,
        run: "str | Run" = "latest",
        format_: str = "markdown",
        *,
        output: PathLike | None = None,
        limit: int | None = None,
        fail_on: str = "refuted",
        exit_code: int = 0,
        crossed: "Sequence[Crossed]" = (),
    ) -> str:
        """A run as text: table, json, jsonl, csv, markdown, html, junit or sarif; into a file, too.

        ``fail_on``, and thresholds that were ``crossed``, are what junit takes for a failure, ``exit_code`` what the
        program ends with, for sarif.
        """
        from kgcheck.curation.compare import comparison_summary
        from kgcheck.report.render import render

        chosen("form", format_, FORMATS)
        chosen("threshold", fail_on, THRESHOLDS)
        with self.reading() as ledger:
            found = ledger.run(run) if isinstance(run, str) else run
            thresholds = {str(one): one.severity.exit_code != 0 for one in crossed}
            beside = comparison_summary(ledger, found)._replace(thresholds=thresholds)
            text = render(ledger, found, format_, limit, compared=beside, fail_on=fail_on, exit_code=exit_code)
        if output:
            write_text(Path(output), text)
        return text

    def diff(self, before: "str | Run | None" = None, after: "str | Run | None" = None) -> "RunDiff":
        """Compare two runs: the latest audit with the one before of the same store and options, unless named."""
        from kgcheck.curation.compare import diff_of

        with self.reading() as ledger:
            return diff_of(ledger, before, after)

    def list_findings(
        self, run: "str | Run" = "latest", *, before: "str | Run | None" = None, **filters: Any
    ) -> "FindingList":
        """The findings of a run, compared with an earlier one, page by page; filters: `FindingFilter`."""
        from kgcheck.curation.findings import list_findings

        with self.reading() as ledger:
            return list_findings(ledger, run, before, **filters)

    def facets(self, findings: "FindingList") -> "Facets":
        """Count the findings of a list, and how many each other choice of filters would leave."""
        from kgcheck.curation.facets import facets_of

        return facets_of(findings)

    def transcript(self, finding: Finding) -> "list[Event] | None":
        """The events of the team's check of a finding; None where its run has none, or keeps it on another machine."""
        from kgcheck.agents.replay import read_transcript

        folder = self.settings.home / "transcripts"
        names = (f"{finding.run}/{finding.fingerprint}.jsonl", f"{finding.run}.jsonl")
        found = next((path for name in names if (path := folder / name).is_file()), None)
        return read_transcript(found) if found and found.resolve().is_relative_to(folder.resolve()) else None

    # Verified facts

    def verified(self, subject: CheckTask | Triple | str) -> "Verified | None":
        """Verdict of the newest audit that looked at an edge (in words, too), a node or an attribute.

        None where nobody has looked, which says nothing about it. References are not asked.
        """
        from kgcheck.audit.verified_facts import verified_of

        return verified_of(self.verified_reader(), self.resolver(), subject)

    def verified_edges(self, edges: Iterable[str | Triple]) -> "list[tuple[CheckTask, Verified | None]]":
        """List what is verified of each of some edges, as `verified` has it, beside the task that was meant."""
        from kgcheck.audit.verified_facts import edge_facts

        return edge_facts(self.verified_reader(), self.resolver(), edges)

    def verified_of_node(self, node: Ref, limit: int = 100) -> "tuple[list[tuple[CheckTask, Verified | None]], bool]":
        """List what is verified of a node, its attributes and its edges, and tell whether these are all."""
        from kgcheck.audit.verified_facts import node_facts

        return node_facts(self.verified_reader(), self.graph, node, limit)

    # Decisions

    def decide(
        self,
        findings: "str | Iterable[str | Finding] | FindingList",
        action: str,
        *,
        by: str,
        choose: str | None = None,
        note: str = "",
        until: str | date | None = None,
        seen: Mapping[str, str] | None = None,
        expected: int | None = None,
    ) -> "list[Made]":
        """Accept, reject, defer or reopen findings, all or none. Nothing that was decided before is overwritten.

        Findings are named by fingerprints, their beginnings, or words of a check. ``choose`` says what of the proposed
        to take, ``until`` when what is deferred comes back. ``seen`` are the versions of findings that were looked at,
        and ``expected`` how many are meant: where either is not so, ChangedMeanwhile, and nothing is decided.
        """
        from kgcheck.curation.decisions import decide
        from kgcheck.curation.findings import find

        with self.writing() as ledger:
            if isinstance(findings, Iterable):
                named: Iterable[str | Finding] = [findings] if isinstance(findings, str) else findings
                findings = [find(ledger, one, self.resolver) if isinstance(one, str) else one for one in named]
            return decide(
                ledger, findings, action, by=by, chosen=choose, note=note, until=until, seen=seen, expected=expected
            )

    def take_back(self, first: int, count: int, action: str, *, by: str) -> "list[Made]":
        """Reopen what somebody decided at once; what was decided about since is left as it is."""
        from kgcheck.curation.decisions import take_back
        from kgcheck.ledger.decisions import Action

        with self.writing() as ledger:
            return take_back(ledger, first, count, Action(chosen("action", action, [*Action])), by)

    def history(self, fingerprint: str) -> "list[Decision]":
        """Every decision about the finding of that fingerprint, or its beginning, the oldest first."""
        from kgcheck.curation.decisions import Decisions

        with self.reading() as ledger:
            return list(Decisions(ledger).table.of([ledger.finding(fingerprint).fingerprint]))

    def decisions(self, before: int | None = None, limit: int | None = None) -> "list[Decision]":
        """Every decision, the newest first; only older ones than that of a number."""
        from kgcheck.ledger.decisions import DecisionTable

        with self.reading() as ledger:
            return DecisionTable(ledger.database).newest_first(before, limit)

    # Patches

    def make_patch(
        self,
        folder: PathLike,
        *,
        findings: Mapping[str, str | None] | Iterable[str] = (),
        accepted: bool = False,
        run: str = "latest",
        by: str = "",
    ) -> "PatchMade":
        """Make a patch that repairs findings, and write it to a folder. Nothing is done to the graph.

        Findings are named by fingerprints or their beginnings, in a mapping each with what is chosen; or all of a run
        that were accepted.
        """
        from kgcheck.curation.patches import make

        named = dict(findings) if isinstance(findings, Mapping) else dict.fromkeys(findings)
        return make(self, Path(folder), findings=named, accepted=accepted, run=run, by=by)

    def check_patch(self, folder: PathLike) -> "PatchOutcome":
        """Say what of the patch in a folder would conflict now; nothing is written."""
        from kgcheck.curation.patches import check

        return check(self, Path(folder))

    def apply_patch(
        self, folder: PathLike, *, by: str = "", delete: bool = False, from_elsewhere: bool = False
    ) -> "PatchOutcome":
        """Do every operation of the patch in a folder that the graph still fits; go on with one that was cut short.

        ``delete`` takes away what is retired; ``from_elsewhere`` takes a patch that this ledger did not make, too.
        """
        from kgcheck.curation.patches import apply

        return apply(self, Path(folder), by=by, delete=delete, from_elsewhere=from_elsewhere)

    def undo_patch(self, folder: PathLike, *, by: str = "") -> "PatchOutcome":
        """Give the graph back as it was before the patch in a folder, but for what was changed again since."""
        from kgcheck.curation.patches import undo

        return undo(self, Path(folder), by=by)

    def patches(self) -> "list[PatchEntry]":
        """The patches in the ledger, newest first."""
        from kgcheck.ledger.patches import PatchTable

        with self.reading() as ledger:
            return PatchTable(ledger.database).all()

    def patch(self, name: str) -> "tuple[PatchEntry, list[OperationEntry]]":
        """A patch in the ledger by its id, or the beginning of it, with its operations."""
        from kgcheck.ledger.patches import PatchTable

        with self.reading() as ledger:
            return PatchTable(ledger.database).one(name)

    def patch_folder(self, name: str) -> Path:
        """The folder of a patch in the ledger, by its id or the beginning of it, where it is still there."""
        from kgcheck.ledger.patches import PatchTable

        with self.reading() as ledger:
            return PatchTable(ledger.database).folder(name)

    # The ledger itself

    def copy_ledger(self, to: PathLike) -> dict[str, int]:
        """Write into an empty ledger what this one has, all of it or nothing, and count the rows of its tables."""
        from kgcheck.ledger.copying import copy_ledger
        from kgcheck.ledger.ledger import Ledger

        place = ledger_place(to, self.settings)
        with self.reading() as ledger:
            if is_same_place(self.ledger, place):
                raise UsageError("the two ledgers are the same", "name another place to copy to")
            with Ledger(place) as target:
                return copy_ledger(ledger.database, target.database, self.progress)

    def ledger_facts(self) -> "LedgerFacts":
        """Describe the ledger: its database, its format and size, and the number of rows of its tables."""
        from kgcheck.ledger.copying import facts_of

        with self.reading() as ledger:
            return facts_of(ledger.database)

    @contextmanager
    def users(self) -> "Iterator[Users]":
        """The tokens and sessions of who may use a service over this ledger, which is made where it is missing."""
        from kgcheck.ledger.accounts import Users
        from kgcheck.ledger.ledger import Ledger

        self._opened.check()
        with Ledger(self.ledger) as ledger:
            yield Users(ledger.database)

    def _quarantine(self, named: PathLike | None, directory: Path) -> Path:
        return Path(named) if named else self.settings.home / f"quarantine-{directory.resolve().name}.jsonl"
