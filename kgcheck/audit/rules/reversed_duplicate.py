"""Edges of a symmetric relation that are stated in both directions."""

from typing import TYPE_CHECKING

from kgcheck.quoting import identifier
from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Pattern


def _reversed_duplicates(graph: RuleGraph, pattern: "Pattern") -> str | None:
    if not pattern.symmetric:
        return None
    table = graph.edges(pattern)
    same = " AND ".join(f"a.{identifier(n)} IS NOT DISTINCT FROM b.{identifier(n)}" for n in pattern.properties)
    return f"""
    SELECT a.head, a.tail, NULL, 'stated in both directions'
    FROM {table} a JOIN {table} b ON a.head = b.tail AND a.tail = b.head AND a.head < a.tail AND {same or "true"}"""


RULE = Rule(
    name="reversed_duplicate",
    words="Symmetric edge stated in both directions",
    meaning="one edge of a symmetric relation in both directions",
    groups=("edges", "duplicates"),
    is_fault=False,
    bad="P05067 joined to P22303 and P22303 to P05067, with equal properties",
    good="P05067 joined to P22303 alone",
    of_pattern=_reversed_duplicates,
)
