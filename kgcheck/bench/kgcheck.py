"""KGCheck benchmark: run items by the agent team; score the verdict, a model's own conclusion, and the way to it.

As in BioKGBench (section 4.2 and its scorer), an agent is executable if a call of it was carried out, and selected its
tool if one of those calls was of a tool that the task needs. Faults are read off refused steps, calls made twice, ids
in words that nobody has shown, and a conclusion other than the evidence gives.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from pydantic import Field

from kgcheck.agents.brains.rules import RulesBrain
from kgcheck.agents.request import TaskType
from kgcheck.agents.team import NOT_LOOKED_UP, Brain, Team, TeamConclusion, call_key
from kgcheck.agents.toolbox import TOOLS, Outside, Toolbox
from kgcheck.agents.transcript import AgentRole, Event, Stage, Transcript
from kgcheck.bench.answer_judge import FactState, judge_by_rules
from kgcheck.bench.items import Item, label_of, request_of, seeded
from kgcheck.bench.metrics import by_type
from kgcheck.bench.question_sets import BenchQuestion
from kgcheck.checks.verdicts import verdict as judge_alone
from kgcheck.errors import KgcheckError, ModelUnavailable
from kgcheck.evidence.source import ReferenceSource
from kgcheck.graph.store import GraphStore
from kgcheck.literature.arguments import arguments, content_of, is_named
from kgcheck.llm.budget import Limits
from kgcheck.model import INFORMS, Evidence, Reason, Stance, Tier, Value, Verdict
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


BrainMaker = Callable[[GraphStore], Brain]


class CheckScore(ProcessScore):
    """Score of one item; None where the item does not say what is right, or no model concludes."""

    exact: bool = False
    executable: bool = False
    own_exact: bool | None = Field(default=None, description="whether the model's own conclusion is right")
    own_executable: bool | None = Field(default=None, description="whether the model came to a conclusion of its own")
    source: bool | None = None
    record: bool | None = None
    reason: bool | None = None
    tool_path: bool = False
    decided_by: str = Field(default="", description="the sources that decided, or silence")
    by_papers: bool | None = Field(default=None, description="whether papers alone decided, where they were asked")
    papers: bool | None = Field(default=None, description="whether papers alone would be right, where they speak")
    tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None


class CheckMetrics(Value):
    """Shares in per cent, sums and means over items.

    ``own_exact_match`` and ``own_executability`` are of the conclusion that the model itself gave, the two above them
    of the verdict. ``idle_turns`` is the share of turns that were words, or a call made before; the five below it are
    shares of the items in which such a fault was found. ``papers_speak`` and ``by_papers`` are of the items for which
    papers were asked, ``papers_right`` of those of which they speak.
    """

    items: int
    exact_match: float
    executability: float
    own_exact_match: float | None
    own_executability: float | None
    kg_tool_selection: float | None
    kg_executability: float | None
    validation_tool_selection: float | None
    validation_executability: float | None
    idle_turns: float
    leader_faults: float
    wrong_tools: float
    wrong_arguments: float
    unshown_statements: float
    misread_evidence: float
    right_source: float | None
    right_record: float | None
    right_reason: float | None
    tool_path: float
    papers_speak: float | None
    papers_right: float | None
    by_papers: float | None
    tokens: int
    seconds: float
    cost: float | None


@dataclass
class Checker:
    """Checks items against one graph and its references."""

    store: GraphStore
    source: ReferenceSource
    brain: BrainMaker | None = None
    limits: Limits | None = None
    outside: Outside | None = None
    by_model: bool = field(default=False, kw_only=True)

    def work(self, item: Item) -> dict[str, Any]:
        """Check one item."""
        transcript, started = Transcript(), time.monotonic()
        result: dict[str, Any] = {"type": item.type.value, "label": item.label}
        try:
            store = seeded(self.store, item.seed)
            request = request_of(item, store.schema, store)
            toolbox = Toolbox(store, self.source, self.outside)
            brain = self.brain(store) if self.brain else RulesBrain()
            checked = Team(toolbox, brain, self.limits).check(request, transcript)
        except ModelUnavailable:
            raise
        except KgcheckError as error:
            score = self._score(item, None, transcript, started)
            return result | {"answer": None, "because": error.message, "score": score.model_dump(mode="json")}
        verdict = checked.verdict
        if verdict.reason is Reason.SOURCE_UNAVAILABLE:
            result["error"] = f"could not ask {', '.join(map(str, verdict.missing))}"
        return result | {
            "answer": label_of(checked.task.type, verdict.outcome),
            "task": str(checked.task),
            "outcome": verdict.outcome.value,
            "reason": verdict.reason.value,
            "concluded": checked.concluded.value if checked.concluded else None,
            "evidence": [f"{e.source} {e.record} {e.stance.value}" for e in verdict.evidence],
            "score": self._score(item, checked, transcript, started).model_dump(mode="json"),
        }

    def _score(self, item: Item, checked: TeamConclusion | None, transcript: Transcript, started: float) -> CheckScore:
        """Score the way of an item, and what the team came to, if it came to anything."""
        own = label_of(checked.task.type, checked.concluded) if checked and checked.concluded else None
        differs = bool(checked and checked.differs)
        ended = checked is not None
        process = process_of(item.type, transcript.events, self.store.schema, misread=differs, ended=ended)
        costs = [e.cost for e in transcript.events if e.cost is not None]
        score = CheckScore(
            **process.model_dump(),
            own_exact=own == item.label if self.by_model else None,
            own_executable=own is not None if self.by_model else None,
            tool_path=right_path(transcript),
            tokens=sum(event.tokens for event in transcript.events),
            seconds=time.monotonic() - started,
            cost=sum(costs) if costs else None,
        )
        return score.model_copy(update=verdict_scores(item, checked)) if checked else score


def verdict_scores(item: Item, checked: TeamConclusion) -> dict[str, Any]:
    """Score the verdict that the team came to, as fields of a score."""
    verdict, truth = checked.verdict, item.truth
    from_papers = [e for e in verdict.evidence if e.tier is Tier.TEXT]
    alone = label_of(checked.task.type, judge_alone(checked.task.type, from_papers).outcome) if from_papers else None
    deciding = decisive(verdict)
    answer = label_of(checked.task.type, verdict.outcome)
    # Of an edge that is not there, silence is what the answer rests on.
    rests_on = [e for e in verdict.evidence if e.stance is not Stance.SILENT] or list(verdict.evidence)
    return {
        "exact": answer == item.label,
        "executable": answer is not None,
        "source": any(e.source == truth.source for e in rests_on) if truth.source else None,
        "record": any(truth.record == e.record for e in rests_on) if truth.record else None,
        "reason": verdict.reason.value == truth.reason if truth.reason else None,
        "decided_by": ", ".join(sorted({e.source for e in deciding})) or "silence",
        "by_papers": bool(deciding) and all(e.tier is Tier.TEXT for e in deciding) if from_papers else None,
        "papers": alone == item.label if alone else None,
    }


def decisive(verdict: Verdict) -> list[Evidence]:
    """Choose what a verdict rests on: of the evidence that speaks of the fact, that of the highest tier."""
    spoken = [e for e in verdict.evidence if e.stance is not Stance.SILENT and e.about != INFORMS]
    facts = [e for e in spoken if e.about == "fact"] or spoken
    highest = min((e.tier.rank for e in facts), default=0)
    return [e for e in facts if e.tier.rank == highest]


def right_path(transcript: Transcript) -> bool:
    """Tell whether the graph was asked first, the references after it, and no call was refused."""
    tools = [event.tool for event in transcript.events if event.tool]
    refused = any(event.refused for event in transcript.events)
    if refused:
        return False
    graph = [tool for tool in tools if AgentRole.KG in TOOLS[tool].roles]
    return bool(graph) and tools == [*graph, *tools[len(graph) :]] and len(tools) > len(graph)


def metrics(results: Sequence[Mapping[str, Any]]) -> dict[str, CheckMetrics]:
    """Metrics over all results (``all``), by type and by data source."""
    no_way = dict.fromkeys(("kg_tool", "kg_executable", "validation_tool", "validation_executable"), False)
    return by_type(results, lambda r: CheckScore.model_validate(r.get("score") or no_way), _metrics, data_source)


def data_source(kind: str) -> str:
    """Name the data source that a type of task is validated by, as BioKGBench's table 6 groups them."""
    return "publications" if kind in (TaskType.CURATED, TaskType.RELATION) else "web databases"


def _metrics(scores: Sequence[CheckScore]) -> CheckMetrics:
    costs = [s.cost for s in scores if s.cost is not None]
    with_papers = [s for s in scores if s.by_papers is not None]
    shares = {metric: _share([getattr(s, field) for s in scores]) for metric, field in _SHARES.items()}
    shares |= {metric: _share([fault in s.faults for s in scores]) for metric, fault in _FAULTS.items()}
    return CheckMetrics(
        items=len(scores),
        **shares,
        idle_turns=100 * sum(s.idle_turns for s in scores) / max(sum(s.turns for s in scores), 1),
        papers_speak=_share([s.papers is not None for s in with_papers]),
        papers_right=_share([s.papers for s in with_papers]),
        by_papers=_share([s.by_papers for s in with_papers]),
        tokens=sum(s.tokens for s in scores),
        seconds=sum(s.seconds for s in scores),
        cost=sum(costs) if costs else None,
    )


_SHARES = {
    "exact_match": "exact",
    "executability": "executable",
    "own_exact_match": "own_exact",
    "own_executability": "own_executable",
    "kg_tool_selection": "kg_tool",
    "kg_executability": "kg_executable",
    "validation_tool_selection": "validation_tool",
    "validation_executability": "validation_executable",
    "right_source": "source",
    "right_record": "record",
    "right_reason": "reason",
    "tool_path": "tool_path",
}
_FAULTS = {
    "leader_faults": ProcessFault.INSTRUCTION,
    "wrong_tools": ProcessFault.WRONG_TOOL,
    "wrong_arguments": ProcessFault.ARGUMENTS,
    "unshown_statements": ProcessFault.UNSHOWN,
    "misread_evidence": ProcessFault.MISREAD,
}


def _share(values: Sequence[bool | None]) -> float | None:
    known = [h for h in values if h is not None]
    return 100 * sum(known) / len(known) if known else None
