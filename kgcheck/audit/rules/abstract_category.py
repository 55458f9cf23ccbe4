"""Categories that the Biolink model has for other classes to be kinds of, not for nodes."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _abstract_categories(graph: RuleGraph) -> Iterator[RuleHit]:
    for label, curie, category in graph.curies.categories():
        if category and (category.abstract or category.mixin):
            kind = "a mixin" if category.mixin else "an abstract class"
            yield graph.hit_of_label(label, f"{curie} is {kind} of {graph.curies.release}", category.name)


RULE = Rule(
    name="abstract_category",
    words="Category that is abstract or a mixin",
    meaning="a label whose class of the Biolink model is abstract or a mixin, so that nodes want a more specific one",
    groups=("names", "standards"),
    is_fault=False,
    bad="nodes of the category biolink:BiologicalEntity",
    good="nodes of the category biolink:Cell",
    source="biolink",
    is_remark=True,
    of_graph=_abstract_categories,
)
