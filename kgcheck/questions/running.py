"""Run a question's plan over a graph store, and keep the path to each node found."""

from typing import Any, NamedTuple

from kgcheck.errors import BudgetExceeded
from kgcheck.graph.store import NO_ID, Direction, GraphStore, Hop
from kgcheck.model import Ref, Triple, Value
from kgcheck.profile.schema import Schema
from kgcheck.questions.plan import Anchor, PlanStep, Rank, Variable

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
            reached = self._without(step, variable.label, reached)
        if reached is None:
            reached = self._all(variable.label)
        gone = {ref.id for anchor in variable.excluded for ref in anchor.refs}
        return self._filtered(variable, {i: p for i, p in reached.items() if i not in gone} if gone else reached)

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

    def _without(self, step: PlanStep, label: str, reached: Reached | None) -> Reached:
        wanted = self._all(label) if reached is None else reached
        gone = self._back(step, label) if _is_anchored(step) else self._ends(step, label, reached)
        return {i: p for i, p in wanted.items() if i not in gone}

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
