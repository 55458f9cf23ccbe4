"""Ids that are no CURIEs, in a graph whose ids are."""

from kgcheck.rules import Rule

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
    of_label=lambda graph, label: graph.curies.malformed(label),
)
