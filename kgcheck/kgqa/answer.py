"""Runs a plan over a store and keeps, for every answer, the path of edges that led to it."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from kgcheck.errors import BudgetExceeded, NotUnderstood
from kgcheck.graph.schema import Schema
from kgcheck.graph.store import Direction, GraphStore, Hop
from kgcheck.kgqa.compiler import Compiler
from kgcheck.kgqa.lexicon import load_lexicon
from kgcheck.kgqa.linking import NameIndex
from kgcheck.kgqa.plan import Anchor, Plan, Step, Variable
from kgcheck.model import Ref, Triple, Value
from kgcheck.progress import Progress

MOST_NODES = 200_000
"""Nodes that one step of a question may start from."""

MOST_PATHS = 200
"""Answers that are told with their path; the others only by their id."""


class Status(StrEnum):
    """What came of a question. ``nothing``: it was understood, and the graph has no such node."""

    ANSWERED = "answered"
    NOTHING = "nothing"
    NOT_UNDERSTOOD = "not understood"
    STOPPED = "stopped"


class Edge(Value):
    """An edge of a path, with what the graph says about it."""

    triple: Triple
    properties: dict[str, Any] = {}


class Found(Value):
    """One answer."""

    ref: Ref
    name: str | None = None
    properties: dict[str, Any] = {}
    path: tuple[Edge, ...] = ()


class Answer(Value):
    """What a question came to."""

    question: str
    status: Status
    understood: str = Field(default="", description="the plan, in words of the schema")
    plan: Plan | None = None
    count: int | None = None
    found: tuple[Found, ...] = ()
    notes: tuple[str, ...] = ()
    because: str = Field(default="", description="why there is no answer, and what to do")
    actions: int = Field(default=0, description="steps that a model took")
    tokens: int = 0
    cost: float | None = None


class Questions:
    """Answers questions over a store without a model. Reads the names of the graph once.

    Args:
        store: The graph.
        progress: Shown the reading of names.
    """

    def __init__(self, store: GraphStore, progress: Progress | None = None) -> None:
        lexicon = load_lexicon(store.schema)
        self._store = store
        self.index = NameIndex.of(store, lexicon, progress)
        self._compiler = Compiler(store.schema, lexicon, self.index)

    def ask(self, question: str) -> Answer:
        """Answer a question.

        Args:
            question: In words.

        Returns:
            The answers with their paths, or that the question was not understood, and why.
        """
        try:
            plan = self._compiler.compile(question)
        except NotUnderstood as error:
            because = f"{error.message}; {error.hint}" if error.hint else error.message
            return Answer(question=question, status=Status.NOT_UNDERSTOOD, because=because)
        return run_plan(question, plan, self._store)


def run_plan(question: str, plan: Plan, store: GraphStore) -> Answer:
    """Run a plan.

    Args:
        question: That it was made from.
        plan: What is asked.
        store: The graph.

    Returns:
        The answer.
    """
    if plan.count and not plan.target.groups and not plan.target.filters:
        total = store.counts().nodes.get(plan.target.label, 0)
        return _answer(question, plan, Status.ANSWERED, count=total)
    run = _Run(store)
    try:
        reached = run.nodes(plan.target)
    except BudgetExceeded as error:
        return _answer(question, plan, Status.STOPPED, because=f"{error.message}; {error.hint}")
    asked = {ref for anchor in _anchors(plan.target) for ref in anchor.refs}
    ids = [id_ for id_ in sorted(reached) if Ref(label=plan.target.label, id=id_) not in asked]
    status = Status.ANSWERED if ids or plan.count else Status.NOTHING
    found = tuple(_found(plan.target.label, ids, reached, store))
    return _answer(question, plan, status, count=len(ids) if plan.count else None, found=found)


def _answer(question: str, plan: Plan, status: Status, **rest: Any) -> Answer:
    return Answer(question=question, status=status, understood=str(plan), plan=plan, notes=plan.notes, **rest)


def _found(label: str, ids: list[str], reached: "dict[str, tuple[Edge, ...]]", store: GraphStore) -> list[Found]:
    held = store.nodes(store.schema.label(label), ids)
    return [
        Found(
            ref=Ref(label=label, id=id_),
            name=held.get(id_, {}).get("name"),
            properties={k: v for k, v in held.get(id_, {}).items() if k not in ("id", "name")}
            if n < MOST_PATHS
            else {},
            path=reached[id_] if n < MOST_PATHS else (),
        )
        for n, id_ in enumerate(ids)
    ]


def _anchors(variable: Variable) -> list[Anchor]:
    found: list[Anchor] = []
    for group in variable.groups:
        for step in group:
            found += [step.to] if isinstance(step.to, Anchor) else _anchors(step.to)
    return found


Reached = dict[str, tuple[Edge, ...]]
"""Ids of nodes, each with one path that leads to it."""


class _Run:
    """One plan over one store."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._schema: Schema = store.schema

    def nodes(self, variable: Variable) -> Reached:
        """The nodes of a variable: those that every group reaches."""
        reached: Reached | None = None
        for group in variable.groups:
            here: Reached = {}
            for step in group:
                for id_, path in self._step(step, variable.label).items():
                    here.setdefault(id_, path)
            reached = here if reached is None else {i: p + here[i] for i, p in reached.items() if i in here}
        return self._filtered(variable, reached or {})

    def _step(self, step: Step, label: str) -> Reached:
        origin: Reached
        if isinstance(step.to, Anchor):
            origin = {ref.id: () for ref in step.to.refs}
        else:
            origin = self.nodes(step.to)
        if len(origin) > MOST_NODES:
            raise BudgetExceeded(f"a step starts from {len(origin):,} nodes", "ask for less")
        reached: Reached = {}
        for out, hops in self._hops(step, sorted(origin)):
            for hop in hops:
                if all(f.holds(hop.properties.get(f.property)) for f in step.filters) and hop.end not in reached:
                    edge = _edge(step, hop, label, forward=out)
                    reached[hop.end] = (edge, *origin[hop.start])
        return reached

    def _hops(self, step: Step, ids: list[str]) -> list[tuple[bool, list[Hop]]]:
        """Hops from the known end; ``True`` where they go along the edges."""
        # The direction of a step is seen from the variable, and the hops start at the other end.
        ways: dict[str, tuple[tuple[bool, Direction], ...]] = {
            "out": ((False, "in"),),
            "in": ((True, "out"),),
            "either": ((True, "out"), (False, "in")),
        }
        return [(out, self._store.hops(ids, step.pattern, way)) for out, way in ways[step.direction]]

    def _filtered(self, variable: Variable, reached: Reached) -> Reached:
        if variable.ends and variable.ends[0] == "id":
            reached = {i: p for i, p in reached.items() if i.endswith(variable.ends[1])}
        if not variable.filters or not reached:
            return reached
        held = self._store.nodes(self._schema.label(variable.label), list(reached))
        return {
            i: p for i, p in reached.items() if all(f.holds(held.get(i, {}).get(f.property)) for f in variable.filters)
        }


def _edge(step: Step, hop: Hop, label: str, *, forward: bool) -> Edge:
    here, there = Ref(label=label, id=hop.end), Ref(label=step.to.label, id=hop.start)
    head, tail = (there, here) if forward else (here, there)
    return Edge(triple=Triple(head=head, relation=step.pattern.type, tail=tail), properties=hop.properties)
