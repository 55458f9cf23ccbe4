"""Hold pins against what a graph states, and list those that it does not keep."""

from collections.abc import Iterator, Sequence
from itertools import chain, product

from kgcheck.graph.store import OWNERS, Ends, GraphStore, StatedElement, StatingStore
from kgcheck.model import Ref, Triple
from kgcheck.pins import Pin
from kgcheck.rules import RuleHit
from kgcheck.standards.biolink import PREFIX

_BACK, _LOST = "mended, returned", "mended, lost again"


def broken_pins(pins: Sequence[Pin], store: GraphStore) -> Iterator[RuleHit]:
    """Find what is there again though it must not be, or not there though it must be: one hit an edge or a value."""
    if not pins:
        return
    graph = store if isinstance(store, StatingStore) else _PlainGraph(store)
    nodes = graph.stated_nodes(list({one for pin in pins for one in (pin.subject, pin.object) if one}))
    pinned = [(pin.subject, pin.predicate, pin.object) for pin in pins if pin.predicate]
    edges = graph.stated_edges(pinned) if pinned else {}
    hits: dict[tuple[object, ...], RuleHit] = {}
    for pin in pins:
        of_edge = edges.get((pin.subject, pin.predicate, pin.object), [])
        of_subject = nodes.get(pin.subject, [])
        if pin.predicate:
            stated = of_edge
        elif pin.property:
            stated = [node for node in of_subject if pin.value in _values(node, pin)]
        else:
            stated = [node for node in of_subject if node.is_listed or pin.pin == "must_not"]
        if bool(stated) == (pin.pin == "must"):
            continue
        tail = _end(nodes, pin.object) if pin.object else None
        at = of_edge[0] if of_edge else StatedElement(_end(nodes, pin.subject), pin.predicate or None, tail, {})
        detail = f"{_found(stated) if stated else _lacking(nodes, pin)}; {pin.pin.replace('_', ' ')} be: {pin.why()}"
        hit = RuleHit(at.head, at.relation, at.tail, detail, pin.because, pin.property or None)
        # Of a property, several values may be pinned.
        key = hit.head, hit.relation, hit.tail, hit.part
        hits[key] = hit if key not in hits else hit._replace(detail=f"{hits[key].detail}. {detail}")
    yield from hits.values()


class _PlainGraph:
    """Contents of a store, which knows of no files."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def stated_nodes(self, ids: Sequence[str]) -> dict[str, list[StatedElement]]:
        """See StatingStore."""
        found: dict[str, list[StatedElement]] = {}
        for label in self._store.schema.labels:
            for name, node in self._store.nodes(label, list(ids)).items():
                element = StatedElement(Ref(label=label.name, id=name), None, None, {"category": label.name, **node})
                found.setdefault(name, []).append(element)
        return found

    def stated_edges(self, edges: Sequence[Ends]) -> dict[Ends, list[StatedElement]]:
        """See StatingStore."""
        found: dict[Ends, list[StatedElement]] = {}
        for edge, pattern in product(edges, self._store.schema.relations):
            if edge[1].removeprefix(PREFIX) == pattern.type.removeprefix(PREFIX):
                head, tail = Ref(label=pattern.head, id=edge[0]), Ref(label=pattern.tail, id=edge[2])
                stated = self._store.edges(Triple(head=head, relation=pattern.type, tail=tail))
                found.setdefault(edge, []).extend(StatedElement(head, pattern.type, tail, one) for one in stated)
        return found


def _values(node: StatedElement, pin: Pin) -> list[str]:
    """The values of a node's property, and the items of lists among them."""
    from kgcheck.forms.draft import property_names

    found = (value for name, value in node.properties.items() if pin.property in (name, property_names([name])[name]))
    texts = chain.from_iterable(value if isinstance(value, list) else [value] for value in found if value is not None)
    return list(dict.fromkeys(chain.from_iterable((text, *text.split("|")) for text in map(str, texts))))


def _end(nodes: dict[str, list[StatedElement]], identifier: str) -> Ref:
    from kgcheck.forms.draft import MISSING_NODE

    stated = nodes.get(identifier)
    return stated[0].head if stated else Ref(label=MISSING_NODE, id=identifier)


def _found(stated: Sequence[StatedElement]) -> str:
    first, more = stated[0], len(stated) - 1
    owner = next((str(first.properties[name]) for name in OWNERS if first.properties.get(name)), "")
    place = ", ".join(filter(None, (first.place, f"of {owner}" if owner else "", f"and {more:,} more" if more else "")))
    return f"{_BACK} ({place})" if place else _BACK


def _lacking(nodes: dict[str, list[StatedElement]], pin: Pin) -> str:
    if not pin.property or pin.subject not in nodes:
        return _LOST
    node = nodes[pin.subject][0]
    values = _values(node, pin)
    is_now = f"{pin.property} is {values[0]!r}" if values else f"no {pin.property}"
    return f"{_LOST}, {is_now}" + (f" ({node.place})" if node.place else "")
