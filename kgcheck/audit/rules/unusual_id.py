"""Ids that differ in form from nearly all others of their label."""

from kgcheck import rules
from kgcheck.quoting import literal

_MANY = 100
"""Ids of a label from which one form of nearly all is no chance."""

_FORM = r"regexp_replace(id, '\d+', '0', 'g')"
"""All signs of an id but its numbers."""


def _unusual_ids(graph: rules.RuleGraph, label: "rules.Label") -> str | None:
    """Select ids of another form, where no pattern is known: neither the profile nor a registry has one."""
    if "bioregistry" not in graph.schema.profile.standards or graph.curies.is_of_curies:
        return None
    table = graph.nodes(label)
    ((form, example, alike, ids),) = graph.select(f"""
        SELECT {_FORM} AS form, min(id), count(*) AS alike, sum(alike) OVER ()::BIGINT FROM {table}
        GROUP BY form ORDER BY alike DESC, form LIMIT 1""")
    if ids < _MANY or graph.curies.is_doubted(ids - alike, ids):
        return None
    detail = literal(f"{alike:,} of {ids:,} ids look like {example}")
    return f"SELECT id, NULL, NULL, {detail} FROM {table} WHERE {_FORM} <> {literal(form)}"


RULE = rules.Rule(
    name="unusual_id",
    words="Identifier unlike nearly all others of its label",
    meaning="an id that differs in more than its numbers from 99 of 100 ids of its label, in a graph without CURIEs",
    groups=("ids",),
    is_fault=False,
    bad="the id Gene::9021x among 1,000 such as Gene::9021",
    good="the id Gene::9021",
    is_folded=True,
    is_of_one_row=True,
    of_label=_unusual_ids,
)
