"""Agent team of one check: leader, KG and validation agents as a state machine under a budget.

A brain chooses what an agent does; the machine decides whose turn it is, runs the tools and computes the verdict from
their typed results. A leader cannot do the assistants' work, and nobody can talk without end: a step that breaks the
rules is refused, goes back to the brain with the reason, and costs a turn.
"""

from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, Field

from kgcheck import deadline
from kgcheck.agents.request import Request
from kgcheck.agents.team_support import TeamResults, as_audited, call_key, check_supported, edge_arguments
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
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import BudgetExceeded, UsageError
from kgcheck.llm.budget import Limits, Meter
from kgcheck.model import Change, CheckTask, Outcome, Reason, Value, Verdict

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


class Brain(Protocol):
    """Chooses the next step of the agent whose turn it is."""

    def act(
        self,
        stage: Stage,
        role: AgentRole,
        request: Request,
        task: CheckTask | None,
        seen: TeamResults,
        tools: list[Tool],
    ) -> Action:
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
            action = self._brain.act(stage, role, check.request, task, check.seen, self._toolbox.tools(role))
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
    """One check under way."""

    request: Request
    transcript: Transcript
    seen: TeamResults
    meter: Meter


def _take_turn(stage: Stage, check: _Check) -> None:
    """Take one turn of a check."""
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
