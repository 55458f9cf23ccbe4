"""Edges from a node to itself."""

from kgcheck import rules


def _self_loops(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    """Select edges from a node to itself, within one label: a sequence carries the accession of its protein."""
    loops = f"SELECT head, tail, NULL, NULL FROM {graph.edges(pattern)} WHERE head = tail"
    return loops if pattern.head == pattern.tail and not pattern.loops else None


RULE = rules.Rule(
    name="self_loop",
    words="Edge from a node to itself",
    meaning="an edge from a node to itself, of a relation that has no `loops` in `graph.toml`",
    groups=("edges",),
    is_fault=True,
    bad="P04637 joined to P04637",
    good="P04637 joined to Q00987",
    repair=rules.RuleRepair.RETIRE,
    is_of_one_row=True,
    of_pattern=_self_loops,
)
