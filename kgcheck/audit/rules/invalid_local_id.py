"""Ids that have not the form of their own prefix in the Bioregistry."""

from collections.abc import Iterator

from kgcheck.model import Ref
from kgcheck.rules import Rule, RuleGraph, RuleHit


def _invalid_local_ids(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import invalid_ids

    if "bioregistry" not in graph.schema.profile.standards:
        return
    for label, identifier, record in invalid_ids(graph):
        local = identifier.partition(":")[2]
        detail = f"{local} does not match {record.pattern}, the form of ids of {record.preferred}"
        yield RuleHit(Ref(label=label.name, id=identifier), None, None, detail, record.prefix)


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
    of_graph=_invalid_local_ids,
)
