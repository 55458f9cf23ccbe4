"""The team as a state machine: plan, KG query, validation, conclusion, under a budget.

A brain chooses what an agent does; the machine decides whose turn it is, runs the tools and computes the verdict from their
typed results. A leader cannot do the assistants' work, and nobody can talk without end.
"""

import time
from typing import Any, Protocol

from pydantic import BaseModel, Field

from kgcheck.agents.request import Request
from kgcheck.agents.toolbox import EdgesResult, IdsResult, NodeResult, ReferenceResult, Tool, Toolbox
from kgcheck.agents.transcript import Role, Stage, Transcript
from kgcheck.checks.repair import propose
from kgcheck.checks.signature import Gap
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import BudgetExceeded, UsageError
from kgcheck.model import Change, CheckTask, Evidence, Value, Verdict


class Budget(Value):
    """How long a check may take."""

    turns: int = Field(default=30, gt=0)
    seconds: float = Field(default=60.0, gt=0)


class UseTool(Value):
    """An assistant uses a tool."""

    tool: str
    arguments: dict[str, Any]


class HandOver(Value):
    """An agent is done with its part and says what came of it."""

    message: str
    task: CheckTask | None = Field(default=None, description="what is to be validated, once the leader knows")


Action = UseTool | HandOver


class Seen(BaseModel):
    """Typed results so far, by tool call: what a brain may decide on."""

    nodes: dict[str, NodeResult] = {}
    ids: dict[str, IdsResult] = {}
    edges: dict[str, EdgesResult] = {}
    evidence: tuple[Evidence, ...] = ()
    gaps: tuple[Gap, ...] = ()
    looked_up: bool = False


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
            task: What is to be validated, once the leader has said so.
            seen: Results so far.
            tools: What this role may use.
        """


class Checked(Value):
    """What a check came to."""

    task: CheckTask
    verdict: Verdict
    change: Change | None
    conclusion: str


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
            BudgetExceeded: The turns or seconds ran out.
            UsageError: An agent broke the protocol, or the request names what does not exist.
        """
        turns, started = 0, time.monotonic()
        seen = Seen()
        task: CheckTask | None = None
        conclusion = ""
        for stage, role in _TURNS:
            while True:
                turns += 1
                if turns > self._budget.turns or time.monotonic() - started > self._budget.seconds:
                    raise BudgetExceeded(
                        f"the check stopped in stage {stage.value!r} after {turns - 1} turns", "raise --turns or --seconds"
                    )
                action = self._brain.act(stage, role, request, task, seen, self._toolbox.tools(role))
                if isinstance(action, HandOver):
                    transcript.say(stage, role, action.message)
                    task, conclusion = action.task or task, action.message
                    break
                self._use(stage, role, action, seen, transcript)
            if stage is Stage.KG_QUERY and task is None:
                raise UsageError("the KG agent ended without saying what is to be validated")
        assert task is not None
        judged = verdict(task.type, seen.evidence, seen.gaps)
        return Checked(task=task, verdict=judged, change=propose(task, judged), conclusion=conclusion)

    def _use(self, stage: Stage, role: Role, action: UseTool, seen: Seen, transcript: Transcript) -> None:
        result = self._toolbox.call(role, action.tool, action.arguments)
        transcript.used(stage, role, action.tool, action.arguments, result.model_dump(mode="json"))
        key = call_key(action)
        match result:
            case NodeResult():
                seen.nodes[key] = result
            case IdsResult():
                seen.ids[key] = result
            case EdgesResult():
                seen.edges[key] = result
            case ReferenceResult():
                seen.evidence += result.evidence
                seen.gaps += result.gaps
                seen.looked_up = True


def call_key(action: UseTool) -> str:
    """Names a tool call by the tool and its arguments."""
    return f"{action.tool} {sorted(action.arguments.items())!r}"
