"""Nodes without an edge that the profile knows."""

from typing import TYPE_CHECKING

from kgcheck.quoting import literal
from kgcheck.rules import CauseKind, Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label


def orphan_nodes(graph: RuleGraph, label: "Label") -> str:
    """Select nodes that no edge of any pattern has as an end."""
    ends = [f"SELECT head FROM {graph.edges(p)}" for p in graph.patterns if p.head == label.name]
    ends += [f"SELECT tail FROM {graph.edges(p)}" for p in graph.patterns if p.tail == label.name]
    joined = " UNION ALL ".join(ends) or "SELECT NULL::VARCHAR WHERE false"
    none = literal("no edge that the profile knows")
    return f"SELECT id, NULL, NULL, {none} FROM {graph.nodes(label)} ANTI JOIN ({joined}) AS seen(id) USING (id)"


RULE = Rule(
    name="orphan_node",
    words="Node without an edge that the profile knows",
    meaning="a node without an edge that the profile knows; never a fault by itself",
    groups=("nodes",),
    is_fault=False,
    bad="BRCA1 without any edge",
    good="BRCA1 joined to P38398, its product",
    is_folded=True,
    follows=(CauseKind.NODE,),
    of_label=orphan_nodes,
)
