"""Categories that the Biolink model has not."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def unknown_categories(graph: RuleGraph) -> Iterator[RuleHit]:
    """Find labels that are no class of the model, each once."""
    from kgcheck.audit.curies import biolink_release, categories, hit_of_label, meant

    for label, curie, found in categories(graph):
        if found is None:
            yield hit_of_label(graph, label, f"{curie} is no class of {biolink_release()}{meant(curie)}")


RULE = Rule(
    name="unknown_category",
    words="Category that the Biolink model has not",
    meaning="a label that is no class of the Biolink model, of the release that the finding names",
    groups=("names", "standards"),
    is_fault=True,
    bad="nodes of the category biolink:Cells",
    good="nodes of the category biolink:Cell",
    source="biolink",
    of_graph=unknown_categories,
)
