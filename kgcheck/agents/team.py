"""The team as a state machine: plan, KG query, validation, conclusion, under a budget.

A brain chooses what an agent does; the machine decides whose turn it is, runs the tools and computes the verdict from
their typed results. A leader cannot do the assistants' work, and nobody can talk without end: a step that breaks the
rules is refused, told to the brain, and costs a turn.
"""

import time
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, Field

from kgcheck import deadline
from kgcheck.agents.grounding import Seen, call_key, check_grounded, edge_arguments
from kgcheck.agents.outside import LiteratureResult
from kgcheck.agents.request import Request
from kgcheck.agents.toolbox import EdgesResult, IdsResult, NodeResult, ReferenceResult, RelationsResult, Tool, Toolbox
from kgcheck.agents.transcript import Role, Stage, Transcript
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import BudgetExceeded, UsageError
from kgcheck.model import Change, CheckTask, Outcome, Reason, Value, Verdict


class Budget(Value):
    """How long a check may take."""

    turns: int = Field(default=30, gt=0)
    seconds: float = Field(default=60.0, gt=0)


class Spoken(Value):
    """What a model took to choose a step; nothing, where no model did."""

    tokens: int = 0
    cost: float | None = None


class UseTool(Spoken):
    """An assistant uses a tool."""

    tool: str
    arguments: dict[str, Any]


class Talk(Spoken):
    """Words instead of a step: refused, told why, and a turn is gone."""

    message: str
    why: str


class HandOver(Spoken):
    """An agent is done with its part and says what came of it."""

    message: str
    task: CheckTask | None = Field(default=None, description="what is to be validated, for the KG agent to say")
    concluded: Outcome | None = Field(default=None, description="what a model made of it: kept, never the verdict")


Action = UseTool | HandOver | Talk


class Brain(Protocol):
    """Chooses the next step of the agent whose turn it is."""

    def act(
        self, stage: Stage, role: Role, request: Request, task: CheckTask | None, seen: Seen, tools: list[Tool]
    ) -> Action:
        """The next step.

        Args:
            stage: Where the check stands.
            role: Who acts.
            request: What was asked.
            task: What is to be validated, once the KG agent has said so.
            seen: Results so far, and why the last step was refused if it was.
            tools: What this role may use.
        """


class Checked(Value):
    """What a check came to."""

    task: CheckTask
    verdict: Verdict
    change: Change | None
    conclusion: str
    concluded: Outcome | None = Field(default=None, description="what a model made of it, where one did")

    @property
    def differs(self) -> bool:
        """Whether a model concluded something else than the evidence gives."""
        return self.concluded is not None and self.concluded is not self.verdict.outcome


class CheckStopped(BudgetExceeded):
    """A check ran out of turns or seconds; what had been looked at until then decides, or nothing does.

    Args:
        message: Where it stopped.
        hint: What to do next.
        checked: What it came to.
    """

    def __init__(self, message: str, hint: str, checked: Checked) -> None:
        super().__init__(message, hint)
        self.checked = checked


_TURNS: tuple[tuple[Stage, Role], ...] = (
    (Stage.PLAN, Role.LEADER),
    (Stage.KG_QUERY, Role.KG),
    (Stage.VALIDATION, Role.VALIDATION),
    (Stage.CONCLUSION, Role.LEADER),
)


class Team:
    """Leader, KG agent and validation agent over one toolbox.

    Args:
        toolbox: The tools.
        brain: What decides each step.
        budget: Limits.
    """

    def __init__(self, toolbox: Toolbox, brain: Brain, budget: Budget | None = None) -> None:
        self._toolbox = toolbox
        self._brain = brain
        self._budget = budget or Budget()

    def check(self, request: Request, transcript: Transcript) -> Checked:
        """Check one thing.

        Args:
            request: What.
            transcript: Gets every event; it is whole up to the point of failure if the check fails.

        Returns:
            The task, its verdict, the proposed change, and the leader's words.

        Raises:
            CheckStopped: The turns or seconds ran out.
            UsageError: The request names what does not exist.
        """
        check = _Check(request, transcript, Seen(), _Clock(self._budget))
        task: CheckTask | None = None
        handed = HandOver(message="")
        try:
            # Whatever waits for a service below knows when to give up.
            with deadline.within(self._budget.seconds):
                for stage, role in _TURNS:
                    handed = self._turn(stage, role, check, task)
                    if stage is Stage.KG_QUERY:
                        task = handed.task
        except BudgetExceeded as error:
            raise CheckStopped(error.message, error.hint, _stopped(task or request.task, check.seen)) from error
        if task is None:
            raise UsageError("the KG agent ended without saying what is to be validated")
        judged = verdict(task.type, check.seen.evidence, check.seen.gaps)
        return Checked(
            task=task,
            verdict=judged,
            change=propose(task, judged),
            conclusion=handed.message,
            concluded=handed.concluded,
        )

    def _turn(self, stage: Stage, role: Role, check: "_Check", task: CheckTask | None) -> HandOver:
        """Let an agent act until it hands over."""
        while True:
            check.clock.tick(stage, check.seen)
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
                event["verdict"] = verdict(task.type, check.seen.evidence, check.seen.gaps)
            check.transcript.add(stage, role, **event)
            if isinstance(action, HandOver) and not check.seen.refused:
                return action

    def _use(self, role: Role, action: UseTool, seen: Seen, task: CheckTask | None) -> BaseModel:
        result = self._toolbox.call(role, action.tool, action.arguments)
        key = call_key(action.tool, action.arguments)
        seen.last = result.model_dump_json()
        match result:
            case NodeResult():
                seen.nodes[key] = result
            case IdsResult():
                seen.ids[key] = result
            case EdgesResult():
                seen.edges[key] = result
            case RelationsResult():
                for between in result.relations:
                    triple = between.triple
                    asked = edge_arguments(triple.head, triple.relation, triple.tail)
                    seen.edges[call_key("kg_edges", asked)] = EdgesResult(edges=between.edges, turned=between.turned)
            case LiteratureResult():
                seen.papers[key] = result
            case ReferenceResult() if result.task != task:
                raise UsageError("only the task that the KG agent handed over is to be looked up")
            case ReferenceResult():
                # A brain may ask twice; one observation is one.
                seen.evidence = tuple(dict.fromkeys(seen.evidence + result.evidence))
                seen.gaps = tuple(dict.fromkeys(seen.gaps + result.gaps))
                seen.looked_up = True
        return result


def _stopped(task: CheckTask, seen: Seen) -> Checked:
    """What a check came to that ran out of turns or seconds: a verdict rests on evidence, and not on who said it."""
    if seen.looked_up:
        judged = verdict(task.type, seen.evidence, seen.gaps)
    else:
        judged = Verdict(outcome=Outcome.UNAVAILABLE, reason=Reason.BUDGET_SPENT, confidence=0.0)
    return Checked(task=task, verdict=judged, change=propose(task, judged), conclusion="")


class _Clock:
    """Counts turns and seconds against a budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._turns = 0
        self._started = time.monotonic()

    def tick(self, stage: Stage, seen: Seen) -> None:
        """Take one turn.

        Raises:
            BudgetExceeded: There is none left.
        """
        if self._turns == self._budget.turns or time.monotonic() - self._started > self._budget.seconds:
            why = f"; the last step was refused: {seen.refused}" if seen.refused else ""
            raise BudgetExceeded(
                f"the check stopped in stage {stage.value!r} after {self._turns} turns{why}",
                "raise --turns or --seconds",
            )
        self._turns += 1


class _Check(NamedTuple):
    """One check under way."""

    request: Request
    transcript: Transcript
    seen: Seen
    clock: _Clock


def _event(action: Action, check: _Check) -> dict[str, Any]:
    """What the transcript keeps of a step; the first one also says what was asked."""
    event = action.model_dump(mode="json", include={"tool", "arguments", "tokens", "cost", "concluded", "task"})
    event["text"] = "" if isinstance(action, UseTool) else action.message
    if not check.transcript.events:
        event["asked"] = check.request.words
    return event


def _check_part(stage: Stage, handed: HandOver, check: _Check) -> None:
    """Refuse to go on when an agent has not done its part."""
    if stage is Stage.KG_QUERY:
        check_grounded(handed.task, check.request, check.seen)
    if stage is Stage.VALIDATION and not check.seen.looked_up:
        raise UsageError("look the task up in the reference sources first")
