"""The deterministic brain: no key, no network, the same steps every time."""

from kgcheck.agents.request import Request
from kgcheck.agents.team import Action, HandOver, Seen, UseTool, call_key
from kgcheck.agents.toolbox import Tool
from kgcheck.agents.transcript import Role, Stage
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import AmbiguousName, UnknownName
from kgcheck.graph.schema import Pattern, Schema
from kgcheck.model import CheckTask, CheckType, Ref


class RulesBrain:
    """Looks the nodes up, then the edge, then asks the references.

    Args:
        schema: Profile.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def act(
        self, stage: Stage, role: Role, request: Request, task: CheckTask | None, seen: Seen, tools: list[Tool]
    ) -> Action:
        """See Brain."""
        match stage:
            case Stage.PLAN:
                return HandOver(message=_plan(request))
            case Stage.KG_QUERY:
                return self._query(request, seen)
            case Stage.VALIDATION:
                assert task is not None
                return self._validate(task, seen)
            case _:
                assert task is not None
                return HandOver(message=_conclusion(task, seen))

    def _query(self, request: Request, seen: Seen) -> Action:
        if request.type in (CheckType.EXISTENCE, CheckType.ATTRIBUTE):
            return self._query_node(request, seen)
        return self._query_edge(request, seen)

    def _query_node(self, request: Request, seen: Seen) -> Action:
        label = str(request.label)
        step = UseTool(tool="kg_node", arguments={"label": label, "id": request.subject})
        found = seen.nodes.get(call_key(step))
        if found is None:
            return step
        ref = Ref(label=label, id=request.subject)
        if request.type is CheckType.EXISTENCE:
            said = "is in the graph" if found.found else "is not in the graph"
            return HandOver(message=f"{ref} {said}", task=CheckTask(type=CheckType.EXISTENCE, subject=ref))
        if not found.found:
            return self._give_up(ref, seen)
        value = found.properties.get(str(request.attribute))
        text = "; ".join(value) if isinstance(value, list) else None if value is None else str(value)
        task = CheckTask(type=CheckType.ATTRIBUTE, subject=ref, attribute=request.attribute, value=text)
        return HandOver(message=f"{ref} has {request.attribute} {text!r}", task=task)

    def _query_edge(self, request: Request, seen: Seen) -> Action:
        """Find both ends under the first pattern that has them, by id or by name, then the edges between them."""
        unknown: Ref | None = None
        for pattern in request.patterns:
            ends: list[Ref] = []
            for label, text in ((pattern.head, request.subject), (pattern.tail, str(request.object))):
                step = self._find(label, text, seen)
                if isinstance(step, UseTool):
                    return step
                if step is None:
                    unknown = unknown or Ref(label=label, id=text)
                    break
                ends.append(step)
            if len(ends) == 2:
                return self._between(pattern, ends[0], ends[1], seen)
        assert unknown is not None
        return self._give_up(unknown, seen)

    def _give_up(self, ref: Ref, seen: Seen) -> UseTool:
        """Look for ids like the one that does not exist, then say so."""
        step = UseTool(tool="kg_similar_ids", arguments=ref.model_dump())
        similar = seen.ids.get(call_key(step))
        if similar is None:
            return step
        hint = f"did you mean {' or '.join(similar.ids)}?" if similar.ids else "no id of the graph looks like it"
        raise UnknownName("node", str(ref), [], hint)

    def _find(self, label: str, text: str, seen: Seen) -> Ref | UseTool | None:
        if self._schema.label(label).matches(text):
            by_id = UseTool(tool="kg_node", arguments={"label": label, "id": text})
            found = seen.nodes.get(call_key(by_id))
            if found is None:
                return by_id
            if found.found:
                return Ref(label=label, id=text)
        by_name = UseTool(tool="kg_ids_by_name", arguments={"label": label, "name": text})
        named = seen.ids.get(call_key(by_name))
        if named is None:
            return by_name
        if len(named.ids) > 1:
            raise AmbiguousName(f"several {label} nodes are called {text!r}", f"name one by its id: {', '.join(named.ids)}")
        return Ref(label=label, id=named.ids[0]) if named.ids else None

    def _between(self, pattern: Pattern, head: Ref, tail: Ref, seen: Seen) -> Action:
        ends = {"head": head.model_dump(), "tail": tail.model_dump()}
        step = UseTool(tool="kg_edges", arguments=ends | {"relation": pattern.type})
        found = seen.edges.get(call_key(step))
        if found is None:
            return step
        kind = CheckType.TRIPLE if found.edges else CheckType.POTENTIAL
        task = CheckTask(type=kind, subject=head, relation=pattern.type, object=tail)
        count = len(found.edges)
        said = f"the graph has {count} such edge{'s' if count > 1 else ''}" if count else "the graph has no such edge"
        return HandOver(message=f"{task}: {said}", task=task)

    def _validate(self, task: CheckTask, seen: Seen) -> Action:
        if not seen.looked_up:
            return UseTool(tool="reference_look_up", arguments={"task": task.model_dump(mode="json")})
        spoken = f"{len(seen.evidence)} observation{'s' if len(seen.evidence) != 1 else ''}"
        gaps = f"; could not ask {', '.join(str(g) for g in seen.gaps)}" if seen.gaps else ""
        return HandOver(message=f"the references gave {spoken}{gaps}")


def _plan(request: Request) -> str:
    if request.relation:
        return f"KG agent: find both ends of {request.text} and the edges between them. Validation agent: ask what decides the relation."
    return f"KG agent: find {request.label} {request.subject}. Validation agent: ask the authority of its label."


def _conclusion(task: CheckTask, seen: Seen) -> str:
    judged = verdict(task.type, seen.evidence, seen.gaps)
    return f"{task} is {judged.outcome.value}: {judged.reason.value.replace('_', ' ')}"
