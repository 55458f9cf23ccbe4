"""Ids and names that stand for a missing one, and became nodes."""

from kgcheck import rules
from kgcheck.audit.rules.placeholder_value import PLACEHOLDERS
from kgcheck.quoting import literal

_WORDS = (*PLACEHOLDERS, "na", "undefined", "?", "missing")
_UNRESOLVED = r"example\.(org|com)|/UNKNOWN(/|$)"


def _placeholder_ids(graph: rules.RuleGraph, label: "rules.Label") -> str | None:
    if not graph.schema.profile.standards:
        return None
    words = ", ".join(map(literal, _WORDS))
    # None:biological_process and biological_process:None, but not NA of a longer name.
    parts = f"list_has_any(string_split(lower(trim(id)), ':'), [{words}])"
    unresolved = f"regexp_matches(id, {literal(_UNRESOLVED)})"
    name = '"name"' if "name" in label.properties else "NULL"
    return f"""
    SELECT id, NULL, NULL, CASE WHEN {parts} THEN 'the id stands for a missing one'
        WHEN {unresolved} THEN 'an address that stands for an unresolved one' ELSE 'called ' || {name} END
    FROM {graph.nodes(label)} WHERE {parts} OR {unresolved} OR lower(trim({name})) IN ({words})"""


RULE = rules.Rule(
    name="placeholder_id",
    words="Node that stands for a missing value",
    meaning="the id, a part of it, or the name of a node is a word for a missing value, in a graph of standards",
    groups=("ids", "values"),
    is_fault=False,
    bad="a node None:biological_process, to which edges lead",
    good="no such node, and no such edges",
    is_folded=True,
    is_of_one_row=True,
    of_label=_placeholder_ids,
)
