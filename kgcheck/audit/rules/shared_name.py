"""Nodes of one label that have one name."""

from typing import TYPE_CHECKING

from kgcheck.rules import CauseKind, Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label


def shared_names(graph: RuleGraph, label: "Label") -> str | None:
    """Select pairs with the smallest id of a name: n nodes of one name give n - 1 hits."""
    if "name" not in label.properties:
        return None
    return f"""
    SELECT min(id) OVER (PARTITION BY name) AS first, id AS tail, NULL, name
    FROM {graph.nodes(label)} WHERE trim(name) <> '' QUALIFY id <> first"""


RULE = Rule(
    name="shared_name",
    words="Two nodes of one name",
    meaning="two nodes of a label have one name",
    groups=("names",),
    is_fault=False,
    bad="DOID:162 and DOID:305 are both called cancer",
    good="DOID:162 is called cancer, DOID:305 carcinoma",
    follows=(CauseKind.NODE, CauseKind.GROUP),
    of_label=shared_names,
)
