"""Edges that do not say how well something is known, and by whom it is stated, as the Biolink model requires."""

from kgcheck.rules import Rule

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
    of_graph=lambda graph: graph.curies.hits_without("knowledge_level", "agent_type", named=True),
)
