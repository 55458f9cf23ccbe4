"""Citations that stand where they do not belong: against the order of the list, and against what the titles are about.

Many journals number references in the order in which the text cites them first. Where a list is so ordered, a work that
is first cited out of order was moved, unless its title fits the place much better than the one where it was due.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from kgcheck.grounding.manuscript import Manuscript, Marker, Sentence
from kgcheck.grounding.remarks import Check, Remark, Remarked, SentenceState
from kgcheck.literature.titles import content_words

ORDERED_FROM = 0.9
"""Share of first citations that are in the order of the list, from which on the list is ordered so."""

FEWEST = 10
"""First citations from which on an order can be seen."""

BETTER = 0.25
"""How much more of a title, by weight, the place where it stands must speak of than where it was due, to pass."""

_STEM = 6
"""Letters by which words of titles and of the text are compared: binding, binds."""


class _FirstCitation(NamedTuple):
    """Where the running text cites a work first."""

    rank: int
    key: str
    sentence: Sentence
    marker: Marker


def misplaced_citations(manuscript: Manuscript) -> list[Remarked]:
    """Citations that stand out of the order of their list, and fit not much better where they stand."""
    first = list(_first_citations(manuscript))
    kept = _longest_rise([f.rank for f in first])
    if len(first) < FEWEST or len(kept) < ORDERED_FROM * len(first):
        return []
    fit = _Fit(manuscript)
    return [
        _remark(manuscript, one, before, after)
        for place, one in enumerate(first)
        if place not in kept
        for before, after in [_due(first, kept, one.rank)]
        if fit.of(one.rank, one.sentence.block) <= BETTER + _best(fit, one.rank, before, after)
    ]


def _first_citations(manuscript: Manuscript) -> Iterator[_FirstCitation]:
    """The first citation of each work in the running text; abstracts, legends and notes are written for themselves."""
    ranks = {r.key: rank for rank, r in enumerate(manuscript.references)}
    seen: set[str] = set()
    for sentence in manuscript.sentences:
        if manuscript.blocks[sentence.block].kind != "paragraph" or sentence.section == "abstract":
            continue
        for marker in sentence.markers:
            for key in marker.keys:
                if key in ranks and key not in seen:
                    seen.add(key)
                    yield _FirstCitation(ranks[key], key, sentence, marker)


def _longest_rise(ranks: Sequence[int]) -> set[int]:
    """Places of the longest run of ranks that rises."""
    ends: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, rank in enumerate(ranks):
        at = bisect_left(ends, rank)
        if at == len(ends):
            ends.append(rank)
            places.append(place)
        else:
            ends[at], places[at] = rank, place
        before.append(places[at - 1] if at else -1)
    found: set[int] = set()
    place = places[-1] if places else -1
    while place >= 0:
        found.add(place)
        place = before[place]
    return found


def _due(
    first: Sequence[_FirstCitation], kept: set[int], rank: int
) -> tuple[_FirstCitation | None, _FirstCitation | None]:
    """The citations in order between which a work was due."""
    ordered = [first[place] for place in sorted(kept)]
    at = bisect_left([f.rank for f in ordered], rank)
    return (ordered[at - 1] if at else None, ordered[at] if at < len(ordered) else None)


def _best(fit: "_Fit", rank: int, before: _FirstCitation | None, after: _FirstCitation | None) -> float:
    """How well a title fits the best of the blocks in which it was due."""
    ends = [f.sentence.block for f in (before, after) if f]
    return max(fit.of(rank, block) for block in range(min(ends), max(ends) + 1))


def _remark(
    manuscript: Manuscript, one: _FirstCitation, before: _FirstCitation | None, after: _FirstCitation | None
) -> Remarked:
    labels = [manuscript.references[f.rank].label or f.key for f in (before, after) if f]
    label = manuscript.references[one.rank].label or one.key
    return Remarked(
        remark=Remark.CITED_UNRELATED,
        check=Check.CITATION,
        state=SentenceState.UNSUPPORTED,
        sentence=one.sentence.number,
        start=one.marker.start,
        end=one.marker.end,
        note=f"the list is in the order of citation, and {label} is first cited here, not by {' and '.join(labels)}:"
        " it may have been meant there",
        stated=one.key,
        found=", ".join(labels),
    )


class _Fit:
    """How much of a reference's title a block and those beside it speak of, the rarer words weighing more."""

    def __init__(self, manuscript: Manuscript) -> None:
        self._manuscript = manuscript

    @cached_property
    def _spoken(self) -> list[set[str]]:
        return [_stems(block.text) for block in self._manuscript.blocks]

    @cached_property
    def _titles(self) -> list[set[str]]:
        return [_stems(reference.title) for reference in self._manuscript.references]

    @cached_property
    def _weights(self) -> dict[str, float]:
        texts = [*self._spoken, *self._titles]
        counts = Counter(word for text in texts for word in text)
        return {word: math.log((len(texts) + 1) / (count + 0.5)) for word, count in counts.items()}

    def of(self, rank: int, block: int) -> float:
        """The share, from 0 to 1; 0 where the reference has no title."""
        title = self._titles[rank]
        near = set().union(*self._spoken[max(block - 1, 0) : block + 2])
        whole = sum(self._weights[word] for word in title)
        return sum(self._weights[word] for word in title & near) / whole if whole else 0.0


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in content_words(text) if len(word) > 2}
