"""Edges between labels that they cannot join."""

from collections.abc import Iterable

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _edges_of_no_pattern(graph: RuleGraph) -> Iterable[RuleHit]:
    return () if graph.schema.profile.draft else graph.stray_edges()


RULE = Rule(
    name="wrong_end_label",
    words="Edge between labels that it cannot join",
    meaning="ends that the relation does not join",
    groups=("edges",),
    is_fault=True,
    bad="TP53 in place of P04637 at the head of an edge between proteins",
    good="P04637 at the head of that edge",
    of_graph=_edges_of_no_pattern,
)
