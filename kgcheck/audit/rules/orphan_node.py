"""Nodes without an edge that the profile knows."""

from typing import TYPE_CHECKING

from kgcheck.choices import STATED_OTHERWISE
from kgcheck.quoting import identifier, literal
from kgcheck.rules import CauseKind, Rule, RuleGraph, ends_of_edges

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label


_RELATION_LABELS = {"Typedef", "Property"}
"""Labels of what an ontology joins its classes by."""

_MARKS = ("is_obsolete", "deprecated", STATED_OTHERWISE)
"""Properties of terms out of use, which mostly have no edges, and of nodes of which files state no edge."""


def _orphan_nodes(graph: RuleGraph, label: "Label") -> str | None:
    # Of a draft without edges, such as a file of nodes alone, nobody knows which have one.
    if label.name in _RELATION_LABELS or (graph.schema.profile.draft and not graph.patterns):
        return None
    joined = ends_of_edges(graph, label) or "SELECT NULL::VARCHAR AS id WHERE false"
    none = literal("no edge that the profile knows")
    marked = [f"lower(CAST({identifier(mark)} AS VARCHAR)) = 'true'" for mark in _MARKS if mark in label.properties]
    in_use = f"WHERE NOT coalesce({' OR '.join(marked)}, false)" if marked else ""
    nodes = f"SELECT id FROM {graph.nodes(label)} {in_use}"
    return f"SELECT id, NULL, NULL, {none} FROM ({nodes}) ANTI JOIN ({joined}) USING (id)"


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
    of_label=_orphan_nodes,
)
