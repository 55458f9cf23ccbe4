"""Edges from a node to itself, of a relation about which nobody said whether it has them."""

from typing import TYPE_CHECKING

from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Pattern


def _unexplained_loops(graph: RuleGraph, pattern: "Pattern") -> str | None:
    if pattern.head != pattern.tail or pattern.loops != "unknown":
        return None
    return f"SELECT head, tail, NULL, NULL FROM {graph.edges(pattern)} WHERE head = tail"


RULE = Rule(
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
