"""Categories and predicates that the Biolink model deprecates."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _deprecated_terms(graph: RuleGraph) -> Iterator[RuleHit]:
    detail = f"{{}} is deprecated in {graph.curies.release}"
    for label, curie, category in graph.curies.categories():
        if category and category.deprecated:
            yield graph.hit_of_label(label, detail.format(curie), category.name)
    for patterns, curie, predicate in graph.curies.predicates():
        if predicate and predicate.deprecated:
            yield graph.hit_of_relation(patterns, detail.format(curie), predicate.name)


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
