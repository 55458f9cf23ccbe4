"""Which papers of an index cite which, and their ranks by that: PageRank, hubs and authorities."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kgcheck.grounding.claims.graphs import rx
from kgcheck.literature.documents import fingerprint_text
from kgcheck.literature.papers import CitedWork, WholePaper

DAMPING = 0.85
_STEPS = 1_000
_EXACT = 1e-9
_LEAST_TITLE = 5
"""Words of a title by which a reference without an id may be known: "Editorial" is no title."""


class CitingPair(NamedTuple):
    """That one paper of an index cites another, by their ids."""

    citing: str
    cited: str


class Ranks(NamedTuple):
    """What the citations among some papers make of one."""

    pagerank: float
    hub: float
    authority: float


class KnownWorks:
    """Papers by what a reference may call them."""

    def __init__(self, papers: "Sequence[tuple[tuple[str, ...], str, int | None]]") -> None:
        self._ids = {name.casefold(): ids[0] for ids, _, _ in papers for name in ids}
        self._titles: dict[str, list[tuple[str, int | None]]] = {}
        for ids, title, year in papers:
            words = fingerprint_text(title)
            if words.count(" ") + 1 >= _LEAST_TITLE:
                self._titles.setdefault(words, []).append((ids[0], year))

    def by_id(self, name: str) -> str | None:
        """The paper with this id, whatever its case."""
        return self._ids.get(name.casefold())

    def cited(self, work: CitedWork) -> str | None:
        """The paper that a reference is, by its DOI, its PMID, or its title with its year."""
        for prefix, value in (("doi:", work.doi), ("pmid:", work.pmid)):
            if value and (found := self.by_id(prefix + value)):
                return found
        named = [i for i, year in self._titles.get(fingerprint_text(work.title), ()) if _near(year, work.year)]
        return named[0] if len(named) == 1 else None


def _near(one: int | None, other: int | None) -> bool:
    return one is None or other is None or abs(one - other) <= 1


def citations_of(paper: WholePaper, known: KnownWorks) -> Iterator[CitingPair]:
    """The citations between a paper and others that are known, each as often as it is listed."""
    own = known.by_id(paper.id)
    if own is None:
        return
    for work in paper.references:
        if (cited := known.cited(work)) and cited != own:
            yield CitingPair(own, cited)
    for name in paper.citations:
        if (citing := known.by_id(name)) and citing != own:
            yield CitingPair(citing, own)


def ranks(papers: Sequence[str], citations: Sequence[CitingPair]) -> Mapping[str, Ranks]:
    """PageRank, hubs and authorities of papers."""
    graph: rx.PyDiGraph[str, float] = rx.PyDiGraph(multigraph=False)
    place = dict(zip(papers, graph.add_nodes_from(list(papers)), strict=True))
    graph.add_edges_from([(place[c.citing], place[c.cited], 1.0) for c in sorted(set(citations))])
    if not papers:
        return {}
    pagerank = rx.pagerank(graph, alpha=DAMPING, tol=_EXACT, max_iter=_STEPS)
    hubs, authorities = _hits(graph)
    return {
        name: Ranks(round(pagerank[n], 6), round(hubs.get(n, 0.0), 6), round(authorities.get(n, 0.0), 6))
        for name, n in place.items()
    }


def _hits(graph: "rx.PyDiGraph[str, float]") -> tuple[Mapping[int, float], Mapping[int, float]]:
    """Hubs and authorities; nobody is one where nobody cites, or where the steps do not settle."""
    if not graph.num_edges():
        return {}, {}
    try:
        hubs, authorities = rx.hits(graph, tol=_EXACT, max_iter=_STEPS)
    except rx.FailedToConverge:
        return {}, {}
    # A tiny negative number is zero.
    return tuple({n: max(value, 0.0) for n, value in found.items()} for found in (hubs, authorities))  # type: ignore[return-value]
