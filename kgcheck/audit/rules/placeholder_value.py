"""Text or numbers that stand for a missing value."""

from kgcheck import rules
from kgcheck.quoting import identifier, literal

PLACEHOLDERS = ("unspecified", "unknown", "not specified", "none", "n/a", "nan", "null", "-")
"""Text that stands for a missing value, compared without case; of numbers, PLACEHOLDER_NUMBER does."""


def _select(holder: "rules.Label | rules.Pattern", table: str, head: str, tail: str) -> str | None:
    from kgcheck.graph.edge_score import PLACEHOLDER_NUMBER

    # One condition over a list: DuckDB plans one for each of many columns in cubic time.
    number = {"string": "NULL::DOUBLE", "number": "{0}", "integer": "{0}"}
    entries = [
        f"{{name: {literal(n)}, text: {identifier(n)}::VARCHAR, number: {number[p.type].format(identifier(n))}}}"
        for n, p in sorted(holder.properties.items(), key=lambda item: item[1].type != "string")
        if p.type in number
    ]
    if not entries:
        return None
    words = ", ".join(map(literal, PLACEHOLDERS))
    is_one = (
        f"CASE WHEN e.number IS NULL THEN lower(trim(e.text)) IN ({words}) ELSE e.number = {PLACEHOLDER_NUMBER} END"
    )
    return f"""
    SELECT head, tail, NULL, array_to_string(list_transform(found, lambda e: e.name || '=' || e.text), ', '),
           list_transform(found, lambda e: e.name), NULL
    FROM (SELECT {head} AS head, {tail} AS tail, list_filter([{", ".join(entries)}], lambda e: {is_one}) AS found
          FROM {table}) WHERE len(found) > 0"""


RULE = rules.Rule(
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
    of_label=lambda graph, label: _select(label, graph.nodes(label), "id", "NULL"),
    of_pattern=lambda graph, pattern: _select(pattern, graph.edges(pattern), "head", "tail"),
)
