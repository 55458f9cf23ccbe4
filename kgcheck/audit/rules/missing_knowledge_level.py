"""Edges that do not say how well something is known, and by whom it is stated, as the Biolink model requires."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _edges_without_knowledge_level(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import hit_without

    for name in ("knowledge_level", "agent_type"):
        if hit := hit_without(graph, name):
            yield hit._replace(part=name)


RULE = Rule(
    name="missing_knowledge_level",
    words="Edges without a knowledge level or an agent type",
    meaning="edges without a knowledge_level, or without an agent_type, counted over the graph",
    groups=("edges", "standards"),
    is_fault=False,
    bad="an edge without a knowledge_level",
    good="the same edge with knowledge_assertion, and the agent_type manual_agent",
    source="biolink",
    is_remark=True,
    of_graph=_edges_without_knowledge_level,
)
