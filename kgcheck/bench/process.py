"""Score the way to a conclusion, from the transcript of a check: tools, executability, and what went wrong.

As in BioKGBench (section 4.2 and its scorer), an agent is executable if a call of it was carried out, and selected its
tool if one of those calls was of a tool that the task needs. Faults are read off refused steps, calls made twice, ids
in words that nobody has shown, and a conclusion other than the evidence gives.
"""

import json
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from kgcheck.agents.request import TaskType
from kgcheck.agents.team import NOT_LOOKED_UP
from kgcheck.agents.team_support import call_key
from kgcheck.agents.toolbox import TOOLS
from kgcheck.agents.transcript import AgentRole, Event, Stage
from kgcheck.model import Value
from kgcheck.profile.schema import Schema

_LOOK_UPS = {
    TaskType.CURATED: {"literature_search"},
    TaskType.INTERACTION: {"network_link"},
    TaskType.RELATION: {"literature_search"},
    TaskType.ATTRIBUTE: {"reference_entry"},
    TaskType.EXISTENCE: {"reference_entry", "id_lifecycle"},
}
"""Tools of the validation agent that a type of task needs, beside `reference_look_up` (BioKGBench, table 16)."""


class ProcessFault(StrEnum):
    """Cause of an error in the course of a check."""

    INSTRUCTION = "leader's instruction"
    WRONG_TOOL = "wrong tool"
    ARGUMENTS = "wrong arguments"
    UNSHOWN = "unshown statement"
    CHATTER = "chatter"
    MISREAD = "misread evidence"
    STOPPED = "no conclusion"


class ProcessScore(Value):
    """Score of the way of one check; None in results of before such scores were kept."""

    kg_tool: bool | None = None
    kg_executable: bool | None = None
    validation_tool: bool | None = None
    validation_executable: bool | None = None
    turns: int = 0
    idle_turns: int = 0
    faults: tuple[ProcessFault, ...] = ()


def process_of(kind: TaskType, events: Sequence[Event], schema: Schema, *, misread: bool, ended: bool) -> ProcessScore:
    """Score the events of a check; `misread` where a model concluded something else than the evidence gives."""
    done = {role: {e.tool for e in events if e.role is role and e.tool and not e.refused} for role in AgentRole}
    found = [fault for event in events if (fault := _refused(event))]
    repeats = len(calls := [call_key(e.tool, e.arguments) + e.role for e in events if e.tool]) - len(set(calls))
    found += [ProcessFault.CHATTER] * repeats
    found += [
        ProcessFault.INSTRUCTION if event.stage is Stage.PLAN else ProcessFault.UNSHOWN
        for event in _naming_unshown(events, schema)
    ]
    found += [fault for fault, holds in ((ProcessFault.MISREAD, misread), (ProcessFault.STOPPED, not ended)) if holds]
    kg_tools = {"node"} if kind in (TaskType.ATTRIBUTE, TaskType.EXISTENCE) else {"edges", "relations"}
    return ProcessScore(
        kg_tool=bool(done[AgentRole.KG] & kg_tools),
        kg_executable=bool(done[AgentRole.KG]),
        validation_tool=bool(done[AgentRole.VALIDATION] & {"reference_look_up", *_LOOK_UPS[kind]}),
        validation_executable=bool(done[AgentRole.VALIDATION]),
        turns=len(events),
        idle_turns=found.count(ProcessFault.CHATTER),
        faults=tuple(fault for fault in ProcessFault if fault in found),
    )


def _refused(event: Event) -> ProcessFault | None:
    """The fault for which a step was refused."""
    if not event.refused:
        return None
    if event.tool:
        known = event.tool in TOOLS and event.role in TOOLS[event.tool].roles
        return ProcessFault.ARGUMENTS if known else ProcessFault.WRONG_TOOL
    if event.task or event.refused == NOT_LOOKED_UP:
        return ProcessFault.UNSHOWN
    return ProcessFault.ARGUMENTS if event.text.startswith("{") else ProcessFault.CHATTER


_WORD = re.compile(r"[\w:.-]+")
_LEAST_ID = 6
"""Characters of a text that is taken for an id: shorter ones are words as well."""


def _naming_unshown(events: Sequence[Event], schema: Schema) -> Iterator[Event]:
    """The events whose words name an id that neither the request nor a result before them holds."""
    shown = json.dumps(events[0].request) if events else ""
    labels = [label for label in schema.labels if not label.matches("word")]
    for event in events:
        words = () if event.tool else (word.strip(":.-") for word in _WORD.findall(event.text))
        ids = {word for word in words if len(word) >= _LEAST_ID and re.search(r"\d", word)}
        if any(id_ not in shown and any(label.matches(id_) for label in labels) for id_ in ids):
            yield event
        shown += json.dumps(event.result) if event.result else ""
