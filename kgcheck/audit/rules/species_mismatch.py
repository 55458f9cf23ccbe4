"""Edges whose ends are of two species."""

from typing import TYPE_CHECKING

from kgcheck.quoting import identifier, literal
from kgcheck.rules import Rule, RuleGraph, RuleRepair

if TYPE_CHECKING:
    from kgcheck.profile.schema import Pattern, Species


def _species_mismatches(graph: RuleGraph, pattern: "Pattern") -> str | None:
    ends = graph.schema.label(pattern.head), graph.schema.label(pattern.tail)
    head, tail = (label.species for label in ends)
    if head is None or tail is None:
        return None
    heads, tails = graph.nodes(ends[0]), graph.nodes(ends[1])
    known = sorted({taxon for s in (head, tail) for taxa in s.codes.values() for taxon in taxa})
    listed = ", ".join(literal(taxon) for taxon in known)
    return f"""
    SELECT e.head, e.tail, NULL, 'species ' || h.taxa[1] || ' and ' || t.taxa[1]
    FROM {graph.edges(pattern)} e JOIN ({_species(head, heads)}) h ON h.id = e.head
    JOIN ({_species(tail, tails)}) t ON t.id = e.tail
    WHERE NOT list_has_any(h.taxa, t.taxa) AND list_has_any(h.taxa, [{listed}]) AND list_has_any(t.taxa, [{listed}])"""


def _species(species: "Species", nodes: str) -> str:
    """Select ids and their taxa: that of an id comes before that of a property."""
    stated = f"CASE WHEN coalesce({identifier(species.property)}, '') <> '' THEN [{identifier(species.property)}] END"
    if not species.form:
        return f"SELECT id, {stated} AS taxa FROM {nodes}"
    code = f"regexp_extract(id, {literal(species.form)}, 1)"
    cases = " ".join(
        f"WHEN {literal(code_)} THEN [{', '.join(literal(t) for t in taxa)}]" for code_, taxa in species.codes.items()
    )
    return f"SELECT id, CASE {code} {cases} ELSE {stated} END AS taxa FROM {nodes}"


RULE = Rule(
    name="species_mismatch",
    words="Ends of two species",
    meaning="ends of two species that both have pathways of their own",
    groups=("edges",),
    is_fault=True,
    bad="P04637, of man, annotated in R-MMU-109581, of the mouse",
    good="P04637 annotated in R-HSA-109581",
    repair=RuleRepair.RETIRE,
    of_pattern=_species_mismatches,
)
