"""Ids that are no CURIEs, in a graph whose ids are."""

from typing import TYPE_CHECKING

from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label


def _malformed_curies_of_label(graph: RuleGraph, label: "Label") -> str | None:
    from kgcheck.audit.curies import malformed_curies

    return malformed_curies(graph, label) if "bioregistry" in graph.schema.profile.standards else None


RULE = Rule(
    name="malformed_curie",
    words="Identifier that is no CURIE, among those that are",
    meaning="no prefix before the first colon, an empty part, or spaces, where most ids are CURIEs",
    groups=("ids", "standards"),
    is_fault=True,
    bad="the id :MGI:103557",
    good="the id MGI:103557",
    is_folded=True,
    is_of_one_row=True,
    of_label=_malformed_curies_of_label,
)
