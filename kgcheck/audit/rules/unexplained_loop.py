"""Edges from a node to itself, of a relation about which nobody said whether it has them."""

from collections.abc import Iterable

from kgcheck import rules

_MANY = 20
"""Loops above which those of most heads are what the relation has, and are told once."""


def _unexplained_loops(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | Iterable[rules.RuleHit] | None:
    if pattern.head != pattern.tail or pattern.loops != "unknown":
        return None
    edges = graph.edges(pattern)
    looped, heads = "count(DISTINCT head) FILTER (head = tail)", "count(DISTINCT head)"
    ((loops, among),) = graph.select(f"SELECT {looped}, {heads} FROM {edges}")
    if loops > max(_MANY, among / 2):
        return [graph.hit_of_relation([pattern], f"{loops:,} of {among:,} heads of the relation lead to themselves")]
    return f"SELECT head, tail, NULL, NULL FROM {edges} WHERE head = tail"


RULE = rules.Rule(
    name="unexplained_loop",
    words="Edge from a node to itself, which may mean something",
    meaning="an edge from a node to itself, of a relation of which nobody said whether it has them (`loops`)",
    groups=("edges",),
    is_fault=False,
    bad="RGD:621117 part_of RGD:621117",
    good="RGD:621117 part_of another node",
    is_folded=True,
    is_of_one_row=True,
    of_pattern=_unexplained_loops,
)
