"""Check or score protocol files over a Context: its ledger, graph, papers, data repositories."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.context import Context, noting
from kgcheck.errors import InputError, UnknownName, UsageError
from kgcheck.llm.budget import Limits, Meter, spent_note, total_meter
from kgcheck.model import Change, CheckTask, CheckType, Ref, Triple
from kgcheck.options import Spending
from kgcheck.protocols.checking.check import (
    CheckedProtocol,
    DataSetLookup,
    PaperLookup,
    PaperStanding,
    StudyWorlds,
    check_protocol,
    unreadable,
)
from kgcheck.protocols.checking.quality import StudyQuality, judge_protocol, measured
from kgcheck.protocols.design.by_rules import design_by_rules
from kgcheck.protocols.design.material import DesignFolder, DesignRules
from kgcheck.protocols.protocol import FILE, StudyProtocol, read_protocol

if TYPE_CHECKING:
    from kgcheck.graph.store import GraphStore
    from kgcheck.ledger.verified import VerifiedReader
    from kgcheck.literature.store import DocumentStore
    from kgcheck.literature.works import Works


def check_files(
    context: Context,
    files: Iterable[Path],
    bibliography: Path | None = None,
    data_sets: DataSetLookup | None = None,
) -> tuple[list[CheckedProtocol], tuple[str, ...]]:
    """Check protocols in files; data sets are looked up where the context is live, else taken as they stand there."""
    # All are read before anything is opened or asked; one that is no protocol does not stop the others.
    named: list[tuple[str, str, StudyProtocol]] = []
    refused: list[InputError] = []
    results: dict[str, CheckedProtocol] = {}
    paths = list(files)
    for path in paths:
        try:
            protocol = read_protocol(path)
            named.append((str(path), sha256(path.read_bytes()).hexdigest(), protocol))
        except InputError as error:
            refused.append(error)
            results[str(path)] = unreadable(str(path), error.message)
    if refused and not named:
        raise refused[0]
    found, notes = _checked(context, named, bibliography, data_sets)
    results |= {one.name: one for one in found}
    return [results[str(path)] for path in paths], notes


def check_text(
    context: Context, text: str, bibliography: Path | None = None
) -> tuple[CheckedProtocol, tuple[str, ...]]:
    """Check a protocol that stands in no file."""
    name = "what was given"
    protocol = read_protocol(Path(name), text)
    (found,), notes = _checked(context, [(name, sha256(text.encode()).hexdigest(), protocol)], bibliography)
    return found, notes


def _checked(
    context: Context,
    named: Sequence[tuple[str, str, StudyProtocol]],
    bibliography: Path | None = None,
    data_sets: DataSetLookup | None = None,
) -> tuple[list[CheckedProtocol], tuple[str, ...]]:
    """Check protocols, each with its name and its SHA-256."""
    not_looked: dict[str, str] = {}
    with noting() as notes, ExitStack() as opened:
        if data_sets is None and context.live and any(p.data_sets for *_, p in named):
            from kgcheck.protocols.search.look_up import look_up
            from kgcheck.providers.http import Http

            data_sets = partial(look_up, http=opened.enter_context(Http(context.settings)))
        worlds = StudyWorlds(
            facts=_fact_world(context, not_looked),
            papers=_paper_lookup(context, bibliography, opened, notes, not_looked),
            data_sets=data_sets,
            clauses=_Clauses(context).objection,
        )
        if data_sets is None:
            not_looked["data sets"] = "nobody was asked: what the protocol has of them is taken"
        found = [
            check_protocol(
                protocol, worlds, name=name, sha256=digest, not_looked=not_looked, design=_design(Path(name), protocol)
            )
            for name, digest, protocol in named
        ]
    return found, tuple(dict.fromkeys(notes))


def _design(file: Path, protocol: StudyProtocol) -> StudyProtocol | None:
    """The protocol as the material beside its file makes it; None where that is of another, or of other rules."""
    folder = DesignFolder(file.parent)
    if protocol.rules != DesignRules.shipped().digest or not file.is_file():
        return None
    try:
        material = folder.read()
    except InputError:
        return None
    if material is None or material.made_by != "rules":
        return None
    is_its_own = file.name == FILE or material.made_at == protocol.made_at
    return design_by_rules(material) if is_its_own else None


def score_file(
    context: Context, file: Path, judges: Sequence[str] = (), spending: Spending | None = None
) -> tuple[StudyQuality, tuple[str, ...]]:
    """Measure a protocol; with the brain ``llm`` models judge it, by name, or that of the settings."""
    protocol = read_protocol(file)
    if context.brain != "llm":
        if judges:
            raise UsageError("judges are models", "use the brain llm")
        return measured(protocol, str(file)), ()
    if not any(protocol.steps):
        raise UsageError(f"{file} has no step to judge", "design one with steps")
    from kgcheck.llm.client import ChatClient

    total = total_meter(context.settings, spending)
    judgements = []
    with noting() as notes:
        try:
            for name in dict.fromkeys(judges) or [None]:
                settings = context.settings.model_copy(update={"llm_model": name}) if name else context.settings
                with ChatClient(settings, notes) as client:
                    meter = Meter(Limits(), client.prices, total)
                    judgements.append(judge_protocol(protocol, client, meter, context.progress))
        finally:
            notes += spent_note(total)
    return measured(protocol, str(file), judgements), tuple(notes)


def _fact_world(context: Context, not_looked: dict[str, str]) -> "_Facts | None":
    reader = context.verified_if_there()
    if reader is None:
        not_looked["facts"] = "there is no ledger of audits"
        return None
    graph = context.graph_if_there()
    if graph is None:
        not_looked["graph"] = "no graph is named: whether it still has the facts is not known"
    releases: dict[str, set[str]] = {}
    if context.reference:
        from kgcheck.reference.snapshot import Snapshot

        with Snapshot(context.reference, context.schema) as snapshot:
            for release in snapshot.releases():
                releases.setdefault(release.source, set()).add(release.release)
    else:
        not_looked["releases"] = "no reference snapshot is named"
    return _Facts(context, reader, graph, {name: frozenset(found) for name, found in releases.items()})


def _paper_lookup(
    context: Context,
    bibliography: Path | None,
    opened: ExitStack,
    notes: list[str],
    not_looked: dict[str, str],
) -> PaperLookup | None:
    works = None
    if bibliography or context.live:
        from kgcheck.grounding.ground import open_works

        works = open_works(context, bibliography, opened)
    store = context.index(notes).store if context.literature else None
    if works is None and store is None:
        not_looked["papers"] = "neither papers nor a bibliography is named, and no service is asked"
        return None
    return partial(_standing, works, store)


class _Clauses:
    """Clauses as tasks state them; a node goes by any of its names, one that no graph here has by any at all."""

    def __init__(self, context: Context) -> None:
        self._context, self._graph = context, context.graph_if_there()
        self._names: dict[Ref, tuple[str, ...]] = {}

    def objection(self, task: CheckTask, text: str, called: Mapping[Ref, Sequence[str]]) -> str:
        from kgcheck.grounding.brief import stated

        ends = [ref for ref in (task.subject, task.object) if ref]
        marks = {ref: f"\0{number}\0" for number, ref in enumerate(ends)}
        try:
            schema, names = self._context.schema, {ref: self._known(ref) for ref in ends}
            pattern = re.escape(stated(task, schema, marks.__getitem__))
        except UnknownName:
            # A protocol of another profile.
            return ""
        for ref, mark in marks.items():
            choice = "|".join(map(re.escape, (*names[ref], *called.get(ref, ())))) if names[ref] else ".+"
            pattern = pattern.replace(re.escape(mark), f"(?:{choice})")
        if re.fullmatch(pattern, text, re.IGNORECASE):
            return ""
        return f"it is about {stated(task, schema, lambda ref: (*names[ref], ref.id)[0])!r}"

    def _known(self, ref: Ref) -> tuple[str, ...]:
        if ref not in self._names:
            there = self._graph is not None and self._graph.node(ref) is not None
            self._names[ref] = (*self._context.names().of_many([ref]).get(ref, ()), ref.id) if there else ()
        return self._names[ref]


class _Facts:
    """Facts in ledger, graph and snapshot; see FactWorld."""

    def __init__(
        self,
        context: Context,
        reader: "VerifiedReader",
        graph: "GraphStore | None",
        releases: dict[str, frozenset[str]],
    ) -> None:
        self._context, self._graph, self._releases = context, graph, releases
        self.judged = reader.of

    def there(self, task: CheckTask) -> bool | None:
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

    def change(self, task: CheckTask) -> Change | None:
        with self._context.reading() as ledger:
            try:
                return ledger.finding(task.fingerprint).change
            except UnknownName:
                return None

    def releases(self) -> Mapping[str, frozenset[str]]:
        return self._releases


def _standing(works: "Works | None", store: "DocumentStore | None", papers: Sequence[str]) -> dict[str, PaperStanding]:
    """Papers in an index, a bibliography and services."""
    found = dict.fromkeys(papers, PaperStanding()) if store is None else _in_index(store, papers)
    return found | _in_works(works, [p for p in papers if not found[p].retracted], found) if works else found


def _in_index(store: "DocumentStore", papers: Sequence[str]) -> dict[str, PaperStanding]:
    found = {}
    for paper in papers:
        kind, colon, name = paper.partition(":")
        # As it is given, and with its prefix in small letters, as indexes have it.
        names = list(dict.fromkeys((paper, paper.casefold(), f"{kind.casefold()}{colon}{name}")))
        known = next((name for name in names if store.number_of(name) is not None), None)
        parts = store.documents(store.parts(known) if known else [])
        gone = bool(store.retracted(names))
        found[paper] = PaperStanding(
            known=known is not None,
            retracted=gone or any(d.retracted for d in parts.values()),
            where="index" if gone or known else "",
            text="\n".join(part for d in parts.values() for part in (d.title, d.abstract)),
        )
    return found


def _in_works(works: "Works", papers: Iterable[str], known: Mapping[str, PaperStanding]) -> dict[str, PaperStanding]:
    from kgcheck.literature.papers import CitedWork

    named = [(paper, *paper.partition(":")) for paper in papers]
    references = [
        CitedWork.model_validate({"key": paper, kind.casefold(): name})
        for paper, kind, _, name in named
        if kind.casefold() in ("doi", "pmid") and name
    ]
    found = {}
    for reference, answer in zip(references, works.find(references) if references else (), strict=True):
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
