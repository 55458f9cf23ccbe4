"""Ids without a prefix, among those that are CURIEs."""

from typing import TYPE_CHECKING

from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label


def _ids_without_prefix(graph: RuleGraph, label: "Label") -> str | None:
    from kgcheck.audit.curies import without_prefix

    return without_prefix(graph, label) if "bioregistry" in graph.schema.profile.standards else None


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
    of_label=_ids_without_prefix,
)
