"""Replay a check from its transcript without model, graph or sources, and recompute the verdict."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from kgcheck.agents.request import Request, parse_request
from kgcheck.agents.team import Action, HandOver, Talk, Team, TeamConclusion, Turn, UseTool
from kgcheck.agents.toolbox import TOOLS, Tool, Toolbox
from kgcheck.agents.transcript import AgentRole, Event, Transcript
from kgcheck.errors import InputFormat, UsageError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.llm.budget import Limits
from kgcheck.model import Value, Verdict
from kgcheck.profile.schema import Schema


class Replayed(Value):
    """A check that was run again."""

    checked: TeamConclusion
    recorded: Verdict
    tokens: int
    cost: float | None

    @property
    def same(self) -> bool:
        """Tell whether the verdict is what it was."""
        return self.checked.verdict == self.recorded


def read_transcript(path: Path) -> list[Event]:
    """Read a transcript."""
    text = read_whole(path)
    events = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            events.append(Event.model_validate(parse_json(line)))
        except ValueError as error:
            raise InputFormat(f"{path}, line {number}: not an event of a transcript") from error
    return events


def replay(events: list[Event], schema: Schema) -> Replayed:
    """Run a check again from its events."""
    if not events or not events[0].request or events[-1].verdict is None:
        raise InputFormat("the transcript does not hold a whole check", "only a check that ended can be replayed")
    if unknown := next((e.tool for e in events if e.tool and not e.refused and e.tool not in TOOLS), None):
        raise InputFormat(
            f"the transcript names the tool {unknown!r}, which is none of this version",
            "replay it with the version that wrote it",
        )
    tasks = [e.task for e in events if e.task and not e.refused]
    # What names were taken for is what was handed over.
    request = Request.of(tasks[-1], schema) if tasks else parse_request(events[0].request, schema)
    recorded = _Recorded(events, schema)
    limits = Limits(turns=len(events) + 1, seconds=600)
    try:
        checked = Team(recorded, recorded, limits).check(request, Transcript())
    except (StopIteration, KeyError, ValidationError) as error:
        raise InputFormat(f"the transcript does not fit itself: {error}") from error
    costs = [e.cost for e in events if e.cost is not None]
    return Replayed(
        checked=checked,
        recorded=events[-1].verdict,
        tokens=sum(e.tokens for e in events),
        cost=sum(costs) if costs else None,
    )


class _Recorded(Toolbox):
    """Brain and tools in one: the steps and the results of a transcript, in their order."""

    def __init__(self, events: list[Event], schema: Schema) -> None:
        self.schema = schema
        self._left: Iterator[Event] = iter(events)
        self._now = events[0]

    def tools(self, role: AgentRole) -> list[Tool]:
        """None: the steps are already chosen."""
        return []

    def act(self, turn: Turn) -> Action:
        self._now = now = next(self._left)
        if now.tool:
            return UseTool(tool=now.tool, arguments=now.arguments)
        if now.refused and now.task is None and now.concluded is None:
            return Talk(message=now.text, why=now.refused)
        return HandOver(message=now.text, task=now.task, concluded=now.concluded)

    def call(self, role: AgentRole, name: str, arguments: dict[str, Any]) -> BaseModel:
        """The recorded result of the step under way."""
        if self._now.refused or self._now.result is None:
            raise UsageError(self._now.refused or "there is no result")
        return TOOLS[name].result.model_validate(self._now.result)
