"""Trains the head for a model of inference and measures it: ``python -m benchmarks.train_inference DIR``.

Reads SciFact as benchmarks.train_verifier does; the counted features of each claim are weighed by models that did not
see it. Writes ``inference_head.json`` into the folder of the model: numbers alone, for this model alone. Needs the
extra `papers`, `make setup-train` and ../shared/data; on one thread it takes a quarter of an hour and more.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import train_verifier as training
from kgcheck.literature.embed import SentenceModel
from kgcheck.literature.inference import BESIDE, INFERRED, InferenceHead, InferenceModel, inferred, to_infer
from kgcheck.literature.polarity import Numbers
from kgcheck.literature.trained_verifier import Linear, softmax

STRENGTH = 0.3
"""Regularisation: not chosen on any data."""


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder of the model")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, help="where to write; otherwise beside the model")
    parser.add_argument("--dry-run", action="store_true", help="measure and write nothing")
    chosen = parser.parse_args()
    model = InferenceModel(chosen.model)
    raw = training._scifact(chosen.data)
    similar = training._similar(raw, SentenceModel())
    heads = {}
    for kind, vectors in (("vectors", True), ("words", False)):
        examples = [training._example(r, s if vectors else None) for r, s in zip(raw, similar, strict=True)]
        heads[kind] = train(examples, model, vectors=vectors)
    if not chosen.dry_run:
        made = InferenceHead(digest=model.digest, **heads)
        path = chosen.out or chosen.model / BESIDE
        path.write_text(made.model_dump_json() + "\n", encoding="utf-8")


def train(examples: Sequence[training.Example], model: InferenceModel, *, vectors: bool) -> Linear:
    """The head for one kind of features; its figures in cross-validation by claim are printed."""
    places, rows = zip(*_rows(examples, model, vectors=vectors), strict=True)
    stacked, labels = np.array(rows), np.array([examples[i].label for i in places])
    groups = np.array([examples[i].group for i in places])
    before, after = softmax(stacked[:, :3]), np.zeros((len(labels), 3))
    random = np.random.default_rng(training.SEED)
    names = sorted(set(groups))
    fold = dict(zip(names, random.permutation(np.arange(len(names)) % training.FOLDS).tolist(), strict=True))
    folds = np.array([fold[g] for g in groups])
    for k in range(training.FOLDS):
        head = training._linear(stacked[folds != k], labels[folds != k], INFERRED, STRENGTH)
        after[folds == k] = softmax(head.scores(stacked[folds == k]))
    for name, chances in (("counted features", before), ("and inference", after)):
        _row(f"{'vectors' if vectors else 'words'}, {name}", labels, chances)
    return training._linear(stacked, labels, INFERRED, STRENGTH)


def _rows(
    examples: Sequence[training.Example], model: InferenceModel, *, vectors: bool
) -> Iterator[tuple[int, Numbers]]:
    """For each example that people judged, what the head weighs, by models that did not see the claim."""
    for learnt, left in training._folds(examples, 0, 1.0):
        weights = training.fit([examples[i] for i in learnt], "statement", vectors=vectors)
        for i in left:
            e = examples[i]
            assert e.document is not None  # noqa: S101
            fit = weights.fit(e.seen)
            chances = weights.chances(training._features([e], weights.selector, weights.stance.names))[0]
            order = [e.seen.places[int(n)] for n in np.argsort(-fit, kind="stable")]
            yield i, inferred(chances, model.read(e.claim, to_infer(e.document.passages, order)))


def _row(name: str, labels: training.Labels, chances: Numbers) -> None:
    given = chances.argmax(axis=1)
    figures = {
        "accuracy": training._accuracy(labels, given),
        "macro F1": training._macro_f1(labels, given),
        "calibration error": training._calibration(chances.max(axis=1), given == labels),
        "silent": float((given == 2).mean()),
    }
    shown = ", ".join(f"{what} {figure:.3f}" for what, figure in figures.items())
    sys.stdout.write(f"{name} ({len(labels)}): {shown}; {training._table(labels, given).tolist()}\n")


if __name__ == "__main__":
    main()
