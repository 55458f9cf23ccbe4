"""Relevance of a paper to a topic: the weighted mean of the relevance of its sections.

By vectors that is the cosine of section and topic; by words the BM25 of the section, as a share of what the words of
the topic alone would have.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from kgcheck.choices import SectionKind
from kgcheck.literature.documents import sentences
from kgcheck.literature.embed import Embedder, Vectors
from kgcheck.literature.lexical import Lexical, content_words, stems
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.polarity import clauses_of
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir
from kgcheck.text.words import either

Leaning = Literal["against", "comparison", "for", "none"]
"""Leaning of the words of a paper.

Only a heuristic for the choice of papers: what one says, a verifier reads.
"""


class TopicLimits(Value):
    """Limits of what is looked at in a round."""

    followed: int = Field(gt=0)
    candidates: int = Field(gt=0)
    citations: int = Field(gt=0)


class TopicRanking(Value):
    """Components of the rank of a paper."""

    relevance: float = Field(ge=0)
    citations: float = Field(ge=0)
    recency: float = Field(ge=0)
    half_life: float = Field(gt=0)


class TopicRules(Value):
    """The file ``corpus/topics/rules.toml``."""

    sections: dict[SectionKind, float]
    limits: TopicLimits
    ranking: TopicRanking
    least: dict[Leaning, float]
    leaning: dict[Leaning, tuple[str, ...]]


@cache
def topic_rules() -> TopicRules:
    """The rules that are shipped."""
    return read_value(resource_dir("corpus") / "topics" / "rules.toml", TopicRules)


SectionTexts = Mapping[SectionKind, Sequence[str]]
"""The paragraphs of a paper by the kind of their section."""


class Fit(NamedTuple):
    """Relevance of a paper to a topic, and that of each of its sections, as far as it has them."""

    relevance: float
    sections: dict[SectionKind, float]


def section_texts(paper: WholePaper) -> SectionTexts:
    """The paragraphs of a paper that count for a topic."""
    found: dict[SectionKind, list[str]] = defaultdict(list)
    for section in paper.sections:
        found[section.kind] += [p.text for p in section.paragraphs if not p.legend]
    kept = {kind: texts for kind, texts in found.items() if texts and kind in topic_rules().sections}
    if not kept:
        return {"abstract": [paper.title, *(text for texts in found.values() for text in texts)]}
    if "abstract" in kept:
        first, *rest = kept["abstract"]
        kept["abstract"] = [f"{paper.title} {first}".strip(), *rest]
    return kept


class TopicFit:
    """Scores papers for a topic."""

    def __init__(self, topic: str, embedder: Embedder | None) -> None:
        self._topic = topic
        self._embedder = embedder
        self._means: dict[tuple[str, ...], Vectors] = {}

    def fits(self, papers: Sequence[SectionTexts]) -> list[Fit]:
        weights = topic_rules().sections
        by_section: list[dict[SectionKind, float]] = [{} for _ in papers]
        for kind in weights:
            having = [place for place, paper in enumerate(papers) if paper.get(kind)]
            texts = [tuple(papers[place][kind]) for place in having]
            for place, value in zip(having, self._values(texts), strict=True):
                by_section[place][kind] = round(value, 4)
        totals = [sum(weights[kind] for kind in values) or 1.0 for values in by_section]
        return [
            Fit(round(sum(weights[kind] * value for kind, value in values.items()) / total, 4), values)
            for values, total in zip(by_section, totals, strict=True)
        ]

    def _values(self, texts: list[tuple[str, ...]]) -> list[float]:
        if not texts:
            return []
        if self._embedder is None:
            words = Lexical.of([self._topic, *(" ".join(paragraphs) for paragraphs in texts)])
            first, *rest = words.scores(self._topic).tolist()
            return [min(1.0, score / first) if first else 0.0 for score in rest]
        topic = (self._topic,)
        lacking = [t for t in dict.fromkeys((topic, *texts)) if t not in self._means]
        if lacking:
            vectors = self._embedder.encode([p for paragraphs in lacking for p in paragraphs])
            ends = np.cumsum([len(paragraphs) for paragraphs in lacking])[:-1]
            for paragraphs, own in zip(lacking, np.split(vectors, ends), strict=True):
                mean = own.mean(axis=0)
                self._means[paragraphs] = mean / max(float(np.linalg.norm(mean)), 1e-9)
        return [float(self._means[t] @ self._means[topic]) for t in texts]


def leaning_of(paper: WholePaper, topic: str) -> Leaning:
    """Return the leaning of a paper, by the words of its title and abstract's sentences on the topic."""
    wanted = stems(content_words(topic))
    abstract = " ".join(p.text for s in paper.sections if s.kind == "abstract" for p in s.paragraphs)
    pieces = [paper.title, *(abstract[start:end] for start, end in sentences(abstract))]
    about = [piece.casefold() for piece in pieces if wanted & stems(content_words(piece))]
    found = {kind for kind, pattern in _leaning_patterns().items() for piece in about if pattern.search(piece)}
    if any(_denies(piece, wanted) for piece in about):
        found.add("against")
    return next((kind for kind in topic_rules().leaning if kind in found), "none")


def _denies(sentence: str, wanted: frozenset[str]) -> bool:
    """Tell whether a clause that names the topic has a denial."""
    return any(
        any(word.kind == "deny" for word in clause) and not wanted.isdisjoint(word.stem for word in clause)
        for clause in clauses_of(sentence)
    )


@cache
def _leaning_patterns() -> dict[Leaning, re.Pattern[str]]:
    rules = topic_rules().leaning
    return {kind: re.compile(rf"\b(?:{either(words)})") for kind, words in rules.items()}
