"""Choice among the scores of parallel edges: the one to compare with the cited source's.

It is made in SQL for a graph, and here for one edge.

Only edges that cite the source have a score to check, where it has channels only those that cite one, `NAME (channel)`,
and a placeholder is none. Parallel edges are one task. Of their scores the first of their kind is checked, and a
missing one before all: an edge without its score is not hidden by one that has it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kgcheck.graph.store import brought_to
from kgcheck.profile.schema import Pattern
from kgcheck.quoting import identifier, literal

PLACEHOLDER_NUMBER = -1.0
"""The number that stands for a missing value."""

Score = float | int | None


def cited_source(pattern: Pattern, attribute: str) -> str:
    """The source, as edges name it, whose score an attribute holds."""
    score = pattern.scored[attribute].score
    return score.cited if score else ""


def scores_to_check(pattern: Pattern, attribute: str, table: str) -> str:
    """A select of head, tail and value (text or NULL): the score of each pair of nodes that is checked."""
    column, cited = identifier(attribute), cited_source(pattern, attribute).lower()
    is_cited = f'starts_with(lower("source"), {literal(f"{cited} (")})'
    if not pattern.scored[attribute].channels:
        is_cited = f'lower("source") = {literal(cited)}'
    return f"""
    SELECT head, tail, {column}::VARCHAR AS value FROM {table}
    WHERE {is_cited} AND coalesce({column}, 0) <> {PLACEHOLDER_NUMBER}
    QUALIFY row_number() OVER (PARTITION BY head, tail ORDER BY {column} NULLS FIRST) = 1"""


def scores_of(pattern: Pattern, attribute: str, edges: Iterable[Mapping[str, Any]]) -> list[Score]:
    """The scores of parallel edges, first the one that `scores_to_check` chooses."""
    kind = pattern.properties[attribute].type
    scores = [brought_to(kind, edge.get(attribute)) for edge in edges if cites(pattern, attribute, edge)]
    return sorted((s for s in scores if s != PLACEHOLDER_NUMBER), key=lambda s: (s is not None, s or 0))


def cites(pattern: Pattern, attribute: str, edge: Mapping[str, Any]) -> bool:
    """Return whether an edge cites the source of a score, or where that has channels, one of them."""
    named, cited = str(edge.get("source") or "").lower(), cited_source(pattern, attribute).lower()
    return named.startswith(f"{cited} (") if pattern.scored[attribute].channels else named == cited
