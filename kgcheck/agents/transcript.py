"""Transcript: typed events of an agent team (messages, tool calls) in order, as JSON Lines."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from kgcheck import clock
from kgcheck.model import CheckTask, Outcome, Value, Verdict
from kgcheck.visible import safe_json


class AgentRole(StrEnum):
    """Role of an agent."""

    LEADER = "leader"
    KG = "kg agent"
    VALIDATION = "validation agent"
    ASKER = "asker"


class Stage(StrEnum):
    """Stage of a check."""

    PLAN = "plan"
    KG_QUERY = "kg query"
    VALIDATION = "validation"
    CONCLUSION = "conclusion"


class Event(Value):
    """One thing that happened: a message, a tool call with its result, or a step that was refused, with the cause."""

    at: datetime
    stage: Stage
    role: AgentRole
    text: str = ""
    tool: str | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Any] | None = None
    refused: str | None = None
    tokens: int = Field(default=0, description="sent and received, where a model acted")
    cost: float | None = Field(default=None, description="money, where prices are set")
    request: tuple[str, ...] | None = Field(default=None, description="the words of the request, with the first event")
    task: CheckTask | None = Field(default=None, description="what the KG agent hands over")
    concluded: Outcome | None = Field(default=None, description="what a model made of it; never the verdict")
    verdict: Verdict | None = Field(default=None, description="with the last event")


class Transcript:
    """The events of one check, in order."""

    def __init__(self, listener: Callable[[Event], None] | None = None) -> None:
        self.events: list[Event] = []
        self._listener = listener

    def add(self, stage: Stage, role: AgentRole, **event: Any) -> None:
        """Add an event."""
        self.events.append(Event(at=clock.exact_now(), stage=stage, role=role, **event))
        if self._listener:
            self._listener(self.events[-1])

    def as_jsonl(self) -> str:
        """One JSON object a line, in ASCII."""
        return "".join(f"{safe_json(event.model_dump_json(exclude_none=True))}\n" for event in self.events)
