"""Score the way to a conclusion, from the transcript of a check or an agent: tools, executability, what went wrong.

As in BioKGBench (section 4.2 and its scorer), an agent is executable if a call of it was carried out, and selected its
tool if one of those calls was of a tool that the task needs. Faults are read off refused steps, calls made twice, ids
in words that nobody has shown, and a conclusion other than the evidence gives.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from kgcheck.agents.request import TaskType
from kgcheck.agents.team import NOT_LOOKED_UP
from kgcheck.agents.team_support import call_key
from kgcheck.agents.toolbox import TOOLS
from kgcheck.agents.transcript import AgentRole, Event, Stage
from kgcheck.bench.answer_judge import FactState, judge_by_rules
from kgcheck.bench.question_sets import BenchQuestion
from kgcheck.literature.arguments import arguments, content_of, is_named
from kgcheck.model import Value
from kgcheck.profile.schema import Schema
from kgcheck.visible import as_json

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
    UNEXPLORED = "environment not explored"
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
    found += [] if done[AgentRole.KG] | done[AgentRole.VALIDATION] else [ProcessFault.UNEXPLORED]
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


_STEP = re.compile(r"```|<[a-z]\w*>|^[^\w\n]*(?:[Aa]ction|[Tt]ool)\b|\"(?:tool|action|name|code)\"\s*:", re.MULTILINE)
"""Marks of a step in the text of a reply: code, a tag, or a call that is written out."""

_NAMING = ("name", "label", "number")

AGENT_FAULTS = (
    ProcessFault.CHATTER,
    ProcessFault.UNSHOWN,
    ProcessFault.MISREAD,
    ProcessFault.UNEXPLORED,
    ProcessFault.STOPPED,
)
"""Faults that transcripts of agents show."""


def agent_faults(
    exchanges: Sequence[Mapping[str, Any]], question: BenchQuestion, answer: str
) -> tuple[ProcessFault, ...]:
    """Read the faults of an agent off its exchanges with the model, as `ModelProxy` writes them, and its answer.

    Turns without a step, and calls made twice, are chatter; unshown is an answer that names a thing or a number that
    no message to the model has; misread one that denies what such a message says in full; unexplored are data whose
    name neither a reply nor a message after the first has.
    """
    replies = [one["reply"] for one in exchanges if "reply" in one]
    calls = [as_json(call.get("function")) for reply in replies for call in reply.get("tool_calls") or ()]
    texts = [_text_of(reply) for reply in replies]
    idle = [text for text, reply in zip(texts[:-1], replies, strict=False) if not reply.get("tool_calls")]
    messages = [(m.get("role"), _text_of(m)) for one in exchanges for m in one["messages"]]
    shown = [text for role, text in messages if role != "assistant"]
    task = {_text_of(m) for one in exchanges[:1] for m in one["messages"] if m.get("role") != "assistant"}
    known = "\n".join((*texts, *calls, *(text for _, text in messages if text not in task)))
    holds = {
        ProcessFault.CHATTER: any(not _STEP.search(text) for text in idle) or len(calls) > len({*calls}),
        ProcessFault.UNSHOWN: question.form == "open" and _names_unshown(answer, " ; ".join(shown)),
        ProcessFault.MISREAD: question.form == "open" and _misreads(question.answer, answer, " ".join(shown)),
        ProcessFault.UNEXPLORED: any(PurePosixPath(name).name not in known for name in question.data),
        ProcessFault.STOPPED: not answer,
    }
    return tuple(fault for fault, found in holds.items() if found)


def _text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whole or in parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text") or "") for part in content)


def _names_unshown(answer: str, shown: str) -> bool:
    """Tell whether an answer names a thing or a number that a text has not, rounded or in per cent."""
    content = content_of(shown)
    lacking = [thing for thing in arguments(answer) if thing.kind in _NAMING and not is_named(thing, content)]
    numbers = [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", shown)]
    return any(thing.kind != "number" or not _is_rounded(thing.words, numbers) for thing in lacking)


def _is_rounded(words: str, numbers: Sequence[float]) -> bool:
    number = re.match(r"\d+(?:\.(\d+))?", words)
    places = len((number and number[1]) or "")
    return bool(number) and any(round(n * factor, places) == float(number[0]) for n in numbers for factor in (1, 100))  # type: ignore[index]


def _misreads(right: str, answer: str, shown: str) -> bool:
    """Tell whether an answer contradicts a fact of the right one that it was shown in full."""
    denied = {f.fact for f in judge_by_rules(right, answer).facts if f.state is FactState.CONTRADICTED}
    return bool(denied) and any(
        f.fact in denied and f.state is FactState.FULL for f in judge_by_rules(right, shown).facts
    )
