"""Edges whose ends are of two species."""

from kgcheck import rules
from kgcheck.quoting import identifier, literal


def _species_mismatches(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    ends = [graph.schema.label(name) for name in (pattern.head, pattern.tail)]
    species = [label.species for label in ends if label.species]
    if len(species) < 2:
        return None
    heads, tails = (_species(graph, label) for label in ends)
    known = ", ".join(
        literal(taxon) for taxon in sorted({t for s in species for taxa in s.codes.values() for t in taxa})
    )
    return f"""
    SELECT e.head, e.tail, NULL, 'species ' || h.taxa[1] || ' and ' || t.taxa[1]
    FROM {graph.edges(pattern)} e JOIN ({heads}) h ON h.id = e.head JOIN ({tails}) t ON t.id = e.tail
    WHERE NOT list_has_any(h.taxa, t.taxa) AND list_has_any(h.taxa, [{known}]) AND list_has_any(t.taxa, [{known}])"""


def _species(graph: rules.RuleGraph, label: "rules.Label") -> str:
    """Select ids and their taxa: that of an id comes before that of a property."""
    species = label.species
    assert species  # noqa: S101  (the caller looked)
    taxa = f"CASE WHEN coalesce({identifier(species.property)}, '') <> '' THEN [{identifier(species.property)}] END"
    if species.form:
        cases = " ".join(
            f"WHEN {literal(code)} THEN [{', '.join(map(literal, of_code))}]" for code, of_code in species.codes.items()
        )
        taxa = f"CASE regexp_extract(id, {literal(species.form)}, 1) {cases} ELSE {taxa} END"
    return f"SELECT id, {taxa} AS taxa FROM {graph.nodes(label)}"


RULE = rules.Rule(
    name="species_mismatch",
    words="Ends of two species",
    meaning="ends of two species that both have pathways of their own",
    groups=("edges",),
    is_fault=True,
    bad="P04637, of man, annotated in R-MMU-109581, of the mouse",
    good="P04637 annotated in R-HSA-109581",
    repair=rules.RuleRepair.RETIRE,
    of_pattern=_species_mismatches,
)
