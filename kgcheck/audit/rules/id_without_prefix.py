"""Ids without a prefix, among those that are CURIEs."""

from kgcheck.rules import Rule

RULE = Rule(
    name="id_without_prefix",
    words="Identifier without a prefix, among those that have one",
    meaning="an id without a prefix, on a label nearly all of whose ids are CURIEs",
    groups=("ids", "standards"),
    is_fault=False,
    bad="the gene 11998 among HGNC:1101 and HGNC:1884",
    good="the gene HGNC:11998",
    is_folded=True,
    is_of_one_row=True,
    of_label=lambda graph, label: graph.curies.without_prefix(label),
)
