"""Ids that have not the form of their own prefix in the Bioregistry."""

from kgcheck.rules import Rule

RULE = Rule(
    name="invalid_local_id",
    words="Identifier that has not the form of its prefix",
    meaning="what follows the prefix does not match the Bioregistry's pattern of that prefix",
    groups=("ids", "standards"),
    is_fault=True,
    bad="the id MONDO:5148",
    good="the id MONDO:0005148",
    is_folded=True,
    source="bioregistry",
    of_graph=lambda graph: graph.curies.invalid_ids(),
)
