"""Nodes of one label that have one name."""

from kgcheck import rules
from kgcheck.plurals import folded
from kgcheck.quoting import identifier

_SPECIES = ("taxon", "in_taxon", "taxid", "organism", "species")
"""Properties that tell apart what two species have under one name."""

_SAME = {"exactmatch", "closematch", "sameas", "equivalentclass", "equivalentto"}
"""Relations that say of two ids that they are one thing, or nearly."""


def _shared_names(graph: rules.RuleGraph, label: "rules.Label") -> str | None:
    """Select pairs with the smallest id of a name: n nodes of one name give n - 1 hits.

    Two of different species, or that the graph itself says are the same, are none; nor are any of a set of mappings,
    which says of each pair whether it is one thing.
    """
    if "name" not in label.properties:
        return None
    by = ", ".join(["name", *(identifier(name) for name in _SPECIES if name in label.properties)])
    same = [p for p in graph.patterns if p.head == p.tail == label.name and folded(p.type) in _SAME]
    own = [p for p in graph.patterns if label.name in (p.head, p.tail)]
    if same and 2 * graph.count(same) > graph.count(own):
        return None
    stated = "".join(
        f" ANTI JOIN {graph.edges(p)} AS e ON (p.{one}, p.{other}) = (e.head, e.tail)"
        for p in same
        for one, other in (("first", "tail"), ("tail", "first"))
    )
    return f"""
    SELECT p.first, p.tail, NULL, p.name FROM (
        SELECT min(id) OVER (PARTITION BY {by}) AS first, id AS tail, name
        FROM {graph.nodes(label)} WHERE trim(name) <> '' QUALIFY id <> first) AS p{stated}"""


RULE = rules.Rule(
    name="shared_name",
    words="Two nodes of one name",
    meaning="two nodes of a label have one name",
    groups=("names",),
    is_fault=False,
    bad="DOID:162 and DOID:305 are both called cancer",
    good="DOID:162 is called cancer, DOID:305 carcinoma",
    follows=(rules.CauseKind.NODE, rules.CauseKind.GROUP),
    of_label=_shared_names,
)
