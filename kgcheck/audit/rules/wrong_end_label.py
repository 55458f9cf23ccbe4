"""Edges between labels that they cannot join."""

from kgcheck.rules import Rule

RULE = Rule(
    name="wrong_end_label",
    words="Edge between labels that it cannot join",
    meaning="ends that the relation does not join",
    groups=("edges",),
    is_fault=True,
    bad="TP53 in place of P04637 at the head of an edge between proteins",
    good="P04637 at the head of that edge",
    of_graph=lambda graph: () if graph.schema.profile.draft else graph.stray_edges(),
)
