"""KGCheck benchmark: run each item by the agent team; score exact match, sources and tool path."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import Field

from kgcheck.agents.brains.rules import RulesBrain
from kgcheck.agents.outside import Outside
from kgcheck.agents.team import Brain, Team, TeamConclusion
from kgcheck.agents.toolbox import TOOLS, Toolbox
from kgcheck.agents.transcript import AgentRole, Transcript
from kgcheck.bench.items import Item, label_of, request_of
from kgcheck.bench.metrics import by_type
from kgcheck.bench.overlay_store import seeded
from kgcheck.checks.verdicts import verdict as judge_alone
from kgcheck.errors import KgcheckError
from kgcheck.evidence.source import ReferenceSource
from kgcheck.graph.store import GraphStore
from kgcheck.llm.budget import Limits
from kgcheck.model import INFORMS, Evidence, Reason, Stance, Tier, Value, Verdict

BrainMaker = Callable[[GraphStore], Brain]


class CheckScore(Value):
    """Score of one item; None where the item does not say what is right."""

    exact: bool
    executable: bool
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

    ``papers_speak`` and ``by_papers`` are of the items for which papers were asked, ``papers_right`` of those of which
    they speak.
    """

    items: int
    exact_match: float
    executability: float
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
    ) -> None:
        self._store = store
        self._source = source
        self._brain = brain or (lambda store: RulesBrain())
        self._limits = limits
        self._outside = outside

    def work(self, item: Item) -> dict[str, Any]:
        """Check one item."""
        transcript, started = Transcript(), time.monotonic()
        result: dict[str, Any] = {"type": item.type.value, "label": item.label}
        try:
            store = seeded(self._store, item.seed)
            request = request_of(item, store.schema, store)
            toolbox = Toolbox(store, self._source, self._outside)
            checked = Team(toolbox, self._brain(store), self._limits).check(request, transcript)
        except KgcheckError as error:
            score = CheckScore(exact=False, executable=False, seconds=time.monotonic() - started)
            return result | {"answer": None, "because": error.message, "score": score.model_dump()}
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
            "score": score_of(item, checked, transcript, time.monotonic() - started).model_dump(),
        }


def score_of(item: Item, checked: TeamConclusion, transcript: Transcript, seconds: float) -> CheckScore:
    """Score what the team came to."""
    verdict, truth = checked.verdict, item.truth
    from_papers = [e for e in verdict.evidence if e.tier is Tier.TEXT]
    alone = label_of(checked.task.type, judge_alone(checked.task.type, from_papers).outcome) if from_papers else None
    deciding = decisive(verdict)
    answer = label_of(checked.task.type, verdict.outcome)
    # Of an edge that is not there, silence is what the answer rests on.
    rests_on = [e for e in verdict.evidence if e.stance is not Stance.SILENT] or list(verdict.evidence)
    return CheckScore(
        exact=answer == item.label,
        executable=answer is not None,
        source=any(e.source == truth.source for e in rests_on) if truth.source else None,
        record=any(truth.record == e.record for e in rests_on) if truth.record else None,
        reason=verdict.reason.value == truth.reason if truth.reason else None,
        tool_path=right_path(transcript),
        decided_by=", ".join(sorted({e.source for e in deciding})) or "silence",
        by_papers=bool(deciding) and all(e.tier is Tier.TEXT for e in deciding) if from_papers else None,
        papers=alone == item.label if alone else None,
        tokens=sum(event.tokens for event in transcript.events),
        seconds=seconds,
        cost=sum(costs) if (costs := [e.cost for e in transcript.events if e.cost is not None]) else None,
    )


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
    graph = [tool for tool in tools if AgentRole.KG in TOOLS[tool].roles]
    return bool(graph) and not refused and tools == [*graph, *tools[len(graph) :]] and len(tools) > len(graph)


def metrics(results: Sequence[Mapping[str, Any]]) -> dict[str, CheckMetrics]:
    """Metrics over all results (``all``) and by type."""
    nothing = {"exact": False, "executable": False}
    return by_type(results, lambda result: CheckScore.model_validate(result.get("score") or nothing), _metrics)


def _metrics(scores: Sequence[CheckScore]) -> CheckMetrics:
    costs = [s.cost for s in scores if s.cost is not None]
    with_papers = [s for s in scores if s.by_papers is not None]
    return CheckMetrics(
        items=len(scores),
        exact_match=_share([s.exact for s in scores]) or 0.0,
        executability=_share([s.executable for s in scores]) or 0.0,
        right_source=_share([s.source for s in scores]),
        right_record=_share([s.record for s in scores]),
        right_reason=_share([s.reason for s in scores]),
        tool_path=_share([s.tool_path for s in scores]) or 0.0,
        papers_speak=_share([s.papers is not None for s in with_papers]),
        papers_right=_share([s.papers for s in with_papers]),
        by_papers=_share([s.by_papers for s in with_papers]),
        tokens=sum(s.tokens for s in scores),
        seconds=sum(s.seconds for s in scores),
        cost=sum(costs) if costs else None,
    )


def _share(values: Sequence[bool | None]) -> float | None:
    known = [h for h in values if h is not None]
    return 100 * sum(known) / len(known) if known else None
