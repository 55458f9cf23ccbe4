"""Labels and relations of a graph that are spelled in two ways."""

import re
from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit, patterns_by_relation


def _spelled_alike(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import hit_of_label, hit_of_relation

    by_type = patterns_by_relation(graph)
    nodes = {label.name: graph.now.nodes.get(label.name, 0) for label in graph.labels}
    edges = {name: sum(graph.now.edges.get(str(p), 0) for p in patterns) for name, patterns in by_type.items()}
    labels = {label.name: label for label in graph.labels}
    for name, common in _alike(nodes):
        yield hit_of_label(graph, labels[name], f"{_stated(name, common)} beside {common} ({nodes[common]:,})")
    for name, common in _alike(edges):
        yield hit_of_relation(graph, by_type[name], f"{_stated(name, common)} beside {common} ({edges[common]:,})")


def _alike(counted: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Names, each with a more common one that is alike."""
    from kgcheck.forms.draft import without_number

    first: dict[str, str] = {}
    for name in sorted(counted, key=lambda name: (-counted[name], name)):
        bare = re.sub(r"[^a-z0-9:]", "", without_number(name).lower())
        if (common := first.setdefault(bare, name)) != name:
            yield name, common


def _stated(name: str, common: str) -> str:
    """A name without its number, where that tells it from the other one."""
    from kgcheck.forms.draft import without_number

    return name if without_number(name) == common else without_number(name)


RULE = Rule(
    name="two_spellings",
    words="Label or relation that the graph spells in two ways",
    meaning="names of labels or of relations that differ in capitals, joints or signs alone",
    groups=("names", "duplicates"),
    is_fault=False,
    bad="nodes of the label Gene, and one of the label gene",
    good="nodes of the label Gene alone",
    of_graph=_spelled_alike,
)
