"""Edges without the score that every edge of their kind has."""

from kgcheck import rules
from kgcheck.quoting import identifier, literal


def _missing_scores(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    found = [
        f"SELECT head, tail, NULL, {literal(f'no {name}')} FROM {graph.edges(pattern)} WHERE {identifier(name)} IS NULL"
        for name, spec in pattern.properties.items()
        if spec.required
    ]
    return " UNION ALL ".join(found) or None


RULE = rules.Rule(
    name="missing_score",
    words="Edge without its score",
    meaning="an edge without the score that every edge of its kind has",
    groups=("edges", "scores"),
    is_fault=False,
    bad="an edge without a score among edges that have one",
    good="an edge with the score 0.9",
    is_folded=True,
    is_of_one_row=True,
    of_pattern=_missing_scores,
)
