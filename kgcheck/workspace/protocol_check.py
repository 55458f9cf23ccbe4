"""Protocols held against what a workspace has now: its ledger and graph, papers, and repositories of data sets."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.errors import StoreMissing, UnknownName, UsageError
from kgcheck.model import CheckType, Triple
from kgcheck.workspace.grounding import Grounding
from kgcheck.workspace.opened import noting
from kgcheck.workspace.opening import Spending, spent_note, total_meter

if TYPE_CHECKING:
    from kgcheck.graph.store import GraphStore
    from kgcheck.ledger.verified import Verified, VerifiedReader
    from kgcheck.literature.store import DocumentStore
    from kgcheck.literature.works import Works
    from kgcheck.model import Change, CheckTask
    from kgcheck.protocols.checking.check import CheckedProtocol, DataSetLookup, PaperStanding
    from kgcheck.protocols.checking.quality import StudyQuality
    from kgcheck.protocols.protocol import StudyProtocol


class ProtocolChecks(Grounding):
    """What checks protocols; see Workspace."""

    def check_protocols(
        self,
        files: Iterable[str | Path],
        *,
        bibliography: str | Path | None = None,
        data_sets: "DataSetLookup | None" = None,
    ) -> "tuple[list[CheckedProtocol], tuple[str, ...]]":
        """Check protocols: their facts again, papers, data sets, the order of their steps, and what they lack.

        Args:
            files: Each a ``protocol.json``.
            bibliography: Bibliography snapshot in which retractions are looked up; where the workspace is live, the
                services are asked for papers that it does not have.
            data_sets: Where data sets are looked up; by default at their repositories where the workspace is live, else
                what the protocols have of them is taken.

        Returns:
            What was found of each, and notes.

        Raises:
            InputFormat: A file is no protocol.
            StoreMissing: The graph that is named is not there.
        """
        from kgcheck.protocols.protocol import read_protocol

        # All are read before anything is opened or asked.
        protocols = [(path, read_protocol(path)) for path in map(Path, files)]
        given = [(str(path), sha256(path.read_bytes()).hexdigest(), one) for path, one in protocols]
        return self._checked(given, Path(bibliography) if bibliography else None, data_sets)

    def check_given_protocol(
        self, text: str, *, bibliography: str | Path | None = None
    ) -> "tuple[CheckedProtocol, tuple[str, ...]]":
        """Check a protocol that stands in no file, see `check_protocols`.

        Args:
            text: What a ``protocol.json`` holds.
            bibliography: See `check_protocols`.

        Returns:
            What was found of it, and notes.

        Raises:
            InputFormat: It is no protocol.
            StoreMissing: The graph that is named is not there.
        """
        from kgcheck.protocols.protocol import read_protocol

        name = "what was given"
        protocol = read_protocol(Path(name), text)
        given = [(name, sha256(text.encode()).hexdigest(), protocol)]
        (found,), notes = self._checked(given, Path(bibliography) if bibliography else None)
        return found, notes

    def _checked(
        self,
        given: "Sequence[tuple[str, str, StudyProtocol]]",
        bibliography: Path | None = None,
        data_sets: "DataSetLookup | None" = None,
    ) -> "tuple[list[CheckedProtocol], tuple[str, ...]]":
        """What is found of protocols, each with its name and its SHA-256."""
        from kgcheck.protocols.checking.check import StudyWorlds, check_protocol

        not_looked: dict[str, str] = {}
        with noting() as notes, ExitStack() as opened:
            if data_sets is None and self.live and any(p.data_sets for *_, p in given):
                from kgcheck.protocols.search.look_up import look_up
                from kgcheck.providers.http import Http

                data_sets = partial(look_up, http=opened.enter_context(Http(self.settings)))
            worlds = StudyWorlds(
                facts=self._fact_world(not_looked),
                papers=self._paper_world(bibliography, opened, notes, not_looked),
                data_sets=data_sets,
            )
            if data_sets is None:
                not_looked["data sets"] = "nobody was asked: what the protocol has of them is taken"
            found = [
                check_protocol(protocol, worlds, name=name, sha256=digest, not_looked=not_looked)
                for name, digest, protocol in given
            ]
        return found, tuple(dict.fromkeys(notes))

    def score_protocol(
        self,
        file: str | Path,
        *,
        judges: Sequence[str] = (),
        tokens: int | None = None,
        money: float | None = None,
    ) -> "tuple[StudyQuality, tuple[str, ...]]":
        """Measure a protocol; with the brain ``llm`` models judge it.

        Args:
            file: A ``protocol.json``.
            judges: Names of models at the endpoint of the settings; by default the one of the settings.
            tokens: Most tokens that all judges together may take.
            money: Most money that they may cost.

        Returns:
            The measures, averaged over the judges, and notes.

        Raises:
            InputFormat: The file is no protocol.
            UsageError: Judges are named, and the brain is not ``llm``; or there is no step to judge.
        """
        from kgcheck.protocols.checking.quality import measured
        from kgcheck.protocols.protocol import read_protocol

        protocol = read_protocol(Path(file))
        if self.brain != "llm":
            if judges:
                raise UsageError("judges are models", "use the brain llm")
            return measured(protocol, str(file)), ()
        if not any(protocol.steps):
            raise UsageError(f"{file} has no step to judge", "design one with steps")
        from kgcheck.llm.budget import Meter
        from kgcheck.llm.client import ChatClient
        from kgcheck.protocols.checking.quality import judge_protocol

        total = total_meter(self.settings, Spending(tokens, money))
        judgements = []
        for name in dict.fromkeys(judges) or [None]:
            settings = self.settings.model_copy(update={"llm_model": name}) if name else self.settings
            with ChatClient(settings) as client:
                meter = Meter(Spending().limits(), client.prices, total)
                judgements.append(judge_protocol(protocol, client, meter, self.progress))
        return measured(protocol, str(file), judgements), spent_note(total)

    def _fact_world(self, not_looked: dict[str, str]) -> "_Facts | None":
        reader = self._judged()
        if reader is None:
            not_looked["facts"] = "there is no ledger of audits"
            return None
        graph: GraphStore | None = None
        try:
            graph = self.graph
        except StoreMissing:
            if self._store_is_named:
                raise
            not_looked["graph"] = "no graph is named: whether it still has the facts is not known"
        releases: dict[str, set[str]] = {}
        if self.reference:
            from kgcheck.reference.snapshot import Snapshot

            with Snapshot(self.reference, self.schema) as snapshot:
                for release in snapshot.releases():
                    releases.setdefault(release.source, set()).add(release.release)
        else:
            not_looked["releases"] = "no reference snapshot is named"
        return _Facts(self, reader, graph, {name: frozenset(found) for name, found in releases.items()})

    def _paper_world(
        self, bibliography: Path | None, opened: ExitStack, notes: list[str], not_looked: dict[str, str]
    ) -> "_Papers | None":
        works = self._works(bibliography, opened)
        store = self.index(notes).store if self.literature else None
        if works is None and store is None:
            not_looked["papers"] = "neither papers nor a bibliography is named, and no service is asked"
            return None
        return _Papers(works, store)

    def proposed_change(self, task: "CheckTask") -> "Change | None":
        """The repair that the newest finding of a task proposes; None where there is none."""
        with self._reading() as ledger:
            try:
                return ledger.finding(task.fingerprint).change
            except UnknownName:
                return None


class _Facts:
    """Facts in ledger, graph and snapshot; see FactWorld."""

    def __init__(
        self,
        workspace: ProtocolChecks,
        reader: "VerifiedReader",
        graph: "GraphStore | None",
        releases: Mapping[str, frozenset[str]],
    ) -> None:
        self._workspace, self._reader, self._graph, self._releases = workspace, reader, graph, releases

    def judged(self, task: "CheckTask") -> "Verified | None":
        return self._reader.of(task)

    def there(self, task: "CheckTask") -> bool | None:
        if self._graph is None:
            return None
        try:
            if task.type is CheckType.TRIPLE and task.object and task.relation:
                triple = Triple(head=task.subject, relation=task.relation, tail=task.object)
                return bool(self._graph.edges(triple))
            node = self._graph.node(task.subject)
        except UnknownName:
            # A graph of another profile.
            return None
        if node is None or task.type is not CheckType.ATTRIBUTE or task.value is None:
            return node is not None
        value = node.get(task.attribute or "")
        return str(value) == task.value if isinstance(value, str | int | float) else None

    def change(self, task: "CheckTask") -> "Change | None":
        return self._workspace.proposed_change(task)

    def releases(self) -> Mapping[str, frozenset[str]]:
        return self._releases


class _Papers:
    """Papers in an index, a bibliography and services; see PaperWorld."""

    def __init__(self, works: "Works | None", store: "DocumentStore | None") -> None:
        self._works, self._store = works, store

    def look(self, papers: Sequence[str]) -> "Mapping[str, PaperStanding]":
        found = self._in_index(papers)
        return found | self._in_works([p for p in papers if not found[p].retracted], found) if self._works else found

    def _in_index(self, papers: Sequence[str]) -> "dict[str, PaperStanding]":
        from kgcheck.protocols.checking.check import PaperStanding

        found = {}
        for paper in papers:
            standing = PaperStanding()
            names = list(dict.fromkeys((paper, paper.casefold(), _folded(paper))))
            if self._store:
                gone = bool(self._store.retracted(names))
                number = next((n for name in names if (n := self._store.number_of(name)) is not None), None)
                parts = self._store.documents([] if number is None else self._store.parts(_id_of(names, self._store)))
                standing = PaperStanding(
                    known=number is not None,
                    retracted=gone or any(d.retracted for d in parts.values()),
                    where="index" if gone or number is not None else "",
                    text="\n".join(part for d in parts.values() for part in (d.title, d.abstract)),
                )
            found[paper] = standing
        return found

    def _in_works(self, papers: list[str], known: "Mapping[str, PaperStanding]") -> "dict[str, PaperStanding]":
        from kgcheck.literature.papers import CitedWork

        references = []
        for paper in papers:
            kind, _, name = paper.partition(":")
            if kind.casefold() in ("doi", "pmid") and name:
                references.append(CitedWork.model_validate({"key": paper, kind.casefold(): name}))
        if self._works is None or not references:
            return {}
        found = {}
        for reference, answer in zip(references, self._works.find(references), strict=True):
            sources = sorted({s.source for work in answer.by_id for s in work.statements})
            before = known[reference.key]
            found[reference.key] = before.model_copy(
                update={
                    "known": before.known or bool(answer.by_id),
                    "retracted": any(work.retracted for work in answer.by_id),
                    "where": ", ".join(filter(None, (before.where, *sources))),
                    "unavailable": "" if answer.by_id else "; ".join(answer.unavailable),
                }
            )
        return found


def _id_of(names: Sequence[str], store: "DocumentStore") -> str:
    return next(name for name in names if store.number_of(name) is not None)


def _folded(paper: str) -> str:
    """An id with its prefix in small letters, as indexes have it."""
    kind, colon, name = paper.partition(":")
    return f"{kind.casefold()}{colon}{name}"
