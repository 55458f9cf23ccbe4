"""Answer a question from the graph: nodes with paths, a count, yes or no, or why there is none."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from kgcheck.errors import BudgetExceeded, NotUnderstood
from kgcheck.graph.names import NameIndex
from kgcheck.graph.store import GraphStore
from kgcheck.model import Ref, Value
from kgcheck.profile.lexicon import load_lexicon
from kgcheck.progress import Progress
from kgcheck.questions.compiler import Compiler
from kgcheck.questions.plan import Anchor, Plan, PlanStep, Variable, sentence
from kgcheck.questions.running import Edge, Reached, Runner

MOST_PATHS = 200
"""Answers that are told with their path; the others only by their id."""

DRAFTED_WORDS = (
    "the words for this graph are a draft, made of its names: kgcheck profile init FILES --out DIR writes them to"
    " DIR/lexicon.toml, to be edited"
)

NOT_IN_THE_GRAPH = "this graph does not say so, which is no proof that it is not so"

__all__ = ["Answer", "Edge", "Found", "Questions", "Status", "run_plan"]


class Status(StrEnum):
    """Outcome of a question.

    ``nothing``: it was understood, and the graph has no such node. ``unsupported``: a model answered, and what its
    tools have shown does not bear that out.
    """

    ANSWERED = "answered"
    NOTHING = "nothing"
    NOT_UNDERSTOOD = "not understood"
    STOPPED = "stopped"
    UNSUPPORTED = "unsupported"


class Found(Value):
    """One answer."""

    ref: Ref
    name: str | None = None
    properties: dict[str, Any] = {}
    path: tuple[Edge, ...] = ()


class Answer(Value):
    """Answer to a question."""

    question: str
    status: Status
    understood: str = Field(default="", description="the plan, in words of the schema")
    read_as: str = Field(default="", description="the plan as a sentence")
    plan: Plan | None = None
    count: int | None = None
    holds: bool | None = Field(default=None, description="of a yes or no question: whether the graph says so")
    found: tuple[Found, ...] = Field(default=(), description="of a number or a yes, the first 200")
    notes: tuple[str, ...] = ()
    because: str = Field(default="", description="why there is no answer, and what to do")
    actions: int = Field(default=0, description="steps that a model took")
    tokens: int = 0
    cost: float | None = None


class Questions:
    """Answers to questions over a store, without a model. Reads the names of the graph once."""

    def __init__(self, store: GraphStore, progress: Progress | None = None, index: NameIndex | None = None) -> None:
        lexicon = load_lexicon(store.schema)
        self._store = store
        self.index = index or NameIndex.from_store(store)
        self.index.read(progress)
        self._compiler = Compiler(store.schema, lexicon, self.index)

    def plans(self, question: str) -> list[Plan]:
        """Understand a question without answering it: one plan, or one a label of what it names."""
        return self._compiler.compile(question)

    def ask(self, question: str) -> Answer:
        """Answer a question."""
        try:
            plans = self.plans(question)
        except NotUnderstood as error:
            because = error.in_one_line
            return Answer(question=question, status=Status.NOT_UNDERSTOOD, because=because)
        first, *more = (run_plan(question, plan, self._store) for plan in plans)
        if not more:
            return first
        answers = (first, *more)
        found = tuple(one for answer in answers for one in answer.found)
        understood, read_as = (" and ".join(getattr(a, name) for a in answers) for name in ("understood", "read_as"))
        notes = tuple(dict.fromkeys(n for a in answers for n in a.notes))
        return first.model_copy(
            update={"found": found, "understood": understood, "read_as": read_as, "notes": notes, "plan": None}
        )


def run_plan(question: str, plan: Plan, store: GraphStore) -> Answer:
    """Run a plan."""
    read_as = sentence(plan, _named(plan, store))
    if plan.count and plan.target.is_any:
        total = store.counts().nodes.get(plan.target.label, 0)
        return _answer(question, plan, Status.ANSWERED, read_as, count=total)
    try:
        ids, reached, notes = _reached(plan, store)
    except BudgetExceeded as error:
        return _answer(question, plan, Status.STOPPED, read_as, because=error.in_one_line)
    # Whoever asks for a number does not read thousands of names.
    shown = ids[:MOST_PATHS] if plan.count or plan.whether else ids
    found = tuple(_found(plan.target.label, shown, reached, store))
    plan = plan.model_copy(update={"notes": plan.notes + notes})
    if plan.whether:
        holds = _holds(plan, ids)
        if not holds:
            return _answer(question, plan, Status.NOTHING, read_as, holds=False, because=NOT_IN_THE_GRAPH)
        return _answer(question, plan, Status.ANSWERED, read_as, holds=True, found=found)
    status = Status.ANSWERED if ids or plan.count else Status.NOTHING
    return _answer(question, plan, status, read_as, count=len(ids) if plan.count else None, found=found)


def _reached(plan: Plan, store: GraphStore) -> tuple[list[str], Reached, tuple[str, ...]]:
    run, target, notes = Runner(store), plan.target, ()
    if plan.rank:
        start = None if target.is_any and plan.rank.step else run.nodes(target)
        ids, reached, more = run.ranked(plan.rank, target.label, start)
        if more:
            return ids, reached, (f"{len(ids)} are as good as number {plan.rank.limit}",)
    else:
        reached = run.nodes(target)
        ids = sorted(reached)
    back = _only_back(target, set(ids), run)
    return [i for i in ids if i not in back], reached, notes


def _only_back(target: Variable, ids: set[str], run: Runner) -> set[str]:
    # Partners of the partners of A are not A; but a node with an edge to itself is its own partner, and an answer.
    kept = {ref.id for anchor in target.among for ref in anchor.refs}
    gone: set[str] = set()
    for step in (step for group in target.groups for step in group):
        named = {ref.id for anchor in _anchors(step) for ref in anchor.refs if ref.label == target.label} & ids
        if isinstance(step.to, Anchor):
            kept |= named
        elif named:
            gone |= named - run.looped(step, named)
    return gone - kept


def _holds(plan: Plan, ids: list[str]) -> bool:
    """Tell whether it is so: of any of the nodes, or of each of the named ones where all are asked about."""
    there = set(ids)
    if plan.every and plan.target.among:
        return all(any(ref.id in there for ref in anchor.refs) for anchor in plan.target.among)
    return bool(there)


def _answer(question: str, plan: Plan, status: Status, read_as: str, **rest: Any) -> Answer:
    return Answer(
        question=question, status=status, understood=str(plan), read_as=read_as, plan=plan, notes=plan.notes, **rest
    )


def _named(plan: Plan, store: GraphStore) -> dict[Ref, str]:
    """Look up the names of the nodes that a plan names."""
    ranked = [plan.rank.step] if plan.rank and plan.rank.step else []
    wanted: dict[str, set[str]] = {}
    named = [*plan.target.among, *plan.target.excluded]
    for anchor in [*named, *(a for step in (*plan.target.steps, *ranked) for a in _anchors(step))]:
        wanted.setdefault(anchor.label, set()).update(ref.id for ref in anchor.refs)
    return {
        Ref(label=label, id=id_): str(properties["name"])
        for label, ids in wanted.items()
        for id_, properties in store.nodes(store.schema.label(label), sorted(ids)).items()
        if properties.get("name")
    }


def _found(label: str, ids: list[str], reached: Reached, store: GraphStore) -> list[Found]:
    nodes = store.nodes(store.schema.label(label), ids)
    return [
        Found(
            ref=Ref(label=label, id=id_),
            name=nodes.get(id_, {}).get("name"),
            properties={k: v for k, v in nodes.get(id_, {}).items() if k not in ("id", "name")}
            if n < MOST_PATHS
            else {},
            path=tuple(taken.edge for taken in reached[id_]) if n < MOST_PATHS else (),
        )
        for n, id_ in enumerate(ids)
    ]


def _anchors(step: PlanStep) -> list[Anchor]:
    """Named nodes that a step leads to, at any distance."""
    return [step.to] if isinstance(step.to, Anchor) else [a for s in step.to.steps for a in _anchors(s)]
