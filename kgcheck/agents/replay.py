"""Runs a check again from its transcript: no model, no graph, no source; the verdict is computed anew."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from kgcheck.agents.grounding import Seen
from kgcheck.agents.request import Request, parse_request
from kgcheck.agents.team import Action, Budget, Checked, HandOver, Talk, Team, UseTool
from kgcheck.agents.toolbox import RESULTS, Tool, Toolbox
from kgcheck.agents.transcript import Event, Role, Stage, Transcript
from kgcheck.errors import InputFormat, UsageError
from kgcheck.inputs import read_whole
from kgcheck.model import CheckTask, Value, Verdict
from kgcheck.profile.schema import Schema


class Replayed(Value):
    """A check that was run again."""

    checked: Checked
    recorded: Verdict
    tokens: int
    cost: float | None

    @property
    def same(self) -> bool:
        """Whether the verdict is what it was."""
        return self.checked.verdict == self.recorded


def read_transcript(path: Path) -> list[Event]:
    """Read a transcript.

    Args:
        path: JSON lines.

    Returns:
        Its events.

    Raises:
        InputMissing: There is no such file.
        InputFormat: It is no transcript.
    """
    text = read_whole(path)
    events = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            events.append(Event.model_validate_json(line))
        except ValidationError as error:
            raise InputFormat(f"{path}, line {number}: not an event of a transcript") from error
    return events


def replay(events: list[Event], schema: Schema) -> Replayed:
    """Run a check again from its events.

    Args:
        events: Of a check that came to its end.
        schema: Profile.

    Returns:
        What it comes to now, and what it came to then.

    Raises:
        InputFormat: The check did not come to its end, or its steps do not fit its record.
    """
    if not events or not events[0].asked or events[-1].verdict is None:
        raise InputFormat("the transcript does not hold a whole check", "only a check that ended can be replayed")
    request = parse_request(events[0].asked, schema)
    recorded = _Recorded(events, schema)
    budget = Budget(turns=len(events) + 1, seconds=600)
    try:
        checked = Team(recorded, recorded, budget).check(request, Transcript())
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

    def tools(self, role: Role) -> list[Tool]:
        """None: the steps are already chosen."""
        return []

    def act(
        self, stage: Stage, role: Role, request: Request, task: CheckTask | None, seen: Seen, tools: list[Tool]
    ) -> Action:
        """See Brain."""
        self._now = now = next(self._left)
        if now.tool:
            return UseTool(tool=now.tool, arguments=now.arguments)
        if now.refused and now.task is None and now.concluded is None:
            return Talk(message=now.text, why=now.refused)
        return HandOver(message=now.text, task=now.task, concluded=now.concluded)

    def call(self, role: Role, name: str, arguments: dict[str, Any]) -> BaseModel:
        """The recorded result of the step under way."""
        if self._now.refused or self._now.result is None:
            raise UsageError(self._now.refused or "there is no result")
        return RESULTS[name].model_validate(self._now.result)
