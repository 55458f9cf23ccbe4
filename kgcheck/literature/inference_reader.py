"""What a verifier makes of a paper once a model of inference has read its best sentences.

A small head, trained for that model (``python -m benchmarks.train_inference``), weighs what counted features and the
model come to. Its weights stand in the model's folder and name the digest of the model.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np

from kgcheck.errors import INSTALL_AGAIN, ConfigurationError, InputError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.features import Numbers
from kgcheck.literature.inference import InferenceModel, Odds
from kgcheck.literature.trained_verifier import Linear, softmax
from kgcheck.model import Value

BESIDE = "inference_head.json"
"""The name of a head in the folder of its model."""

READ = 3
"""Sentences of a paper that are read, the best: each alone, and all together."""

INFERRED = (
    *("supports", "contradicts", "silent"),
    *(f"{way}_{n}" for way in ("for", "against") for n in ("first", "second", "third", "most", "least", "together")),
)
"""What a head weighs: log chances of counted features, and log odds of the model."""

_LEAST = 1e-4


class InferenceHead(Value):
    """Weights for one model of inference, beside counted features with vectors and without."""

    digest: str
    vectors: Linear
    words: Linear


class InferenceReader:
    """A model of inference and its head.

    Without a head, a model that tells entailment, neutral and contradiction is taken at its word: its chances for the
    text of which it is surest that it entails or contradicts the claim.
    """

    def __init__(self, model: InferenceModel, head: InferenceHead | None) -> None:
        if head is None and not model.has_support:
            raise ConfigurationError(
                f"the model {model.name} ({model.digest}) has no weights, and tells contradiction alone",
                "python -m benchmarks.train_inference DIR trains them; a model that tells entailment needs none",
            )
        self.model = model
        self._head = head
        self.name = f"{model.name} {model.digest}"

    @classmethod
    def of(cls, folder: Path) -> Self:
        """A reader with the model of a folder, and its head if there is one; each is opened once."""
        model = _opened(folder.resolve(), folder.stat().st_mtime_ns if folder.is_dir() else 0)
        return cls(model, head_of(folder, model.digest))

    def chances(
        self, claim: str, before: Numbers, passages: Sequence[str], order: Sequence[int], *, vectors: bool
    ) -> Numbers:
        """Probabilities of the stances."""
        odds = self.model.read(claim, to_infer(passages, order))
        if self._head is None:
            return plain(odds)
        head = self._head.vectors if vectors else self._head.words
        found: Numbers = softmax(head.scores(inferred(before, odds)[None, :]))[0]
        return found


def to_infer(passages: Sequence[str], order: Sequence[int]) -> list[str]:
    """The texts of a paper that a model of inference reads."""
    best = list(order[:READ])
    return [*(passages[i] for i in best), " ".join(passages[i] for i in sorted(best))]


def inferred(before: Numbers, odds: Odds) -> Numbers:
    """What a head weighs, by the names in INFERRED."""
    single = odds[:-1]
    # A paper with fewer sentences has its best one instead of those that it lacks.
    padded = np.concatenate([single, np.repeat(single[:1], READ - len(single), axis=0)])
    columns = np.concatenate([padded, padded.max(axis=0)[None], padded.min(axis=0)[None], odds[-1:]])
    row: Numbers = np.concatenate([np.log(np.maximum(before, _LEAST)), columns.T.ravel()])
    return row


def plain(odds: Odds) -> Numbers:
    """Chances of a model with three labels for the text of which it is surest."""
    both = 1 / (1 + np.exp(-odds))
    surest = both[int(both.max(axis=1).argmax())]
    return np.array([*surest, max(1 - surest.sum(), 0.0)])


def head_of(folder: Path, digest: str) -> InferenceHead | None:
    """The weights for a model."""
    path = folder / BESIDE
    if not path.is_file():
        return None
    try:
        head = InferenceHead.model_validate(parse_json(read_whole(path)))
    except (InputError, ValueError) as error:
        raise ConfigurationError(f"the weights in {path} cannot be read: {str(error)[:200]}", INSTALL_AGAIN) from error
    if head.digest != digest:
        raise ConfigurationError(
            f"the weights in {path} are for the model {head.digest}, and this is {digest}", "train them again"
        )
    for linear in (head.vectors, head.words):
        if linear.names != INFERRED or not _fits(linear):
            raise ConfigurationError(f"the weights in {path} are of other features", "train them again")
    return head


def _fits(linear: Linear) -> bool:
    rows = (linear.mean, linear.scale, *linear.coefficients)
    return {len(r) for r in rows} == {len(INFERRED)} and len(linear.intercept) == len(linear.coefficients) == 3


@lru_cache(maxsize=1)
def _opened(folder: Path, changed: int) -> InferenceModel:
    """A model; opened again where its folder has changed."""
    return InferenceModel(folder)
