"""Counts of nodes and edges that moved far since the audit before."""

from collections.abc import Iterator, Mapping

from kgcheck.rules import Rule, RuleGraph, RuleHit, all_of

MOVED_SHARE = 0.1
"""A count that moved by more than this share since the last run is worth a look."""


def _counts_that_moved(graph: RuleGraph) -> Iterator[RuleHit]:
    for name, change in moved_counts(graph.before.nodes, graph.now.nodes):
        yield RuleHit(all_of(name), None, None, change)
    patterns = {str(pattern): pattern for pattern in graph.schema.relations}
    for name, change in moved_counts(graph.before.edges, graph.now.edges):
        if pattern := patterns.get(name):
            yield RuleHit(all_of(pattern.head), pattern.type, all_of(pattern.tail), change)


def moved_counts(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Compare counts: the label or pattern that moved by more than MOVED_SHARE, and by how much."""
    for name in sorted({*before, *after}):
        old, new = before.get(name, 0), after.get(name, 0)
        if abs(new - old) > MOVED_SHARE * max(old, 1):
            yield name, f"{old:,} before, {new:,} now"


RULE = Rule(
    name="count_moved",
    words="Count that moved far since the last run",
    meaning="a label or relation has a tenth more or less than in the last run",
    groups=("counts",),
    is_fault=False,
    bad="1,000 nodes of a label in the last run, 880 now",
    good="1,000 nodes of a label in the last run, 1,020 now",
    of_graph=_counts_that_moved,
)
