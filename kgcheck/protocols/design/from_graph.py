"""The steps that a graph and its ledger give: sets of nodes, verified edges, what is left out, and ready analyses."""

from collections.abc import Iterator, Sequence

from kgcheck.model import CheckType, Outcome, Reason
from kgcheck.protocols.design.assembling import UNNUMBERED
from kgcheck.protocols.design.design_rules import AnalysisUse, StepPattern, design_rules
from kgcheck.protocols.design.material import DesignMaterial, StudyNode
from kgcheck.protocols.programs.analyses import ready_analysis
from kgcheck.protocols.protocol import StepItem, StudyFact, StudyStep

VERIFIED_EDGES = StepItem(name="verified edges", kind="network")
"""Input of ready analyses beside their own, by its name in ``design.toml``."""

_LONGEST = 100
"""Characters of the title of a data set."""


def graph_steps(material: DesignMaterial) -> Iterator[tuple[str, StudyStep]]:
    """The steps that take data sets, and nodes and verified edges of the graph, with the stage of each."""
    found = [one for one in material.data_sets if one.state == "found"]
    if found:
        about = ((one.repository, one.assay, one.title[:_LONGEST]) for one in found)
        names = [f"{one.id} ({', '.join(filter(None, words))})" for one, words in zip(found, about, strict=True)]
        stage, step = _of_graph("data_sets", material, names, ())
        yield stage, step.model_copy(update={"data_sets": tuple(one.id for one in found)})
    uses = design_rules().analyses.values()
    members = material.of_labels(label for use in uses for label in use.members)
    targets = material.of_labels(label for name in design_rules().analyses for label in _targets(name))
    if members:
        yield _of_graph("gene_set", material, _names(members), _existing(material, members))
    if targets:
        yield _of_graph("targets", material, _names(targets), _existing(material, targets))
    edges = [fact for fact in material.facts if fact.verified and fact.task.type is CheckType.TRIPLE]
    if edges:
        yield _of_graph("verified_edges", material, [fact.stated for fact in edges], edges)
    not_verified = [fact for fact in material.facts if not fact.verified]
    if not_verified:
        names = [f"{fact.stated} ({standing_of_fact(fact)})" for fact in not_verified]
        yield _of_graph("left_out", material, names, not_verified)


def fitting_analyses(material: DesignMaterial) -> Iterator[tuple[str, AnalysisUse]]:
    """The ready analyses that fit the objective, by the nodes that it is about."""
    for name, use in design_rules().analyses.items():
        members = distinct(material.of_labels(use.members))
        targets = _targets(name)
        if len(members) >= use.least and (not targets or material.of_labels(targets)):
            yield name, use


def _of_graph(
    name: str, material: DesignMaterial, names: Sequence[str], facts: Sequence[StudyFact]
) -> tuple[str, StudyStep]:
    rules = design_rules()
    pattern, most = rules.graph_steps[name], rules.limits.named
    more = f"; and {len(names) - most:,} more" if len(names) > most else ""
    text = pattern.text.format(count=f"{len(names):,}", names="; ".join(names[:most]) + more)
    return pattern.stage, StudyStep(
        id=UNNUMBERED,
        text=text,
        inputs=pattern.inputs,
        outputs=pattern.outputs,
        facts=tuple(fact.id for fact in facts if fact.verified),
        fixed=name,
        rationale=pattern.rationale,
    )


def analysis_step(name: str, pattern: StepPattern, material: DesignMaterial) -> StudyStep:
    """A step of a ready analysis."""
    ready = ready_analysis(name)
    links = {(link.relation, link.label) for link in (*ready.links, *ready.targets)}
    rests_on = tuple(
        fact.id
        for fact in material.facts
        if fact.verified
        and fact.task.object
        and fact.task.subject.label == ready.member
        and (fact.task.relation, fact.task.object.label) in links
    )
    return StudyStep(
        id=UNNUMBERED,
        text=pattern.text,
        inputs=(*ready.inputs, VERIFIED_EDGES) if pattern.runs else pattern.inputs,
        outputs=ready.outputs if pattern.runs else pattern.outputs,
        parameters=pattern.parameters,
        statistics=ready.statistics if pattern.runs else pattern.statistics,
        facts=rests_on if pattern.runs else (),
        analysis=name if pattern.runs else "",
        fixed=name,
        control=pattern.control,
        rationale=pattern.rationale,
    )


def _targets(name: str) -> list[str]:
    """Labels of what a ready analysis holds a set against."""
    return [link.label for link in ready_analysis(name).targets]


def _existing(material: DesignMaterial, nodes: Sequence[StudyNode]) -> list[StudyFact]:
    refs = {node.ref for node in nodes}
    return [f for f in material.facts if f.task.type is CheckType.EXISTENCE and f.task.subject in refs]


def standing_of_fact(fact: StudyFact) -> str:
    """Describe the standing of a fact in a few words."""
    reason = fact.reason.value.replace("_", " ") if fact.reason else ""
    match fact.outcome:
        case Outcome.SUPPORTED:
            return "verified"
        case None:
            return "never looked at"
        case Outcome.UNAVAILABLE:
            return f"could not be looked at: {reason}"
        case Outcome.REFUTED:
            return f"refuted: {reason}"
        case _:
            return f"contested: {reason}" if fact.reason is Reason.CONFLICTING_EVIDENCE else f"undecided: {reason}"


def _names(nodes: Sequence[StudyNode]) -> list[str]:
    return [f"{node.name} ({node.ref})" for node in distinct(nodes)]


def distinct(nodes: Sequence[StudyNode]) -> list[StudyNode]:
    """One node a name: a gene and its protein may both answer to a symbol."""
    kept: list[StudyNode] = []
    seen: set[str] = set()
    for node in nodes:
        names = {name.casefold() for name in node.called}
        if not names & seen:
            kept.append(node)
        seen |= names
    return kept
