"""Relate claims of different papers: supports, contradicts, orthogonal.

Pairs are looked at whose vectors, or words, are near: not all. Each is read in both directions by the trained verifier
behind the gate of named things. A wrong contradiction is worse than none: both directions must agree on it, or one
sentence must say the opposite of all that the other names.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from kgcheck.ledger.paper_claims import ClaimPair, ClaimRelation, PaperClaim
from kgcheck.literature.arguments import missing
from kgcheck.literature.dense import Dense
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import Vectors
from kgcheck.literature.features import words_of
from kgcheck.literature.gate import refutes
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.trained_verifier import WEIGHTS, TrainedVerifier
from kgcheck.literature.verify import Opinion, verify
from kgcheck.model import Stance
from kgcheck.resources import resource_dir

NEIGHBOURS = 10
"""Claims of other papers that are compared with one."""

NEAR = 0.35
"""Least cosine of two claims that are compared. Nine in ten of SciFact's claims and their evidence are nearer."""

SHARED = 0.2
"""The same for words: the least share of the BM25 that a claim has with itself."""

SUPPORTED = 0.65
CONTRADICTED = 0.5
"""How sure the verifier must be of the one and of the other (benchmarks.claims)."""

REFUTED = 0.8
"""How sure a contradiction is where one sentence says the opposite of all that the other names."""

_ALIKE = 0.5
"""Sentences with so many of the words of the longer one in common may differ by one exchanged word."""

Place = tuple[int, int]


class ClaimReader:
    """Judge of pairs of sentences."""

    def __init__(self, vectors: Mapping[str, Vectors] | None = None, model: str = "") -> None:
        self._vectors = vectors
        self._verifier = TrainedVerifier(_KnownVectors(vectors, model) if vectors is not None else None)
        self.digest = _reader_digest(model if vectors is not None else "")

    def relate(self, one: PaperClaim, other: PaperClaim) -> ClaimPair:
        """Relate two claims."""
        first, second = sorted((one, other), key=lambda c: c.key)
        relation, probability, note = self.relation(first.quote, second.quote)
        return ClaimPair(
            first=first.key, second=second.key, relation=relation, probability=round(probability, 4), note=note
        )

    def relation(self, one: str, other: str) -> "tuple[ClaimRelation, float, str]":
        """Relate two sentences: how, how surely, and why nothing is made of them."""
        unnamed = missing(one, [other], other)
        if unnamed and missing(other, [one], one):
            # Most pairs: the gate would stop both directions, whatever the verifier made of them.
            return ClaimRelation.ORTHOGONAL, 1.0, f"the one does not name what the other does: {', '.join(unnamed)}"
        there, back = self._opinion(one, other), self._opinion(other, one)
        against = min(there.probabilities.contradicts, back.probabilities.contradicts)
        surest = max(there.probabilities.contradicts, back.probabilities.contradicts)
        if there.stance is back.stance is Stance.CONTRADICTS and surest >= CONTRADICTED:
            return ClaimRelation.CONTRADICTS, surest, ""
        if refutes(one, [other], other) or refutes(other, [one], one):
            return ClaimRelation.CONTRADICTS, max(REFUTED, against), ""
        speaks = [o for o in (there, back) if o.stance is Stance.SUPPORTS]
        if not speaks or Stance.CONTRADICTS in (there.stance, back.stance):
            notes = (o.note for o in (there, back) if o.note)
            return ClaimRelation.ORTHOGONAL, min(o.probabilities.silent for o in (there, back)), next(notes, "")
        probability = max(o.probabilities.supports for o in speaks)
        if exchanged(one, other):
            return ClaimRelation.ORTHOGONAL, 1 - probability, "they are alike but for a word that is another"
        if probability < SUPPORTED:
            return ClaimRelation.ORTHOGONAL, 1 - probability, "one may support the other, but that is not sure"
        return ClaimRelation.SUPPORTS, probability, ""

    def _opinion(self, claim: str, sentence: str) -> Opinion:
        document = Document(ids=("claim",), abstract=sentence).with_spans(((0, len(sentence)),))
        if self._vectors is not None:
            document = document.with_vectors(self._vectors[sentence][None])
        return verify(claim, [document], self._verifier).opinions[0]


def exchanged(one: str, other: str) -> bool:
    """Tell whether two sentences are alike but for words that each has in place of others.

    >>> exchanged("Zincol lowers the blood pressure of rats.", "Zincol lowers the heart rate of rats.")
    True
    >>> exchanged("Zincol lowers blood pressure.", "In a trial, Zincol clearly lowers the high blood pressure of rats.")
    False
    """
    a, b = (frozenset(t.stem for clause in words_of(text).clauses for t in clause) for text in (one, other))
    return len(a & b) >= _ALIKE * max(len(a), len(b)) and bool(a - b) and bool(b - a)


def candidates(claims: Sequence[PaperClaim], vectors: Vectors | None = None) -> list[Place]:
    """The pairs of claims of different papers that are worth reading."""
    if len(claims) < 2:
        return []
    near = _by_vectors(claims, vectors) if vectors is not None else _by_words(claims)
    return sorted({(min(a, b), max(a, b)) for a, b in near})


def _by_vectors(claims: Sequence[PaperClaim], vectors: Vectors) -> Iterable[Place]:
    numbers: NDArray[np.int64] = np.arange(len(claims), dtype=np.int64)
    index = Dense.of(numbers, vectors.astype(np.float16))
    # The others of its own paper may be the nearest.
    most = max(np.unique([c.paper for c in claims], return_counts=True)[1])
    for place, claim in enumerate(claims):
        found = index.nearest(vectors[place], min(len(claims), NEIGHBOURS + int(most)))
        others = [int(n) for n in found if claims[int(n)].paper != claim.paper]
        yield from ((place, n) for n in others[:NEIGHBOURS] if float(vectors[n] @ vectors[place]) >= NEAR)


def _by_words(claims: Sequence[PaperClaim]) -> Iterable[Place]:
    words = Lexical.of(c.quote for c in claims)
    papers = np.array([c.paper for c in claims])
    for place, claim in enumerate(claims):
        scores = words.scores(claim.quote)
        least = SHARED * float(scores[place])
        scores = np.where(papers == claim.paper, np.float32(0), scores)
        best = np.argsort(-scores, kind="stable")[:NEIGHBOURS]
        yield from ((place, int(n)) for n in best if scores[n] > 0 and scores[n] >= least)


class _KnownVectors:
    """Stands for the model: the vectors of all sentences are known already."""

    name = runtime = "known"
    dimension = 0

    def __init__(self, vectors: Mapping[str, Vectors], digest: str) -> None:
        self.digest = digest
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


def _reader_digest(model: str) -> str:
    """Digest of all that a judgement depends on: weights, words, thresholds, and the model of the vectors."""
    folder = resource_dir("corpus") / WEIGHTS
    parts = [path.read_bytes() for path in (folder, *sorted(folder.parent.glob("*.toml")))]
    seen = sha256(f"1 {SUPPORTED} {CONTRADICTED} {model}".encode())
    for part in parts:
        seen.update(part)
    return seen.hexdigest()[:16]
