"""Numeric features of a claim against an abstract's sentences, for the trained verifier."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kgcheck.literature.arguments import arguments, content_of, is_named
from kgcheck.literature.polarity import CUES, POLARITY, Clauses, Numbers, clauses_of, compare, empty_words
from kgcheck.text.words import BREAKS, compounds, pattern_of_list, stemmer

NAMED = ("name", "label", "number", "population", "noun", "human")
"""Kinds of things that a claim names, and that the passages which fit best may not name."""

MAX_PASSAGES = 60  # most passages of an abstract that are looked at: those that share most with the claim
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BEST = 3  # passages that are searched for what a claim names
_SHARPNESS = 1.0
_TAIL = 3
_CAP = 3
_MOST = 0.5  # A passage with so many of the words of a claim speaks of it


class ContentWords(NamedTuple):
    """Content words, pairs of words, numbers and cues of a text."""

    content: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    cues: Numbers
    length: int
    clauses: Clauses


class Seen(NamedTuple):
    """A claim and the passages of one abstract."""

    claim: ContentWords
    passages: tuple[ContentWords, ...]
    places: tuple[int, ...]
    total: int
    similar: Numbers  # the cosine of each passage to the claim, zeros where there are no vectors
    polarity: Numbers
    claim_text: str
    texts: tuple[str, ...]


def look(claim: str, passages: Sequence[str], similar: Sequence[float] | None = None) -> Seen:
    """Count words, cues and polarities of a claim and of the passages of an abstract."""
    wanted = words_of(claim)
    counted = [words_of(p) for p in passages]
    places = list(range(len(passages)))
    if len(places) > MAX_PASSAGES:
        tail = places[-_TAIL:]
        best = sorted(places[:-_TAIL], key=lambda i: (-len(wanted.content & counted[i].content), i))
        places = sorted(best[: MAX_PASSAGES - _TAIL]) + tail
    cosines = np.zeros(len(places)) if similar is None else np.array([float(similar[i]) for i in places])
    polarity = np.array([compare(wanted.clauses, wanted.content, counted[i].clauses) for i in places])
    return Seen(
        claim=wanted,
        passages=tuple(counted[i] for i in places),
        places=tuple(places),
        total=len(passages),
        similar=cosines,
        polarity=polarity.reshape(len(places), len(POLARITY)),
        claim_text=claim,
        texts=tuple(passages[i] for i in places),
    )


def words_of(text: str) -> ContentWords:
    """Stems, pairs of stems, numbers and cues of a text."""
    words = [w for w in compounds(text.lower()) if w not in BREAKS]
    stems = stemmer().stemWords(words)
    content = frozenset(s for s, w in zip(stems, words, strict=True) if w not in empty_words() and len(w) > 1)
    counts = [sum(1 for w in words if pattern_of_list("cues", kind).match(w)) for kind in CUES]
    return ContentWords(
        content=content,
        pairs=frozenset(pairwise(stems)),
        numbers=frozenset(_NUMBER.findall(text)),
        cues=np.minimum(np.array(counts, dtype=float), _CAP),
        length=len(words),
        clauses=clauses_of(text),
    )


def passage_features(seen: Seen) -> dict[str, Numbers]:
    """Compute the features by which it is judged how likely each passage is the evidence, a column each."""
    claim, passages = seen.claim, seen.passages
    places = np.array(seen.places, dtype=float)
    columns = {
        "cosine": seen.similar,
        "coverage": _shares(claim.content, [p.content for p in passages]),
        "pairs": _shares(claim.pairs, [p.pairs for p in passages]),
        "numbers": [bool(claim.numbers & p.numbers) for p in passages],
        "place": places / max(seen.total, 1),
        "last": places >= seen.total - 2,
        "length": [min(p.length, 60) / 30 for p in passages],
        "title": places == 0,
        **_by_cue("", np.array([p.cues for p in passages]).reshape(-1, len(CUES)).T),
    }
    return {name: np.array(column, dtype=float) for name, column in columns.items()}


def claim_features(seen: Seen, fit: Numbers) -> dict[str, float]:
    """Compute the features of a claim against an abstract, whose passages fit it so well."""
    every = list(range(len(seen.passages)))
    sides = {"whole": _side(seen, fit, every), "tail": _side(seen, fit, every[-_TAIL:])}
    best = np.argsort(-fit, kind="stable")[:_BEST]
    content = content_of(" ; ".join(seen.texts[int(i)] for i in best))
    named = arguments(seen.claim_text)
    lacking = [a.kind for a in named if not is_named(a, content)]
    return {
        **{f"{side}_{name}": value for side, features in sides.items() for name, value in features.items()},
        **_by_cue("claim_", seen.claim.cues),
        "claim_length": min(seen.claim.length, 40) / 20,
        "passages": min(seen.total, 30) / 10,
        **{f"unnamed_{kind}": min(lacking.count(kind), 4) / 2 for kind in NAMED},
        "named": min(len(named), 10) / 5,
    }


def rows_of(features: Mapping[str, Any], names: Sequence[str]) -> Numbers:
    """Take the named features, a column each: one row a passage, or the one of a claim."""
    # One row after the other in memory: the order of sums is that of training, to the last digit.
    return np.ascontiguousarray(np.atleast_2d(np.array([features[name] for name in names]).T))


def needs_vectors(name: str) -> bool:
    """Tell if a feature needs embeddings."""
    return "cosine" in name


def _by_cue(prefix: str, values: Iterable[Any]) -> dict[str, Any]:
    return {f"{prefix}{cue}": value for cue, value in zip(CUES, values, strict=True)}


def _side(seen: Seen, fit: Numbers, rows: list[int]) -> dict[str, float]:
    claim, passages = seen.claim, [seen.passages[i] for i in rows]
    odds, cosines = fit[rows], seen.similar[rows]
    order = np.argsort(-odds, kind="stable")
    top = int(order[0])
    weights = np.exp(_SHARPNESS * (odds - odds.max()))
    weights /= weights.sum()
    cues = np.array([p.cues for p in passages])
    coverage = _shares(claim.content, [p.content for p in passages])
    pairs = _shares(claim.pairs, [p.pairs for p in passages])
    pooled, first = weights @ cues, cues[top]
    denied, way = float(claim.cues[0] > 0), _way(claim.cues)
    up, down = float(claim.cues[1] > 0), float(claim.cues[2] > 0)
    return {
        "fit": float(odds[top]),
        "fit2": float(odds[order[:2]].mean()),
        "fit3": float(odds[order[:3]].mean()),
        "cosine": float(cosines.max()),
        "cosine_top": float(cosines[top]),
        "coverage": max(coverage),
        "coverage_top": coverage[top],
        "coverage_all": _shares(claim.content, [frozenset().union(*(p.content for p in passages))])[0],
        "pairs": max(pairs),
        "pairs_top": pairs[top],
        "number_shared": float(bool(claim.numbers & passages[top].numbers)),
        "number_missing": float(bool(claim.numbers) and not any(claim.numbers & p.numbers for p in passages)),
        "top_place": rows[top] / max(len(seen.passages), 1),
        **_by_cue("pooled_", pooled),
        **_by_cue("top_", first),
        **_by_cue("sum_", np.minimum(cues.sum(axis=0), 6)),
        "denial_agrees": float(pooled[0]) * (2 * denied - 1),
        "denial_differs": float((pooled[0] > 0.5) != bool(denied)),
        "denial_top": float(first[0]) * (1 - 2 * denied),
        "way_pooled": way * _way(pooled),
        "way_top": way * _way(first),
        "way_apart": abs(way - _way(first)),
        "way_said": _way(pooled),
        "way_said_top": _way(first),
        "more_less": up * float(pooled[2]),
        "less_more": down * float(pooled[1]),
        "more_more": up * float(pooled[1]),
        "less_less": down * float(pooled[2]),
        **_polarity(seen.polarity[rows], weights, top),
    }


def _polarity(polarities: Numbers, weights: Numbers, top: int) -> dict[str, float]:
    """Polarity of the best passage, of all by their fit, and of the one with most of the claim's words."""
    matched = polarities[:, :1]
    worth = polarities[:, 1:] * matched
    nearest = int(np.argmax(matched[:, 0]))
    sharp = np.where(matched[:, 0] >= _MOST, matched[:, 0] * polarities[:, -1], 0.0)
    sides = {"top": worth[top], "pooled": weights @ worth}
    return {
        **{f"polar_{side}_{n}": v for side, row in sides.items() for n, v in zip(POLARITY[1:], row, strict=True)},
        "polar_near_matched": float(matched[nearest, 0]),
        **{f"polar_near_{n}": v for n, v in zip(POLARITY[1:], worth[nearest], strict=True)},
        "polar_for": float(sharp.max(initial=0.0)),
        "polar_against": float(sharp.min(initial=0.0)),
        "polar_sum": float(np.clip(sharp.sum(), -2, 2)),
    }


def _way(cues: Numbers) -> float:
    return float((cues[1] - cues[2]) / (cues[1] + cues[2] + 0.5))


def _shares(wanted: frozenset[Any], passages: Iterable[frozenset[Any]]) -> list[float]:
    return [len(wanted & there) / max(len(wanted), 1) for there in passages]
