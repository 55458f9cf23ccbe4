"""Puts names beside the ids of findings: a person reads TP53, and not P04637."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from kgcheck.graph.store import GraphStore
from kgcheck.model import Finding, Ref

_TOGETHER = 5_000
_LONGEST = 200


def with_names(findings: Iterable[Finding], store: GraphStore) -> Iterator[Finding]:
    """Findings with what the graph calls their ends.

    Args:
        findings: Any number; some thousands are held at a time.
        store: The graph.

    Yields:
        Every finding, in the same order.
    """
    rest = iter(findings)
    while held := list(islice(rest, _TOGETHER)):
        names = _names({ref for f in held for ref in (f.task.subject, f.task.object) if ref}, store)
        for finding in held:
            ends = (finding.task.subject, finding.task.object)
            head, tail = (names.get(ref) if ref else None for ref in ends)
            yield finding.model_copy(update={"names": (head, tail)})


def _names(refs: set[Ref], store: GraphStore) -> dict[Ref, str]:
    by_label: dict[str, list[str]] = defaultdict(list)
    for ref in refs:
        by_label[ref.label].append(ref.id)
    known = {label.name: label for label in store.schema.labels if "name" in label.properties}
    return {
        Ref(label=name, id=id_): str(node["name"])[:_LONGEST]
        for name, ids in by_label.items()
        if name in known
        for id_, node in store.nodes(known[name], sorted(ids)).items()
        if node.get("name")
    }
