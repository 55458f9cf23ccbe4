"""Edges that do not name their primary knowledge source, as the Biolink model asks."""

from kgcheck.rules import Rule

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
    of_graph=lambda graph: graph.curies.hits_without("primary_knowledge_source"),
)
