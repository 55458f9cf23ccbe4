"""Ids that nodes of two labels have."""

from typing import TYPE_CHECKING

from kgcheck.quoting import literal
from kgcheck.rules import CauseKind, Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label


def _ids_on_two_labels(graph: RuleGraph, label: "Label") -> str:
    others = [
        f"SELECT id, {literal(other.name)} AS label FROM {graph.nodes(other)}"
        for other in graph.labels
        if other.name > label.name
        and other.name not in label.shares_ids_with
        and label.name not in other.shares_ids_with
    ]
    joined = " UNION ALL ".join(others) or "SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS label WHERE false"
    return f"""
    SELECT n.id, n.id, o.label, 'also a ' || o.label FROM {graph.nodes(label)} n JOIN ({joined}) o USING (id)"""


RULE = Rule(
    name="id_on_two_labels",
    words="One identifier under two labels",
    meaning="one id on nodes of two labels that do not share ids",
    groups=("ids", "duplicates"),
    is_fault=False,
    bad="GO:0005524 as a function, and as a process",
    good="GO:0005524 as a function alone",
    follows=(CauseKind.NAMESPACE,),
    of_label=_ids_on_two_labels,
)
