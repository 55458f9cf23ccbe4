"""Where papers agree and where they contradict each other, from their aligned claims."""

from collections.abc import Mapping, Sequence

from kgcheck.grounding.claims.graphs import rx
from kgcheck.ledger.paper_claims import ClaimGroup, ClaimPair, ClaimRelation, PaperClaim


def agreements(claims: Mapping[str, PaperClaim], pairs: Sequence[ClaimPair]) -> tuple[ClaimGroup, ...]:
    """Who agrees with whom, and who contradicts whom."""
    graph: rx.PyGraph[str, None] = rx.PyGraph(multigraph=False)
    supports = [p for p in pairs if p.relation is ClaimRelation.SUPPORTS and p.first in claims and p.second in claims]
    keys = sorted({key for p in supports for key in (p.first, p.second)})
    place = dict(zip(keys, graph.add_nodes_from(keys), strict=True))
    graph.add_edges_from_no_data([(place[p.first], place[p.second]) for p in supports])
    groups = [tuple(sorted(keys[n] for n in part)) for part in rx.connected_components(graph)]
    groups = [g for g in groups if _papers(claims, g) > 1]
    groups.sort(key=lambda g: (-_papers(claims, g), -len(g), g))
    against = [p for p in pairs if p.relation is ClaimRelation.CONTRADICTS and p.first in claims and p.second in claims]
    against.sort(key=lambda p: (-p.probability, p.first, p.second))
    return (
        *(ClaimGroup(kind="consensus", claims=group) for group in groups),
        *(ClaimGroup(kind="disagreement", claims=(p.first, p.second)) for p in against),
    )


def _papers(claims: Mapping[str, PaperClaim], keys: Sequence[str]) -> int:
    return len({claims[key].paper for key in keys})
