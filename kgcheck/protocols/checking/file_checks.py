"""Check or score protocol files over a Context: its ledger, graph, papers, data repositories."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.context import Context, noting
from kgcheck.errors import InputError, UnknownName, UsageError
from kgcheck.inputs import sha256_of
from kgcheck.llm.budget import Limits, Meter, spent_note, total_meter
from kgcheck.model import Change, CheckTask, CheckType, Ref, Triple
from kgcheck.options import Spending
from kgcheck.protocols.checking.check import (
    CheckedProtocol,
    DataSetLookup,
    FactWorld,
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
    refused: dict[str, InputError] = {}
    paths = [str(path) for path in files]
    for path in paths:
        try:
            protocol = read_protocol(Path(path))
            named.append((path, sha256_of(Path(path)), protocol))
        except InputError as error:
            refused[path] = error
    if refused and not named:
        raise next(iter(refused.values()))
    found, notes = _checked(context, named, bibliography, data_sets)
    results = {one.name: one for one in found} | {path: unreadable(path, e.message) for path, e in refused.items()}
    return [results[path] for path in paths], notes


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
            clauses=partial(_clause_objection, context, {}),
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
    if protocol.rules != DesignRules.shipped().digest or not file.is_file():
        return None
    try:
        material = DesignFolder(file.parent).read()
    except InputError:
        return None
    is_its_own = material and (file.name == FILE or material.made_at == protocol.made_at)
    return design_by_rules(material) if material and is_its_own and material.made_by == "rules" else None


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


def _fact_world(context: Context, not_looked: dict[str, str]) -> FactWorld | None:
    reader = context.verified_if_there()
    if reader is None:
        not_looked["facts"] = "there is no ledger of audits"
        return None
    graph = context.graph_if_there()
    if graph is None:
        not_looked["graph"] = "no graph is named: whether it still has the facts is not known"
    releases: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    if context.reference:
        from kgcheck.reference.snapshot import Snapshot

        with Snapshot(context.reference, context.schema) as snapshot:
            for release in snapshot.releases():
                releases[release.source] |= {release.release}
    else:
        not_looked["releases"] = "no reference snapshot is named"

    def change(task: CheckTask) -> Change | None:
        with context.reading() as ledger, suppress(UnknownName):
            return ledger.finding(task.fingerprint).change
        return None

    return FactWorld(reader.of, partial(_has, graph) if graph else lambda _: None, change, releases)


def _has(graph: "GraphStore", task: CheckTask) -> bool | None:
    try:
        if task.type is CheckType.TRIPLE and task.object and task.relation:
            return bool(graph.edges(Triple(head=task.subject, relation=task.relation, tail=task.object)))
        node = graph.node(task.subject)
    except UnknownName:
        # A graph of another profile.
        return None
    if node is None or task.type is not CheckType.ATTRIBUTE or task.value is None:
        return node is not None
    value = node.get(task.attribute or "")
    return str(value) == task.value if isinstance(value, str | int | float) else None


def _clause_objection(
    context: Context,
    known: dict[Ref, tuple[str, ...]],
    task: CheckTask,
    text: str,
    called: Mapping[Ref, Sequence[str]],
) -> str:
    """Hold a clause against its task; a node goes by any of its names, one that no graph here has by any at all."""
    from kgcheck.grounding.brief import stated

    ends, graph = [ref for ref in (task.subject, task.object) if ref], context.graph_if_there()
    marks = {ref: f"\0{number}\0" for number, ref in enumerate(ends)}
    try:
        schema = context.schema
        for ref in (ref for ref in ends if ref not in known):
            is_there = graph is not None and graph.node(ref) is not None
            known[ref] = (*context.names().of_many([ref]).get(ref, ()), ref.id) if is_there else ()
        pattern = re.escape(stated(task, schema, marks.__getitem__))
    except UnknownName:
        # A protocol of another profile.
        return ""
    for ref, mark in marks.items():
        choice = "|".join(map(re.escape, (*known[ref], *called.get(ref, ())))) if known[ref] else ".+"
        pattern = pattern.replace(re.escape(mark), f"(?:{choice})")
    if re.fullmatch(pattern, text, re.IGNORECASE):
        return ""
    return f"it is about {stated(task, schema, lambda ref: (*known[ref], ref.id)[0])!r}"


def _paper_lookup(
    context: Context, bibliography: Path | None, opened: ExitStack, notes: list[str], not_looked: dict[str, str]
) -> PaperLookup | None:
    works = None
    if bibliography or context.live:
        from kgcheck.grounding.ground import open_works

        works = open_works(context, bibliography, opened)
    store = context.index(notes).store if context.literature else None
    if works is None and store is None:
        not_looked["papers"] = "neither papers nor a bibliography is named, and no service is asked"
        return None

    def standing(papers: Sequence[str]) -> dict[str, PaperStanding]:
        found = {paper: _in_index(store, paper) if store else PaperStanding() for paper in papers}
        return found | (_in_works(works, {p: one for p, one in found.items() if not one.retracted}) if works else {})

    return standing


def _in_index(store: "DocumentStore", paper: str) -> PaperStanding:
    kind, colon, name = paper.partition(":")
    # As it is given, and with its prefix in small letters, as indexes have it.
    names = list(dict.fromkeys((paper, paper.casefold(), f"{kind.casefold()}{colon}{name}")))
    known = next((name for name in names if store.number_of(name) is not None), None)
    parts = store.documents(store.parts(known) if known else []).values()
    gone = bool(store.retracted(names))
    return PaperStanding(
        known=known is not None,
        retracted=gone or any(d.retracted for d in parts),
        where="index" if gone or known else "",
        text="\n".join(part for d in parts for part in (d.title, d.abstract)),
    )


def _in_works(works: "Works", known: Mapping[str, PaperStanding]) -> dict[str, PaperStanding]:
    from kgcheck.literature.papers import CitedWork

    named = [(paper, *paper.partition(":")) for paper in known]
    references = [
        CitedWork.model_validate({"key": paper, kind.casefold(): name})
        for paper, kind, _, name in named
        if kind.casefold() in ("doi", "pmid") and name
    ]
    found = {}
    for reference, answer in zip(references, works.find(references) if references else (), strict=True):
        sources = sorted({s.source for work in answer.by_id for s in work.statements})
        before = known[reference.key]
        found[reference.key] = before._replace(
            known=before.known or bool(answer.by_id),
            retracted=any(work.retracted for work in answer.by_id),
            where=", ".join(filter(None, (before.where, *sources))),
            unavailable="" if answer.by_id else "; ".join(answer.unavailable),
        )
    return found
