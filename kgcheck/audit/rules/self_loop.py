"""Edges from a node to itself."""

from typing import TYPE_CHECKING

from kgcheck.rules import Rule, RuleGraph, RuleRepair

if TYPE_CHECKING:
    from kgcheck.profile.schema import Pattern


def self_loops(graph: RuleGraph, pattern: "Pattern") -> str | None:
    """Select edges from a node to itself.

    A sequence carries the accession of its protein, so only edges within one label can loop.
    """
    if pattern.head != pattern.tail or pattern.loops:
        return None
    return f"SELECT head, tail, NULL, NULL FROM {graph.edges(pattern)} WHERE head = tail"


RULE = Rule(
    name="self_loop",
    words="Edge from a node to itself",
    meaning="an edge from a node to itself, of a relation that has no `loops` in `graph.toml`",
    groups=("edges",),
    is_fault=True,
    bad="P04637 joined to P04637",
    good="P04637 joined to Q00987",
    repair=RuleRepair.RETIRE,
    is_of_one_row=True,
    of_pattern=self_loops,
)
