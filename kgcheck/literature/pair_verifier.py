"""Verifier of an edge by the sentences of papers that name both of its ends: the one without a key.

The trained model of `kgcheck.literature.pairs` says how likely a sentence has the two to do with each other. Only an
outright denial that has both in its scope contradicts; where an edge has a direction, a sentence counts only if it has
the same one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kgcheck.literature.documents import Document, Span, sentences
from kgcheck.literature.names import naming
from kgcheck.literature.pairs import Around, directed, load_pair_weights, pair_features, probability, text_of
from kgcheck.literature.polarity import lexicon
from kgcheck.literature.roles import acts
from kgcheck.literature.verify import Opinion, Probabilities, quote_at
from kgcheck.model import Stance
from kgcheck.text.assertions import Assertion, PairReading, read_pair
from kgcheck.text.tokens import tokenize
from kgcheck.text.words import is_in, word_pattern

DENIED = 0.8
"""Probability of an outright denial: the share of those read in BioRelEx that are denials (the model card)."""

_SURE_OF_UNLIKE, _SURE_OF_LIKE = 0.5, 0.55
"""Least probabilities for two of different kinds and two of one: benchmarks/README.md has why."""

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
        """Test if a sentence names both ends and holds a word of the relation, or one by which it may be denied."""
        places, relates = self.places, self.relates

        def found(text: str) -> bool:
            words = (token.word for token in tokenize(text))
            return bool(places(text)) and any(relates.match(w) or is_in("relates_denied", w) for w in words)

        return found

    @property
    def places(self) -> Callable[[str], list[tuple[Span, Span]]]:
        """Find the places where a sentence names the two, the nearest first."""
        head, tail = (naming(names, joined=True) for names in (self.head, self.tail))

        def found(sentence: str) -> list[tuple[Span, Span]]:
            if not head or not tail:
                return []
            ones, twos = ([m.span() for m in names.finditer(sentence)] for names in (head, tail))
            apart = [(a, b) for a in ones for b in twos if _are_apart(sentence, *sorted((a, b)))]
            return sorted(apart, key=lambda p: max(p[0][0] - p[1][1], p[1][0] - p[0][1]))[:_MOST]

        return found

    @property
    def relates(self) -> re.Pattern[str]:
        """Words of the relation."""
        general = lexicon()["relates"] + lexicon()["relates_also"]
        return word_pattern([cue.split()[0].lower() for cue in self.cues] or general)

    @property
    def has_direction(self) -> bool:
        """Direction of the claim: one end does something to the other."""
        return any(not act.mutual for act in acts(self.claim))


def _are_apart(sentence: str, first: Span, second: Span) -> bool:
    """Tell if two names stand apart, and a hyphen is before one of them only where it joins it to the other: "A-B"."""
    hyphens = [start for start, _ in (first, second) if start and sentence[start - 1] == "-"]
    return first[1] <= second[0] and all(start == second[0] == first[1] + 1 for start in hyphens)


class _Reading(NamedTuple):
    """Reading of one sentence for an edge."""

    span: Span
    chance: float
    assertion: Assertion


class PairVerifier:
    """Reads the sentences of papers that name both ends of one edge."""

    name = "trained"
    finds_names = True

    def __init__(self, claim: EdgeClaim, *, unlike: bool) -> None:
        self._claim = claim
        self._unlike = unlike
        self._head, self._tail = naming(claim.head), naming(claim.tail)
        self._places, self._relates = claim.places, claim.relates
        self._directed = claim.has_direction
        self._sure = _SURE_OF_UNLIKE if unlike else _SURE_OF_LIKE
        self._weights = load_pair_weights()

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        """See `kgcheck.literature.verify.Verifier`."""
        return [self._opinion(document) for document in documents]

    def _opinion(self, document: Document) -> Opinion:
        around = self._around(document)
        readings = [r for span in document.spans if (r := self._reading(document.abstract, span, around))]
        readings.sort(key=lambda r: -r.chance)
        denials = [r for r in readings if r.assertion is Assertion.DENIED]
        speaks = [r for r in readings if r.assertion is Assertion.STATED and r.chance >= self._sure]
        best = max((r.chance for r in readings if r.assertion is Assertion.STATED), default=0.0)
        chances = Probabilities(supports=best, contradicts=0.0, silent=1 - best)
        stance = Stance.SUPPORTS if speaks else Stance.SILENT
        if denials and not speaks:
            chances, stance = Probabilities(supports=0.0, contradicts=DENIED, silent=1 - DENIED), Stance.CONTRADICTS
        elif denials:
            # One sentence has it, another denies it: of other conditions, or in doubt.
            chances, stance = Probabilities(supports=0.0, contradicts=0.0, silent=1.0), Stance.SILENT
        shown = {Stance.SUPPORTS: speaks, Stance.CONTRADICTS: denials}.get(stance, [])
        note = "one sentence of it says so, another denies it" if denials and speaks else ""
        quotes = [quote_at(document, span) for span in sorted(r.span for r in shown[:_QUOTED])]
        return Opinion.on(document, chances, stance, quotes, note)

    def _around(self, document: Document) -> tuple[Around, tuple[Span, ...]] | None:
        """Find how an abstract names the two, and its sentences; nothing for a paragraph of a whole paper."""
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
        read = {p: read_pair(sentence, *p, self._relates, unlike=self._unlike) for p in places}
        assertion = _together({p: r.assertion for p, r in read.items()})
        best = max((self._chance(r, around) for r in read.values() if r.assertion is assertion), default=0.0)
        return _Reading(span, best, assertion)

    def _chance(self, reading: PairReading, around: Around | None) -> float:
        if not reading.clause or (self._directed and not directed(text_of(reading.clause)).straight):
            return 0.0
        return probability(pair_features(reading.clause, unlike=self._unlike, around=around), self._weights)


def _together(asserted: Mapping[tuple[Span, Span], Assertion]) -> Assertion:
    """Combine the readings of a sentence that names the two in several places: open where those differ."""
    stated = {span for places, a in asserted.items() if a is Assertion.STATED for span in places}
    spoken = {
        a
        for places, a in asserted.items()
        if a is not Assertion.APART and not (a is Assertion.OPEN and stated and stated.isdisjoint(places))
    }
    return spoken.pop() if len(spoken) == 1 else Assertion.OPEN if spoken else Assertion.APART
