"""Text or numbers that stand for a missing value."""

from typing import TYPE_CHECKING

from kgcheck.quoting import identifier, literal
from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label, Pattern

PLACEHOLDERS = ("unspecified", "unknown", "not specified", "none", "n/a", "nan", "null", "-")
"""Text that stands for a missing value, compared without case; of numbers, PLACEHOLDER_NUMBER does."""


def placeholders_of_nodes(graph: RuleGraph, label: "Label") -> str | None:
    """Select nodes with a value that stands for a missing one."""
    return _select(label, graph.nodes(label), "id", "NULL")


def placeholders_of_edges(graph: RuleGraph, pattern: "Pattern") -> str | None:
    """Select edges with a value that stands for a missing one."""
    return _select(pattern, graph.edges(pattern), "head", "tail")


def _select(holder: "Label | Pattern", table: str, head: str, tail: str) -> str | None:
    from kgcheck.graph.edge_score import PLACEHOLDER_NUMBER

    words = ", ".join(literal(w) for w in PLACEHOLDERS)
    empty = {
        n: f"lower(trim({identifier(n)})) IN ({words})" for n, p in holder.properties.items() if p.type == "string"
    }
    empty |= {
        n: f"{identifier(n)} = {PLACEHOLDER_NUMBER}"
        for n, p in holder.properties.items()
        if p.type in ("number", "integer")
    }
    if not empty:
        return None
    values = ", ".join(f"CASE WHEN {is_} THEN {literal(n)} || '=' || {identifier(n)} END" for n, is_ in empty.items())
    names = ", ".join(f"CASE WHEN {is_} THEN {literal(n)} END" for n, is_ in empty.items())
    return f"""
    SELECT {head}, {tail}, NULL, concat_ws(', ', {values}), list_filter([{names}], lambda x: x IS NOT NULL), NULL
    FROM {table} WHERE {" OR ".join(empty.values())}"""


RULE = Rule(
    name="placeholder_value",
    words="Placeholder in place of a value",
    meaning="text or a number that stands for a missing value",
    groups=("values",),
    is_fault=False,
    bad="an edge with the evidence unspecified",
    good="the same edge with the evidence TAS, or with none",
    is_folded=True,
    is_of_one_row=True,
    names_properties=True,
    of_label=placeholders_of_nodes,
    of_pattern=placeholders_of_edges,
)
