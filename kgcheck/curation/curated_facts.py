"""Collect the facts that patches changed, as a load must know them: before and after, from a store's records."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kgcheck.curation.patches import Recorded, patches_in, recorded_in
from kgcheck.curation.steps import SetEdge, SetNode, WholeEdge, WholeNode, updated
from kgcheck.graph.changes import digest
from kgcheck.graph.marks import MARKS, RETIRED
from kgcheck.graph.open import OpenedStore
from kgcheck.graph.store import Properties
from kgcheck.loading.curated_conflicts import Curated, CuratedFact
from kgcheck.model import Ref, Triple


def curated_by_patches(store: OpenedStore) -> Curated:
    """Collect the changes of patches in a store that knows of some."""
    recorded = [done for patch in patches_in(store) for done in recorded_in(store, patch)]
    found = _Found()
    for done in sorted(recorded, key=lambda r: (r.turn, r.at, r.patch, r.number)):
        found.add(done)
    return Curated(tuple(found.touched_nodes()), tuple(found.touched_edges()))


@dataclass
class _Fact:
    """A node or an edge while its steps are gone through."""

    patch: str
    finding: str
    before: Properties | None
    after: Properties
    retired: bool = False
    there: bool = True
    recorded: list[tuple[str, int]] = field(default_factory=list)


class _Found:
    def __init__(self) -> None:
        self._nodes: dict[Ref, _Fact] = {}
        self._edges: dict[tuple[Triple, str], list[_Fact]] = {}
        self._dropped: list[tuple[Triple, _Fact]] = []

    def add(self, done: Recorded) -> None:
        for number, step in enumerate(done.steps):
            recorded = f"patch {done.patch} {done.number:08d}", number
            if isinstance(step, SetNode | WholeNode):
                self._node(step, done)
            else:
                self._edge(step, done, recorded)

    def touched_nodes(self) -> Iterator[CuratedFact]:
        for ref, f in self._nodes.items():
            if f.there or f.before is not None:
                yield CuratedFact(ref.label, (ref.id,), f.patch, f.finding, f.before, f.after, f.retired, f.there)

    def touched_edges(self) -> Iterator[CuratedFact]:
        present = [(triple, f) for (triple, _), facts in self._edges.items() for f in facts]
        for triple, f in (*present, *self._dropped):
            if f.there or f.before is not None:
                pattern = f"{triple.head.label} {triple.relation} {triple.tail.label}"
                ends, known = (triple.head.id, triple.tail.id), (digest(f.after), tuple(f.recorded))
                yield CuratedFact(pattern, ends, f.patch, f.finding, f.before, f.after, f.retired, f.there, *known)

    def _node(self, step: SetNode | WholeNode, done: Recorded) -> None:
        known = self._nodes.get(step.ref)
        fact = known or _Fact(done.patch, done.operation.finding, {}, {})
        self._nodes[step.ref] = fact
        fact.patch, fact.finding = done.patch, done.operation.finding
        match step:
            case SetNode():
                changed = {name: value for name, value in step.after.items() if name not in MARKS}
                if fact.before is not None:
                    fact.before = {name: step.before[name] for name in changed} | fact.before
                fact.after |= changed
                fact.retired = bool(step.after.get(RETIRED, fact.retired))
            case WholeNode(step="add_node"):
                # One that was taken away, and is made again, was there before.
                fact.before, fact.after = (fact.before if known else None), _unmarked(step.properties)
                fact.there, fact.retired = True, False
            case WholeNode():
                if fact.before is not None:
                    fact.before = _unmarked(step.properties) | fact.before
                fact.there, fact.retired = False, True

    def _edge(self, step: SetEdge | WholeEdge, done: Recorded, recorded: tuple[str, int]) -> None:
        match step:
            case SetEdge(triple=triple, properties=properties):
                fact = self._taken(triple, properties, done)
                fact.after = updated(properties, step.after)
                fact.retired = RETIRED in fact.after
            case WholeEdge(step="drop_edge", triple=triple, properties=properties):
                fact = self._taken(triple, properties, done)
                fact.there, fact.retired = False, True
                self._dropped.append((triple, fact))
                return
            case WholeEdge(triple=triple, properties=properties):
                fact = _Fact(done.patch, done.operation.finding, None, dict(properties))
        fact.recorded.append(recorded)
        self._edges.setdefault((triple, digest(fact.after)), []).append(fact)

    def _taken(self, triple: Triple, properties: Properties, done: Recorded) -> _Fact:
        """The edge that is so by now: one that a step made so, or one that no step has touched."""
        known = self._edges.get((triple, digest(properties)))
        fact = known.pop() if known else _Fact(done.patch, "", dict(properties), dict(properties))
        fact.patch, fact.finding = done.patch, done.operation.finding
        return fact


def _unmarked(properties: Properties) -> Properties:
    return {name: value for name, value in properties.items() if name not in MARKS}
