"""Edges that do not say where they come from."""

from typing import TYPE_CHECKING

from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Pattern


def _edges_without_source(graph: RuleGraph, pattern: "Pattern") -> str | None:
    if "source" not in pattern.properties:
        return None
    empty = "coalesce(trim(\"source\"), '') = ''"
    return f"SELECT head, tail, NULL, 'no source' FROM {graph.edges(pattern)} WHERE {empty}"


RULE = Rule(
    name="missing_provenance",
    words="Edge that does not say where it comes from",
    meaning="an edge without a source",
    groups=("edges",),
    is_fault=False,
    bad="an edge whose source is empty",
    good="the same edge with the source DISEASES",
    is_of_one_row=True,
    of_pattern=_edges_without_source,
)
