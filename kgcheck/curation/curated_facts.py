"""Collect the facts that patches changed, as a load must know them: before and after, from a store's records."""

from dataclasses import replace

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
        for number, step in enumerate(done.steps):
            if isinstance(step, SetNode | WholeNode):
                found.add_node(step, done)
            else:
                found.add_edge(step, done, number)
    edges = [fact for facts in found.edges.values() for fact in facts] + found.dropped
    nodes, edges = ([f for f in some if f.there or f.before is not None] for some in (found.nodes.values(), edges))
    return Curated(tuple(nodes), tuple(replace(fact, whole=digest(fact.after)) for fact in edges))


class _Found:
    """Nodes and edges while their steps are gone through."""

    def __init__(self) -> None:
        self.nodes: dict[Ref, CuratedFact] = {}
        self.edges: dict[tuple[Triple, str], list[CuratedFact]] = {}
        self.dropped: list[CuratedFact] = []

    def add_node(self, step: SetNode | WholeNode, done: Recorded) -> None:
        known, ref = self.nodes.get(step.ref), step.ref
        fact = known or CuratedFact(ref.label, (ref.id,), done.patch, done.operation.finding, {}, {})
        self.nodes[ref] = fact
        fact.patch, fact.finding = done.patch, done.operation.finding
        match step:
            case SetNode():
                changed = _unmarked(step.after)
                if fact.before is not None:
                    fact.before = {name: step.before[name] for name in changed} | fact.before
                fact.after = fact.after | changed
                fact.retired = bool(step.after.get(RETIRED, fact.retired))
            case WholeNode(step="add_node"):
                # One that was taken away, and is made again, was there before.
                fact.before, fact.after = (fact.before if known else None), _unmarked(step.properties)
                fact.there, fact.retired = True, False
            case WholeNode():
                if fact.before is not None:
                    fact.before = _unmarked(step.properties) | fact.before
                fact.there, fact.retired = False, True

    def add_edge(self, step: SetEdge | WholeEdge, done: Recorded, number: int) -> None:
        t = step.triple
        pattern, ends = f"{t.head.label} {t.relation} {t.tail.label}", (t.head.id, t.tail.id)
        properties = dict(step.properties)
        if isinstance(step, WholeEdge) and step.step == "add_edge":
            fact = CuratedFact(pattern, ends, done.patch, done.operation.finding, None, properties)
        else:
            # The edge that is so by now: one that a step made so, or one that no step has touched.
            known = self.edges.get((t, digest(properties)))
            fact = known.pop() if known else CuratedFact(pattern, ends, "", "", properties, properties)
            fact.patch, fact.finding = done.patch, done.operation.finding
        if isinstance(step, WholeEdge) and step.step == "drop_edge":
            fact.there, fact.retired = False, True
            self.dropped.append(fact)
            return
        if isinstance(step, SetEdge):
            fact.after = updated(properties, step.after)
            fact.retired = RETIRED in fact.after
        fact.recorded = (*fact.recorded, (f"patch {done.patch} {done.number:08d}", number))
        self.edges.setdefault((t, digest(fact.after)), []).append(fact)


def _unmarked(properties: Properties) -> Properties:
    return {name: value for name, value in properties.items() if name not in MARKS}
