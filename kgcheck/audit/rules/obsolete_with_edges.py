"""Obsolete terms that edges still lead to or from."""

from kgcheck import rules
from kgcheck.quoting import identifier, literal

_PROPERTIES = ("is_obsolete", "deprecated", "obsolete")
_YES = ("true", "1", "yes")


def _obsolete_nodes(graph: rules.RuleGraph, label: "rules.Label") -> str | None:
    cases = " ".join(
        f"WHEN lower(trim(CAST({identifier(name)} AS VARCHAR))) IN {_YES} THEN {literal(name)}"
        for name in _PROPERTIES
        if name in label.properties
    )
    if not cases or not (ends := graph.ends_of_edges(label)):
        return None
    return f"""
    SELECT DISTINCT id, NULL, NULL, CASE {cases} END || ', and has edges' AS detail
    FROM {graph.nodes(label)} SEMI JOIN ({ends}) USING (id) WHERE detail IS NOT NULL"""


RULE = rules.Rule(
    name="obsolete_with_edges",
    words="Obsolete term that still has edges",
    meaning="a node that is obsolete or deprecated by its own property, and an end of an edge",
    groups=("nodes",),
    is_fault=False,
    bad="GO:0000003 with is_obsolete, and a gene that is annotated with it",
    good="GO:0000003 with is_obsolete, and no edge",
    is_folded=True,
    of_label=_obsolete_nodes,
)
