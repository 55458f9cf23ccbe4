"""`Workspace`: a graph with what it is checked against, and everything that can be asked of them."""

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import date
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from kgcheck.choices import BRAINS, DEFAULT_STORE, FORMATS, THRESHOLDS, VERIFIERS, chosen, day
from kgcheck.closing import Closing
from kgcheck.errors import InputMissing, LedgerError, StoreMissing, UsageError
from kgcheck.ledger.place import checked_place
from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Ref, Tally, Triple
from kgcheck.profile.schema import Schema
from kgcheck.progress import CallbackProgress, NoProgress, Progress, ProgressCallback
from kgcheck.redact import is_secret_path
from kgcheck.settings import Settings
from kgcheck.workspace.opened import Opened, noting
from kgcheck.workspace.opening import (
    Spending,
    live_sources,
    open_verifier,
    read_schema,
    read_settings,
    spent_note,
    total_meter,
)
from kgcheck.workspace.results import (
    AdminImport,
    AskResult,
    AuditResult,
    CheckResult,
    Findings,
    PaperHit,
    PassageHit,
    SearchResult,
    VerifyResult,
)

if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event
    from kgcheck.audit.plan import AuditOptions
    from kgcheck.curation.compare import RunDiff
    from kgcheck.curation.decisions import CurrentDecision, Decision, Made
    from kgcheck.curation.exchange import Imported
    from kgcheck.curation.export import Exported
    from kgcheck.curation.findings import FindingList
    from kgcheck.curation.known import KnownFinding, Occurrence
    from kgcheck.curation.making import PatchMade
    from kgcheck.curation.patches import PatchOutcome
    from kgcheck.graph.neighbourhood import Neighbourhood
    from kgcheck.graph.store import GraphStore
    from kgcheck.ledger.copying import Copied, LedgerFacts
    from kgcheck.ledger.ledger import Ledger, Run
    from kgcheck.ledger.patches import OperationEntry, PatchEntry
    from kgcheck.ledger.place import LedgerPlace
    from kgcheck.ledger.verified import Verified, VerifiedReader
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.literature.names import Names
    from kgcheck.literature.search import LiteratureIndex
    from kgcheck.loading.load import LoadSummary
    from kgcheck.questions.answer import Answer, Questions
    from kgcheck.reference.snapshot import SourceRelease
    from kgcheck.workspace.readiness import Part
    from kgcheck.workspace.users import Users

M = TypeVar("M", bound=BaseModel)
E = TypeVar("E", bound=StrEnum)


class Workspace(Closing):
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

    def __init__(
        self,
        *,
        store: str | Path | None = None,
        reference: str | Path | None = None,
        ledger: str | Path | None = None,
        literature: str | Path | None = None,
        profile: str | Path = "ckg",
        live: bool = False,
        offline: bool = False,
        brain: str = "rules",
        with_retired: bool = False,
        settings: Settings | None = None,
        progress: Progress | ProgressCallback | None = None,
    ) -> None:
        self.store = DEFAULT_STORE if store is None else str(store)
        self.reference = _path("reference", reference)
        self.literature = _path("literature", literature)
        self.profile = str(profile.absolute()) if isinstance(profile, Path) else profile
        self.live = live
        self.offline = offline
        self.brain = chosen("brain", brain, BRAINS)
        self.with_retired = with_retired
        self.progress: Progress = _as_progress(progress)
        self._given_settings = settings
        self._given_ledger = checked_place(str(ledger)) if ledger else None
        self._store_is_named = store is not None
        self._opened = Opened()
        self._finalizer = weakref.finalize(self, self._opened.close)

    def close(self) -> None:
        """Close what is open. What comes after it is refused; findings that were given out can still be read."""
        self._finalizer()

    @cached_property
    def settings(self) -> Settings:
        """The settings that it works with."""
        if self._given_settings is None:
            return read_settings(offline=True) if self.offline else read_settings()
        return self._given_settings.model_copy(update={"offline": True} if self.offline else {})

    @property
    def ledger(self) -> "LedgerPlace":
        """The file or the database of the ledger."""
        from kgcheck.ledger.place import ledger_place

        return ledger_place(self._given_ledger or self.settings.ledger or self.settings.ledger_file, self.settings)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the profile."""
        return read_schema(self.profile)

    @property
    def graph(self) -> "GraphStore":
        """The graph, open for reading."""
        from kgcheck.graph.open import open_store

        return self._opened.get(
            "graph", lambda: open_store(self.store, self.schema, self.settings, with_retired=self.with_retired)
        )

    # The graph and its references

    def load(
        self,
        directory: str | Path,
        *,
        quarantine: str | Path | None = None,
        prune: bool = False,
        full: bool = False,
        dry_run: bool = False,
    ) -> "LoadSummary":
        """Load an import directory into the store, which is made when it is missing.

        Args:
            directory: With the files that the profile describes.
            quarantine: JSON lines file for rows that cannot be loaded.
            prune: Take away what no file states any more.
            full: Compare every row with the store, also of files that have not changed.
            dry_run: Count what would change, and write nothing.

        Returns:
            What became of every row, with warnings.

        Raises:
            InputMissing: There is no such folder.
        """
        from kgcheck.curation.reload import curated_in
        from kgcheck.loading.load import LoadOptions
        from kgcheck.loading.process import load_into

        folder = _folder(directory)
        settings, schema = self.settings, self.schema
        # A store that is written to is open for nobody else.
        self._opened.reset()
        return load_into(
            self.store,
            folder,
            schema,
            settings,
            quarantine=self._quarantine(quarantine, folder),
            options=LoadOptions(prune=prune, full=full, dry_run=dry_run),
            progress=self.progress,
            curated=curated_in,
        )

    def prepare_import(
        self, directory: str | Path, folder: str | Path, *, quarantine: str | Path | None = None
    ) -> AdminImport:
        """Write the files for ``neo4j-admin database import``, for a new and large Neo4j database.

        Args:
            directory: With the files that the profile describes.
            folder: Where to write.
            quarantine: JSON lines file for rows that cannot be loaded.

        Returns:
            What went into the files, and what runs the import.
        """
        from kgcheck.loading.admin_import import OfflineImport
        from kgcheck.loading.load import load_directory

        source = _folder(directory)
        files = OfflineImport(Path(folder), self.schema, database=self.settings.neo4j_database or "neo4j")
        kept = self._quarantine(quarantine, source)
        return AdminImport(load_directory(source, files, self.settings, quarantine=kept, progress=self.progress), files)

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

        wanted = tuple(dict.fromkeys(_member(CheckType, "check type", t) for t in types))
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
            tokens: Most tokens of a model for each paper's opinion.
            money: Most money that a model may cost for each.

        Returns:
            The verdict with every opinion.

        Raises:
            UsageError: Not one of claim and edge, or the workspace names no literature.
        """
        from kgcheck.literature.verify import verify

        chosen("verifier", verifier, VERIFIERS)
        if bool(claim) == bool(triple):
            raise UsageError(
                "name a claim or an edge", 'kgcheck verify "..." or kgcheck verify --triple "HEAD RELATION TAIL"'
            )
        spent = total_meter(self.settings)
        with noting() as notes:
            index = self.index(notes)
            with open_verifier(verifier, index.embedder, self.settings, Spending(tokens, money), spent) as reader:
                try:
                    if triple:
                        verdict = self._edge_reader(index, reader).read(self._edge_of(triple))[0]
                    elif documents:
                        verdict = verify(claim, index.best_of(claim, documents), reader)
                    else:
                        verdict = verify(claim, [hit.document for hit in index.search(claim, limit=top)], reader)
                finally:
                    notes += spent_note(spent)
        return VerifyResult(verdict, tuple(notes))

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
            also = self._names().mentioned(query) if expand else ()
            if also:
                notes.append(f"also: {', '.join(also)}")
            hits = []
            for hit in index.search(query, limit=limit, within=documents or None, also=also, sections=sections):
                best = hit.nearest
                if best is None:
                    best = rank_passages(query, hit.document.passages)[0][0]
                hits.append(PaperHit(hit.document, hit.score, *hit.document.spans[best]))
        return SearchResult(tuple(hits), also, tuple(notes))

    # What was found

    def runs(self, after: str | None = None, limit: int | None = None) -> "list[tuple[Run, list[Tally]]]":
        """The runs in the ledger, newest first, each with its counts.

        Args:
            after: Begin after the run of this id.
            limit: At most so many.

        Returns:
            The runs.

        Raises:
            UnknownName: There is no such run.
        """
        with self._reading() as ledger:
            runs = ledger.runs()
            first = runs.index(ledger.run(after)) + 1 if after else 0
            return [(run, ledger.tallies(run)) for run in runs[first:][:limit]]

    def run(self, name: str = "latest") -> "Run":
        """A run by its id, the beginning of its id, or ``latest``: the latest audit, where there is one."""
        with self._reading() as ledger:
            return ledger.run(name)

    def cut_off(self, name: str | None = None) -> "Run":
        """The run of that name, or the newest one that did not finish."""
        with self._reading() as ledger:
            return ledger.run(name) if name else ledger.cut_off()

    def tallies(self, run: "str | Run" = "latest") -> list[Tally]:
        """Counts of a run by type, part of the schema, outcome, reason and sources."""
        with self._reading() as ledger:
            return ledger.tallies(ledger.run(run) if isinstance(run, str) else run)

    def findings(
        self, run: "str | Run" = "latest", *, outcomes: Iterable[str | Outcome] = (), limit: int | None = None
    ) -> Findings:
        """The findings of a run, the refuted first.

        Args:
            run: The run, its id or the beginning of it, or ``latest``.
            outcomes: Only these; all if none is named.
            limit: At most so many.

        Returns:
            The findings, to go through, or as a table.

        Raises:
            UnknownName: There is no such run or outcome.
        """
        wanted = [_member(Outcome, "outcome", o) for o in outcomes]
        with self._reading() as ledger:
            return Findings(self.ledger, ledger.run(run) if isinstance(run, str) else run, wanted, limit)

    def finding(self, fingerprint: str) -> Finding:
        """The finding of that fingerprint, or its beginning, in the newest run that has it."""
        with self._reading() as ledger:
            return ledger.finding(fingerprint)

    def known_finding(self, fingerprint: str) -> "KnownFinding":
        """The finding of that fingerprint, or its beginning, in the newest run that has it, and where it stands."""
        from kgcheck.curation.known import known_finding

        with self._reading() as ledger:
            return known_finding(ledger, fingerprint)

    def occurrences(self, fingerprint: str, limit: int = 100) -> "list[Occurrence]":
        """The runs that have the finding of that fingerprint, or its beginning, the newest first."""
        from kgcheck.curation.known import occurrences

        with self._reading() as ledger:
            return occurrences(ledger, fingerprint, limit)

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
        names, found = self._names(), dict[str, str]()
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

    def report(
        self,
        run: "str | Run" = "latest",
        format_: str = "markdown",
        *,
        output: str | Path | None = None,
        limit: int | None = None,
        fail_on: str = "refuted",
        exit_code: int = 0,
    ) -> str:
        """A run as text.

        Args:
            run: The run, its id or the beginning of it, or ``latest``.
            format_: table, json, jsonl, csv, markdown, html, junit, sarif or prometheus.
            output: Also write it to this file, whole or not at all.
            limit: At most so many findings.
            fail_on: What junit takes for a failure: refuted, insufficient, new or never.
            exit_code: What the program that writes it will end with, for sarif.

        Returns:
            The text.

        Raises:
            UnknownName: There is no such run or form.
        """
        from kgcheck.curation.standing import standing
        from kgcheck.outputs import write_text
        from kgcheck.report.render import render

        chosen("form", format_, FORMATS)
        chosen("threshold", fail_on, THRESHOLDS)
        with self._reading() as ledger:
            found = ledger.run(run) if isinstance(run, str) else run
            beside = standing(ledger, found)
            text = render(ledger, found, format_, limit, standing=beside, fail_on=fail_on, exit_code=exit_code)
        if output:
            write_text(Path(output), text)
        return text

    # What became of it

    def diff(self, before: "str | Run | None" = None, after: "str | Run | None" = None) -> "RunDiff":
        """What became of the findings of one run in a later one.

        Args:
            before: The earlier run; unless named, the run before of the same store and options.
            after: The later run; the latest audit, unless named.

        Returns:
            The states, with their counts and findings.

        Raises:
            UnknownName: There is no such run.
            UsageError: They cannot be compared.
        """
        from kgcheck.curation.compare import diff_of

        with self._reading() as ledger:
            return diff_of(ledger, before, after)

    # What is verified

    def verified(self, what: "CheckTask | Triple | str") -> "Verified | None":
        """What the newest audit of the store found that looked at an edge, a node or an attribute.

        Findings, and what is right as well: by which record of which release, in which run, and when that began. The
        graph and the references are not asked, and decisions of people change nothing here.

        Args:
            what: An edge, in words too (``"P04637 ACTS_ON Q00987"``), or a task.

        Returns:
            None where nobody has looked, which says nothing about the edge.

        Raises:
            UsageError: The words are no edge.
        """
        from kgcheck.workspace.verified import verified_of

        return verified_of(self._verified_reader(), self.schema, what)

    def verified_edges(self, edges: Iterable[str | Triple]) -> "list[tuple[CheckTask, Verified | None]]":
        """What is verified of each of some edges, as `verified` has it, beside the task that was meant."""
        from kgcheck.workspace.verified import edge_facts

        return edge_facts(self._verified_reader(), self.schema, edges)

    def verified_of_node(self, node: Ref, limit: int = 100) -> "tuple[list[tuple[CheckTask, Verified | None]], bool]":
        """What is verified of a node: that it exists, its attributes, and its edges, of which the graph is asked.

        Args:
            node: The node.
            limit: Most facts.

        Returns:
            Each fact with what is verified of it, and whether these are all.
        """
        from kgcheck.workspace.verified import node_facts

        return node_facts(self._verified_reader(), self.graph, node, limit)

    def list_findings(
        self,
        run: "str | Run" = "latest",
        *,
        before: "str | Run | None" = None,
        states: Iterable[str] = (),
        decisions: Iterable[str] = (),
        outcomes: Iterable[str] = (),
        types: Iterable[str] = (),
        reasons: Iterable[str] = (),
        labels: Iterable[str] = (),
        relations: Iterable[str] = (),
        since: str | date | None = None,
        text: str | None = None,
    ) -> "FindingList":
        """The findings of a run with what became of them and what was decided, filtered, page by page.

        Args:
            run: The run, its id or the beginning of it, or ``latest``.
            before: The run that it is compared with; see `diff`.
            states: new, still, changed; and fixed, gone, unchecked, which the run has not any more.
            decisions: open, reopened, accepted, rejected, deferred.
            outcomes: refuted, insufficient.
            types: existence, attribute, triple, potential, structure.
            reasons: Why.
            labels: Of the subject or the object.
            relations: Of the edge.
            since: First found on this day or later.
            text: Part of an id, a name, a value or a proposed value.

        Returns:
            The list; what is left out means any.

        Raises:
            UnknownName: There is no such run or name.
        """
        from kgcheck.curation.findings import FindingList, wanted

        diff = self.diff(before, run)
        filters = {"states": states, "decisions": decisions, "outcomes": outcomes, "types": types, "reasons": reasons}
        return FindingList(diff, wanted(**filters, labels=labels, relations=relations, since=since, text=text))

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
        """Decide about findings, all or none. Nothing that was decided before is overwritten.

        Args:
            findings: Fingerprints or their beginnings, in the newest run that has each; or findings, or a list of them.
            action: accept, reject, defer or reopen.
            by: Who decides.
            choose: Of what is proposed, what to take; with accept.
            note: Why.
            until: The day on which it comes back; with defer.
            seen: The versions of findings that whoever decides looked at, by fingerprint: of `known_finding`, or of a
                list.
            expected: How many findings are meant.

        Returns:
            The decisions, each with where the finding stood before.

        Raises:
            UnknownName: There is no such finding or action.
            UsageError: It cannot be decided so.
            ChangedMeanwhile: A finding is not as it was seen, or it is another number of them: nothing was decided.
        """
        from kgcheck.curation.decisions import decide

        with self._writing() as ledger:
            return decide(
                ledger, findings, action, by=by, chosen=choose, note=note, until=until, seen=seen, expected=expected
            )

    def take_back(self, first: int, count: int, action: str, *, by: str) -> "list[Made]":
        """Reopen what somebody decided about at once; what was decided about since is left as it is.

        Args:
            first: Number of the first of the decisions.
            count: How many they are.
            action: What was decided.
            by: Who decided, and takes it back.

        Returns:
            The decisions that reopen.

        Raises:
            UnknownName: There is no such action.
            ChangedMeanwhile: Somebody else has just decided about one of them: nothing was taken back.
        """
        from kgcheck.curation.taking_back import take_back
        from kgcheck.ledger.decisions import Action

        with self._writing() as ledger:
            return take_back(ledger, first, count, _member(Action, "action", action), by)

    def history(self, fingerprint: str) -> "list[Decision]":
        """Every decision about the finding of that fingerprint, or its beginning, the oldest first."""
        from kgcheck.curation.decisions import Decisions

        with self._reading() as ledger:
            return list(Decisions(ledger).table.of([ledger.finding(fingerprint).fingerprint]))

    def decisions(self, before: int | None = None, limit: int | None = None) -> "list[Decision]":
        """Every decision, the newest first.

        Args:
            before: Only older ones than that of this number.
            limit: At most so many.

        Returns:
            The decisions.
        """
        from kgcheck.ledger.decisions import DecisionTable

        with self._reading() as ledger:
            return DecisionTable(ledger.database).newest_first(before, limit)

    def decisions_text(self, format_: str = "toml") -> str:
        """What `export_decisions` writes to a file of that ending, toml or jsonl."""
        from kgcheck.curation.exchange import decisions_text

        with self._reading() as ledger:
            return decisions_text(ledger, chosen("form", format_, ("toml", "jsonl")))

    def export_decisions(self, path: str | Path) -> int:
        """Write every decision to a file, .toml or .jsonl, in an order that does not depend on the ledger.

        Args:
            path: The file.

        Returns:
            How many there are.

        Raises:
            UsageError: The name ends otherwise.
        """
        from kgcheck.curation.exchange import export_decisions

        with self._reading() as ledger:
            return export_decisions(ledger, Path(path))

    def import_decisions(self, path: str | Path, *, quarantine: str | Path | None = None) -> "Imported":
        """Add the decisions of a file; both are kept where others decided otherwise, and the newer one counts.

        Args:
            path: As `export_decisions` writes it.
            quarantine: JSON lines file for decisions about findings that are not in the ledger; beside the file, unless
                named.

        Returns:
            What came of each, with the conflicts.

        Raises:
            InputError: Something in it is wrong; nothing is taken over.
        """
        from kgcheck.curation.exchange import import_decisions

        file = Path(path)
        kept = Path(quarantine) if quarantine else file.with_name(f"{file.stem}.quarantine.jsonl")
        with self._writing() as ledger:
            return import_decisions(ledger, file, kept)

    def state_of(self, finding: Finding) -> "str | None":
        """What became of a finding from the run before to its own; None where its run is no audit."""
        from kgcheck.curation.compare import diff_of

        with self._reading() as ledger:
            run = ledger.run(finding.run)
            state = None if run.is_check else diff_of(ledger, after=run).state_of(finding.fingerprint)
        return state.value if state else None

    def decided(self, finding: Finding) -> "CurrentDecision":
        """Where a finding stands by what was decided about it."""
        from kgcheck.curation.decisions import Decisions

        with self._reading() as ledger:
            return Decisions(ledger).beside([finding])[finding.fingerprint]

    # Patches

    def make_patch(
        self,
        folder: str | Path,
        *,
        findings: Mapping[str, str | None] | Iterable[str] = (),
        accepted: bool = False,
        run: str = "latest",
        by: str = "",
    ) -> "PatchMade":
        """Make a patch that repairs findings. Nothing is done to the graph.

        Args:
            folder: Where its files are written: ``patch.jsonl``, Cypher with parameters, and pages to read.
            findings: Fingerprints or their beginnings; of a mapping, each with what is chosen where there is a choice.
            accepted: Every finding of the run that was accepted, instead.
            run: The run, with `accepted`.
            by: Who makes it; the user, unless named.

        Returns:
            The patch, and the findings for which it does nothing, with why.

        Raises:
            UsageError: Not one of findings and `accepted`; the run is of another store; the folder holds a patch.
            UnknownName: There is no such finding or run.
        """
        from kgcheck.workspace.patching import make

        named = dict(findings) if isinstance(findings, Mapping) else dict.fromkeys(findings)
        return make(self, Path(folder), findings=named, accepted=accepted, run=run, by=by)

    def check_patch(self, folder: str | Path) -> "PatchOutcome":
        """Say what of the patch in a folder would conflict now; nothing is written."""
        from kgcheck.workspace.patching import check

        return check(self, Path(folder))

    def apply_patch(self, folder: str | Path, *, by: str = "", delete: bool = False) -> "PatchOutcome":
        """Do every operation of the patch in a folder that the graph still fits; go on with one that was cut short.

        Args:
            folder: Of the patch.
            by: Who does it; the user, unless named.
            delete: Take away what is retired, and do not only mark it.

        Returns:
            What was done, and the conflicts.

        Raises:
            InputError: There is no patch, or it was edited.
            UsageError: It is for another store.
            StoreError: The store cannot be written.
        """
        from kgcheck.workspace.patching import apply

        return apply(self, Path(folder), by=by, delete=delete)

    def undo_patch(self, folder: str | Path, *, by: str = "") -> "PatchOutcome":
        """Give the graph back as it was before the patch in a folder.

        Args:
            folder: Of the patch.
            by: Who does it; the user, unless named.

        Returns:
            What was undone, and what was changed again since, which stays.

        Raises:
            InputError: There is no patch, or it was edited.
            UsageError: It is for another store, or nothing of it is done.
            StoreError: The store cannot be written.
        """
        from kgcheck.workspace.patching import undo

        return undo(self, Path(folder), by=by)

    def export_patch(self, folder: str | Path, of: str | Path, out: str | Path) -> "Exported":
        """Write an import directory with what the patch in a folder changes, whether it is applied or not.

        Args:
            folder: Of the patch.
            of: The import directory that the graph was loaded from.
            out: A new or empty folder to write to.

        Returns:
            What was written, and what no row of the files can be made to state.

        Raises:
            InputError: There is no patch, it was edited, or a folder cannot be read or written.
            UsageError: It is for another store, or `out` is not empty.
        """
        from kgcheck.workspace.patching import export

        return export(self, Path(folder), _folder(of), Path(out))

    def patches(self) -> "list[PatchEntry]":
        """The patches in the ledger, newest first."""
        from kgcheck.ledger.patches import PatchTable

        with self._reading() as ledger:
            return PatchTable(ledger.database).all()

    def patch(self, name: str) -> "tuple[PatchEntry, list[OperationEntry]]":
        """A patch in the ledger by its id, or the beginning of it, with its operations."""
        from kgcheck.ledger.patches import PatchTable

        with self._reading() as ledger:
            return PatchTable(ledger.database).one(name)

    def patch_folder(self, name: str) -> Path:
        """The folder of a patch in the ledger, by its id or the beginning of it.

        Returns:
            The folder.

        Raises:
            UnknownName: There is no such patch.
            InputMissing: The folder is not there any more.
        """
        entry, _ = self.patch(name)
        folder = Path(entry.folder)
        if not folder.is_dir():
            raise InputMissing(f"the files of the patch {entry.id} are not there any more", "make it again")
        return folder

    # The ledger itself

    def copy_ledger(self, to: str | Path) -> "list[Copied]":
        """Write into another ledger what this one has, all of it or nothing.

        Args:
            to: A SQLite file or ``postgresql://HOST/DATABASE``: new, empty, or with nothing that is not here.

        Returns:
            Each table, with the rows that it has in both now and those that were added.

        Raises:
            LedgerError: It has other rows; nothing was written.
            UsageError: It is no place of a ledger, or this one.
        """
        from kgcheck.ledger.copying import copy_ledger
        from kgcheck.ledger.ledger import Ledger
        from kgcheck.ledger.place import is_same_place, ledger_place

        place = ledger_place(to, self.settings)
        with self._reading() as ledger:
            if is_same_place(self.ledger, place):
                raise UsageError("the two ledgers are the same", "name another place to copy to")
            with Ledger(place) as target:
                return copy_ledger(ledger.database, target.database, self.progress)

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

    def ledger_facts(self) -> "LedgerFacts":
        """What the ledger is kept in, its format and size, and how many rows its tables have."""
        from kgcheck.ledger.copying import facts_of

        with self._reading() as ledger:
            return facts_of(ledger.database)

    # What the methods above and kgcheck.workspace.batches are made of

    def index(self, notes: list[str], folder: Path | None = None) -> "LiteratureIndex":
        """The literature index, open.

        Args:
            notes: Gets what is to be noted of how it is searched.
            folder: Another one than that of the workspace.

        Returns:
            The index.

        Raises:
            UsageError: None is named.
        """
        place = folder or self.literature
        if place is None:
            raise UsageError("no papers are named", "name the folder of a literature index: literature=")
        index, note = self._opened.get(f"index {place}", lambda: _opened_index(place))
        if note:
            notes.append(note)
        return index

    def close_graph(self) -> None:
        """Close what is open, to be opened again when it is needed: a store that is written to is open for nobody."""
        self._opened.reset()

    def paper_reader(self, notes: list[str], folder: Path | None = None) -> "TripleReader | None":
        """What reads papers about edges with the trained verifier; None where no papers are named."""
        from kgcheck.literature.trained_verifier import TrainedVerifier

        if not (folder or self.literature):
            return None
        index = self.index(notes, folder)
        return self._edge_reader(index, TrainedVerifier(index.embedder))

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

    def _names(self) -> "Names":
        """Names from the graph, where there is one, and from the snapshot, where one is named."""
        from kgcheck.literature.names import AllNames, Names, StoreNames
        from kgcheck.reference.names import SnapshotNames

        places: list[Names] = []
        try:
            places.append(StoreNames(self.graph))
        except StoreMissing:
            # The default store need not be there to search for synonyms of the snapshot.
            if self._store_is_named:
                raise
        if reference := self.reference:
            known = self._opened.get("names", lambda: closing(SnapshotNames(reference, self.schema)))
            places.append(known)
        return AllNames(places)

    def _edge_reader(self, index: "LiteratureIndex", verifier: Any) -> "TripleReader":
        from kgcheck.literature.edge_reader import TripleReader

        return TripleReader(index, verifier, self._names(), self.schema)

    def _edge_of(self, what: str | Triple) -> Triple:
        """The edge that is meant; of several kinds, one that papers have words and names for."""
        from kgcheck.agents.request import parse_request
        from kgcheck.profile.claims import form_of

        if isinstance(what, Triple):
            return what
        request = parse_request([what], self.schema)
        if not request.relation or request.attribute:
            raise UsageError(f"{what!r} is no edge", f"HEAD RELATION TAIL, for example {self.schema.edge_example}")
        names = self._names()
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
        from kgcheck.audit.run import Audit, store_place
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
            former = carrying.since(ledger, since, options, store_place(graph), schema) if since else None
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

    def _verified_reader(self) -> "VerifiedReader":
        """The files of what was judged; they and the ledger stay open."""
        from kgcheck.graph.open import place_of
        from kgcheck.ledger.ledger import Ledger
        from kgcheck.ledger.verified import VerifiedFiles, VerifiedReader

        ledger = self._opened.get("verified ledger", lambda: Ledger(self.ledger, create=False))
        files = VerifiedFiles.of(ledger, self.settings.home)
        return self._opened.get("verified", lambda: nullcontext(VerifiedReader(ledger, files, place_of(self.store))))

    @contextmanager
    def _reading(self) -> "Iterator[Ledger]":
        """The ledger, which must be there."""
        from kgcheck.ledger.ledger import Ledger

        self._opened.check()
        with Ledger(self.ledger, create=False) as ledger:
            yield ledger

    @contextmanager
    def _writing(self) -> "Iterator[Ledger]":
        """The ledger, which must be there, open for writing, too."""
        from kgcheck.ledger.ledger import Ledger

        self._opened.check()
        if isinstance(place := self.ledger, Path) and not place.exists():
            raise LedgerError(f"there is no ledger at {place}", "kgcheck audit makes one; --ledger names another")
        with Ledger(place) as ledger:
            yield ledger

    def _quarantine(self, given: str | Path | None, directory: Path) -> Path:
        return Path(given) if given else self.settings.home / f"quarantine-{directory.resolve().name}.jsonl"


def _as_progress(given: Progress | ProgressCallback | None) -> Progress:
    if given is None:
        return NoProgress()
    return CallbackProgress(given) if callable(given) else given


def _path(what: str, given: str | Path | None) -> Path | None:
    """A path; an address, which may hold a password, is none, and no file is made under its name."""
    text = str(given or "")
    if "://" in text or (is_secret_path(text) and not os.path.exists(text)):
        raise UsageError(f"the {what} is an address, and a path is wanted")
    return Path(text) if text else None


def _folder(directory: str | Path) -> Path:
    """An import directory; refused before a store is made for it where it is not there."""
    path = Path(directory)
    if not path.is_dir():
        raise InputMissing(f"there is no folder {path}", "name an import directory: databases/ and ontologies/")
    return path


def _member(kind: type[E], called: str, name: str) -> E:
    return kind(chosen(called, str(name), [member.value for member in kind]))


def _valid(kind: type[M], **given: Any) -> M:
    """A model of values that somebody gave, with one clear error where they are none."""
    try:
        return kind(**given)
    except ValidationError as error:
        wrong = [f"{error_['loc'][0]}={error_['input']!r}: {error_['msg']}" for error_ in error.errors()]
        raise UsageError("; ".join(wrong)) from None


@contextmanager
def _opened_index(folder: Path) -> "Iterator[tuple[LiteratureIndex, str]]":
    from kgcheck.literature.search import open_index

    index, note = open_index(folder)
    with index:
        yield index, note
