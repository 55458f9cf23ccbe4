"""Predicates that the Biolink model has not."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _unknown_predicates(graph: RuleGraph) -> Iterator[RuleHit]:
    for patterns, curie, found in graph.curies.predicates():
        if found is None:
            detail = f"{curie} is no predicate of {graph.curies.release}{graph.curies.meant(curie)}"
            yield graph.hit_of_relation(patterns, detail)


RULE = Rule(
    name="unknown_predicate",
    words="Predicate that the Biolink model has not",
    meaning="a relation that is no predicate of the Biolink model, of the release that the finding names",
    groups=("names", "standards"),
    is_fault=True,
    bad="edges of biolink:is_assessed_by",
    good="edges of biolink:affects",
    source="biolink",
    of_graph=_unknown_predicates,
)
