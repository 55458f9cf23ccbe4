"""TrainedVerifier: judge claims by linear models and small trees, without a language model.

``python -m benchmarks.train_verifier`` trains the weights in ``corpus/verifier/weights.json``; how well they do stands
beside them in README.md.
"""

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from kgcheck.errors import INSTALL_AGAIN, ConfigurationError, InputError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.arguments import missing
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import Embedder
from kgcheck.literature.features import Seen, claim_features, look, needs_vectors, passage_features, rows_of
from kgcheck.literature.polarity import Numbers
from kgcheck.literature.quote_relevance import refutes
from kgcheck.literature.verify import Opinion, Probabilities, quote_at
from kgcheck.model import Stance, Value
from kgcheck.resources import resource_dir

if TYPE_CHECKING:
    from kgcheck.literature.inference import InferenceReader

WEIGHTS = "verifier/weights.json"
QUOTES = 2  # most quotes of one abstract that fit best
MOST_QUOTES = 3  # with one that names the rest of what a claim is about
REFUTED = 0.8  # confidence in a contradiction where one sentence says the opposite of all that a claim names
TOO_LONG = "the claim is too long for the model of inference, which did not read it"

_LOOKED = 6

_FAIR = 0.5  # A second quote must fit at least so well, as a share of the first
Head = Literal["statement", "question"]
W = TypeVar("W", bound=Value)


class Linear(Value):
    """A linear model: ``((x - mean) / scale) @ coefficients + intercept``, a column a class."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    intercept: tuple[float, ...]

    def scores(self, rows: Numbers) -> Numbers:
        scaled = (rows - np.array(self.mean)) / np.array(self.scale)
        found: Numbers = scaled @ np.array(self.coefficients).T + np.array(self.intercept)
        return found


class Trees(Value):
    """Boosted decision trees: the log odds of each class are its start and what its trees add.

    The nodes of all of them stand in one list. At a node, a row goes left where its feature is at most the threshold;
    an end leads to itself.
    """

    start: tuple[float, ...]
    roots: tuple[tuple[int, ...], ...]  # roots of the trees of each class
    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]

    def scores(self, rows: Numbers) -> Numbers:
        feature, threshold, left, right, value = self._nodes
        at = np.tile(np.concatenate([np.array(own, dtype=int) for own in self.roots]), (len(rows), 1))
        row, before = np.arange(len(rows))[:, None], None
        while before is None or (before != at).any():
            before, at = at, np.where(rows[row, feature[at]] <= threshold[at], left[at], right[at])
        ends = np.split(value[at], np.cumsum([len(own) for own in self.roots])[:-1], axis=1)
        found: Numbers = np.stack([e.sum(axis=1) for e in ends], axis=1) + np.array(self.start)
        return found

    @cached_property
    def _nodes(self) -> tuple[Any, ...]:
        return tuple(np.array(x) for x in (self.feature, self.threshold, self.left, self.right, self.value))


class HeadWeights(Value):
    """Weights for choosing passages and for their meaning for a claim: a linear model, and trees where they help."""

    selector: Linear
    stance: Linear
    trees: Trees | None = None

    def fit(self, seen: Seen) -> Numbers:
        """Score how well each passage fits the claim."""
        found: Numbers = self.selector.scores(rows_of(passage_features(seen), self.selector.names))[:, 0]
        return found

    def chances(self, rows: Numbers) -> Numbers:
        """Probabilities of the stances, one row a row."""
        found = softmax(self.stance.scores(rows))
        return found if self.trees is None else (found + softmax(self.trees.scores(rows))) / 2


class Weights(Value):
    """All of the weights: for statements and questions, with vectors and without."""

    version: int
    vectors: dict[Head, HeadWeights]
    words: dict[Head, HeadWeights]


class TrainedVerifier:
    """Linear models and trees over features of a claim and an abstract."""

    name = "trained"
    finds_names = False

    def __init__(
        self,
        embedder: Embedder | None = None,
        weights: Weights | None = None,
        inference: "InferenceReader | None" = None,
    ) -> None:
        self._embedder = embedder
        self._weights = weights or load_weights()
        self._inference = inference
        if inference:
            self.name = f"{TrainedVerifier.name}, with {inference.name}"

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        similar = cosines(claim, documents, self._embedder)
        return [self._opinion(claim, document, near) for document, near in zip(documents, similar, strict=True)]

    def _opinion(self, claim: str, document: Document, similar: Sequence[float] | None) -> Opinion:
        passages = document.passages
        head: Head = "question" if claim.rstrip().endswith("?") else "statement"
        kind = self._weights.vectors if similar is not None else self._weights.words
        weights = kind[head]
        seen = look(claim, passages, similar)
        fit = weights.fit(seen)
        found, note = weights.chances(rows_of(claim_features(seen, fit), weights.stance.names))[0], ""
        if self._inference and head == "statement":
            if self._inference.model.reads(claim):
                order = [seen.places[int(i)] for i in np.argsort(-fit, kind="stable")]
                found = self._inference.chances(claim, found, passages, order, vectors=similar is not None)
            else:
                note = TOO_LONG
        chances = Probabilities(supports=found[0], contradicts=found[1], silent=found[2])
        if chances.stance is Stance.SILENT:
            return Opinion.on(document, chances, note=note)
        # Where a conclusion stands is most of what the head for questions goes by; what people chose as evidence for
        # statements says which words fit.
        places = quoted(claim, document, seen, (fit + kind["statement"].fit(seen)) / 2)
        if chances.stance is Stance.SUPPORTS and refutes(claim, [passages[i] for i in places], document.abstract):
            chances = Probabilities(supports=0.0, contradicts=REFUTED, silent=1 - REFUTED)
        quotes = [quote_at(document, document.spans[i]) for i in places]
        return Opinion.on(document, chances, quotes=quotes, note=note)


def quoted(claim: str, document: Document, seen: Seen, fit: Numbers) -> list[int]:
    """Places of the passages to quote: the best, and others that name what the claim names and these do not."""
    places, passages = best_passages(seen, fit), document.passages
    lacking = missing(claim, [passages[i] for i in places], document.abstract)
    for n in np.argsort(-fit, kind="stable")[:_LOOKED]:
        if not lacking or len(places) == MOST_QUOTES:
            break
        more = [*places, seen.places[int(n)]]
        left = missing(claim, [passages[i] for i in more], document.abstract)
        if len(left) < len(lacking):
            places, lacking = more, left
    return sorted(places)


def best_passages(seen: Seen, fit: Numbers) -> list[int]:
    """Places of the passages to quote: the best, and a second one that fits nearly as well."""
    chance = 1 / (1 + np.exp(-fit))
    order = np.argsort(-fit, kind="stable")[:QUOTES]
    return sorted(seen.places[int(i)] for i in order if chance[i] >= _FAIR * chance[order[0]])


def cosines(claim: str, documents: Sequence[Document], embedder: Embedder | None) -> Sequence[Sequence[float] | None]:
    """The cosine of every sentence to a claim. Those whose vectors came with their document are not embedded again."""
    if not embedder:
        return [None] * len(documents)
    lacking = [p for d in documents if d.vectors is None for p in d.passages]
    made = embedder.encode([claim, *lacking])
    vector, at = made[0], 1
    found: list[Sequence[float]] = []
    for document in documents:
        own = document.vectors
        if own is None:
            own, at = made[at : at + len(document.passages)], at + len(document.passages)
        found.append([float(x) for x in own @ vector])
    return found


def softmax(scores: Numbers) -> Numbers:
    """Probabilities of log odds, one row a row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: Numbers = raised / raised.sum(axis=1, keepdims=True)
    return chances


@cache
def load_weights() -> Weights:
    """The weights that come with kgcheck."""
    path = resource_dir("corpus") / WEIGHTS
    weights = read_weights(path, Weights)
    seen = look("", [""])
    known = passage_features(seen).keys() | claim_features(seen, np.zeros(1)).keys()
    words = {name for name in known if not needs_vectors(name)}
    for features, heads in ((known, weights.vectors), (words, weights.words)):
        if not all(features >= {*head.selector.names, *head.stance.names} for head in heads.values()):
            raise ConfigurationError(f"the weights in {path} are of other features", "train them again")
    return weights


def read_weights(path: Path, form: type[W]) -> W:
    """Weights of a model from a file."""
    try:
        return form.model_validate(parse_json(read_whole(path)))
    except (InputError, ValueError) as error:
        raise ConfigurationError(f"the weights in {path} cannot be read: {str(error)[:200]}", INSTALL_AGAIN) from error
