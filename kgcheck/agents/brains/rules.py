"""RulesBrain: choose each step of the agent team by fixed rules, without a language model."""

from kgcheck.agents.request import Request
from kgcheck.agents.team import (
    Action,
    HandOver,
    TeamResults,
    Turn,
    UseTool,
    call_key,
    edge_arguments,
    scores_seen,
    value_text,
)
from kgcheck.agents.tool_types import EdgesResult
from kgcheck.agents.transcript import Stage
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import AmbiguousName, UnknownName, UsageError
from kgcheck.graph.edge_score import PLACEHOLDER_NUMBER, cited_source, cites
from kgcheck.literature.documents import SOURCE
from kgcheck.model import CheckTask, CheckType, Ref, Stance, Triple
from kgcheck.plurals import how_many


class RulesBrain:
    """Looks the nodes up, then the edge, then asks the references, and shows the papers where they alone speak."""

    def act(self, turn: Turn) -> Action:
        _, _, request, task, seen, _ = turn
        if turn.stage is Stage.PLAN:
            return HandOver(message=_plan(request))
        if task is None:
            return self._query_edge(request, seen) if request.relation else self._query_node(request, seen)
        return _validate(task, seen) if turn.stage is Stage.VALIDATION else HandOver(message=_conclusion(task, seen))

    def _query_node(self, request: Request, seen: TeamResults) -> Action:
        ref = Ref(label=request.label or "", id=request.subject)
        node = seen.node(ref)
        if node is None:
            return UseTool(tool="node", arguments=ref.model_dump())
        if request.type is CheckType.EXISTENCE:
            where = "is in the graph" if node.found else "is not in the graph"
            return HandOver(message=f"{ref} {where}", task=CheckTask(type=CheckType.EXISTENCE, subject=ref))
        if not node.found:
            return _give_up([ref], seen)
        text = value_text(node.properties.get(request.attribute or ""))
        task = CheckTask(type=CheckType.ATTRIBUTE, subject=ref, attribute=request.attribute, value=text)
        return HandOver(message=f"{ref} has {request.attribute} {text!r}", task=task)

    def _query_edge(self, request: Request, seen: TeamResults) -> Action:
        """Look both ends up under every pattern that the request may mean, then the edges."""
        meant: list[Triple] = []
        unknown: list[Ref] = []
        for pattern in request.patterns:
            ends = [Ref(label=pattern.head, id=request.subject), Ref(label=pattern.tail, id=request.object or "")]
            for end in ends:
                node = seen.node(end)
                if node is None:
                    return UseTool(tool="node", arguments=end.model_dump())
                if not node.found:
                    unknown.append(end)
                    break
            else:
                meant.append(Triple(head=ends[0], relation=pattern.type, tail=ends[1]))
        return _between(meant, request, seen) if meant else _give_up(unknown, seen)


def _between(meant: list[Triple], request: Request, seen: TeamResults) -> Action:
    """Look for the edges of each triple that is meant; the request must mean one that the graph has, or only one."""
    stated: list[Triple] = []
    for triple in meant:
        edges = seen.edges_between(triple.head, triple.relation, triple.tail)
        if edges is None:
            arguments = edge_arguments(triple.head, triple.relation, triple.tail)
            return UseTool(tool="edges", arguments=arguments)
        if edges.edges:
            stated.append(triple)
    candidates = stated or meant
    if len(candidates) > 1:
        edges_by_id = "; ".join(f"{t.head} {t.relation} {t.tail}" for t in candidates)
        raise AmbiguousName(f"{request.text!r} may mean several edges", f"name the ends by their ids: {edges_by_id}")
    triple = candidates[0]
    edges = seen.edges_between(triple.head, triple.relation, triple.tail)
    if request.attribute:
        return _score_of(triple, request, edges or EdgesResult(edges=()))
    kind = CheckType.TRIPLE if stated else CheckType.POTENTIAL
    task = CheckTask(type=kind, subject=triple.head, relation=triple.relation, object=triple.tail)
    count = len(edges.edges) if edges else 0
    found = f"the graph has {how_many(count, 'such edge')}" if count else "the graph has no such edge"
    return HandOver(message=f"{task}: {found}", task=task)


def _score_of(triple: Triple, request: Request, edges: EdgesResult) -> HandOver:
    """The task of an attribute of an edge that is there, and that cites the source with which it is compared."""
    edge, attribute = str(triple), request.attribute or ""
    if not edges.edges:
        hint = f"only an edge that is there has a {attribute}; kgcheck check {edge!r} looks whether it should be there"
        raise UnknownName("edge", edge, [], hint)
    ends = triple.head.label, triple.tail.label
    pattern = next(p for p in request.patterns if (p.head, p.tail) == ends)
    scores = scores_seen(pattern, attribute, edges)
    if not scores:
        source = cited_source(pattern, attribute)
        if any(cites(pattern, attribute, e) for e in edges.edges):
            message = f"the edge {edge} has no {attribute} to check, but {PLACEHOLDER_NUMBER:g}, which stands for none"
            raise UsageError(message, "kgcheck audit --type structure lists such edges")
        cited = ", ".join(dict.fromkeys(str(e.get("source") or "nothing") for e in edges.edges))
        hint = f"it cites {cited}; the {attribute} is compared with that of {source} where an edge cites it"
        raise UsageError(f"the edge {edge} does not cite {source}", hint)
    task = CheckTask(
        type=CheckType.ATTRIBUTE,
        subject=triple.head,
        relation=triple.relation,
        object=triple.tail,
        attribute=attribute,
        value=value_text(scores[0]),
    )
    return HandOver(message=f"{edge} has {attribute} {task.value!r}", task=task)


def _give_up(unknown: list[Ref], seen: TeamResults) -> UseTool:
    """Look for ids like those that do not exist, then say so."""
    similar: list[str] = []
    for ref in unknown:
        found = seen.similar.get(call_key("similar_ids", ref.model_dump()))
        if found is None:
            return UseTool(tool="similar_ids", arguments=ref.model_dump())
        similar += found.ids
    hint = f"did you mean {' or '.join(dict.fromkeys(similar))}?" if similar else "no id of the graph looks like it"
    first = unknown[0].id
    labels = " or ".join(dict.fromkeys(ref.label for ref in unknown if ref.id == first))
    raise UnknownName("node", f"{labels} {first}", [], hint)


def _validate(task: CheckTask, seen: TeamResults) -> Action:
    if not seen.looked_up:
        return UseTool(tool="reference_look_up", arguments={"task": task.model_dump(mode="json")})
    # Papers are shown of an edge of which nothing else speaks.
    alone = {e.source for e in seen.evidence if e.stance is not Stance.SILENT} == {SOURCE}
    arguments = {"triple": task.edge.model_dump()} if task.edge and alone else {}
    shown = seen.papers.get(call_key("literature_search", arguments)) if arguments else None
    if arguments and shown is None:
        return UseTool(tool="literature_search", arguments=arguments)
    missing = f"; could not ask {', '.join(map(str, seen.gaps))}" if seen.gaps else ""
    outcome = f"the references gave {how_many(len(seen.evidence), 'observation')}{missing}"
    return HandOver(message=f"{outcome}; papers: {how_many(len(shown.passages), 'passage')}" if shown else outcome)


def _plan(request: Request) -> str:
    if request.relation:
        return (
            f"KG agent: find both ends of {request.text} and the edges between them. "
            f"Validation agent: ask what decides the {request.attribute or 'relation'}."
        )
    return f"KG agent: find {request.label} {request.subject}. Validation agent: ask the authority of its label."


def _conclusion(task: CheckTask, seen: TeamResults) -> str:
    judged = verdict(task.judged_as, seen.evidence, seen.gaps)
    return f"{task} is {judged.outcome.value}: {judged.reason.value.replace('_', ' ')}"
