"""Nodes without an edge that the profile knows."""

from kgcheck import rules
from kgcheck.choices import STATED_OTHERWISE
from kgcheck.quoting import identifier

_RELATION_LABELS = {"Typedef", "Property"}
"""Labels of what an ontology joins its classes by."""

_MARKS = ("is_obsolete", "deprecated", STATED_OTHERWISE)
"""Properties of terms out of use, which mostly have no edges, and of nodes of which files state no edge."""


def _orphan_nodes(graph: rules.RuleGraph, label: "rules.Label") -> str | None:
    # Of a draft without edges, such as a file of nodes alone, nobody knows which have one.
    if label.name in _RELATION_LABELS or (graph.schema.profile.draft and not graph.patterns):
        return None
    joined = graph.ends_of_edges(label) or "SELECT NULL::VARCHAR AS id WHERE false"
    marked = [f"lower(CAST({identifier(mark)} AS VARCHAR)) = 'true'" for mark in _MARKS if mark in label.properties]
    in_use = f"WHERE NOT coalesce({' OR '.join(marked)}, false)" if marked else ""
    nodes = f"SELECT id FROM {graph.nodes(label)} {in_use}"
    return f"SELECT id, NULL, NULL, 'no edge that the profile knows' FROM ({nodes}) ANTI JOIN ({joined}) USING (id)"


RULE = rules.Rule(
    name="orphan_node",
    words="Node without an edge that the profile knows",
    meaning="a node without an edge that the profile knows; never a fault by itself",
    groups=("nodes",),
    is_fault=False,
    bad="BRCA1 without any edge",
    good="BRCA1 joined to P38398, its product",
    is_folded=True,
    follows=(rules.CauseKind.NODE,),
    of_label=_orphan_nodes,
)
