"""Labels and relations of a graph that are spelled in two ways."""

import re
from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _spelled_alike(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.forms.draft import without_number

    labels = {label.name: label for label in graph.labels}
    relations = graph.patterns_by_relation()
    nodes = {name: graph.now.nodes.get(name, 0) for name in labels}
    edges = {name: graph.count(patterns) for name, patterns in relations.items()}
    for counted in (nodes, edges):
        first: dict[str, str] = {}
        for name in sorted(counted, key=lambda name: (-counted[name], name)):
            bare = re.sub(r"[^a-z0-9:]", "", without_number(name).lower())
            if (common := first.setdefault(bare, name)) == name:
                continue
            # Its number is shown where nothing else tells it from the other one.
            stated = name if without_number(name) == common else without_number(name)
            detail = f"{stated} beside {common} ({counted[common]:,})"
            if counted is nodes:
                yield graph.hit_of_label(labels[name], detail)
            else:
                yield graph.hit_of_relation(relations[name], detail)


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
