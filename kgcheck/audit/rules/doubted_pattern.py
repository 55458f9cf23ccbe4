"""Prefixes of which so many ids miss the Bioregistry's pattern that it is the pattern that is doubted."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit, all_of


def _doubted_patterns(graph: RuleGraph) -> Iterator[RuleHit]:
    for one in graph.curies.misfits:
        if one.is_doubt:
            share = f"{one.missing:,} of {one.ids:,} ids of {one.record.preferred} ({one.missing / one.ids:.1%})"
            other = "; the prefix may mean something else here" if one.is_of_another else ""
            detail = f"{share} do not match {one.record.pattern}, e.g. {', '.join(one.examples)}{other}"
            yield RuleHit(all_of(one.label), None, None, detail, one.record.prefix, one.record.prefix)


RULE = Rule(
    name="doubted_pattern",
    words="Pattern that many identifiers of its prefix miss",
    meaning="over 1 % of the ids of a prefix miss the Bioregistry's pattern, so that the pattern may be what is wrong",
    groups=("ids", "standards"),
    is_fault=False,
    bad="300 of 1,000 ids of one prefix miss its pattern",
    good="all ids of the prefix match it",
    source="bioregistry",
    is_remark=True,
    of_graph=_doubted_patterns,
)
