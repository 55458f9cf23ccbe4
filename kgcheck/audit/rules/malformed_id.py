"""Ids that are not written as their database writes them."""

from kgcheck import rules
from kgcheck.quoting import literal


def _malformed_ids(graph: rules.RuleGraph, label: "rules.Label") -> str:
    from kgcheck.evidence.coverage import malformed

    example = literal(f"an id looks like {label.id_example}")
    return f"SELECT id, NULL, NULL, {example} FROM {graph.nodes(label)} WHERE {malformed(label, 'id')}"


RULE = rules.Rule(
    name="malformed_id",
    words="Identifier not written as its database writes them",
    meaning="not the form of an id of this label",
    groups=("ids",),
    is_fault=True,
    bad="the id DOID-305",
    good="the id DOID:305",
    is_of_one_row=True,
    of_label=_malformed_ids,
)
