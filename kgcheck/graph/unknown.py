"""Count labels, relations and properties of a graph that its profile does not describe."""

from collections import Counter
from collections.abc import Iterable, Sequence

from kgcheck.graph.marks import MARKS
from kgcheck.graph.store import META_LABEL
from kgcheck.profile.schema import Schema

Shape = tuple[Sequence[str], Sequence[str], int]
"""Labels of a node, or the type of an edge; the names of the properties that it carries; how many are so."""

UNKNOWN = ("label", "relation", "property")


def unknown_names(schema: Schema, nodes: Iterable[Shape], edges: Iterable[Shape]) -> dict[str, int]:
    """Labels, relations and properties that a profile does not describe."""
    found = Counter[str]()
    of_label = {label.name: {label.key, *label.properties, *MARKS} for label in schema.labels}
    of_relation: dict[str, set[str]] = {}
    for pattern in schema.relations:
        of_relation.setdefault(pattern.type, set(MARKS)).update(pattern.properties)
    for labels, names, n in nodes:
        if META_LABEL in labels:
            continue
        known = [name for name in labels if name in of_label]
        also = {name for label in known for name in schema.label(label).also}
        found.update({f"label {name}": n for name in labels if name not in of_label and name not in also})
        for name in names if known else ():
            if not any(name in of_label[label] for label in known):
                found[f"property {known[0]}.{name}"] += n
    for (relation,), names, n in edges:
        if relation not in of_relation:
            found[f"relation {relation}"] += n
            continue
        found.update({f"property {relation}.{name}": n for name in names if name not in of_relation[relation]})
    return dict(sorted(found.items(), key=lambda item: (UNKNOWN.index(item[0].split(" ", 1)[0]), item[0])))
