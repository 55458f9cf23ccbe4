"""Design a protocol without a model: quoted steps of papers, verified edges, ready analyses.

No sentence is made up: a step is a quoted sentence of a paper, or one of the fixed steps of ``design.toml`` about
verified facts and ready analyses.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import TypeVar

from kgcheck.errors import UsageError
from kgcheck.literature.names import naming
from kgcheck.model import CheckType, Outcome, Reason
from kgcheck.protocols.design.material import (
    AnalysisUse,
    DesignMaterial,
    DesignRules,
    StepPattern,
    StudyStage,
    TakenSection,
    facts_named,
    fits,
    fitting_reports,
    likeness,
    stage_of,
    taken_sections,
)
from kgcheck.protocols.programs.analyses import ready_analysis
from kgcheck.protocols.protocol import (
    ReportStep,
    StepItem,
    StepParameter,
    StepTool,
    StudyFact,
    StudyGrounds,
    StudyNode,
    StudyPassage,
    StudyProtocol,
    StudySection,
    StudyStep,
    few,
)

UNNUMBERED = "S1.1"  # the id of a step that has no place yet
P = TypeVar("P", StepParameter, StepTool)

_TakenStep = tuple[TakenSection, ReportStep]
"""A step of a paper with its place."""

Passages = dict[tuple[str, str], StudyPassage]
"""The passages of a protocol, by paper and quote, numbered as they come."""


def quoted(passages: Passages, taken: TakenSection, step: ReportStep) -> StudyPassage:
    """The passage of a step of a paper, which is added where it is new."""
    report, section = taken.report, taken.section
    if (report.paper, step.text) not in passages:
        passage = StudyPassage(
            id=f"Q{len(passages) + 1}",
            paper=report.paper,
            title=report.title,
            year=report.year,
            url=report.url,
            section=section.kind,
            heading=" > ".join(section.path) or section.heading,
            quote=step.text,
            retracted=report.retracted,
        )
        passages[report.paper, step.text] = passage.model_copy(update={"digest": passage.digest_now})
    return passages[report.paper, step.text]


def assembled(
    material: DesignMaterial,
    sections: Iterable[StudySection],
    passages: Collection[StudyPassage],
    notes: Iterable[str],
) -> StudyProtocol:
    """The protocol: sections without steps are left out, and so are passages and data sets that no step rests on."""
    with_steps = [section for section in sections if section.steps]
    if not with_steps:
        raise UsageError(
            "no step of a protocol was found: the graph knows no name of the objective, and no paper gives a step",
            "name genes, diseases or drugs of the graph under 'about', or give papers with --reports or --search",
        )
    used = dict.fromkeys(i for section in with_steps for step in section.steps for i in step.quoted)
    new = {old: f"Q{n}" for n, old in enumerate((p.id for p in passages if p.id in used), 1)}

    def renamed(part: P) -> P:
        return part.model_copy(update={"passage": new.get(part.passage, "")})

    numbered = []
    for number, section in enumerate(with_steps, 1):
        steps = [
            step.model_copy(
                update={
                    "id": f"S{number}.{place}",
                    "passages": tuple(new[i] for i in dict.fromkeys(step.passages)),
                    "parameters": tuple(map(renamed, step.parameters)),
                    "tools": tuple(map(renamed, step.tools)),
                }
            )
            for place, step in enumerate(section.steps, 1)
        ]
        numbered.append(section.model_copy(update={"id": f"S{number}", "steps": tuple(steps)}))
    named = {i for section in numbered for step in section.steps for i in step.data_sets}
    refusals = (f"the ready analysis {name!r} is left out: {why}" for name, why in material.refused.items())
    return StudyProtocol(
        objective=material.objective,
        made_at=material.made_at,
        made_by=material.made_by,
        rules=DesignRules.shipped().digest,
        sections=tuple(numbered),
        nodes=material.nodes,
        facts=material.facts,
        refused=material.refused,
        passages=tuple(p.model_copy(update={"id": new[p.id]}) for p in passages if p.id in new),
        data_sets=tuple(d for d in material.data_sets if d.id in named),
        notes=tuple(dict.fromkeys((*material.notes, *refusals, *notes))),
    )


VERIFIED_EDGES = StepItem(name="verified edges", kind="network")
"""Input of ready analyses beside their own, by its name in ``design.toml``."""

_LONGEST = 100  # characters of the title of a data set


def graph_steps(grounds: StudyGrounds) -> Iterator[tuple[str, StudyStep]]:
    """The steps that take data sets, and nodes and verified edges of the graph, with the stage of each."""
    found = [one for one in grounds.data_sets if one.state == "found" and one.may_be_of(grounds.objective.species)]
    if found:
        about = ((one.repository, one.assay, one.title[:_LONGEST]) for one in found)
        names = [f"{one.id} ({', '.join(filter(None, words))})" for one, words in zip(found, about, strict=True)]
        known, unknown = ([one.id for one in found if bool(one.species) is stated] for stated in (True, False))
        species = _from_facts("of_species", known, unknown, species=grounds.objective.species)
        stage, step = _of_graph("data_sets", names, (), species=species)
        yield stage, step.model_copy(update={"data_sets": tuple(one.id for one in found)})
    uses = DesignRules.shipped().analyses
    sets = {
        "gene_set": grounds.of_labels(label for use in uses.values() for label in use.members),
        "targets": grounds.of_labels(link.label for name in uses for link in ready_analysis(name).targets),
    }
    exists = {f.task.subject: f for f in grounds.facts if f.task.type is CheckType.EXISTENCE}
    for name, nodes in sets.items():
        chosen = distinct(nodes)
        standing = {node: _standing(exists.get(node.ref)) for node in chosen}
        right = [node.name for node in chosen if standing[node] == _VERIFIED]
        open_ = [f"{node.name} ({standing[node]})" for node in chosen if standing[node] != _VERIFIED]
        if nodes:
            named = [f"{node.name} ({node.ref})" for node in chosen]
            existing = [exists[node.ref] for node in nodes if node.ref in exists]
            yield _of_graph(name, named, existing, existence=_from_facts("exist", right, open_))
    edges = [fact for fact in grounds.facts if fact.verified and fact.task.type is CheckType.TRIPLE]
    if edges:
        yield _of_graph("verified_edges", [fact.stated for fact in edges], edges)
    if left_out := not_verified(grounds):
        yield _of_graph("left_out", left_out, ())


def not_verified(grounds: StudyGrounds) -> list[str]:
    """The facts that may not be stated as true, each with how it stands."""
    return [f"{fact.stated} ({_standing(fact)})" for fact in grounds.facts if not fact.verified]


def _from_facts(kind: str, right: Sequence[str], open_: Sequence[str], **words: str) -> str:
    """The sentence that says of how many things something is known, and of which it is not."""
    share = "all" if not open_ else "some" if right else "none"
    return _sentence(f"{share}_{kind}", open_, count=f"{len(right):,}", all=f"{len(right) + len(open_):,}", **words)


def _sentence(name: str, names: Sequence[str], **words: str) -> str:
    rules = DesignRules.shipped()
    return rules.from_facts[name].format(names=few(names, rules.limits["named"]), **words)


def fitting_analyses(grounds: StudyGrounds) -> Iterator[tuple[str, AnalysisUse]]:
    """The ready analyses that fit the objective, by the nodes that it is about."""
    for name, use in DesignRules.shipped().analyses.items():
        ready, members = ready_analysis(name), distinct(grounds.of_labels(use.members))
        targets = grounds.of_labels(link.label for link in ready.targets)
        if name not in grounds.refused and len(members) >= ready.least_genes and (targets or not ready.targets):
            yield name, use


def _of_graph(name: str, names: Sequence[str], facts: Iterable[StudyFact], **words: str) -> tuple[str, StudyStep]:
    rules = DesignRules.shipped()
    pattern, most = rules.graph_steps[name], rules.limits["named"]
    more = f"; and {len(names) - most:,} more" if len(names) > most else ""
    return pattern.stage, StudyStep(
        id=UNNUMBERED,
        text=pattern.text.format(count=f"{len(names):,}", names="; ".join(names[:most]) + more),
        inputs=pattern.inputs,
        outputs=pattern.outputs,
        facts=tuple(fact.id for fact in facts if fact.verified),
        fixed=name,
        rationale=pattern.rationale.format(**words).strip(),
    )


def analysis_step(name: str, pattern: StepPattern, grounds: StudyGrounds) -> StudyStep:
    """A step of a ready analysis: the analysis itself, or another one that goes with it."""
    step = StudyStep(
        id=UNNUMBERED,
        text=pattern.text,
        inputs=pattern.inputs,
        outputs=pattern.outputs,
        parameters=pattern.parameters,
        statistics=pattern.statistics,
        fixed=name,
        control=pattern.control,
        rationale=pattern.rationale,
    )
    if not pattern.runs:
        return step
    ready = ready_analysis(name)
    links, targets = ({(link.relation, link.label) for link in some} for some in (ready.links, ready.targets))
    edges = [(f, (f.task.relation, f.task.object.label)) for f in grounds.facts if f.verified and f.task.object]
    rests_on = [f.id for f, link in edges if f.task.subject.label == ready.member and link in links | targets]
    # Nodes of the set that verified facts link to what it is held against.
    targets_seen = {node.ref for node in grounds.of_labels(link.label for link in ready.targets)}
    linked = {f.task.subject for f, link in edges if link in targets and f.task.object in targets_seen}
    members = [node.name for node in grounds.of_labels([ready.member]) if node.ref in linked]
    warning = _sentence("members_of_target", members, count=f"{len(members):,}") if members else ""
    changed = {
        "inputs": (*ready.inputs, VERIFIED_EDGES),
        "outputs": ready.outputs,
        "statistics": ready.statistics,
        "facts": tuple(rests_on),
        "analysis": name,
        "rationale": f"{pattern.rationale} {warning}".strip(),
    }
    return step.model_copy(update=changed)


def words_of_analysis(name: str) -> tuple[str, ...]:
    """The words of a ready analysis, as it is declared and designed."""
    ready, steps = ready_analysis(name), DesignRules.shipped().analyses[name].steps
    patterns = (f"{step.text} {step.control} {' '.join(step.statistics)}" for step in steps)
    values = (f"{p.name} {p.value}" for step in steps for p in step.parameters)
    return (ready.name, ready.title, *ready.statistics, *patterns, *values)


def fixed_steps(grounds: StudyGrounds) -> Iterator[tuple[str, StudyStep]]:
    """All steps that kgcheck writes itself, with the stage of each."""
    yield from graph_steps(grounds)
    for name, use in fitting_analyses(grounds):
        for pattern in use.steps:
            yield pattern.stage, analysis_step(name, pattern, grounds)


_VERIFIED = "verified"


def _standing(fact: StudyFact | None) -> str:
    if fact is None or fact.outcome is None:
        return "never looked at"
    states = {
        Outcome.SUPPORTED: _VERIFIED,
        Outcome.UNAVAILABLE: "could not be looked at",
        Outcome.REFUTED: "refuted",
        Outcome.INSUFFICIENT: "contested" if fact.reason is Reason.CONFLICTING_EVIDENCE else "undecided",
    }
    reason = f": {fact.reason.value.replace('_', ' ') if fact.reason else ''}"
    return states[fact.outcome] + (reason if not fact.verified else "")


def distinct(nodes: Sequence[StudyNode]) -> list[StudyNode]:
    """One node a symbol: a gene and its protein have the same. Genes that share an alias are two."""
    first: dict[str, StudyNode] = {}
    for node in nodes:
        first.setdefault(node.name.casefold(), node)
    return list(first.values())


def design_by_rules(material: DesignMaterial) -> StudyProtocol:
    """Put a protocol together: by stage, the steps of the graph, those of papers, and ready analyses."""
    rules = DesignRules.shipped()
    passages: Passages = {}
    by_stage: defaultdict[str, list[StudyStep]] = defaultdict(list)
    notes: list[str] = []
    fixed = list(fixed_steps(material))
    for stage, step in fixed:
        if step.fixed in rules.graph_steps:
            by_stage[stage].append(step)
    headings, most = {stage.name: stage.heading for stage in rules.stages}, rules.limits["steps"]
    taken, left = _steps_of_papers(material)
    for stage, groups in taken.items():
        by_stage[stage] += [_of_papers(group, passages, material) for group in groups[:most]]
        if len(groups) > most:
            notes.append(f"steps of papers left out of {headings[stage]}, which has {most}: {len(groups) - most:,}")
    notes += [f"{why}: {count:,}" for why, count in left.items()]
    for stage, step in fixed:
        if step.fixed in rules.analyses:
            by_stage[stage].append(step)
    sections = [section_of(stage, by_stage[stage.name]) for stage in rules.stages]
    return assembled(material, sections, passages.values(), [*notes, *_lacking(material, by_stage)])


def _lacking(material: DesignMaterial, by_stage: dict[str, list[StudyStep]]) -> Iterator[str]:
    steps, most = [step for own in by_stage.values() for step in own], DesignRules.shipped().limits["named"]
    reports, fitting = material.reports, fitting_reports(material)
    if not reports:
        yield "no paper was read: what others did is not in this protocol"
    elif not any(step.passages for step in steps):
        yield f"no step of the {len(reports):,} papers read is relevant enough to be taken over"
    retracted = [report.paper for report in reports if report.retracted]
    empty = [r.paper for r in reports if not r.retracted and not any(part.steps for part in r.sections)]
    if retracted:
        yield f"retracted papers, from which nothing was taken: {few(retracted, most)}"
    if empty:
        yield f"papers without methods that could be read: {few(empty, most)}"
    if others := len(reports) - len(retracted) - len(empty) - len(fitting):
        yield f"papers that do not fit the objective: {others:,}"
    for data_set in material.data_sets:
        if not data_set.can_be_taken:
            has = "has" if data_set.state == "missing" else "shows"
            yield f"papers name {data_set.id}, of which {data_set.repository} {has} none: it is left out"
        elif not data_set.may_be_of(material.objective.species):
            yield f"{data_set.id} is of {', '.join(data_set.species)}: it is left out"
    yield from (
        note for note, lacks in lacks_of(steps, {name for name, own in by_stage.items() if own}).items() if lacks
    )
    methods = " ".join(step.text for n in fitting for part in reports[n].sections for step in part.steps)
    patterns = ((node.name, naming(node.called)) for node in distinct(material.nodes))
    unnamed = [name for name, pattern in patterns if pattern and not pattern.search(methods)]
    if methods and unnamed:
        yield f"no method of the papers names {few(unnamed, most)}"


def lacks_of(steps: Sequence[StudyStep], stages: Container[str]) -> dict[str, bool]:
    """Notes on what a protocol may lack, each with whether its steps and their stages do."""
    found = {
        "no step names a data set of a repository": not any(step.data_sets for step in steps),
        "no step has a control": not any(step.control for step in steps),
        "no step names a statistical test": not any(step.statistics for step in steps),
    }
    empty = {f"there is no step of the stage {s.heading!r}": s.name not in stages for s in DesignRules.shipped().stages}
    return found | empty


def _steps_of_papers(material: DesignMaterial) -> tuple[dict[str, list[list[_TakenStep]]], Counter[str]]:
    """The steps that are taken, by stage, the best section first, alike ones together; and how many are left out."""
    found: defaultdict[str, list[list[_TakenStep]]] = defaultdict(list)
    left: Counter[str] = Counter()
    least = DesignRules.shipped().shares["alike"]
    for taken in taken_sections(material):
        heading = taken.section.heading
        for step in taken.section.steps:
            if not step.dry:
                left["steps at the bench, which a dry-lab protocol does not take over"] += 1
            elif not fits(step, heading, material.objective):
                left["steps of papers without a word of the objective"] += 1
            else:
                groups = found[stage_of(heading, step.text)]
                same = next((group for group in groups if likeness(group[0][1].text, step.text) >= least), None)
                if same is None:
                    groups.append(same := [])
                same.append((taken, step))
    return found, left


def _of_papers(group: Sequence[_TakenStep], passages: Passages, material: DesignMaterial) -> StudyStep:
    """A step in the words of the first of the sources that have it; the parameters of all of them."""
    source, first = group[0]
    steps = [(step, quoted(passages, taken, step).id) for taken, step in group]
    known = {d.id for d in material.data_sets if d.can_be_taken and d.may_be_of(material.objective.species)}
    papers = list(dict.fromkeys(taken.report.paper for taken, _ in group))
    return StudyStep(
        id=UNNUMBERED,
        text=f"{_QUOTE[0]}{first.text}{_QUOTE[1]}",
        inputs=first.inputs,
        outputs=first.outputs,
        parameters=_with_passage(((p, id_) for s, id_ in steps for p in s.parameters), "name", "comparator", "value"),
        tools=_with_passage(((t, id_) for s, id_ in steps for t in s.tools), "name", "version"),
        statistics=tuple(dict.fromkeys(name for s, _ in steps for name in s.statistics)),
        data_sets=tuple(dict.fromkeys(d.id for s, _ in steps for d in s.data_sets if d.id in known)),
        facts=facts_named(first.text, material),
        passages=tuple(dict.fromkeys(id_ for _, id_ in steps)),
        rationale=taken_over(papers, source.section.heading),
    )


_QUOTE = "\u201c\u201d"


def quoted_text(step: StudyStep) -> str | None:
    """The words that a step quotes; None of one that is not a quote."""
    text = step.text
    is_quote = text[:1] in (_QUOTE[0], '"') and text[-1:] in (_QUOTE[1], '"')
    return text[1:-1] if is_quote and len(text) > 2 else None


def taken_over(papers: Sequence[str], heading: str) -> str:
    """The reason of a step that papers have."""
    return f"Taken over from {', '.join(papers)}" + (f", section {heading!r}." if heading else ".")


def _with_passage(parts: Iterable[tuple[P, str]], *fields: str) -> tuple[P, ...]:
    """Parameters or tools, each once, with the first passage that has it."""
    found: dict[tuple[str, ...], P] = {}
    for part, passage in parts:
        key = tuple(getattr(part, name) for name in fields)
        found.setdefault(key, part.model_copy(update={"passage": passage}))
    return tuple(found.values())


def section_of(stage: StudyStage, steps: Sequence[StudyStep]) -> StudySection:
    """A section of a stage; how much it rests on is counted."""
    named = {"passages of papers": [step.passages for step in steps], "verified facts": [step.facts for step in steps]}
    counts = {what: len(set().union(*ids)) for what, ids in named.items()}
    grounds = " and ".join(f"{n:,} {what}" for what, n in counts.items() if n) or "no source: its steps are fixed"
    return StudySection(
        id="S1",
        heading=stage.heading,
        rationale=f"{stage.purpose} It rests on {grounds}.",
        summary=stage.summary,
        steps=tuple(steps),
    )
