"""The order of the papers of a topic: relevance, citations and recency, with room for those that disagree."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kgcheck.literature.relevance import Leaning, topic_rules


class TopicPaper(NamedTuple):
    """What a paper is ranked by."""

    id: str
    relevance: float
    citations: int | None
    year: int | None
    leaning: Leaning


class RankedAt(NamedTuple):
    """A paper at its place: its number among those that were given."""

    number: int
    score: float
    of: TopicPaper


def ranked(papers: Sequence[TopicPaper], year: int) -> list[RankedAt]:
    """Papers in order."""
    rules = topic_rules()
    top = max((p.relevance for p in papers), default=0.0) or 1.0
    most = max((p.citations or 0 for p in papers), default=0)
    scored = [RankedAt(n, _score(p, top, most, year), p) for n, p in enumerate(papers)]
    scored.sort(key=lambda r: (-r.score, r.of.id))
    waiting = {leaning: [r for r in reversed(scored) if r.of.leaning == leaning] for leaning in rules.least}
    queue, taken = list(reversed(scored)), set[int]()
    found: list[RankedAt] = []
    have: Counter[Leaning] = Counter()
    while len(found) < len(scored):
        due = [k for k, share in rules.least.items() if waiting[k] and have[k] < math.floor(share * (len(found) + 1))]
        source = waiting[due[0]] if due else queue
        while source and source[-1].number in taken:
            source.pop()
        if not source:
            continue
        chosen = source.pop()
        taken.add(chosen.number)
        have[chosen.of.leaning] += 1
        found.append(chosen)
    return found


def _score(paper: TopicPaper, top: float, most: int, year: int) -> float:
    """The weighted mean of what is known, each between 0 and 1."""
    rules = topic_rules().ranking
    parts = [(rules.relevance, max(paper.relevance, 0.0) / top)]
    if paper.citations is not None:
        parts.append((rules.citations, math.log1p(paper.citations) / math.log1p(most) if most else 0.0))
    if paper.year is not None:
        parts.append((rules.recency, 0.5 ** (max(year - paper.year, 0) / rules.half_life)))
    return round(sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts), 4)
