"""Predicates that the Biolink model has not."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _unknown_predicates(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import biolink_release, hit_of_relation, meant, predicates

    for patterns, curie, found in predicates(graph):
        if found is None:
            detail = f"{curie} is no predicate of {biolink_release()}{meant(curie)}"
            yield hit_of_relation(graph, patterns, detail)


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
