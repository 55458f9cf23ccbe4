"""What papers say of an edge, read from the sentences that name both of its ends: the verifier without a key.

The trained model of `kgcheck.literature.pairs` says how likely a sentence has the two to do with each other. Only an
outright denial that has both in its scope contradicts; where an edge has a direction, a sentence counts only if it has
the same one.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kgcheck.literature.documents import Document, Span, sentences
from kgcheck.literature.names import naming
from kgcheck.literature.pair_denials import denies
from kgcheck.literature.pairs import Around, directed, load_pair_weights, masked, pair_features, probability
from kgcheck.literature.roles import acts
from kgcheck.literature.verify import Opinion, Probabilities, quote_at
from kgcheck.model import Stance

DENIED = 0.8
"""How sure an outright denial is: of those of BioRelEx that were read, so many are denials (the model card)."""

_MOST = 12
"""Places in a sentence where the two are named that are looked at."""

_ABSTRACT = 4
"""Sentences from which on a text is an abstract: in a shorter note it means nothing how often the two are named."""

_QUOTED = 2
"""Sentences of a paper that are quoted."""


class EdgeClaim(NamedTuple):
    """An edge in words, and the names of its ends."""

    claim: str
    head: tuple[str, ...]
    tail: tuple[str, ...]
    words: str
    cues: tuple[str, ...]

    @property
    def matches(self) -> Callable[[str], bool]:
        """Whether a sentence names both ends and holds one of the cues."""
        head, tail = naming(self.head), naming(self.tail)
        verb = re.compile(rf"(?i)\b(?:{'|'.join(map(re.escape, self.cues))})" if self.cues else "")
        return lambda text: bool(head and tail and head.search(text) and tail.search(text) and verb.search(text))

    @property
    def has_direction(self) -> bool:
        """Whether the claim has one end do something to the other."""
        return any(not act.mutual for act in acts(self.claim))


class _Reading(NamedTuple):
    """What one sentence says of an edge."""

    span: Span
    chance: float
    denied: bool


class PairVerifier:
    """Reads the sentences of papers that name both ends of one edge."""

    name = "trained"

    def __init__(self, claim: EdgeClaim, *, unlike: bool) -> None:
        self._claim = claim
        self._unlike = unlike
        self._head, self._tail = naming(claim.head), naming(claim.tail)
        self._cues = re.compile(f"(?:{'|'.join(map(re.escape, claim.cues)) or '[a-z]'})".lower())
        self._directed = claim.has_direction
        self._weights = load_pair_weights()

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        """See `kgcheck.literature.verify.Verifier`."""
        return [self._opinion(document) for document in documents]

    def _opinion(self, document: Document) -> Opinion:
        around = self._around(document)
        readings = [r for span in document.spans if (r := self._reading(document.abstract, span, around))]
        readings.sort(key=lambda r: -r.chance)
        denials = [r for r in readings if r.denied]
        speaks = [r for r in readings if not r.denied and r.chance >= 1 / 2]
        best = max((r.chance for r in readings if not r.denied), default=0.0)
        chances = Probabilities(supports=best, contradicts=0.0, silent=1 - best)
        if denials and not speaks:
            chances = Probabilities(supports=0.0, contradicts=DENIED, silent=1 - DENIED)
        elif denials:
            # One sentence has it, another denies it: of other conditions, or in doubt.
            chances = Probabilities(supports=0.0, contradicts=0.0, silent=1.0)
        shown = {Stance.SUPPORTS: speaks, Stance.CONTRADICTS: denials}.get(chances.stance, [])
        note = "one sentence of it says so, another denies it" if denials and speaks else ""
        quotes = [quote_at(document, span) for span in sorted(r.span for r in shown[:_QUOTED])]
        return Opinion.on(document, chances, quotes=quotes, note=note)

    def _around(self, document: Document) -> tuple[Around, tuple[Span, ...]] | None:
        """How an abstract names the two, with where its sentences are; nothing for a paragraph of a whole paper."""
        if document.paper or not self._head or not self._tail:
            return None
        # Those of the document may be the ones alone that are to be read.
        spans = sentences(document.abstract)
        if len(spans) < _ABSTRACT:
            return None
        texts = [document.title, *(document.abstract[a:b] for a, b in spans)]
        ones, twos = (
            tuple(i for i, text in enumerate(texts) for _ in names.finditer(text)) for names in (self._head, self._tail)
        )
        return Around(len(texts), ones, twos, 0), spans

    def _reading(
        self, text: str, span: Span, abstract: tuple[Around, tuple[Span, ...]] | None = None
    ) -> _Reading | None:
        sentence = text[slice(*span)]
        around = abstract[0]._replace(at=sum(a <= span[0] for a, _ in abstract[1])) if abstract else None
        places = self._places(sentence)
        if not places:
            return None
        denied = any(denies(sentence, one, two, self._cues) for one, two in places)
        best = max(self._chance(sentence, one, two, around) for one, two in places)
        return _Reading(span, best, denied)

    def _chance(self, sentence: str, one: Span, two: Span, around: Around | None) -> float:
        if self._directed and not directed(masked(sentence, one, two)).straight:
            return 0.0
        seen = pair_features(sentence, one, two, unlike=self._unlike, around=around)
        return probability(seen, self._weights)

    def _places(self, sentence: str) -> list[tuple[Span, Span]]:
        """Where the two are named, the nearest first."""
        if not self._head or not self._tail:
            return []
        ones = [m.span() for m in self._head.finditer(sentence)]
        twos = [m.span() for m in self._tail.finditer(sentence)]
        apart = [(a, b) for a in ones for b in twos if a[1] <= b[0] or b[1] <= a[0]]
        return sorted(apart, key=lambda p: max(p[0][0] - p[1][1], p[1][0] - p[0][1]))[:_MOST]
