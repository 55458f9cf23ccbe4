"""Edges whose ends are outside the domain or the range of their predicate."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _ends_outside(graph: RuleGraph) -> Iterator[RuleHit]:
    model = graph.curies.model
    for patterns, curie, predicate in graph.curies.predicates():
        if predicate is None:
            continue
        for pattern in patterns:
            outside = []
            for end, role in ((pattern.head, "domain"), (pattern.tail, "range")):
                stated, category = model.end(predicate, role), model.category(graph.curies.curie_of(end) or "")
                if not stated or not category or model.is_contradicted(predicate, role, stated):
                    continue
                if not model.may_be(category, stated):
                    outside.append(f"the {role} {stated.name}, which {category.name} is not")
            if outside:
                detail = f"{graph.curies.release} gives {curie} {' and '.join(outside)}"
                yield graph.hit_of_relation([pattern], detail, predicate.name, graph.count(patterns))


RULE = Rule(
    name="domain_range",
    words="Edge type outside the domain or range of its predicate",
    meaning="edges between categories that the Biolink model does not give their predicate, mixins counted in",
    groups=("names", "standards"),
    is_fault=False,
    bad="biolink:Cell biolink:treats biolink:Drug",
    good="biolink:Drug biolink:treats biolink:PhenotypicFeature",
    source="biolink",
    is_remark=True,
    of_graph=_ends_outside,
)
