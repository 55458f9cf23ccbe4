"""TeamResults: tool results of a check so far; refuse a task that is not borne out by them."""

import json
from typing import Any

from pydantic import BaseModel, Field

from kgcheck.agents.request import Request
from kgcheck.agents.tool_types import (
    EdgesResult,
    LiteratureResult,
    NodeResult,
    SimilarIdsResult,
)
from kgcheck.checks.lists import joined
from kgcheck.errors import UsageError
from kgcheck.graph.edge_score import Score, scores_of
from kgcheck.model import CheckTask, CheckType, Evidence, Gap, Ref
from kgcheck.profile.schema import Pattern


class TeamResults(BaseModel):
    """Typed results so far, by tool call: what a brain may decide on."""

    nodes: dict[str, NodeResult] = {}
    similar: dict[str, SimilarIdsResult] = {}
    edges: dict[str, EdgesResult] = {}
    evidence: tuple[Evidence, ...] = ()
    gaps: tuple[Gap, ...] = ()
    papers: dict[str, LiteratureResult] = {}
    looked_up: bool = False
    refused: str = ""
    last: str = Field(default="", description="the last result, as JSON")

    def node(self, ref: Ref) -> NodeResult | None:
        """Return what was seen of a node."""
        return self.nodes.get(call_key("node", ref.model_dump()))

    def edges_between(self, head: Ref, relation: str, tail: Ref) -> EdgesResult | None:
        """Return what was seen of the edges between two nodes."""
        return self.edges.get(call_key("edges", edge_arguments(head, relation, tail)))


def edge_arguments(head: Ref, relation: str, tail: Ref) -> dict[str, Any]:
    """Arguments of the tool `edges`."""
    return {"head": head.model_dump(), "relation": relation, "tail": tail.model_dump()}


def call_key(tool: str, arguments: dict[str, Any]) -> str:
    """Names a tool call by the tool and its arguments, in whatever order they were given."""
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"


def value_text(value: object) -> str | None:
    """A property as a task carries it."""
    if isinstance(value, list):
        return joined(str(item) for item in value)
    return None if value is None else str(value)


def scores_seen(pattern: Pattern, attribute: str, seen: EdgesResult) -> list[Score]:
    """The scores of the edges of a triple, first the one that is checked."""
    return scores_of(pattern, attribute, seen.own) or scores_of(pattern, attribute, seen.edges[len(seen.own) :])


def check_supported(task: CheckTask | None, request: Request, seen: TeamResults) -> None:
    """Refuse a task that is not the request's, or that says of the graph what no tool has shown."""
    if task is None:
        raise UsageError("say what is to be validated")
    if not (_of_edge(task, request, seen) if request.relation else _of_node(task, request, seen)):
        raise UsageError(f"{task.type.value} {task} is not what was asked for, or not what the tools have shown")


def as_audited(task: CheckTask, request: Request, seen: TeamResults) -> CheckTask:
    """A supported task in the order in which an audit has it, so that both mean one finding; of what is not there."""
    if task.object is None or task.relation is None:
        node = seen.node(task.subject)
        is_absent = task.type is CheckType.EXISTENCE and node is not None and not node.found
        return task.model_copy(update={"type": CheckType.POTENTIAL}) if is_absent else task
    ends = task.subject.label, task.object.label
    pattern = next((p for p in request.patterns if p.symmetric and (p.head, p.tail) == ends), None)
    if pattern is None:
        return task
    edges = seen.edges_between(task.subject, task.relation, task.object) or EdgesResult(edges=())
    if task.attribute:
        is_turned = not scores_of(pattern, task.attribute, edges.own)
    else:
        is_turned = not edges.own if edges.edges else task.object.id < task.subject.id
    return task.model_copy(update={"subject": task.object, "object": task.subject}) if is_turned else task


def _of_node(task: CheckTask, request: Request, seen: TeamResults) -> bool:
    wanted = (request.type, request.label, request.subject, request.attribute)
    if (task.type, task.subject.label, task.subject.id, task.attribute) != wanted:
        return False
    node = seen.node(task.subject)
    if node is None or task.type is CheckType.EXISTENCE:
        return node is not None and task.value is None
    return node.found and task.value == value_text(node.properties.get(task.attribute or ""))


def _of_edge(task: CheckTask, request: Request, seen: TeamResults) -> bool:
    relation, tail = request.relation or "", task.object
    if tail is None or (task.relation, task.attribute) != (relation, request.attribute):
        return False
    pattern = next((p for p in request.patterns if (p.head, p.tail) == (task.subject.label, tail.label)), None)
    if pattern is None:
        return False
    if not (_is_meant(task.subject, request.subject, seen) and _is_meant(tail, request.object, seen)):
        return False
    edges = seen.edges_between(task.subject, relation, tail)
    if edges is None:
        return False
    if request.attribute:
        scores = scores_seen(pattern, request.attribute, edges)
        return task.type is CheckType.ATTRIBUTE and bool(scores) and task.value == value_text(scores[0])
    return task.value is None and task.type is (CheckType.TRIPLE if edges.edges else CheckType.POTENTIAL)


def _is_meant(end: Ref, id_: str | None, seen: TeamResults) -> bool:
    """Return whether a node is the one that a request names, and was seen in the graph."""
    node = seen.node(end)
    return end.id == id_ and node is not None and node.found
