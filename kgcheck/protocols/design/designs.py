"""Design a protocol over a Context and write its folder, or design it again from that folder."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kgcheck import clock
from kgcheck.audit.verified_facts import tasks_between, tasks_of_node
from kgcheck.context import Context, noting
from kgcheck.errors import InputFormat, InputMissing
from kgcheck.grounding.brief import stated
from kgcheck.inputs import read_whole
from kgcheck.llm.budget import Limits, RunMeter, spent_note
from kgcheck.locks import only_one
from kgcheck.model import CheckType, Outcome, Ref
from kgcheck.options import Spending
from kgcheck.outputs import temporary_folder
from kgcheck.protocols.design.by_model import DesignConversation, ModelDesigner
from kgcheck.protocols.design.by_rules import design_by_rules, fitting_analyses
from kgcheck.protocols.design.material import DesignFolder, DesignMaterial, DesignRules
from kgcheck.protocols.programs.steps import refusal_of
from kgcheck.protocols.protocol import (
    FILE,
    ExperimentalReport,
    Objective,
    StudyDataSet,
    StudyFact,
    StudyNode,
    StudyProtocol,
    read_formatted,
)
from kgcheck.protocols.rendering import write
from kgcheck.protocols.reports.papers import experimental_report, grade_reports, whole_papers
from kgcheck.protocols.search.look_up import look_up
from kgcheck.protocols.search.run import SEARCH_FILE, StudySearch
from kgcheck.providers.http import Http
from kgcheck.questions.resolver import taken_names

MOST_PAPERS = 10  # papers of an index that fit an objective best, which are read


class DesignedProtocol(NamedTuple):
    """A protocol, the sources that could not be looked at, and notes about the model that designed it."""

    protocol: StudyProtocol
    unavailable: tuple[str, ...]
    notes: tuple[str, ...] = ()


def design_protocol(
    context: Context,
    objective: Objective,
    out: Path,
    *,
    papers: Sequence[Path] = (),
    reports: Sequence[ExperimentalReport] = (),
    search: Path | None = None,
    spending: Spending | None = None,
) -> DesignedProtocol:
    """Design a protocol, and write it with all that it rests on into a folder; the same call goes on there."""
    gather = partial(_material, context, objective, papers, reports, search)
    folder = DesignFolder(out)
    with only_one(out, "designs a protocol"):
        if context.brain == "rules":
            material = gather()
            folder.begin(material)
            made = DesignedProtocol(design_by_rules(material), material.unavailable)
        else:
            made = _by_model(context, objective, gather, folder, spending or Spending())
        write(made.protocol, folder.path)
    return made


def _by_model(
    context: Context,
    objective: Objective,
    gather: Callable[[], DesignMaterial],
    folder: DesignFolder,
    spending: Spending,
) -> DesignedProtocol:
    from kgcheck.llm.client import ChatClient

    with noting() as notes, ChatClient(context.settings, notes) as client:
        material = folder.read()
        if material is None:
            material = gather().model_copy(update={"made_by": client.model})
            folder.begin(material)
        elif material.objective != objective or material.made_by != client.model:
            raise InputFormat(
                f"{folder.path} is of another objective, or was begun by another model: {material.made_by}",
                "name another --out",
            )
        total = RunMeter(Limits.of(spending), client.prices)
        try:
            talk = DesignConversation(folder, client, total)
            protocol = ModelDesigner(material, talk, context.progress).design()
        finally:
            notes += spent_note(total)
    return DesignedProtocol(protocol, material.unavailable, tuple(notes))


def _study_nodes(context: Context, objective: Objective, notes: list[str]) -> tuple[StudyNode, ...]:
    """The nodes that an objective is about; a note for each name that the graph does not have."""
    found: dict[Ref, str] = {}
    for name in objective.about:
        if context.graph_if_there() is None:
            notes.append("no graph is named: no fact stands beside the steps")
            return ()
        taken = context.resolver().anywhere(" ".join(name.split()))
        found |= {one.ref: name for one in taken}
        notes += map(str, taken_names(taken))
        if not taken:
            notes.append(f"the graph has no node called {name!r}")
    most = DesignRules.shipped().limits["nodes"]
    if len(found) > most:
        notes.append(f"the objective is about {len(found):,} nodes, of which the first {most} are looked at")
    looked_at = dict(list(found.items())[:most])
    names = context.names().of_many(looked_at)
    nodes = []
    for ref, name in looked_at.items():
        known = names.get(ref, ())
        # What the objective calls it is what its reader knows it by.
        called = next((n for n in known if n.casefold() == name.casefold()), known[0] if known else ref.id)
        nodes.append(StudyNode(ref=ref, name=called, names=known))
    return tuple(nodes)


def _study_facts(context: Context, nodes: Sequence[StudyNode], notes: list[str]) -> tuple[StudyFact, ...]:
    if not nodes:
        return ()
    reader = context.verified_if_there()
    if reader is None:
        notes.append("there is no ledger: nobody has looked at the facts of the graph")
    most = DesignRules.shipped().limits["facts"]
    refs = [node.ref for node in nodes]
    # Of a node with many edges the first ones are taken; those to other nodes of the objective must be among them.
    found = [
        *tasks_between(context.graph, refs),
        *(task for ref in refs for task in tasks_of_node(context.graph, ref, most)),
    ]
    tasks = dict.fromkeys(task for task in found if task.type is not CheckType.ATTRIBUTE)
    called = {node.ref: node.name for node in nodes}
    others = {ref for task in tasks for ref in (task.subject, task.object) if ref} - called.keys()
    names = context.names().of_many(others)
    called |= {ref: next((n for n in names.get(ref, ()) if n != ref.id), ref.id) for ref in others}
    known = [(task, reader.of(task) if reader else None) for task in tasks]
    # That nodes exist, then edges; the verified ones first.
    known.sort(key=lambda k: (k[0].type is not CheckType.EXISTENCE, not k[1] or k[1].outcome is not Outcome.SUPPORTED))
    facts = []
    for number, (task, verified) in enumerate(known, 1):
        fact = StudyFact(id=f"F{number}", task=task, stated=stated(task, context.schema, called.__getitem__))
        if verified:
            fields = ("outcome", "reason", "run", "at", "source", "release", "record")
            judged = {name: getattr(verified, name) or "" for name in fields}
            fact = fact.model_copy(update=judged | {"finding": task.fingerprint})
        facts.append(fact)
    return tuple(facts)


def _material(
    context: Context,
    objective: Objective,
    papers: Sequence[Path],
    reports: Sequence[ExperimentalReport],
    search: Path | None,
) -> DesignMaterial:
    notes: list[str] = []
    unavailable: list[str] = []
    found = [one for file in papers for one in whole_papers(file, (), notes)]
    index = context.index(notes) if context.literature else None
    if index is not None:
        # The whole papers of the index that fit the objective best.
        hits = index.search(objective.text, limit=MOST_PAPERS)
        ids = list(dict.fromkeys(hit.document.paper_id for hit in hits))
        whole = [id_ for id_ in ids if index.store.paper(id_) is not None]
        if lost := len(ids) - len(whole):
            notes.append(f"papers of which the index has the abstract alone, so that no method is read: {lost}")
        found += whole_papers(index.folder, whole, notes) if whole else ()
    data_sets: dict[str, StudyDataSet] = {}
    if search is not None:
        file = search / SEARCH_FILE
        searched = read_formatted(file, StudySearch, "search", "name a folder of kgcheck protocol search")
        if searched.objective != objective:
            raise InputFormat(f"{file} was a search for another objective", "search again, into another folder")
        found += [(p.paper, "") for p in searched.kept if p.whole]
        data_sets |= {one.data_set.id: one.data_set for one in searched.usable}
        unavailable += [f"{u.place} could not be looked at: {u.reason}" for u in searched.unsearched]
        notes += searched.notes
    read = {paper.id: (paper, url) for paper, url in reversed(found)}
    made = [experimental_report(paper, url=url) for paper, url in reversed(read.values())]
    given = {report.paper for report in made}
    made += [report for report in reports if report.paper not in given]
    judged = grade_reports(made, objective)
    steps = (step for report in judged for section in report.sections for step in section.steps)
    named = {d.id: StudyDataSet(id=d.id, repository=d.repository) for step in steps for d in step.data_sets}
    if context.live and (lacking := [i for i in named if i not in data_sets]):
        with Http(context.settings) as http:
            looked = look_up(lacking, http)
        named |= {one.id: one for one in looked}
        unavailable += [f"{one.id} could not be looked up" for one in looked if one.state == "not_looked"]
    notes += unavailable
    nodes = _study_nodes(context, objective, notes)
    material = DesignMaterial(
        objective=objective,
        made_at=clock.now(),
        nodes=nodes,
        facts=_study_facts(context, nodes, notes),
        reports=judged,
        data_sets=tuple((named | data_sets).values()),
        notes=tuple(dict.fromkeys(notes)),
        unavailable=tuple(dict.fromkeys(unavailable)),
    )
    fitting = [name for name, _ in fitting_analyses(material)]
    refused = {name: why for name in fitting if (why := refusal_of(context, material, name))}
    return material.model_copy(update={"refused": refused})


def design_again(folder: Path) -> tuple[StudyProtocol, bool]:
    """Design a protocol again."""
    design = DesignFolder(folder)
    material = design.read() if folder.is_dir() else None
    if material is None:
        raise InputMissing(f"there is no design in {folder}", "name a folder of kgcheck protocol design")
    if material.made_by == "rules":
        protocol = design_by_rules(material)
    else:
        talk = DesignConversation(design)
        protocol = ModelDesigner(material, talk).design()
        if not talk.whole:
            raise InputFormat(f"the transcript in {folder} has answers to nothing", "design it again in another folder")
    with temporary_folder() as place:
        write(protocol, place)
        same = read_whole(folder / FILE) == read_whole(place / FILE)
    return protocol, same
