"""Features of a claim and an abstract for the trained verifier: numbers, in a fixed order, by names.

Each passage is weighed by how well it fits the claim; then the cues of the passages are compared with those of it.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgcheck.literature.arguments import arguments, content_of, is_named
from kgcheck.literature.polarity import POLARITY, Clauses, clauses_of, compare, lexicon, stemmer
from kgcheck.text.words import word_pattern

CUES = ("denial", "more", "less", "doubt", "affirmation")
SELECTOR = ("cosine", "coverage", "pairs", "numbers", "place", "last", "length", "title", *CUES)
"""Features of one passage, by which it is judged how likely it is the evidence."""

NAMED = ("name", "label", "number", "population", "noun", "human")
"""Kinds of things that a claim names, and that the passages which fit best may not name."""

MAX_PASSAGES = 60
"""Most passages of an abstract that are looked at: those that share most with the claim."""

_WORD = re.compile(r"n't\b|[^\W_]+(?:[-'][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BEST = 3
"""Passages that are searched for what a claim names."""
_SHARPNESS = 1.0
_TAIL = 3
_CAP = 3
_MOST = 0.5
"""A passage with so many of the words of a claim speaks of it."""

Numbers = NDArray[np.float64]


class ContentWords(NamedTuple):
    """Content words, pairs of words, numbers and cues of a text."""

    content: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    cues: Numbers
    length: int
    clauses: Clauses


class Seen(NamedTuple):
    """A claim and the passages of one abstract.

    ``similar`` holds the cosine of each passage to the claim, zeros where there are no vectors.
    """

    claim: ContentWords
    passages: tuple[ContentWords, ...]
    places: tuple[int, ...]
    total: int
    similar: Numbers
    polarity: Numbers
    claim_text: str
    texts: tuple[str, ...]


def look(claim: str, passages: Sequence[str], similar: Sequence[float] | None = None) -> Seen:
    """Count what there is to count."""
    wanted = words_of(claim)
    counted = [words_of(p) for p in passages]
    places = list(range(len(passages)))
    if len(places) > MAX_PASSAGES:
        tail = places[-_TAIL:]
        best = sorted(places[:-_TAIL], key=lambda i: (-len(wanted.content & counted[i].content), i))
        places = sorted(best[: MAX_PASSAGES - _TAIL]) + tail
    cosines = np.zeros(len(places)) if similar is None else np.array([float(similar[i]) for i in places])
    polarity = np.array([compare(wanted.clauses, wanted.content, counted[i].clauses) for i in places])
    polarity = polarity.reshape(len(places), len(POLARITY))
    return Seen(
        claim=wanted,
        passages=tuple(counted[i] for i in places),
        places=tuple(places),
        total=len(passages),
        similar=cosines,
        polarity=polarity,
        claim_text=claim,
        texts=tuple(passages[i] for i in places),
    )


def words_of(text: str) -> ContentWords:
    """Stems, pairs of stems, numbers and cues of a text."""
    words = _WORD.findall(text.lower())
    stems = stemmer().stemWords(words)
    cues, empty = _lexicon()
    content = frozenset(s for s, w in zip(stems, words, strict=True) if w not in empty and len(w) > 1)
    counts = np.array([sum(1 for w in words if pattern.match(w)) for pattern in cues], dtype=float)
    pairs = frozenset(pairwise(stems))
    return ContentWords(
        content, pairs, frozenset(_NUMBER.findall(text)), np.minimum(counts, _CAP), len(words), clauses_of(text)
    )


def passage_features(seen: Seen) -> Numbers:
    """Features of every passage, by the names in SELECTOR."""
    claim = seen.claim
    rows = []
    for place, words, cosine in zip(seen.places, seen.passages, seen.similar, strict=True):
        row = [
            cosine,
            _share(claim.content, words.content),
            _share(claim.pairs, words.pairs),
            float(bool(claim.numbers & words.numbers)),
            place / max(seen.total, 1),
            float(place >= seen.total - 2),
            min(words.length, 60) / 30,
            float(place == 0),
            *words.cues,
        ]
        rows.append(row)
    return np.array(rows, dtype=float).reshape(len(rows), len(SELECTOR))


def claim_features(seen: Seen, fit: Numbers) -> Numbers:
    """Features of a claim against an abstract."""
    whole = _side(seen, fit, list(range(len(seen.passages))))
    tail = _side(seen, fit, list(range(max(0, len(seen.passages) - _TAIL), len(seen.passages))))
    claim = [*seen.claim.cues, min(seen.claim.length, 40) / 20]
    return np.array([*whole, *tail, *claim, min(seen.total, 30) / 10, *_unnamed(seen, fit)])


def feature_names() -> list[str]:
    """Names of the features of `claim_features`, in their order."""
    side = [
        *(
            "fit",
            "fit2",
            "fit3",
            "cosine",
            "cosine_top",
            "coverage",
            "coverage_top",
            "coverage_all",
            "pairs",
            "pairs_top",
        ),
        *("number_shared", "number_missing", "top_place"),
        *(f"pooled_{c}" for c in CUES),
        *(f"top_{c}" for c in CUES),
        *(f"sum_{c}" for c in CUES),
        *(
            "denial_agrees",
            "denial_differs",
            "denial_top",
            "way_pooled",
            "way_top",
            "way_apart",
            "way_said",
            "way_said_top",
        ),
        *("more_less", "less_more", "more_more", "less_less"),
        *(f"polar_top_{n}" for n in POLARITY[1:]),
        *(f"polar_pooled_{n}" for n in POLARITY[1:]),
        *(f"polar_near_{n}" for n in POLARITY),
        *("polar_for", "polar_against", "polar_sum"),
    ]
    return [
        *(f"whole_{n}" for n in side),
        *(f"tail_{n}" for n in side),
        *(f"claim_{c}" for c in CUES),
        "claim_length",
        "passages",
        *(f"unnamed_{kind}" for kind in NAMED),
        "named",
    ]


def uses_vectors(name: str) -> bool:
    """Tell if a feature needs embeddings."""
    return name.endswith(("_cosine", "_cosine_top"))


def _side(seen: Seen, fit: Numbers, rows: list[int]) -> list[float]:
    claim, passages = seen.claim, [seen.passages[i] for i in rows]
    odds, cosines = fit[rows], seen.similar[rows]
    order = np.argsort(-odds, kind="stable")
    top = int(order[0])
    weights = np.exp(_SHARPNESS * (odds - odds.max()))
    weights /= weights.sum()
    cues = np.array([p.cues for p in passages])
    coverage = np.array([_share(claim.content, p.content) for p in passages])
    pairs = np.array([_share(claim.pairs, p.pairs) for p in passages])
    together: frozenset[str] = frozenset().union(*(p.content for p in passages))
    figures: frozenset[str] = frozenset().union(*(p.numbers for p in passages))
    pooled, first = weights @ cues, cues[top]
    denied, way = float(claim.cues[0] > 0), _way(claim.cues)
    up, down = float(claim.cues[1] > 0), float(claim.cues[2] > 0)
    return [
        float(odds[top]),
        float(odds[order[:2]].mean()),
        float(odds[order[:3]].mean()),
        float(cosines.max()),
        float(cosines[top]),
        float(coverage.max()),
        float(coverage[top]),
        _share(claim.content, together),
        float(pairs.max()),
        float(pairs[top]),
        float(bool(claim.numbers & passages[top].numbers)),
        float(bool(claim.numbers) and not claim.numbers & figures),
        rows[top] / max(len(seen.passages), 1),
        *pooled,
        *first,
        *np.minimum(cues.sum(axis=0), 6),
        float(pooled[0]) * (2 * denied - 1),
        float((pooled[0] > 0.5) != bool(denied)),
        float(first[0]) * (1 - 2 * denied),
        way * _way(pooled),
        way * _way(first),
        abs(way - _way(first)),
        _way(pooled),
        _way(first),
        up * float(pooled[2]),
        down * float(pooled[1]),
        up * float(pooled[1]),
        down * float(pooled[2]),
        *_polarity(seen.polarity[rows], weights, top),
    ]


def _polarity(polarities: Numbers, weights: Numbers, top: int) -> list[float]:
    """Polarity of the best passage, of all by their fit, and of the one with most of the claim's words."""
    matched = polarities[:, :1]
    worth = polarities[:, 1:] * matched
    nearest = int(np.argmax(matched[:, 0]))
    sharp = np.where(matched[:, 0] >= _MOST, matched[:, 0] * polarities[:, -1], 0.0)
    return [
        *worth[top],
        *(weights @ worth),
        float(matched[nearest, 0]),
        *worth[nearest],
        float(sharp.max(initial=0.0)),
        float(sharp.min(initial=0.0)),
        float(np.clip(sharp.sum(), -2, 2)),
    ]


def _unnamed(seen: Seen, fit: Numbers) -> list[float]:
    """Numbers of things of each kind that a claim names and the best passages do not, and of all that it names."""
    best = np.argsort(-fit, kind="stable")[:_BEST]
    content = content_of(" ; ".join(seen.texts[int(i)] for i in best))
    wanted = arguments(seen.claim_text)
    lacking = [a.kind for a in wanted if not is_named(a, content)]
    return [*(min(lacking.count(kind), 4) / 2 for kind in NAMED), min(len(wanted), 10) / 5]


def _way(cues: Numbers) -> float:
    """Between -1, all words say less, and 1, all say more."""
    return float((cues[1] - cues[2]) / (cues[1] + cues[2] + 0.5))


def _share(wanted: frozenset[Any], there: frozenset[Any]) -> float:
    return len(wanted & there) / max(len(wanted), 1)


@cache
def _lexicon() -> tuple[tuple[re.Pattern[str], ...], frozenset[str]]:
    raw = lexicon()
    return tuple(word_pattern(raw[name]) for name in CUES), frozenset(raw["empty"])
