"""Categories and predicates that the Biolink model deprecates."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _deprecated_terms(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import biolink_release, categories, hit_of_label, hit_of_relation, predicates

    for label, curie, category in categories(graph):
        if category and category.deprecated:
            yield hit_of_label(graph, label, f"{curie} is deprecated in {biolink_release()}", category.name)
    for patterns, curie, predicate in predicates(graph):
        if predicate and predicate.deprecated:
            yield hit_of_relation(graph, patterns, f"{curie} is deprecated in {biolink_release()}", predicate.name)


RULE = Rule(
    name="deprecated_term",
    words="Category or predicate that is deprecated",
    meaning="a label or a relation that the Biolink model deprecates",
    groups=("names", "standards"),
    is_fault=False,
    bad="edges of biolink:binds",
    good="edges of biolink:directly_physically_interacts_with",
    source="biolink",
    is_remark=True,
    of_graph=_deprecated_terms,
)
