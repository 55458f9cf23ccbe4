"""Edges that do not name their primary knowledge source, as the Biolink model asks."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _edges_without_knowledge_source(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import hit_without

    if hit := hit_without(graph, "primary_knowledge_source"):
        yield hit


RULE = Rule(
    name="missing_knowledge_source",
    words="Edges that do not name their primary knowledge source",
    meaning="edges without a primary_knowledge_source, counted over the graph",
    groups=("edges", "standards"),
    is_fault=False,
    bad="an edge without a primary_knowledge_source",
    good="the same edge with infores:hgnc",
    source="biolink",
    is_remark=True,
    of_graph=_edges_without_knowledge_source,
)
