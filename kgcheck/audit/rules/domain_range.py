"""Edges whose ends are outside the domain or the range of their predicate."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _ends_outside(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import biolink_release, curie_of, hit_of_relation, predicates
    from kgcheck.standards.biolink import model

    for patterns, curie, predicate in predicates(graph):
        total = sum(graph.now.edges.get(str(pattern), 0) for pattern in patterns)
        for pattern in patterns if predicate else ():
            outside = []
            for end, role in ((pattern.head, "domain"), (pattern.tail, "range")):
                stated = predicate and model().end(predicate, role)
                category = model().category(curie_of(end, graph.schema) or "")
                if not predicate or not stated or not category or model().is_contradicted(predicate, role, stated):
                    continue
                if not model().may_be(category, stated):
                    outside.append(f"the {role} {stated.name}, which {category.name} is not")
            if predicate and outside:
                detail = f"{biolink_release()} gives {curie} {' and '.join(outside)}"
                yield hit_of_relation(graph, [pattern], detail, predicate.name, total)


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
