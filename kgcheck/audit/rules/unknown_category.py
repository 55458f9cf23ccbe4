"""Categories that the Biolink model has not."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _unknown_categories(graph: RuleGraph) -> Iterator[RuleHit]:
    curies, labels = graph.curies, set[str]()
    detail = f"{{}} is no class of {curies.release}{{}}"
    for label, curie, found in curies.categories():
        if found is None:
            labels.add(curie)
            yield graph.hit_of_label(label, detail.format(curie, curies.meant(curie)))
    for curie, (label, count) in curies.stated_categories().items():
        if curie not in labels and curies.model.category(curie) is None:
            hit = graph.hit_of_label(label, detail.format(curie, curies.meant(curie)), count=count)
            yield hit._replace(part=curie)


RULE = Rule(
    name="unknown_category",
    words="Category that the Biolink model has not",
    meaning="a label, or a category beside it, that is no class of the Biolink model, of the release of the finding",
    groups=("names", "standards"),
    is_fault=True,
    bad="nodes of the category biolink:Cells",
    good="nodes of the category biolink:Cell",
    source="biolink",
    of_graph=_unknown_categories,
)
