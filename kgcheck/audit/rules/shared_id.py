"""Ids that several nodes of one label have."""

from kgcheck import rules
from kgcheck.quoting import literal


def _shared_ids(graph: rules.RuleGraph, label: "rules.Label") -> str:
    from kgcheck.graph.store import NO_ID

    return f"""
    SELECT id, NULL, NULL, count(*) || ' nodes have this id' FROM {graph.nodes(label)}
    WHERE id <> {literal(NO_ID)} GROUP BY id HAVING count(*) > 1"""


RULE = rules.Rule(
    name="shared_id",
    words="Several nodes of one label share an identifier",
    meaning="several nodes of one label have one id; for each property the smallest value is checked",
    groups=("ids", "duplicates"),
    is_fault=True,
    bad="two nodes DOID:305, carcinoma and another name",
    good="one node DOID:305",
    of_label=_shared_ids,
)
