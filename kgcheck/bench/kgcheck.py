"""KGCheck benchmark: run items by the agent team; score exact match, tools, and a model's own conclusion."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import Field

from kgcheck.agents.brains.rules import RulesBrain
from kgcheck.agents.outside import Outside
from kgcheck.agents.request import TaskType
from kgcheck.agents.team import Brain, Team, TeamConclusion
from kgcheck.agents.toolbox import TOOLS, Toolbox
from kgcheck.agents.transcript import AgentRole, Transcript
from kgcheck.bench.items import Item, label_of, request_of
from kgcheck.bench.metrics import by_type
from kgcheck.bench.overlay_store import seeded
from kgcheck.bench.process import ProcessFault, ProcessScore, process_of
from kgcheck.checks.verdicts import verdict as judge_alone
from kgcheck.errors import KgcheckError, ModelUnavailable
from kgcheck.evidence.source import ReferenceSource
from kgcheck.graph.store import GraphStore
from kgcheck.llm.budget import Limits
from kgcheck.model import INFORMS, Evidence, Reason, Stance, Tier, Value, Verdict

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


class Checker:
    """Checks items against one graph and its references."""

    def __init__(
        self,
        store: GraphStore,
        source: ReferenceSource,
        brain: BrainMaker | None = None,
        limits: Limits | None = None,
        outside: Outside | None = None,
        *,
        by_model: bool = False,
    ) -> None:
        self._store = store
        self._source = source
        self._brain = brain or (lambda store: RulesBrain())
        self._limits = limits
        self._outside = outside
        self._by_model = by_model

    def work(self, item: Item) -> dict[str, Any]:
        """Check one item."""
        transcript, started = Transcript(), time.monotonic()
        result: dict[str, Any] = {"type": item.type.value, "label": item.label}
        try:
            store = seeded(self._store, item.seed)
            request = request_of(item, store.schema, store)
            toolbox = Toolbox(store, self._source, self._outside)
            checked = Team(toolbox, self._brain(store), self._limits).check(request, transcript)
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
        process = process_of(item.type, transcript.events, self._store.schema, misread=differs, ended=ended)
        costs = [e.cost for e in transcript.events if e.cost is not None]
        score = CheckScore(
            **process.model_dump(),
            own_exact=own == item.label if self._by_model else None,
            own_executable=own is not None if self._by_model else None,
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
