"""Prefixes that neither the Bioregistry nor the Biolink model knows."""

from collections.abc import Iterator

from kgcheck.plurals import how_many
from kgcheck.rules import Rule, RuleGraph, RuleHit

_MOST = 20
"""Prefixes that are told one by one, those of the most ids; the others are told together."""


def _unknown_prefixes(graph: RuleGraph) -> Iterator[RuleHit]:
    namespaces = graph.curies.namespaces if graph.curies.is_of_curies else ()
    unknown = sorted((one for one in namespaces if not one.is_known), key=lambda n: (-n.ids, n.spelled))
    for one in unknown[:_MOST]:
        yield one.hit(f"{one.spelled} is in neither the Bioregistry nor Biolink; {one.counted}")
    if rest := unknown[_MOST:]:
        together = f"{how_many(len(rest), 'prefix', 'prefixes')} more; {how_many(sum(n.ids for n in rest), 'id')}"
        yield rest[0].hit(f"{together}, e.g. {rest[0].example}")._replace(part="other prefixes")


RULE = Rule(
    name="unknown_prefix",
    words="Prefix that no registry knows",
    meaning="ids of a prefix that neither the Bioregistry nor the Biolink model has",
    groups=("ids", "standards"),
    is_fault=False,
    bad="the id OURS:17 in a graph of CURIEs",
    good="the id MONDO:0005148",
    source="bioregistry",
    is_remark=True,
    of_graph=_unknown_prefixes,
)
