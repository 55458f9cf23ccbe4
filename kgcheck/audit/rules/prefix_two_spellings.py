"""Prefixes that one graph spells in two ways."""

from collections import defaultdict
from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _spelled_twice(graph: RuleGraph) -> Iterator[RuleHit]:
    by_key = defaultdict(list)
    for one in graph.curies.namespaces if graph.curies.is_of_curies else ():
        by_key[one.key].append(one)
    for key, several in by_key.items():
        if len(several) > 1:
            first = max(several, key=lambda n: n.ids)
            yield first.hit("; ".join(f"{one.spelled}: {one.counted}" for one in several))._replace(part=key)


RULE = Rule(
    name="prefix_two_spellings",
    words="Prefix that the graph spells in two ways",
    meaning="ids of one prefix in two spellings, so that one thing may be two nodes",
    groups=("ids", "standards"),
    is_fault=False,
    bad="MONDO:0005148 and mondo:0004992 in one graph",
    good="MONDO:0005148 and MONDO:0004992",
    source="bioregistry",
    of_graph=_spelled_twice,
)
