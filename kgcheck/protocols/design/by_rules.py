"""A protocol with rules alone: what papers did, in their words, and what the graph and its ledger give.

No sentence is made up: a step is a quoted sentence of a paper, or one of the fixed steps of ``design.toml`` about
verified facts and ready analyses.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kgcheck.literature.names import naming
from kgcheck.protocols.design.assembling import UNNUMBERED, QuotedPassages, assembled
from kgcheck.protocols.design.design_rules import StudyStage, design_rules, stage_of
from kgcheck.protocols.design.from_graph import analysis_step, distinct, fitting_analyses, graph_steps
from kgcheck.protocols.design.material import DesignMaterial, facts_named, fitting_reports, likeness, taken_sections
from kgcheck.protocols.protocol import (
    StepParameter,
    StepTool,
    StudyPassage,
    StudyProtocol,
    StudySection,
    StudyStep,
    few,
)
from kgcheck.protocols.report import ExperimentalReport, ReportSection, ReportStep


class TakenStep(NamedTuple):
    """A step of a paper with its place."""

    report: ExperimentalReport
    section: ReportSection
    step: ReportStep


def design_by_rules(material: DesignMaterial) -> StudyProtocol:
    """Put a protocol together."""
    passages = QuotedPassages()
    by_stage: dict[str, list[StudyStep]] = defaultdict(list)
    notes: list[str] = []
    for stage, step in graph_steps(material):
        by_stage[stage].append(step)
    taken, wet = _steps_of_papers(material)
    for stage, steps in taken.items():
        most = design_rules().limits.steps
        groups = _alike(steps)
        by_stage[stage] += [_of_papers(group, passages, material) for group in groups[:most]]
        if len(groups) > most:
            notes.append(f"steps of papers left out of {_heading(stage)}, which has {most}: {len(groups) - most:,}")
    if wet:
        notes.append(f"steps at the bench, which a dry-lab protocol does not take over: {wet:,}")
    for name, use in fitting_analyses(material):
        for pattern in use.steps:
            by_stage[pattern.stage].append(analysis_step(name, pattern, material))
    sections = [_section(stage, by_stage[stage.name]) for stage in design_rules().stages]
    return with_alternatives(assembled(material, sections, passages.all(), [*notes, *lacking(material, by_stage)]))


def lacking(material: DesignMaterial, by_stage: dict[str, list[StudyStep]]) -> Iterator[str]:
    """List in words the parts that a protocol should have and lacks."""
    steps = [step for own in by_stage.values() for step in own]
    most = design_rules().limits.named
    if not material.reports:
        yield "no paper was read: what others did is not in this protocol"
    elif not any(step.passages for step in steps):
        yield f"no step of the {len(material.reports):,} papers read is relevant enough to be taken over"
    fitting = fitting_reports(material)
    retracted = [report.paper for report in material.reports if report.retracted]
    empty = [r.paper for r in material.reports if not r.retracted and not any(part.steps for part in r.sections)]
    others = len(material.reports) - len(retracted) - len(empty) - len(fitting)
    if retracted:
        yield f"retracted papers, from which nothing was taken: {few(retracted, most)}"
    if empty:
        yield f"papers without methods that could be read: {few(empty, most)}"
    if others:
        yield f"papers that do not fit the objective: {others:,}"
    for data_set in material.data_sets:
        if not data_set.can_be_taken:
            has = "has" if data_set.state == "missing" else "shows"
            yield f"papers name {data_set.id}, of which {data_set.repository} {has} none: it is left out"
    if not any(step.data_sets for step in steps):
        yield "no step names a data set of a repository"
    if not any(step.control for step in steps):
        yield "no step has a control"
    if not any(step.statistics for step in steps):
        yield "no step names a statistical test"
    for stage in design_rules().stages:
        if not by_stage.get(stage.name):
            yield f"there is no step of the stage {stage.heading!r}"
    methods = " ".join(step.text for n in fitting for part in material.reports[n].sections for step in part.steps)
    patterns = ((node.name, naming(node.called)) for node in distinct(material.nodes))
    unnamed = [name for name, pattern in patterns if pattern and not pattern.search(methods)]
    if methods and unnamed:
        yield f"no method of the papers names {few(unnamed, most)}"


def with_alternatives(protocol: StudyProtocol) -> StudyProtocol:
    """A protocol whose steps name, in their rationale, what another paper sets otherwise for the same tool or test."""
    papers = {passage.id: passage.paper for passage in protocol.passages}
    sections = []
    for section in protocol.sections:
        known = [(key, p) for step in section.steps for key in _things(step) for p in step.parameters if p.passage]
        steps = []
        for step in section.steps:
            lines = dict.fromkeys(
                f"Another paper sets the {p.name} otherwise: {_setting(other)} [{other.passage}]."
                for p in step.parameters
                if p.passage
                for key, other in known
                if key in _things(step) and _differs(p, other) and papers[p.passage] != papers[other.passage]
            )
            steps.append(step.model_copy(update={"rationale": " ".join(filter(None, (step.rationale, *lines)))}))
        sections.append(section.model_copy(update={"steps": tuple(steps)}))
    return protocol.model_copy(update={"sections": tuple(sections)})


def _things(step: StudyStep) -> frozenset[str]:
    """Names of the tools and statistics of a step, in small letters: its parameters may be of them."""
    return frozenset(name.casefold() for name in (*(tool.name for tool in step.tools), *step.statistics))


def _differs(one: StepParameter, other: StepParameter) -> bool:
    same_name = one.name.casefold() == other.name.casefold() and one.unit == other.unit
    return same_name and (one.comparator, one.value) != (other.comparator, other.value)


def _setting(parameter: StepParameter) -> str:
    sign = "" if parameter.comparator in ("=", parameter.value[:1]) else f"{parameter.comparator} "
    return f"{sign}{parameter.value}"


def _steps_of_papers(material: DesignMaterial) -> tuple[dict[str, list[TakenStep]], int]:
    """The steps of the sections that are taken, by stage, the best section first; and how many are left as wet."""
    found: dict[str, list[TakenStep]] = defaultdict(list)
    wet = 0
    for taken in taken_sections(material):
        report = material.reports[taken.report]
        section = report.sections[taken.section]
        for step in section.steps:
            if step.dry:
                found[stage_of(section.heading, step.text)].append(TakenStep(report, section, step))
            else:
                wet += 1
    return found, wet


def _alike(steps: Iterable[TakenStep]) -> list[list[TakenStep]]:
    """Steps that are one, together: no step is in a protocol twice."""
    groups: list[list[TakenStep]] = []
    for taken in steps:
        text = taken.step.text
        same = next((g for g in groups if likeness(g[0].step.text, text) >= design_rules().limits.alike), None)
        if same is None:
            groups.append([taken])
        else:
            same.append(taken)
    return groups


def _of_papers(group: Sequence[TakenStep], passages: QuotedPassages, material: DesignMaterial) -> StudyStep:
    """A step in the words of the first of the sources that have it; the parameters of all of them."""
    first = group[0].step
    quoted = [(taken.step, passages.add(*taken)) for taken in group]
    known = {data_set.id for data_set in material.data_sets if data_set.can_be_taken}
    papers = list(dict.fromkeys(taken.report.paper for taken in group))
    heading = group[0].section.heading
    return StudyStep(
        id=UNNUMBERED,
        text=f"\u201c{first.text}\u201d",
        inputs=first.inputs,
        outputs=first.outputs,
        parameters=_parameters(quoted),
        tools=_tools(quoted),
        statistics=tuple(dict.fromkeys(name for s, _ in quoted for name in s.statistics)),
        data_sets=tuple(dict.fromkeys(d.id for s, _ in quoted for d in s.data_sets if d.id in known)),
        facts=facts_named(first.text, material),
        passages=tuple(dict.fromkeys(q.id for _, q in quoted)),
        rationale=f"Taken over from {', '.join(papers)}" + (f", section {heading!r}." if heading else "."),
    )


def _parameters(quoted: Iterable[tuple[ReportStep, StudyPassage]]) -> tuple[StepParameter, ...]:
    found: dict[tuple[str, str, str], StepParameter] = {}
    for step, passage in quoted:
        for own in step.parameters:
            found.setdefault((own.name, own.comparator, own.value), own.model_copy(update={"passage": passage.id}))
    return tuple(found.values())


def _tools(quoted: Iterable[tuple[ReportStep, StudyPassage]]) -> tuple[StepTool, ...]:
    found: dict[tuple[str, str], StepTool] = {}
    for step, passage in quoted:
        for own in step.tools:
            found.setdefault((own.name, own.version), own.model_copy(update={"passage": passage.id}))
    return tuple(found.values())


def _heading(stage: str) -> str:
    return next(s.heading for s in design_rules().stages if s.name == stage)


def _section(stage: StudyStage, steps: Sequence[StudyStep]) -> StudySection:
    papers = {i for step in steps for i in step.passages}
    facts = {i for step in steps for i in step.facts}
    counts = ((len(papers), "passages of papers"), (len(facts), "verified facts"))
    grounds = " and ".join(f"{count:,} {what}" for count, what in counts if count) or "no source: its steps are fixed"
    return StudySection(
        id="S1",
        heading=stage.heading,
        rationale=f"{stage.purpose} It rests on {grounds}.",
        summary=stage.summary,
        steps=tuple(steps),
    )
