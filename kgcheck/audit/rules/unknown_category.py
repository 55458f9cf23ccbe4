"""Categories that the Biolink model has not."""

from collections.abc import Iterator

from kgcheck.model import Ref
from kgcheck.plurals import how_many
from kgcheck.rules import ALL, Rule, RuleGraph, RuleHit


def _unknown_categories(graph: RuleGraph) -> Iterator[RuleHit]:
    from kgcheck.audit.curies import biolink_release, categories, hit_of_label, meant, stated_categories
    from kgcheck.standards.biolink import model

    labels = {curie: label for label, curie, found in categories(graph) if found is None}
    for curie, label in labels.items():
        yield hit_of_label(graph, label, f"{curie} is no class of {biolink_release()}{meant(curie)}")
    for curie, (label, count) in stated_categories(graph).items():
        if curie not in labels and model().category(curie) is None:
            detail = f"{curie} is no class of {biolink_release()}{meant(curie)}; {how_many(count, 'node')}"
            yield RuleHit(Ref(label=label.name, id=ALL), None, None, detail, part=curie)


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
