"""Run a question's plan over a graph store, and answer: nodes with paths, a count, yes or no, or why there is none."""

from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import Field

from kgcheck.errors import BudgetExceeded, NotUnderstood
from kgcheck.graph.names import NameIndex
from kgcheck.graph.store import NO_ID, Direction, GraphStore, Hop
from kgcheck.model import Ref, Triple, Value
from kgcheck.profile.lexicon import load_lexicon
from kgcheck.profile.schema import Schema
from kgcheck.progress import Progress
from kgcheck.questions.compiler import Compiler
from kgcheck.questions.plan import Anchor, Plan, PlanStep, Rank, Variable, sentence

MOST_NODES = 200_000
"""Nodes that one step of a question may start from."""

MOST_EDGES = 5_000_000
"""Edges of a relation that a question without any name may look through."""


class Edge(Value):
    """An edge of a path, with what the graph says about it."""

    triple: Triple
    properties: dict[str, Any] = {}


class TraversedEdge(NamedTuple):
    """An edge that was taken; made an Edge only where it is told."""

    step: PlanStep
    label: str
    here: str
    there: str
    out: bool
    properties: dict[str, Any]

    @property
    def edge(self) -> Edge:
        """The edge between a node of the variable and one of what the step reaches."""
        near, far = Ref(label=self.label, id=self.here), Ref(label=self.step.to.label, id=self.there)
        head, tail = (near, far) if self.out else (far, near)
        triple = Triple(head=head, relation=self.step.pattern.type, tail=tail)
        return Edge(triple=triple, properties=self.properties)


Path = tuple[TraversedEdge, ...]

Reached = dict[str, Path]
"""Ids of nodes, each with one path that leads to it."""

Ends = dict[str, dict[str, TraversedEdge]]
"""Ids of nodes, each with what a step reaches from it."""


class Runner:
    """One plan over one store."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._schema: Schema = store.schema

    def nodes(self, variable: Variable) -> Reached:
        """The nodes of a variable: those that every group reaches, and no step that is not wanted."""
        reached: Reached | None = None
        if variable.among:
            reached = {ref.id: () for anchor in variable.among for ref in anchor.refs}
        anchored = [g for g in variable.groups if all(_is_anchored(s) for s in g)]
        for group in anchored:
            here: Reached = {}
            for step in group:
                for id_, path in self._back(step, variable.label).items():
                    here.setdefault(id_, path)
            reached = here if reached is None else {i: p + here[i] for i, p in reached.items() if i in here}
        for group in (g for g in variable.groups if g not in anchored):
            reached = self._with(group, variable.label, reached)
        for step in variable.without:
            wanted = self._all(variable.label) if reached is None else reached
            from_far = _is_anchored(step)
            gone = self._back(step, variable.label) if from_far else self._ends(step, variable.label, reached)
            reached = {i: p for i, p in wanted.items() if i not in gone}
        if reached is None:
            reached = self._all(variable.label)
        excluded = {ref.id for anchor in variable.excluded for ref in anchor.refs}
        left = {i: p for i, p in reached.items() if i not in excluded} if excluded else reached
        return self._filtered(variable, left)

    def ranked(self, rank: Rank, label: str, reached: Reached | None) -> tuple[list[str], Reached, bool]:
        """The first nodes by an order."""
        values: dict[str, float] = {}
        paths: Reached = dict(reached or {})
        if rank.step:
            ends = self._ends(rank.step, label, reached)
            known_values = self._values(rank.step, rank.property, ends) if rank.property else {}
            for id_, there in ends.items():
                if rank.property is None:
                    values[id_] = len(there)
                elif known := known_values[id_]:
                    values[id_] = max(known) if rank.descending else min(known)
                paths[id_] = (*paths.get(id_, ()), next(iter(there.values())))
            if rank.property is None and not rank.descending:
                # Nothing at all is the fewest.
                values |= {
                    id_: 0.0 for id_ in (reached if reached is not None else self._all(label)) if id_ not in ends
                }
        else:
            nodes = self._all(label) if reached is None else reached
            found = self._store.nodes(self._schema.label(label), list(nodes))
            values = {i: v for i in nodes if (v := _number(found.get(i, {}).get(rank.property or ""))) is not None}
        order = sorted(values, key=lambda i: (-values[i] if rank.descending else values[i], i))
        last = values[order[rank.limit - 1]] if len(order) >= rank.limit else None
        kept = order[: rank.limit] + [i for i in order[rank.limit :] if values[i] == last]
        return kept, {i: paths.get(i, ()) for i in kept}, len(kept) > rank.limit

    def _values(self, step: PlanStep, name: str, ends: Ends) -> dict[str, list[float]]:
        """The values of the property that ranks, by node: of its edges, or of their ends."""
        of_edge = name in step.pattern.properties
        every = [] if of_edge else sorted({end for there in ends.values() for end in there})
        nodes = self._store.nodes(self._schema.label(step.to.label), every) if every else {}
        return {
            i: [
                value
                for end, taken in there.items()
                if (value := _number((taken.properties if of_edge else nodes.get(end, {})).get(name))) is not None
            ]
            for i, there in ends.items()
        }

    def looped(self, step: PlanStep, ids: set[str]) -> set[str]:
        """Those of some nodes that a step joins with themselves, where they are among what it leads to."""
        if step.pattern.head != step.pattern.tail or isinstance(step.to, Anchor):
            return set()
        within = ids & set(self.nodes(step.to))
        ends = self._ends(
            step.model_copy(update={"to": Variable(label=step.to.label)}), step.to.label, dict.fromkeys(within, ())
        )
        return {id_ for id_ in within if id_ in ends.get(id_, {})}

    # --- one step ------------------------------------------------------------------------------------

    def _back(self, step: PlanStep, label: str) -> Reached:
        """The nodes at the near end of a step whose far end is known."""
        if isinstance(step.to, Anchor):
            origin: Reached = {ref.id: () for ref in step.to.refs}
        else:
            origin = self.nodes(step.to)
        _check_size(len(origin))
        reached: Reached = {}
        for forward, hops in self._hops(step, sorted(origin), from_far=True):
            for hop in hops:
                if hop.end not in reached and step.takes(hop.properties, out=not forward):
                    reached[hop.end] = (
                        TraversedEdge(step, label, hop.end, hop.start, not forward, hop.properties),
                        *origin[hop.start],
                    )
        return reached

    def _ends(self, step: PlanStep, label: str, reached: Reached | None) -> Ends:
        """Find what a step reaches from nodes, or from any node of the label."""
        wanted = None
        if isinstance(step.to, Anchor):
            wanted = {ref.id for ref in step.to.refs}
        elif not step.to.is_any:
            wanted = set(self.nodes(step.to))
        ends: Ends = {}
        if reached is None:
            groups = self._scanned(step)
        else:
            _check_size(len(reached))
            groups = self._hops(step, sorted(reached), from_far=False)
        for out, hops in groups:
            for hop in hops:
                if (wanted is None or hop.end in wanted) and step.takes(hop.properties, out=out):
                    there = ends.setdefault(hop.start, {})
                    there.setdefault(hop.end, TraversedEdge(step, label, hop.start, hop.end, out, hop.properties))
        return ends

    def _hops(self, step: PlanStep, ids: list[str], *, from_far: bool) -> list[tuple[bool, list[Hop]]]:
        """Hops from one end of a step; ``True`` where they go along the edges."""
        ways: dict[str, tuple[Direction, ...]] = {"out": ("out",), "in": ("in",), "either": ("out", "in")}
        turned: dict[Direction, Direction] = {"out": "in", "in": "out"}
        found = []
        for way in ways[step.direction]:
            taken = turned[way] if from_far else way
            found.append((taken == "out", self._store.hops(ids, step.pattern, taken) if ids else []))
        return found

    def _scanned(self, step: PlanStep) -> list[tuple[bool, list[Hop]]]:
        """Every edge of a step's relation as hops from its near end."""
        total = self._store.counts().edges.get(str(step.pattern), 0)
        if total > MOST_EDGES:
            raise BudgetExceeded(f"a step looks through {total:,} edges", "name a node that it starts from")
        names = list(step.pattern.properties)
        out: list[Hop] = []
        for table in self._store.scan_edges(step.pattern):
            columns = [table.column(name).to_pylist() for name in ("head", "tail", *names)]
            for head, tail, *values in zip(*columns, strict=True):
                if NO_ID not in (head, tail):
                    properties = {n: v for n, v in zip(names, values, strict=True) if v is not None}
                    out.append(Hop(head, tail, properties))
        back = [Hop(h.end, h.start, h.properties) for h in out] if step.direction != "out" else []
        return [(True, out if step.direction != "in" else []), (False, back)]

    # --- groups that start from nothing, and what is not wanted --------------------------------------

    def _with(self, group: tuple[PlanStep, ...], label: str, reached: Reached | None) -> Reached:
        kept: Reached = {}
        for step in group:
            ends = self._ends(step, label, reached)
            if step.times and reached is None and step.times.holds(0):
                reached = self._all(label)
            for id_ in ends if reached is None else reached:
                there = ends.get(id_, {})
                if step.times.holds(len(there)) if step.times else bool(there):
                    kept.setdefault(id_, (reached or {}).get(id_, ()) + tuple(there.values())[:1])
        return kept

    def _all(self, label: str) -> Reached:
        spec = self._schema.label(label)
        _check_size(self._store.counts().nodes.get(label, 0))
        ids = (i for table in self._store.scan_nodes(spec) for i in table.column("id").to_pylist())
        return {i: () for i in ids if i != NO_ID}

    def _filtered(self, variable: Variable, reached: Reached) -> Reached:
        name, end = variable.ends or ("id", "")
        if name == "id":
            reached = {i: p for i, p in reached.items() if i.endswith(end)}
        if not (variable.filters or name != "id") or not reached:
            return reached
        nodes = self._store.nodes(self._schema.label(variable.label), list(reached))
        if name != "id":
            reached = {i: p for i, p in reached.items() if str(nodes.get(i, {}).get(name, "")).endswith(end)}
        return {
            i: p for i, p in reached.items() if all(f.holds(nodes.get(i, {}).get(f.property)) for f in variable.filters)
        }


def _is_anchored(step: PlanStep) -> bool:
    """Tell whether a step can be taken from its far end: that end is known, and nobody counts."""
    return step.times is None and (isinstance(step.to, Anchor) or not step.to.is_any)


def _check_size(nodes: int) -> None:
    if nodes > MOST_NODES:
        raise BudgetExceeded(f"a step starts from {nodes:,} nodes", "ask for less")


def _number(value: object) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


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
        read_as = " and ".join(answer.read_as for answer in answers)
        notes = tuple(dict.fromkeys(n for a in answers for n in a.notes))
        return first.model_copy(update={"found": found, "read_as": read_as, "notes": notes, "plan": None})


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
    return Answer(question=question, status=status, read_as=read_as, plan=plan, notes=plan.notes, **rest)


def _named(plan: Plan, store: GraphStore) -> dict[Ref, str]:
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
    return [step.to] if isinstance(step.to, Anchor) else [a for s in step.to.steps for a in _anchors(s)]
