"""Ids that nodes of two labels have."""

from kgcheck import rules
from kgcheck.quoting import literal


def _ids_on_two_labels(graph: rules.RuleGraph, label: "rules.Label") -> str | None:
    others = " UNION ALL ".join(
        f"SELECT id, {literal(other.name)} AS label FROM {graph.nodes(other)}"
        for other in graph.labels
        if other.name > label.name
        and other.name not in label.shares_ids_with
        and label.name not in other.shares_ids_with
    )
    select = f"SELECT n.id, n.id, o.label, 'also a ' || o.label FROM {graph.nodes(label)} n JOIN"
    return f"{select} ({others}) o USING (id)" if others else None


RULE = rules.Rule(
    name="id_on_two_labels",
    words="One identifier under two labels",
    meaning="one id on nodes of two labels that do not share ids",
    groups=("ids", "duplicates"),
    is_fault=False,
    bad="GO:0005524 as a function, and as a process",
    good="GO:0005524 as a function alone",
    follows=(rules.CauseKind.NAMESPACE,),
    of_label=_ids_on_two_labels,
)
