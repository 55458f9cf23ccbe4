"""Puts names beside the ids of findings: a person reads TP53, and not P04637."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from kgcheck.graph.store import GraphStore
from kgcheck.model import Finding, Ref

_TOGETHER = 5_000
_LONGEST = 200
_KEPT = 200_000
"""Names in memory: most findings of a run are about the same nodes."""


class NodeNames:
    """What a graph calls its nodes, each read once.

    Args:
        store: The graph.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._labels = {
            label.name: label.model_copy(update={"properties": {"name": label.properties["name"]}})
            for label in store.schema.labels
            if "name" in label.properties
        }
        self._known: dict[Ref, str | None] = {}

    def beside(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Findings with what the graph calls their ends.

        Args:
            findings: Any number; some thousands are in memory at a time.

        Yields:
            Every finding, in the same order.
        """
        rest = iter(findings)
        while batch := list(islice(rest, _TOGETHER)):
            self._read({ref for f in batch for ref in (f.task.subject, f.task.object) if ref})
            for finding in batch:
                ends = (finding.task.subject, finding.task.object)
                head, tail = (self._known.get(ref) if ref else None for ref in ends)
                yield finding.model_copy(update={"names": (head, tail)})

    def _read(self, refs: set[Ref]) -> None:
        if len(self._known) > _KEPT:
            self._known.clear()
        by_label: dict[str, list[str]] = defaultdict(list)
        for ref in refs:
            if ref not in self._known and ref.label in self._labels:
                by_label[ref.label].append(ref.id)
        for label, ids in by_label.items():
            nodes = self._store.nodes(self._labels[label], sorted(ids))
            for id_ in ids:
                name = nodes.get(id_, {}).get("name")
                self._known[Ref.model_construct(label=label, id=id_)] = str(name)[:_LONGEST] if name else None
