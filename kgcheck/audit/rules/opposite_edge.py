"""Edges of a relation of parts or kinds that are stated in both directions."""

from kgcheck import rules
from kgcheck.plurals import folded

_ONE_WAY = {"subclassof", "isa", "partof", "haspart", "bfo0000050", "bfo0000051"}
"""Relations that no two different things have to each other."""


def _opposite_edges(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    """Select edges whose ends are also joined the other way round; in a hierarchy `parent_cycle` tells them."""
    if pattern.hierarchy or pattern.head > pattern.tail or folded(pattern.type) not in _ONE_WAY:
        return None
    ends = pattern.type, pattern.tail, pattern.head
    back = next((one for one in graph.patterns if (one.type, one.head, one.tail) == ends), None)
    if back is None:
        return None
    once = "a.head < a.tail" if back is pattern else "a.head <> a.tail"
    return f"""
    SELECT a.head, a.tail, NULL, 'stated the other way round, too'
    FROM {graph.edges(pattern)} a JOIN {graph.edges(back)} b ON a.head = b.tail AND a.tail = b.head AND {once}"""


RULE = rules.Rule(
    name="opposite_edge",
    words="One-way edge that is stated in both directions",
    meaning="an edge of parts or kinds in both directions: each end would be a part, or a kind, of the other",
    groups=("edges", "duplicates"),
    is_fault=False,
    bad="the nucleus part_of the cell, and the cell part_of the nucleus",
    good="the nucleus part_of the cell",
    is_folded=True,
    of_pattern=_opposite_edges,
)
