"""`Workspace`: a graph with what it is checked against, and everything that can be asked of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from kgcheck.choices import VERIFIERS, chosen, day, row_limit
from kgcheck.errors import UsageError
from kgcheck.model import CheckTask, CheckType, Finding, Ref, Triple
from kgcheck.workspace.base import import_folder, member_of
from kgcheck.workspace.opened import noting
from kgcheck.workspace.opening import (
    Spending,
    live_sources,
    open_verifier,
    spent_note,
    total_meter,
)
from kgcheck.workspace.protocol_check import ProtocolChecks
from kgcheck.workspace.protocols import Protocols
from kgcheck.workspace.results import (
    AdminImport,
    AskResult,
    AuditResult,
    CheckResult,
    Findings,
    MapResult,
    PaperHit,
    PassageHit,
    SearchResult,
    VerifyResult,
)

if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event
    from kgcheck.audit.plan import AuditOptions
    from kgcheck.graph.neighbourhood import Neighbourhood
    from kgcheck.grounding.brief import Brief
    from kgcheck.ledger.ledger import Run
    from kgcheck.loading.load import LoadSummary
    from kgcheck.questions.answer import Answer, Questions
    from kgcheck.reference.snapshot import SourceRelease
    from kgcheck.workspace.readiness import Part
    from kgcheck.workspace.users import Users

M = TypeVar("M", bound=BaseModel)


class Workspace(Protocols, ProtocolChecks):
    """A graph with its references, papers and ledger: what the command line, services and notebooks work on.

    Everything is opened when it is first needed and closed by `close`, at the end of a ``with`` block, or with the
    workspace itself. Nothing is printed: results carry their notes, and what ends with an error carries them, too
    (``error.__notes__``). Errors are KgcheckError. Several threads may use one workspace, but for `load` and `close`,
    which wait for nobody; several workspaces may be open at once.

    Args:
        store: A path (embedded), or the address of a Neo4j server without credentials. The default need not exist for
            what asks it only for names.
        reference: Snapshot of the references; without one, only structure can be checked.
        ledger: SQLite file with the runs, or ``postgresql://HOST/DATABASE`` (credentials in the settings); by default
            what the settings name, or ``ledger.sqlite`` in their home.
        literature: Folder of a literature index, whose papers are asked about edges.
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

    def load(
        self,
        directory: str | Path,
        *,
        quarantine: str | Path | None = None,
        max_quarantined: int | str | None = None,
        prune: bool = False,
        full: bool = False,
        dry_run: bool = False,
    ) -> "LoadSummary":
        """Load an import directory into the store, which is made when it is missing.

        Args:
            directory: With the files that the profile describes.
            quarantine: JSON lines file for rows that cannot be loaded.
            max_quarantined: Rows that may stay out, as 250, or their share, as ``"5%"``, for a load to be complete; by
                default a tenth of all rows, and not all rows of a file.
            prune: Take away what no file states any more.
            full: Compare every row with the store, also of files that have not changed.
            dry_run: Count what would change, and write nothing.

        Returns:
            What became of every row, with warnings; ``incomplete`` says why too many rows stayed out.

        Raises:
            InputMissing: There is no such folder.
        """
        from kgcheck.curation.applied import curated_in
        from kgcheck.loading.load import LoadOptions
        from kgcheck.loading.process import load_into

        folder = import_folder(directory)
        settings, schema = self.settings, self.schema
        # A store that is written to is open for nobody else.
        self._opened.reset()
        return load_into(
            self.store,
            folder,
            schema,
            settings,
            quarantine=self._quarantine(quarantine, folder),
            options=LoadOptions(prune=prune, full=full, dry_run=dry_run, max_quarantined=_row_limit(max_quarantined)),
            progress=self.progress,
            curated=curated_in,
        )

    def prepare_import(
        self,
        directory: str | Path,
        folder: str | Path,
        *,
        quarantine: str | Path | None = None,
        max_quarantined: int | str | None = None,
    ) -> AdminImport:
        """Write the files for ``neo4j-admin database import``, for a new and large Neo4j database.

        Args:
            directory: With the files that the profile describes.
            folder: Where to write.
            quarantine: JSON lines file for rows that cannot be loaded.
            max_quarantined: As in `load`.

        Returns:
            What went into the files, and what runs the import.
        """
        from kgcheck.loading.admin_import import OfflineImport
        from kgcheck.loading.load import LoadOptions, load_directory

        source = import_folder(directory)
        files = OfflineImport(Path(folder), self.schema, database=self.settings.neo4j_database or "neo4j")
        kept = self._quarantine(quarantine, source)
        options = LoadOptions(max_quarantined=_row_limit(max_quarantined))
        summary = load_directory(source, files, self.settings, quarantine=kept, options=options, progress=self.progress)
        return AdminImport(summary, files)

    def build_reference(
        self, directory: str | Path, *, releases: Mapping[str, str] | None = None
    ) -> "tuple[SourceRelease, ...]":
        """Build the snapshot that `reference` names from every file under a folder that a recipe of the profile knows.

        Args:
            directory: With the files of the providers, at any depth.
            releases: Release by source, for files that do not state it.

        Returns:
            The releases in the snapshot.

        Raises:
            UsageError: The workspace names no reference.
        """
        from kgcheck.reference.build import build_snapshot

        if self.reference is None:
            raise UsageError("the workspace has no reference to build", "name a file with reference=")
        self._opened.reset()
        build_snapshot(
            Path(directory), self.reference, self.schema, self.settings, releases=releases, progress=self.progress
        )
        return self.releases()

    def releases(self) -> "tuple[SourceRelease, ...]":
        """The releases in the snapshot that `reference` names: source, release, date, file, hash, licence, rows.

        Returns:
            One a file of a source; none where the workspace names no reference.

        Raises:
            SnapshotError: It is missing, broken, or of another profile.
        """
        from kgcheck.reference.snapshot import Snapshot

        if self.reference is None:
            return ()
        with Snapshot(self.reference, self.schema) as snapshot:
            return tuple(snapshot.releases())

    # Checking

    def audit(
        self,
        types: Iterable[str | CheckType] = (),
        *,
        labels: Iterable[str] = (),
        relations: Iterable[str] = (),
        ids: Iterable[str] = (),
        sample: int | None = None,
        seed: int = 0,
        threshold: float | None = None,
        graph_date: str | None = None,
        team_budget: int = 0,
        keep_all: bool = False,
        unfold: bool = False,
        changed_since: str | Path | None = None,
        run_id: str | None = None,
    ) -> AuditResult:
        """Check the graph, and keep every finding with its evidence in the ledger.

        Args:
            types: existence, attribute, triple, potential, structure; all where none is named.
            labels: Only nodes of these labels, and edges that end at them.
            relations: Only edges of these relations.
            ids: Only tasks about nodes with these ids.
            sample: Only so many tasks, drawn at random; structure is always whole.
            seed: Draws another sample.
            threshold: Least score of a potential edge, from 0 to 1, where the source gives scores.
            graph_date: Of when the graph is (``2024``, ``2024-06``, ``2024-06-30``): a source that is older cannot
                refute what it does not know.
            team_budget: Hand so many undecided findings, the worst first, to the agent team, which asks UniProt and
                STRING.
            keep_all: A finding also for what is supported or unavailable.
            unfold: Each hit of structure rules that many nodes or edges break, not one for all.
            changed_since: A finished audit of this store, or the snapshot that it looked into: only what the references
                may decide otherwise than then is checked, and the rest is carried over. Everything is where the graph
                or the profile is not the same.
            run_id: The id of the run, for who must know it before; none that any run has.

        Returns:
            The run with its counts and findings.

        Raises:
            UnknownName: A type, label, relation or id does not exist.
            UsageError: There is nothing to check.
        """
        from kgcheck.audit.plan import AuditOptions

        wanted = tuple(dict.fromkeys(member_of(CheckType, "check type", t) for t in types))
        options = _valid(
            AuditOptions,
            types=wanted or tuple(CheckType),
            labels=tuple(labels),
            relations=tuple(relations),
            ids=tuple(ids),
            sample=sample,
            seed=seed,
            threshold=threshold,
            graph_date=day(graph_date) if graph_date else None,
            team_budget=team_budget,
            keep_all=keep_all,
            unfold=unfold,
            live=self.live,
            literature=str(self.literature.resolve()) if self.literature else None,
        )
        return self._audit(options, since=str(changed_since) if changed_since else None, run_id=run_id)

    def resume(self, run: "str | Run | None" = None) -> AuditResult:
        """Go on with an audit that was cut off, with what it was asked for; on this store and these references.

        Args:
            run: Its id or the beginning of it; the latest one that was cut off, unless named.

        Returns:
            The run, whole now unless a service is still away.

        Raises:
            UnknownName: There is no such run.
            UsageError: It is finished, or of another store.
            LedgerError: The graph or the snapshot has changed since.
        """
        from kgcheck.audit.plan import AuditOptions

        found = self.cut_off(run) if run is None or isinstance(run, str) else run
        return self._audit(AuditOptions.model_validate(found.options), found)

    def check(
        self,
        what: str | Sequence[str] | Triple | CheckTask,
        *,
        graph_date: str | None = None,
        turns: int = 30,
        seconds: float = 60.0,
        tokens: int | None = None,
        money: float | None = None,
        on_event: "Callable[[Event], None] | None" = None,
        on_text: Callable[[str], None] | None = None,
        run_id: str | None = None,
        keep: bool = True,
    ) -> CheckResult:
        """Check one node, attribute or edge with the agent team, and keep the finding in the ledger.

        Args:
            what: A Triple or CheckTask, or words: ``P04637 ACTS_ON Q00987``, ``existence Protein Q00015``, ``attribute
                Gene TP53 name``.
            graph_date: Of when the graph is; see `audit`.
            turns: Most turns of all agents together.
            seconds: Most seconds.
            tokens: Most tokens of a model.
            money: Most money that a model may cost.
            on_event: Gets what each agent did, as it happens.
            on_text: Gets what a model says, as it says it.
            run_id: The id of the run, for who must know it before; none that any run has.
            keep: False writes nothing: neither to the ledger nor a transcript.

        Returns:
            The finding with its verdict; one that was stopped says so in its notes.

        Raises:
            UsageError: The words are no check.
            UnknownName: A label, relation, attribute or node does not exist.
        """
        from kgcheck.llm.budget import Limits
        from kgcheck.workspace.checking import check

        return check(
            self,
            what,
            graph_date=day(graph_date) if graph_date else None,
            limits=_valid(Limits, turns=turns, seconds=seconds),
            spending=Spending(tokens, money),
            on_event=on_event,
            on_text=on_text,
            run_id=run_id,
            keep=keep,
        )

    # Questions and papers

    def ask(
        self, question: str, *, tokens: int | None = None, money: float | None = None, papers: bool = True
    ) -> AskResult:
        """Answer a question from the graph, with the path of every answer.

        Args:
            question: In words.
            tokens: Most tokens of a model.
            money: Most money that a model may cost.
            papers: Read the papers, too, where the workspace names some; False asks the graph alone.

        Returns:
            The answers; or that the question was not understood, and why.

        Raises:
            UsageError: Papers are named, and the brain does not read them.
        """
        with noting() as notes, self.asker(Spending(tokens, money), notes, papers=papers) as ask:
            return AskResult(ask(question), tuple(notes))

    def verify(
        self,
        claim: str = "",
        *,
        triple: str | Triple | None = None,
        documents: Sequence[str] = (),
        top: int = 3,
        verifier: str = "trained",
        inference: Path | None = None,
        tokens: int | None = None,
        money: float | None = None,
    ) -> VerifyResult:
        """What papers say of a claim or of an edge, with exact quotes.

        Args:
            claim: A statement or a question.
            triple: An edge instead, or its words, by ids or names: ``P04637 ACTS_ON Q00987``.
            documents: Read only these papers, by id.
            top: Papers to read where none is named.
            verifier: ``trained``, or ``llm``, the endpoint of the settings.
            inference: Folder of a model of inference for ``trained``, if not that of the settings.
            tokens: Most tokens of a model for each paper's opinion.
            money: Most money that a model may cost for each.

        Returns:
            The verdict with every opinion.

        Raises:
            UsageError: Not one of claim and edge, or the workspace names no literature.
        """
        from kgcheck.literature.search import to_read
        from kgcheck.literature.verify import verify

        chosen("verifier", verifier, VERIFIERS)
        if bool(claim) == bool(triple):
            raise UsageError(
                "name a claim or an edge", 'kgcheck verify "..." or kgcheck verify --triple "HEAD RELATION TAIL"'
            )
        if triple and inference:
            raise UsageError("an edge is read by its two names, without a model of inference", "leave out --inference")
        settings = self.settings.model_copy(update={"inference": None}) if triple else self.settings
        spent, spending = total_meter(settings), Spending(tokens, money)
        with noting() as notes:
            index = self.index(notes)
            with open_verifier(verifier, index.embedder, settings, spending, spent, inference) as reader:
                try:
                    if triple:
                        verdict = self._edge_reader(index, reader).read(self._edge_of(triple))[0]
                    else:
                        verdict = verify(claim, to_read(claim, index, top=top, ids=documents), reader)
                finally:
                    notes += spent_note(spent)
        return VerifyResult(verdict, tuple(notes))

    def claims(self, *, papers: Sequence[str] = ()) -> MapResult:
        """What the papers claim, who agrees with whom and who contradicts whom; kept in the ledger, which is made.

        Args:
            papers: Show only what concerns these papers, by id.

        Returns:
            At most five claims a paper with exact quotes, their pairs, citations, ranks, consensus and disagreement.

        Raises:
            UnknownName: A paper is not in the index.
            UsageError: The workspace names no literature.
        """
        from kgcheck.grounding.claims.claim_map import map_claims
        from kgcheck.ledger.ledger import Ledger
        from kgcheck.ledger.paper_claims import ClaimTable

        with noting() as notes:
            index = self.index(notes)
            wanted = [document.paper_id for document in index.documents(papers)]
            heads = {document.id for document in index.documents(wanted)}
            with Ledger(self.ledger) as ledger:
                found = map_claims(index, ClaimTable(ledger.database), self.progress)
        return MapResult(found.for_papers(heads), tuple(notes))

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        documents: Sequence[str] = (),
        passages: Sequence[str] | None = None,
        expand: bool = False,
        sections: Sequence[str] = (),
    ) -> SearchResult:
        """Search the papers: all of them, some of them, or given passages.

        Args:
            query: Words or a sentence.
            limit: Most hits.
            documents: Only these papers, by id.
            passages: Search in these texts and not in the papers.
            expand: Also look for the synonyms that the graph and the snapshot know.
            sections: Only in sections of these kinds: abstract, introduction, methods, results, discussion, conclusion
                or other.

        Returns:
            The hits, best first.

        Raises:
            UsageError: The workspace names no literature.
            UnknownName: A paper is not in the index, or there is no such kind of section.
        """
        from kgcheck.literature.search import rank_passages

        with noting() as notes:
            index = self.index(notes)
            if passages is not None:
                ranked = rank_passages(query, passages, index.embedder)[:limit]
                lines = tuple(PassageHit(at + 1, score, passages[at]) for at, score in ranked)
                return SearchResult(lines, notes=tuple(notes))
            also = self.names().mentioned(query) if expand else ()
            if also:
                notes.append(f"also: {', '.join(also)}")
            hits = []
            for hit in index.search(query, limit=limit, within=documents or None, also=also, sections=sections):
                best = hit.nearest
                if best is None:
                    best = rank_passages(query, hit.document.passages)[0][0]
                hits.append(PaperHit(hit.document, hit.score, *hit.document.spans[best]))
        return SearchResult(tuple(hits), also, tuple(notes))

    def brief(
        self,
        what: str,
        *,
        limit: int = 100,
        prose: bool = True,
        tokens: int | None = None,
        money: float | None = None,
    ) -> "Brief":
        """What is known of a node or a topic: verified, stated or denied by papers, and open, with what it rests on.

        With the brain ``llm``, the same facts as prose, too; a sentence that they do not bear out is thrown away.

        Args:
            what: A node by label and id, by id or by name, or a topic that names nodes.
            limit: Most facts of the graph about each node.
            prose: Whether a model writes prose where the brain is ``llm``.
            tokens: Most tokens of a model.
            money: Most money that a model may cost.

        Returns:
            The fact sheet.

        Raises:
            UnknownName: It names no node, and the workspace names no literature.
        """
        from kgcheck.workspace.briefing import make_brief

        return make_brief(self, what, limit, Spending(tokens, money) if prose and self.brain == "llm" else None)

    # What is near, and what is called how

    def neighbourhood(self, of: "str | Finding | Ref | Triple", each: int = 5) -> "Neighbourhood":
        """What is near a node, an edge, or what a finding is about: a few neighbours along each relation, with names.

        Args:
            of: A finding, or its fingerprint or the beginning of that; a node; or an edge.
            each: At most so many neighbours along each pattern and direction.

        Returns:
            Nodes and edges, some hundreds at most.

        Raises:
            UnknownName: There is no such finding.
        """
        from kgcheck.graph.neighbourhood import neighbourhood

        match self.finding(of) if isinstance(of, str) else of:
            case Finding(task=task):
                refs = [task.subject, *([task.object] if task.object else [])]
            case Triple(head=head, tail=tail):
                refs = [head, tail]
            case Ref() as ref:
                refs = [ref]
        return neighbourhood(self.graph, refs, each)

    def names_of(self, label: str, ids: Iterable[str]) -> dict[str, str]:
        """What nodes of a label are called, by the graph or by the snapshot.

        Args:
            label: Of the nodes, which need not be in the graph.
            ids: Theirs.

        Returns:
            A name by id; those that neither knows are left out.

        Raises:
            UnknownName: The profile has no such label.
        """
        names, found = self.names(), dict[str, str]()
        for identifier in dict.fromkeys(ids):
            with suppress(ValidationError):
                known = names.of(Ref(label=label, id=identifier))
                if name := next((name for name in known if name != identifier), None):
                    found[identifier] = name
        return found

    def readiness(self) -> "list[Part]":
        """Whether the ledger, the store and the references can be read now, and why not."""
        from kgcheck.workspace.readiness import readiness

        return readiness(self)

    # The ledger itself

    @contextmanager
    def users(self) -> "Iterator[Users]":
        """Who may use a service over this ledger, which is made where it is missing.

        Yields:
            Makes, lists, checks and ends tokens and sessions.
        """
        from kgcheck.ledger.ledger import Ledger
        from kgcheck.workspace.users import Users

        self._opened.check()
        with Ledger(self.ledger) as ledger:
            yield Users(ledger.database)

    # What the methods above and kgcheck.workspace.batches are made of

    @contextmanager
    def asker(
        self, spending: Spending, notes: list[str], *, papers: bool = True
    ) -> "Iterator[Callable[[str], Answer]]":
        """What answers questions: the compiler, or a model.

        Args:
            spending: The most that a model may take for each question.
            notes: Gets what is to be noted of how papers are searched.
            papers: Read the papers of the workspace, too.

        Yields:
            A function from a question to its answer, for any number of threads.

        Raises:
            UsageError: Papers are named, and the brain does not read them.
        """
        if self.brain == "rules":
            if self.literature and papers:
                raise UsageError(
                    "questions are answered from the graph; only a model searches papers", "add --brain llm"
                )
            yield self._questions().ask
        else:
            from kgcheck.agents.asker import ReactAgent
            from kgcheck.agents.outside import Outside
            from kgcheck.llm.client import ChatClient

            graph = self.graph
            with ChatClient(self.settings) as client:
                reader = self.paper_reader(notes) if papers else None
                yield ReactAgent(graph, client, spending.limits(), Outside(None, reader) if reader else None).ask

    def _questions(self) -> "Questions":
        from kgcheck.questions.answer import Questions

        graph = self.graph
        return self._opened.get("questions", lambda: nullcontext(Questions(graph, self.progress)))

    def _edge_of(self, what: str | Triple) -> Triple:
        """The edge that is meant; of several kinds, one that papers have words and names for."""
        from kgcheck.agents.request import parse_request
        from kgcheck.profile.claims import form_of

        if isinstance(what, Triple):
            return what
        request = parse_request([what], self.schema)
        if not request.relation or request.attribute:
            raise UsageError(f"{what!r} is no edge", f"HEAD RELATION TAIL, for example {self.schema.edge_example}")
        names = self.names()
        meant = [
            Triple(
                head=Ref(label=p.head, id=request.subject),
                relation=p.type,
                tail=Ref(label=p.tail, id=request.object or ""),
            )
            for p in request.patterns
        ]
        worded = [t for t in meant if form_of(t, self.schema)] or meant
        return next((t for t in worded if names.of(t.head) and names.of(t.tail)), worded[0])

    def _audit(
        self,
        options: "AuditOptions",
        old: "Run | None" = None,
        *,
        since: str | None = None,
        run_id: str | None = None,
    ) -> AuditResult:
        from kgcheck.audit import carrying
        from kgcheck.audit.papers import Papers
        from kgcheck.audit.run import Audit
        from kgcheck.curation.compare import diff_of
        from kgcheck.ledger.ledger import Ledger

        if self.with_retired:
            # The next audit, which leaves it out, would call every finding about it gone.
            raise UsageError("an audit leaves out what is retired", "audit in a workspace without with_retired")
        schema, settings, graph = self.schema, self.settings, self.graph
        folder = Path(options.literature) if options.literature else None
        with (
            noting() as notes,
            Ledger(self.ledger) as ledger,
            live_sources(schema, settings, wanted=options.live or options.team_budget > 0) as live,
        ):
            reader = self.paper_reader(notes, folder) if folder else None
            papers = Papers(reader) if reader else None
            audit = Audit(graph, self.reference, ledger, settings, self.progress, live, papers)
            former = carrying.since(ledger, since, options, graph) if since else None
            run = audit.resume(old) if old else audit.start(options, former, run_id)
            for source, failure in (live.failures if live else {}).items():
                notes.append(f"{source}: {failure}: when it is back, kgcheck audit --resume goes on")
            for source, refusal in (live.refusals if live else {}).items():
                notes.append(f"{source}: {refusal}: asking again is of no use")
            if papers:
                notes.append(f"papers were asked about {papers.edges_read:,} edges and speak of {len(papers.found):,}")
            tallies, diff = tuple(ledger.tallies(run)), diff_of(ledger, after=run)
        findings = Findings(self.ledger, run)
        return AuditResult(run, tallies, findings, tuple(notes), tuple(papers.found) if papers else (), diff)

    def _quarantine(self, given: str | Path | None, directory: Path) -> Path:
        return Path(given) if given else self.settings.home / f"quarantine-{directory.resolve().name}.jsonl"


def _row_limit(given: int | str | None) -> str:
    return "" if given is None else row_limit(str(given))


def _valid(kind: type[M], **given: Any) -> M:
    """A model of values that somebody gave, with one clear error where they are none."""
    try:
        return kind(**given)
    except ValidationError as error:
        wrong = [f"{error_['loc'][0]}={error_['input']!r}: {error_['msg']}" for error_ in error.errors()]
        raise UsageError("; ".join(wrong), "see docs/howto_python.md") from None
