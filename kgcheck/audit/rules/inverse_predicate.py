"""Predicates of which the Biolink model asks for the inverse."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _inverse_predicates(graph: RuleGraph) -> Iterator[RuleHit]:
    for patterns, curie, found in graph.curies.predicates():
        if found and (canonical := graph.curies.model.canonical(found)):
            detail = f"{graph.curies.release} asks for {canonical.curie}, in the other direction, in place of {curie}"
            yield graph.hit_of_relation(patterns, detail, canonical.name)


RULE = Rule(
    name="inverse_predicate",
    words="Predicate whose inverse is the canonical one",
    meaning="a relation of which the Biolink model asks for the inverse",
    groups=("names", "standards"),
    is_fault=False,
    bad="an edge of biolink:affected_by",
    good="an edge of biolink:affects in the other direction",
    source="biolink",
    is_remark=True,
    of_graph=_inverse_predicates,
)
