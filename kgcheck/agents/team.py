"""Agent team of one check: leader, KG and validation agents as a state machine under a budget.

A brain chooses what an agent does; the machine decides whose turn it is, runs the tools and computes the verdict from
their typed results. A leader cannot do the assistants' work, and nobody can talk without end: a step that breaks the
rules, or a task that is not borne out by results, is refused, goes back to the brain with the reason, and costs a turn.
"""

import json
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, Field

from kgcheck import deadline
from kgcheck.agents.request import Request
from kgcheck.agents.tool_types import (
    EdgesResult,
    LiteratureResult,
    NamedNodesResult,
    NodeResult,
    ReferenceResult,
    RelationsResult,
    SimilarIdsResult,
)
from kgcheck.agents.toolbox import Tool, Toolbox
from kgcheck.agents.transcript import AgentRole, Stage, Transcript
from kgcheck.checks.lists import joined
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import BudgetExceeded, UsageError
from kgcheck.graph.edge_score import Score, scores_of
from kgcheck.llm.budget import Limits, Meter
from kgcheck.model import Change, CheckTask, CheckType, Evidence, Gap, Outcome, Reason, Ref, Value, Verdict
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


NOT_LOOKED_UP = "look the task up in the reference sources first"
"""Answer to a validation agent that hands over before it has looked."""

CHECK_LIMITS = Limits(turns=30, seconds=60.0)
"""Limits of a check where nothing else is given; a turn is one step of an agent."""


class ModelCost(Value):
    """Cost of a model to choose a step; nothing, where no model did."""

    tokens: int = 0
    cost: float | None = None


class UseTool(ModelCost):
    """An assistant uses a tool."""

    tool: str
    arguments: dict[str, Any]


class Talk(ModelCost):
    """Words instead of a step: refused, and a turn is gone."""

    message: str
    why: str


class HandOver(ModelCost):
    """An agent is done with its part, with what came of it in words."""

    message: str
    task: CheckTask | None = Field(default=None, description="what is to be validated, of the KG agent")
    concluded: Outcome | None = Field(default=None, description="what a model made of it: kept, never the verdict")


Action = UseTool | HandOver | Talk


class Turn(NamedTuple):
    """Turn of an agent, with what its brain may decide on."""

    stage: Stage
    role: AgentRole
    request: Request
    task: CheckTask | None
    seen: TeamResults
    tools: list[Tool]


class Brain(Protocol):
    """Chooses the next step of the agent whose turn it is."""

    def act(self, turn: Turn) -> Action:
        """The next step."""


class TeamConclusion(Value):
    """Result of a check."""

    task: CheckTask
    verdict: Verdict
    change: Change | None
    conclusion: str
    concluded: Outcome | None = Field(default=None, description="what a model made of it, where one did")

    @property
    def differs(self) -> bool:
        """Tell whether a model concluded something else than the evidence gives."""
        return self.concluded is not None and self.concluded is not self.verdict.outcome


class CheckStopped(BudgetExceeded):
    """A check ran out of turns or seconds; what had been looked at until then decides, or nothing does."""

    def __init__(self, message: str, hint: str, checked: TeamConclusion) -> None:
        super().__init__(message, hint)
        self.checked = checked


_TURNS: tuple[tuple[Stage, AgentRole], ...] = (
    (Stage.PLAN, AgentRole.LEADER),
    (Stage.KG_QUERY, AgentRole.KG),
    (Stage.VALIDATION, AgentRole.VALIDATION),
    (Stage.CONCLUSION, AgentRole.LEADER),
)


class Team:
    """Leader, KG agent and validation agent over one toolbox."""

    def __init__(self, toolbox: Toolbox, brain: Brain, limits: Limits | None = None) -> None:
        self._toolbox = toolbox
        self._brain = brain
        self._limits = (limits or CHECK_LIMITS).with_defaults(CHECK_LIMITS)

    def check(self, request: Request, transcript: Transcript) -> TeamConclusion:
        """Check one thing."""
        check = _Check(request, transcript, TeamResults(), Meter(self._limits))
        task: CheckTask | None = None
        handed = HandOver(message="")
        try:
            # Whatever waits for a service or a model below knows when to give up.
            with deadline.until(check.meter.deadline):
                for stage, role in _TURNS:
                    handed = self._turn(stage, role, check, task)
                    if stage is Stage.KG_QUERY and handed.task:
                        task = as_audited(handed.task, request, check.seen)
        except BudgetExceeded as error:
            raise CheckStopped(error.message, error.hint, _stopped(task or request.task, check.seen)) from error
        if task is None:
            raise UsageError("the KG agent ended without a task that is to be validated")
        judged = verdict(task.judged_as, check.seen.evidence, check.seen.gaps)
        return TeamConclusion(
            task=task,
            verdict=judged,
            change=propose(task, judged),
            conclusion=handed.message,
            concluded=handed.concluded,
        )

    def _turn(self, stage: Stage, role: AgentRole, check: "_Check", task: CheckTask | None) -> HandOver:
        """Let an agent act until it hands over."""
        while True:
            _take_turn(stage, check)
            action = self._brain.act(Turn(stage, role, check.request, task, check.seen, self._toolbox.tools(role)))
            event = _event(action, check)
            try:
                match action:
                    case UseTool():
                        event["result"] = self._use(role, action, check.seen, task).model_dump(mode="json")
                    case HandOver():
                        _check_part(stage, action, check)
                    case Talk():
                        raise UsageError(action.why)
            except UsageError as error:
                check.seen.refused = event["refused"] = error.message
            else:
                check.seen.refused = ""
            if stage is Stage.CONCLUSION and task and isinstance(action, HandOver):
                event["verdict"] = verdict(task.judged_as, check.seen.evidence, check.seen.gaps)
            check.transcript.add(stage, role, **event)
            if isinstance(action, HandOver) and not check.seen.refused:
                return action

    def _use(self, role: AgentRole, action: UseTool, seen: TeamResults, task: CheckTask | None) -> BaseModel:
        result = self._toolbox.call(role, action.tool, action.arguments)
        key = call_key(action.tool, action.arguments)
        seen.last = result.model_dump_json()
        match result:
            case NodeResult():
                seen.nodes[key] = result
            case NamedNodesResult():
                # Of transcripts from when a team took names: now a request is of ids.
                for label, ids in result.ids.items():
                    for id_ in ids:
                        seen.nodes[call_key("node", {"label": label, "id": id_})] = NodeResult(found=True)
            case SimilarIdsResult():
                seen.similar[key] = result
            case EdgesResult():
                seen.edges[key] = result
            case RelationsResult():
                for between in result.relations:
                    # Of what is cut off, not all values were seen: `edges` shows them.
                    if not between.cut_off:
                        arguments = edge_arguments(between.triple.head, between.triple.relation, between.triple.tail)
                        seen.edges[call_key("edges", arguments)] = EdgesResult(
                            edges=between.edges, turned=between.turned
                        )
            case LiteratureResult():
                seen.papers[key] = result
            case ReferenceResult() if task is None or _judged(result.task) != _judged(task):
                raise UsageError("only the task that the KG agent handed over is to be looked up")
            case ReferenceResult():
                # A brain may look twice; one observation is one.
                seen.evidence = tuple(dict.fromkeys(seen.evidence + result.evidence))
                seen.gaps = tuple(dict.fromkeys(seen.gaps + result.gaps))
                seen.looked_up = True
        return result


def _judged(task: CheckTask) -> CheckTask:
    return task.model_copy(update={"type": task.judged_as})


def _stopped(task: CheckTask, seen: TeamResults) -> TeamConclusion:
    """Conclude a check that ran out of turns or seconds: a verdict rests on evidence alone."""
    if seen.looked_up:
        judged = verdict(task.judged_as, seen.evidence, seen.gaps)
    else:
        judged = Verdict(outcome=Outcome.UNAVAILABLE, reason=Reason.BUDGET_SPENT, confidence=0.0)
    return TeamConclusion(task=task, verdict=judged, change=propose(task, judged), conclusion="")


class _Check(NamedTuple):
    request: Request
    transcript: Transcript
    seen: TeamResults
    meter: Meter


def _take_turn(stage: Stage, check: _Check) -> None:
    try:
        check.meter.take_turn()
    except BudgetExceeded as error:
        why = f"; the last step was refused: {check.seen.refused}" if check.seen.refused else ""
        turns = check.meter.spent.turns
        raise BudgetExceeded(
            f"the check stopped in stage {stage.value!r} after {turns} turns{why}", "raise --turns or --seconds"
        ) from error


def _event(action: Action, check: _Check) -> dict[str, Any]:
    """Return the event of a step for the transcript; with the first one, also the request."""
    event = action.model_dump(mode="json", include={"tool", "arguments", "tokens", "cost", "concluded", "task"})
    event["text"] = "" if isinstance(action, UseTool) else action.message
    if not check.transcript.events:
        event["request"] = check.request.words
    return event


def _check_part(stage: Stage, handed: HandOver, check: _Check) -> None:
    """Refuse to go on when an agent has not done its part."""
    if stage is Stage.KG_QUERY:
        check_supported(handed.task, check.request, check.seen)
    if stage is Stage.VALIDATION and not check.seen.looked_up:
        raise UsageError(NOT_LOOKED_UP)
