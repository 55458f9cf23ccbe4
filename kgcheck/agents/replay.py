"""Runs a check again from its transcript: no model, no graph, no source; the verdict is computed anew."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from kgcheck.agents.request import Request, parse_request
from kgcheck.agents.team import Action, HandOver, Talk, Team, TeamConclusion, UseTool
from kgcheck.agents.team_support import TeamResults
from kgcheck.agents.toolbox import TOOLS, Tool, Toolbox
from kgcheck.agents.transcript import AgentRole, Event, Stage, Transcript
from kgcheck.errors import InputFormat, UsageError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.llm.budget import Limits
from kgcheck.model import CheckTask, Value, Verdict
from kgcheck.profile.schema import Schema

_FORMER_NAMES = {
    "kg_node": "node",
    "kg_ids_by_name": "find_nodes",
    "kg_similar_ids": "similar_ids",
    "kg_edges": "edges",
    "kg_relations": "relations",
    "kg_neighbours": "neighbours",
    "kg_cypher": "cypher",
    "uniprot_entry": "reference_entry",
    "uniprot_lifecycle": "id_lifecycle",
    "string_pair": "network_link",
}
"""Names of tools in transcripts of version 0.1, and what they are called now."""

_FORMER_LIMIT = 100


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
            events.append(_event(line))
        except ValueError as error:
            raise InputFormat(f"{path}, line {number}: not an event of a transcript") from error
    return events


def replay(events: list[Event], schema: Schema) -> Replayed:
    """Run a check again from its events."""
    if not events or not events[0].request or events[-1].verdict is None:
        raise InputFormat("the transcript does not hold a whole check", "only a check that ended can be replayed")
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

    def act(
        self,
        stage: Stage,
        role: AgentRole,
        request: Request,
        task: CheckTask | None,
        seen: TeamResults,
        tools: list[Tool],
    ) -> Action:
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


def _event(line: str) -> Event:
    """An event of a transcript, or of one as it was written before the tools had their present names."""
    event = parse_json(line)
    if isinstance(event, dict):
        if "asked" in event:
            event["request"] = event.pop("asked")
        tool, arguments, result = (event.get(k) for k in ("tool", "arguments", "result"))
        event["tool"] = _FORMER_NAMES.get(str(tool), tool)
        if isinstance(arguments, dict) and isinstance(result, dict):
            event["result"] = _present_result(str(tool), arguments, result)
    return Event.model_validate(event)


def _present_result(former: str, arguments: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    match former:
        case "kg_ids_by_name":
            return {"ids": {arguments.get("label", ""): result["ids"]} if result.get("ids") else {}}
        case "kg_neighbours":
            ids = result.get("ids", [])
            return {"total": len(ids), "nodes": [{"id": id_} for id_ in ids], "cut_off": len(ids) == _FORMER_LIMIT}
        case "uniprot_lifecycle":
            return {"detail" if key == "said" else key: value for key, value in result.items()}
        case _:
            return result
