"""The papers that a search met, each once, however many places have it and under whichever id."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kgcheck.literature.papers import WholePaper
from kgcheck.protocols.search.found import SearchPlace


@dataclass
class FoundAt:
    """A paper that was met, with where, and by which queries."""

    paper: WholePaper
    places: list[SearchPlace] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)


class MetPapers:
    """Papers by every id that they go by."""

    def __init__(self) -> None:
        self._by_id: dict[str, FoundAt] = {}

    def add(self, paper: WholePaper, place: SearchPlace, query: int) -> None:
        """Take a paper in, with those that it shows to be the same."""
        same = list({id(m): m for i in paper.ids if (m := self._by_id.get(i))}.values())
        first = same[0] if same else FoundAt(paper)
        for other in (*same[1:], FoundAt(paper, [place], [query])):
            first.paper = _joined(first.paper, other.paper)
            first.places += [p for p in other.places if p not in first.places]
            first.queries += [q for q in other.queries if q not in first.queries]
        self._by_id |= dict.fromkeys(first.paper.ids, first)

    def every(self) -> list[FoundAt]:
        """Each once, in the order in which they were met."""
        return list({id(m): m for m in self._by_id.values()}.values())

    def retract(self, listed: Callable[[Iterable[str]], set[str]]) -> None:
        """Mark papers as retracted."""
        gone = listed(self._by_id)
        for met in self.every():
            if gone.intersection(met.paper.ids):
                met.paper = met.paper.model_copy(update={"retracted": True})


def _joined(one: WholePaper, other: WholePaper) -> WholePaper:
    """The one that has more of the text, with the ids of both; retracted if either is."""
    richer = max((one, other), key=lambda p: sum(len(s.paragraphs) for s in p.sections))
    ids = tuple(dict.fromkeys((*one.ids, *other.ids)))
    return richer.model_copy(update={"ids": ids, "retracted": one.retracted or other.retracted})
