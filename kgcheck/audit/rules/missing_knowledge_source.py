"""Edges that do not name their primary knowledge source, as the Biolink model asks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgcheck.model import Ref
from kgcheck.quoting import identifier
from kgcheck.rules import Rule, RuleGraph, RuleHit

if TYPE_CHECKING:
    from kgcheck.profile.schema import Pattern

_PROPERTY = "primary_knowledge_source"


def edges_without_knowledge_source(graph: RuleGraph) -> Iterator[RuleHit]:
    """Count the edges without one, over the whole graph."""
    from kgcheck.audit.curies import ALL, biolink_release

    patterns = graph.patterns if "biolink" in graph.schema.profile.standards else ()
    missing: list[tuple[Pattern, int]] = []
    for pattern in patterns:
        count = graph.now.edges.get(str(pattern), 0)
        if _PROPERTY in pattern.properties:
            value = f"trim(CAST({identifier(_PROPERTY)} AS VARCHAR))"
            where = f"coalesce({value}, '') IN ('', '[]')"
            ((count,),) = graph.select(f"SELECT count(*) FROM {graph.edges(pattern)} WHERE {where}")
        if count:
            missing.append((pattern, count))
    if missing:
        total = sum(graph.now.edges.get(str(pattern), 0) for pattern in patterns)
        first, _ = missing[0]
        ends = Ref(label=first.head, id=ALL), Ref(label=first.tail, id=ALL)
        shown = f"{sum(number for _, number in missing):,} of {total:,} edges"
        detail = f"{shown} have no {_PROPERTY}, which {biolink_release()} asks for"
        yield RuleHit(ends[0], first.type, ends[1], detail, _PROPERTY)


RULE = Rule(
    name="missing_knowledge_source",
    words="Edges that do not name their primary knowledge source",
    meaning="edges without a primary_knowledge_source, counted over the graph",
    groups=("edges", "standards"),
    is_fault=False,
    bad="an edge without a primary_knowledge_source",
    good="the same edge with infores:hgnc",
    source="biolink",
    is_remark=True,
    of_graph=edges_without_knowledge_source,
)
