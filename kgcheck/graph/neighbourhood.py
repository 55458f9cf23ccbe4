"""Neighbourhood of nodes in a graph: neighbours along every pattern, a few of each, with names."""

from collections.abc import Iterable

from kgcheck.graph.store import Direction, GraphStore
from kgcheck.model import Finding, Ref, Triple, Value
from kgcheck.profile.schema import Pattern

MOST_NODES = 200
_LONGEST = 200


class NearNode(Value):
    """A node as the graph has it: not every id in a graph can be a Ref."""

    label: str
    id: str
    name: str | None = None
    is_there: bool | None = None
    """Presence in the graph; None of a label that the profile does not describe, so that nobody can look."""


class NearEnd(Value):
    """Node at an end of an edge."""

    label: str
    id: str


class NearEdge(Value):
    """An edge; those that are parallel are one."""

    head: NearEnd
    relation: str
    tail: NearEnd


class Neighbourhood(Value):
    """The nodes that were asked for first, then those around them."""

    nodes: tuple[NearNode, ...]
    edges: tuple[NearEdge, ...]
    more: tuple[str, ...] = ()
    """Patterns with a direction along which there are more than are here: an id, a relation and a label."""


def refs_of(centre: Finding | Triple | Ref) -> list[Ref]:
    """The nodes that a finding, an edge or a node is about."""
    match centre:
        case Finding(task=task):
            return [task.subject, *([task.object] if task.object else [])]
        case Triple(head=head, tail=tail):
            return [head, tail]
        case Ref() as ref:
            return [ref]


def neighbourhood(store: GraphStore, refs: Iterable[Ref], each: int) -> Neighbourhood:
    """Return the neighbourhood of some nodes."""
    centres = list(dict.fromkeys(refs))
    ends = dict.fromkeys(NearEnd(label=ref.label, id=ref.id) for ref in centres)
    edges: dict[NearEdge, None] = {}
    more: list[str] = []
    for ref in centres:
        here = NearEnd(label=ref.label, id=ref.id)
        for pattern, direction in _ways(store, ref):
            label = pattern.tail if direction == "out" else pattern.head
            found = store.neighbours(ref, pattern, direction, each + 1)
            is_cut = len(found) > each
            for id_ in found[:each]:
                end = NearEnd(label=label, id=id_)
                if end not in ends and len(ends) >= MOST_NODES:
                    is_cut = True
                    continue
                ends[end] = None
                head, tail = (here, end) if direction == "out" else (end, here)
                edges[NearEdge(head=head, relation=pattern.type, tail=tail)] = None
            if is_cut:
                outward = f"{ref.id} {pattern.type} {label}"
                more.append(outward if direction == "out" else f"{label} {pattern.type} {ref.id}")
    return Neighbourhood(nodes=tuple(_named(store, ends)), edges=tuple(edges), more=tuple(more))


def _ways(store: GraphStore, ref: Ref) -> Iterable[tuple[Pattern, Direction]]:
    for pattern in store.schema.relations:
        if pattern.head == ref.label:
            yield pattern, "out"
        if pattern.tail == ref.label:
            yield pattern, "in"


def _named(store: GraphStore, ends: Iterable[NearEnd]) -> Iterable[NearNode]:
    listed, by_label = list(ends), dict[str, list[str]]()
    for end in listed:
        by_label.setdefault(end.label, []).append(end.id)
    described = by_label.keys() & set(store.schema.label_names)
    known = {name: store.nodes(store.schema.label(name), by_label[name]) for name in described}
    for end in listed:
        properties = known.get(end.label, {}).get(end.id)
        name = properties.get("name") if properties else None
        shown = str(name)[:_LONGEST] if name else None
        is_there = properties is not None if end.label in described else None
        yield NearNode(label=end.label, id=end.id, name=shown, is_there=is_there)
