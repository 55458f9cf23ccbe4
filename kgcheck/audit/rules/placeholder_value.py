"""Text or numbers that stand for a missing value."""

from typing import TYPE_CHECKING

from kgcheck.quoting import identifier, literal
from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label, Pattern

PLACEHOLDERS = ("unspecified", "unknown", "not specified", "none", "n/a", "nan", "null", "-")
"""Text that stands for a missing value, compared without case; of numbers, PLACEHOLDER_NUMBER does."""


def _placeholders_of_nodes(graph: RuleGraph, label: "Label") -> str | None:
    return _select(label, graph.nodes(label), "id", "NULL")


def _placeholders_of_edges(graph: RuleGraph, pattern: "Pattern") -> str | None:
    return _select(pattern, graph.edges(pattern), "head", "tail")


def _select(holder: "Label | Pattern", table: str, head: str, tail: str) -> str | None:
    from kgcheck.graph.edge_score import PLACEHOLDER_NUMBER

    texts = [name for name, p in holder.properties.items() if p.type == "string"]
    numbers = [name for name, p in holder.properties.items() if p.type in ("number", "integer")]
    if not texts and not numbers:
        return None
    # One condition over a list: DuckDB plans one for each of many columns in cubic time.
    entries = [f"{{name: {literal(n)}, text: {identifier(n)}, number: NULL::DOUBLE}}" for n in texts]
    entries += [f"{{name: {literal(n)}, text: {identifier(n)}::VARCHAR, number: {identifier(n)}}}" for n in numbers]
    words = ", ".join(map(literal, PLACEHOLDERS))
    is_one = (
        f"CASE WHEN e.number IS NULL THEN lower(trim(e.text)) IN ({words}) ELSE e.number = {PLACEHOLDER_NUMBER} END"
    )
    return f"""
    SELECT head, tail, NULL, array_to_string(list_transform(found, lambda e: e.name || '=' || e.text), ', '),
           list_transform(found, lambda e: e.name), NULL
    FROM (SELECT {head} AS head, {tail} AS tail, list_filter([{", ".join(entries)}], lambda e: {is_one}) AS found
          FROM {table}) WHERE len(found) > 0"""


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
    of_label=_placeholders_of_nodes,
    of_pattern=_placeholders_of_edges,
)
