"""Edges to nodes that a graph lists nowhere."""

from kgcheck import rules
from kgcheck.quoting import literal


def _dangling_edges(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    from kgcheck.forms.draft import MISSING_NODE

    missing = [f"{literal('no node ')} || {end}" for end in ("head", "tail") if getattr(pattern, end) == MISSING_NODE]
    detail = f"concat_ws(', ', {', '.join(missing)})"
    return f"SELECT head, tail, NULL, {detail} FROM {graph.edges(pattern)}" if missing else None


RULE = rules.Rule(
    name="dangling_edge",
    words="Edge to a node that is not there",
    meaning="an end of the edge is in no file that lists the nodes of the graph",
    groups=("edges",),
    is_fault=True,
    bad="an edge from HGNC:1884 to MONDO:0009061, which no file of nodes has",
    good="the same edge, and a node MONDO:0009061",
    is_folded=True,
    of_pattern=_dangling_edges,
)
