"""Edges of a symmetric relation that are stated in both directions."""

from kgcheck import rules
from kgcheck.quoting import identifier


def _reversed_duplicates(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    table = graph.edges(pattern)
    same = "".join(f" AND a.{identifier(n)} IS NOT DISTINCT FROM b.{identifier(n)}" for n in pattern.properties)
    twice = f"{table} a JOIN {table} b ON a.head = b.tail AND a.tail = b.head AND a.head < a.tail{same}"
    return f"SELECT a.head, a.tail, NULL, 'stated in both directions' FROM {twice}" if pattern.symmetric else None


RULE = rules.Rule(
    name="reversed_duplicate",
    words="Symmetric edge stated in both directions",
    meaning="one edge of a symmetric relation in both directions",
    groups=("edges", "duplicates"),
    is_fault=False,
    bad="P05067 joined to P22303 and P22303 to P05067, with equal properties",
    good="P05067 joined to P22303 alone",
    of_pattern=_reversed_duplicates,
)
