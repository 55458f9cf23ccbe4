"""PairVerifier: judge an edge by sentences that name both its ends, with a trained model.

Its features stand between, before and after the two names, and tell how often and where an abstract names them.
``python -m benchmarks.relations`` trains the weights in ``corpus/verifier/pairs.json``. Only an outright denial that
has both in its scope contradicts; where an edge has a direction, a sentence counts only if it has the same one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from kgcheck.literature.documents import Document, Span, sentences
from kgcheck.literature.names import naming
from kgcheck.literature.polarity import CUES
from kgcheck.literature.roles import Act, acts
from kgcheck.literature.trained_verifier import read_weights
from kgcheck.literature.verify import SILENCE, Opinion, Probabilities, quote_at
from kgcheck.model import Stance, Value
from kgcheck.resources import resource_dir
from kgcheck.text.assertions import ONE, TWO, Assertion, read_pair
from kgcheck.text.words import is_in, is_symbol, pattern_of_list, stemmer, tokenize, verifier_rules, word_pattern

WEIGHTS = "verifier/pairs.json"
_BREAKS = frozenset(("whereas", "while", "but", "although", "though", "which", "because", ";", ":"))
_AROUND = 6
_UNLIKE = ("far", "near", "very_far", "names_between", "listed", "denial_between", "act_mutual", "commas", "breaks")
"""Features that mean something else of two things of different kinds."""

_LIST = frozenset((",", "and", "or", "/", "-", "(", ")", "as", "well", "both", "the", "with"))
OTHER = "Xname3"
_RULES_OTHERS = re.compile(
    rf"({ONE}|{TWO})-(?:dependent|controlled|regulated|directed|driven|mediated|induced|activated|stimulated"
    rf"|repressed|inhibited)"
    rf"|(?:under (?:the )?control of|dependent (?:on|upon)|depend(?:s|ed)? (?:on|upon)|controlled by|requires?"
    rf"|required) (?:[\w-]+ ){{0,4}}?({ONE}|{TWO})"
)
_JOINS = frozenset(("by", "with", "to", "and", "on", "in"))
_GAPS = ((1, 1), (2, 2), (3, 5), (6, 10), (11, 20))
_TOO_LONG = 120  # words of a sentence; of a longer one only those near the names are read


class PairWeights(Value):
    """A linear model over named features."""

    version: int
    intercept: float
    weights: Mapping[str, float]


class DirectedAs(NamedTuple):
    """Direction between two names: the first does it to the second, the other way round, or both to each other."""

    straight: bool
    turned: bool
    mutual: bool


def text_of(clause: Sequence[str]) -> str:
    """The words of a clause as they are written."""
    return " ".join(clause).replace(" - ", "-")


def directed(text: str, found: Iterable[Act] | None = None) -> DirectedAs:
    """Read the direction between two names from the text of a clause with marks for them."""
    straight = turned = mutual = False
    ruled = {m[1] or m[2] for m in _RULES_OTHERS.finditer(text)}
    if len(ruled) == 1:
        # "A-dependent transcription of B", "B is under the control of A"
        return DirectedAs(ONE in ruled, TWO in ruled, mutual=False)
    for act in acts(text) if found is None else found:
        if ONE in act.agent and TWO in act.patient:
            straight, mutual = straight or not act.mutual, mutual or act.mutual
        elif TWO in act.agent and ONE in act.patient:
            turned, mutual = turned or not act.mutual, mutual or act.mutual
    return DirectedAs(straight, turned, mutual)


class Around(NamedTuple):
    """Places at which an abstract, its title included, names the two of a sentence of it."""

    sentences: int
    ones: tuple[int, ...]
    twos: tuple[int, ...]
    at: int

    @property
    def features(self) -> dict[str, float]:
        """Features of the abstract; all nought where there is none."""
        both, last = set(self.ones) & set(self.twos), self.sentences - 1
        least, most = sorted((len(self.ones), len(self.twos)))
        return {
            "doc": 1.0,
            "doc_both": float(np.log1p(len(both))),
            "doc_both_share": len(both) / max(self.sentences, 1),
            "doc_once": float(len(both) == 1),
            "doc_least": float(np.log1p(least)),
            "doc_least_once": float(least == 1),
            "doc_most": float(np.log1p(most)),
            "doc_title_both": float(0 in self.ones and 0 in self.twos),
            "doc_title_one": float(0 in self.ones or 0 in self.twos),
            "doc_last_both": float(last in self.ones and last in self.twos),
            "doc_in_title": float(self.at == 0),
            "doc_in_last": float(self.at == last),
        }


def pair_features(clause: Sequence[str], *, unlike: bool = False, around: Around | None = None) -> dict[str, float]:
    """Compute the features of two names in the words of a clause."""
    text = text_of(clause)
    tokens = [OTHER if is_symbol(t) and t not in (ONE, TWO) else t for t in clause]
    a, b = sorted(tokens.index(mark) if mark in tokens else 0 for mark in (ONE, TWO))
    begin = max(0, a - _TOO_LONG)
    tokens, b, a = tokens[begin : b + _TOO_LONG], b - begin, a - begin
    before, between, after = tokens[:a], tokens[a + 1 : b], tokens[b + 1 :]
    words = [w for w in between if w[0].isalnum() and w != OTHER]
    read = acts(text)
    way = directed(text, read)
    found = {
        "far": float(np.log1p(len(between))),
        "near": float(len(between) <= 3),
        "very_far": float(len(between) > 25),
        "names_between": float(min(between.count(OTHER), 4)),
        "names_all": float(np.log1p(tokens.count(OTHER))),
        "commas": float(min(between.count(","), 4)),
        "breaks": float(min(sum(w in _BREAKS for w in between), 2)),
        "listed": float(all(w in _LIST or w == OTHER for w in between)),
        "hyphen": float(between in (["-"], ["/"])),
        "length": min(len(tokens), 80) / 40,
        "act": float(way.straight or way.turned),
        "act_mutual": float(way.mutual),
        "act_denied": float(any(x.denied and all(m in x.agent + x.patient for m in (ONE, TWO)) for x in read)),
    }
    beside = {"between": words, "around": [*before[-_AROUND:], *after[:_AROUND]]}
    for kind in CUES:
        matches = pattern_of_list("cues", kind).match
        found |= {f"{kind}_{where}": float(any(map(matches, kept))) for where, kept in beside.items()}
    if unlike:
        found |= {f"unlike_{name}": found[name] for name in _UNLIKE} | {"unlike": 1.0}
    found |= _structure(tokens, a, b)
    if around:
        found |= around.features
    for where, kept in (("b", words), ("f", before[-_AROUND:]), ("a", after[:_AROUND]), ("s", [*before, *after])):
        stems = stemmer().stemWords([w for w in kept if w.isalpha() and w.islower()])
        found |= {f"{where}:{stem}": 1.0 for stem in stems}
    for where, ends in (("n", between[:1]), ("p", between[-1:]), ("e", after[:1]), ("d", before[-1:])):
        found |= {f"{where}:{word.lower()}": 1.0 for word in ends}
    return found


def _structure(tokens: Sequence[str], a: int, b: int) -> dict[str, float]:
    between, gap = tokens[a + 1 : b], b - a
    others = [i for i, t in enumerate(tokens) if t == OTHER]
    relates = pattern_of_list("cues", "relates")
    verbs = [i for i, t in enumerate(tokens) if relates.match(t)]
    inner = [i for i in verbs if a < i < b]
    left = min((a - i for i in verbs if i < a), default=_TOO_LONG)
    right = min((i - b for i in verbs if i > b), default=_TOO_LONG)
    apart = any(t == "," or t == OTHER or t in _BREAKS for t in between)
    seen = {
        "nearer_left": any(0 < a - i < gap for i in others),
        "nearer_right": any(0 < i - b < gap for i in others),
        "no_name_between": OTHER not in between,
        "relates_left": left <= 3,
        "relates_left_far": left <= 8,
        "relates_right": right <= 3,
        "relates_none": not verbs,
        "relates_clean": bool(inner) and not apart,
        "relates_after_one": bool(inner) and inner[0] - a <= 2,
        "relates_before_two": bool(inner) and b - inner[-1] <= 3,
        "of_with": "of" in tokens[max(0, a - 2) : a] and any(t in _JOINS for t in between),
        "between_and": a > 0 and tokens[a - 1] == "between",
        "and_alone": between == ["and"],
        "comma_and": "," in between and ("and" in between or "or" in between),
        "clause": any(t in ("which", "that", "who") for t in between),
        "be": any(t in ("is", "are", "was", "were", "been") for t in between),
        "first": a <= 3,
        **{f"gap_{low}": low <= gap <= high for low, high in _GAPS},
        "ones": min(tokens.count(ONE), 4),
        "twos": min(tokens.count(TWO), 4),
        "relates_between": min(len(inner), 3),
    }
    found = {name: float(value) for name, value in seen.items()}
    if inner:
        found[f"t:{stemmer().stemWord(tokens[inner[0]])}"] = 1.0
    if verbs:
        nearest = min(verbs, key=lambda i: min(abs(i - a), abs(i - b)))
        side = "l" if nearest < a else "r" if nearest > b else "m"
        found[f"t{side}:{stemmer().stemWord(tokens[nearest])}"] = 1.0
    return found


def probability(features: Mapping[str, float], weights: PairWeights) -> float:
    """Compute how likely a sentence says that the two have to do with each other."""
    odds = weights.intercept + sum(weights.weights.get(name, 0.0) * value for name, value in features.items())
    return float(1 / (1 + np.exp(-odds)))


@cache
def load_pair_weights() -> PairWeights:
    """The weights that come with kgcheck."""
    return read_weights(resource_dir("corpus") / WEIGHTS, PairWeights)


DENIED = 0.8  # probability of an outright denial: the share of those read in BioRelEx that are denials (the model card)
SURE = 0.5  # least probability of a sentence that counts: benchmarks/README.md has why
_MOST = 12  # places in a sentence where the two are named that are looked at
_ABSTRACT = 4
"""Sentences from which on a text is an abstract: in a shorter note it means nothing how often the two are named."""

_QUOTED = 2  # sentences of a paper that are quoted


@dataclass(frozen=True)
class EdgeClaim:
    """An edge in words, and the names of its ends."""

    claim: str
    head: tuple[str, ...]
    tail: tuple[str, ...]
    words: str
    cues: tuple[str, ...]

    def matches(self, sentence: str) -> bool:
        """Test if a sentence names both ends and holds a word of the relation, or one by which it may be denied."""
        words = (token.word for token in tokenize(sentence))
        return bool(self.places(sentence)) and any(self.relates.match(w) or is_in("relates_denied", w) for w in words)

    def places(self, sentence: str) -> list[tuple[Span, Span]]:
        """Find the places where a sentence names the two, the nearest first."""
        head, tail = self._naming
        if not head or not tail:
            return []
        ones = [m.span() for m in head.finditer(sentence)]
        twos = [m.span() for m in tail.finditer(sentence)] if ones else []
        found = []
        for pair in ((a, b) for a in ones for b in twos):
            first, second = sorted(pair)
            # A hyphen is before one of them only where it joins it to the other: "A-B".
            joined = all(
                start == second[0] == first[1] + 1 for start, _ in pair if start and sentence[start - 1] == "-"
            )
            if joined and first[1] <= second[0]:
                found.append(pair)
        return sorted(found, key=lambda p: max(p[0][0] - p[1][1], p[1][0] - p[0][1]))[:_MOST]

    def unnamed_in(self, text: str) -> list[str]:
        """Return the ends that a text names nowhere, not even by all words of one of their names."""

        def stems(words: str) -> set[str]:
            return set(stemmer().stemWords([word for word in re.findall(r"\w+", words.lower()) if len(word) > 2]))

        there = stems(text)
        ends = zip((self.head, self.tail), self._naming, strict=True)
        return [
            names[0]
            for names, pattern in ends
            if not (pattern and pattern.search(text)) and not any(1 < len(s := stems(n)) and s <= there for n in names)
        ]

    @cached_property
    def _naming(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
        return naming(self.head, joined=True), naming(self.tail, joined=True)

    @cached_property
    def relates(self) -> re.Pattern[str]:
        return _relation_words(self.cues)

    @cached_property
    def has_direction(self) -> bool:
        """Direction of the claim: one end does something to the other."""
        return any(not act.mutual for act in acts(self.claim))


@cache
def _relation_words(cues: tuple[str, ...]) -> re.Pattern[str]:
    general = verifier_rules("cues")["relates"] + verifier_rules("cues")["relates_also"]
    return word_pattern([cue.split()[0].lower() for cue in cues] or general)


class PairVerifier:
    """Reads the sentences of papers that name both ends of one edge."""

    name = "trained"
    finds_names = True

    def __init__(self, claim: EdgeClaim, *, unlike: bool) -> None:
        self._claim = claim
        self._unlike = unlike
        self._weights = load_pair_weights()

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        return list(map(self._opinion, documents))

    def _opinion(self, document: Document) -> Opinion:

        around = self._around(document)
        stated: list[tuple[float, Span]] = []
        denials: list[tuple[float, Span]] = []
        for span in document.spans:
            assertion, chance = self._reading(document.abstract, span, around)
            if assertion in (Assertion.STATED, Assertion.DENIED):
                (stated if assertion is Assertion.STATED else denials).append((-chance, span))
        best = -min(stated)[0] if stated else 0.0
        shown = speaks = [found for found in stated if -found[0] >= SURE]
        chances, stance, note = Probabilities(supports=best, contradicts=0.0, silent=1 - best), Stance.SILENT, ""
        if denials and speaks:
            # Of other conditions, or in doubt.
            chances, note, shown = SILENCE, "one sentence of it says so, another denies it", []
        elif speaks:
            stance = Stance.SUPPORTS
        elif denials:
            chances, stance = Probabilities(supports=0.0, contradicts=DENIED, silent=1 - DENIED), Stance.CONTRADICTS
            shown = denials
        best_first = sorted(shown, key=lambda found: found[0])[:_QUOTED]
        quotes = [quote_at(document, span) for span in sorted(span for _, span in best_first)]
        return Opinion.on(document, chances, stance, quotes, note)

    def _around(self, document: Document) -> tuple[Around, tuple[Span, ...]] | None:
        """Find how an abstract names the two, and its sentences; nothing for a paragraph of a whole paper."""
        head, tail = naming(self._claim.head), naming(self._claim.tail)
        if document.paper or not head or not tail:
            return None
        # Those of the document may be the ones alone that are to be read.
        spans = sentences(document.abstract)
        if len(spans) < _ABSTRACT:
            return None
        texts = [document.title, *(document.abstract[a:b] for a, b in spans)]
        ones, twos = (tuple(i for i, text in enumerate(texts) for _ in names.finditer(text)) for names in (head, tail))
        return Around(len(texts), ones, twos, 0), spans

    def _reading(
        self, text: str, span: Span, abstract: tuple[Around, tuple[Span, ...]] | None
    ) -> tuple[Assertion, float]:
        sentence = text[slice(*span)]
        around = abstract[0]._replace(at=sum(a <= span[0] for a, _ in abstract[1])) if abstract else None
        places = self._claim.places(sentence)
        read = {p: read_pair(sentence, *p, self._claim.relates, unlike=self._unlike) for p in places}
        assertion = _together({p: r.assertion for p, r in read.items()})
        best = 0.0
        for reading in read.values():
            directs = not self._claim.has_direction or directed(text_of(reading.clause)).straight
            if reading.assertion is assertion and reading.clause and directs:
                features = pair_features(reading.clause, unlike=self._unlike, around=around)
                best = max(best, probability(features, self._weights))
        return assertion, best


def _together(asserted: Mapping[tuple[Span, Span], Assertion]) -> Assertion:
    """Combine the readings of a sentence that names the two in several places: open where those differ."""
    stated = {span for places, a in asserted.items() if a is Assertion.STATED for span in places}
    spoken = {
        a
        for places, a in asserted.items()
        if a is not Assertion.APART and not (a is Assertion.OPEN and stated and stated.isdisjoint(places))
    }
    return spoken.pop() if len(spoken) == 1 else Assertion.OPEN if spoken else Assertion.APART
