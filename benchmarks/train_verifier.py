"""Trains the verifier and measures it: ``python -m benchmarks.train_verifier``.

Reads the train sets of SciFact and PubMedQA; writes ``corpus/verifier/weights.json``, which holds numbers alone, and
prints the scores in cross-validation by claim. Needs the extra `literature` and `make setup-train`.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.denials import denied, reversed_way
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import SentenceModel
from kgcheck.literature.features import Seen, claim_features, look, needs_vectors, passage_features, rows_of
from kgcheck.literature.formats import read_documents
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.polarity import Numbers
from kgcheck.literature.trained_verifier import (
    Head,
    HeadWeights,
    Linear,
    Trees,
    Weights,
    best_passages,
    softmax,
)
from kgcheck.profile.corpus_files import corpus_recipe
from kgcheck.resources import resource_dir

Labels = np.ndarray[Any, Any]

SEED = 20261121
FOLDS = 5
REPEATS = 3
CLASSES = ("supports", "contradicts", "silent")
SELECTOR_C = 0.1
NEAR_WORTH = 0.1
"""What an abstract that nobody cited counts for, beside one that people judged."""

DENIAL_WORTH = 0.3
"""What a denial made by rule counts for, beside a claim that people wrote."""


STANCE_C: dict[Head, float] = {"statement": 0.01, "question": 0.01}
"""Regularisation. It and the worths were chosen by the same cross-validation: the scores are that much too kind, see
the model card."""


WITH_TREES: frozenset[Head] = frozenset({"statement"})
"""For questions trees gain nothing in cross-validation."""


_ROUNDED = 0.001
"""Most that probabilities may be off by for numbers of six digits."""


class Example(NamedTuple):
    """A claim and an abstract with the stance that people gave, and the places of the evidence where they named it.

    What is not ``asked`` is learnt from, at its worth, and never measured: abstracts that a search finds and nobody
    cited, as silent, and denials made by rule.
    """

    group: str
    seen: Seen
    gold: frozenset[int]
    label: int
    worth: float = 1.0
    asked: bool = True
    claim: str = ""
    document: Document | None = None


class Score(NamedTuple):
    """How well one head does in cross-validation."""

    examples: int
    majority: float
    accuracy: float
    spread: float
    macro_f1: float
    abstention: float
    calibration: float
    quotes: float
    confusion: list[list[int]]


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--dry-run", action="store_true", help="measure and write nothing")
    parser.add_argument("--curve", action="store_true", help="also the learning curve")
    asked = parser.parse_args()
    embedder = SentenceModel()
    read = {"statement": _scifact(asked.data), "question": _pubmedqa(asked.data)}
    made: dict[str, dict[Head, HeadWeights]] = {"vectors": {}, "words": {}}
    told: dict[str, Any] = {}
    for name, raw in read.items():
        head: Head = "statement" if name == "statement" else "question"
        similar = _similar(raw, embedder)
        for kind, vectors in (("vectors", True), ("words", False)):
            examples = [_example(r, s if vectors else None) for r, s in zip(raw, similar, strict=True)]
            score = measure(examples, head, vectors=vectors)
            told[f"{head}, {kind}"] = score._asdict()
            sys.stdout.write(f"{head}, {kind}: {json.dumps(score._asdict())}\n")
            if asked.curve:
                for share in (0.25, 0.5, 0.75, 1.0):
                    part = measure(examples, head, vectors=vectors, share=share)
                    sys.stdout.write(f"  with {share:.0%} of the training claims: {part.accuracy:.3f}\n")
            made[kind][head] = fit(examples, head, vectors=vectors)
    if not asked.dry_run:
        weights = Weights(version=1, vectors=made["vectors"], words=made["words"])
        path = resource_dir("corpus") / "verifier" / "weights.json"
        path.write_text(json.dumps(weights.model_dump(mode="json")) + "\n", encoding="utf-8")
        (path.parent / "scores.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


class _Raw(NamedTuple):
    group: str
    claim: str
    document: Document
    gold: frozenset[int]
    label: int
    worth: float = 1.0
    asked: bool = True


def _scifact(data: Path) -> list[_Raw]:
    """One example a claim and cited abstract: SUPPORT, CONTRADICT, or no evidence."""
    import csv

    recipe = corpus_recipe("scifact")
    held = {d.id: d for d in read_documents(data / "scifact" / "corpus.csv", recipe) if isinstance(d, Document)}
    found: dict[tuple[str, str], _Raw] = {}
    with (data / "scifact" / "claims_train.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            label = {"SUPPORT": 0, "CONTRADICT": 1, "": 2}[row["evidence_label"]]
            names = [row["evidence_doc_id"]] if label < 2 else re.findall(r"\d+", row["cited_doc_ids"])
            for name in names:
                document = held[f"s2:{name}"]
                gold = frozenset(int(x) for x in re.findall(r"\d+", row["evidence_sentences"]))
                places = gold if label < 2 else frozenset[int]()
                before = found.get((row["id"], name))
                places |= before.gold if before else frozenset()
                found[row["id"], name] = _Raw(row["id"], row["claim"], document, places, label)
    cited = list(found.values())
    return [*cited, *_near(cited, list(held.values())), *_denials(cited)]


def _denials(raw: list[_Raw]) -> list[_Raw]:
    """Claims with the verb denied, or the direction turned, and with the stance that the abstract then has."""
    flipped = {0: 1, 1: 0, 2: 2}
    found = []
    for r in raw:
        if other := denied(r.claim):
            found.append(r._replace(claim=other, gold=frozenset(), label=flipped[r.label]))
        # What contradicts "more" may be no change at all, which does not support "less".
        if r.label != 1 and (other := reversed_way(r.claim)):
            found.append(r._replace(claim=other, gold=frozenset(), label=flipped[r.label]))
    return [r._replace(worth=DENIAL_WORTH, asked=False) for r in found]


def _near(raw: list[_Raw], documents: list[Document]) -> list[_Raw]:
    """For each claim the abstract that fits best by words among those that it does not cite."""
    words = Lexical.of(d.text for d in documents)
    cited: dict[str, set[str]] = {}
    claims = {r.group: r.claim for r in raw}
    for r in raw:
        cited.setdefault(r.group, set()).add(r.document.id)
    found = []
    for group, claim in claims.items():
        order = np.argsort(-words.scores(claim))[:20]
        best = next(documents[int(i)] for i in order if documents[int(i)].id not in cited[group])
        found.append(_Raw(group, claim, best, frozenset(), 2, NEAR_WORTH, asked=False))
    return found


def _pubmedqa(data: Path) -> list[_Raw]:
    """Question and whole abstract; the evidence is the conclusion, which PubMedQA calls the long answer."""
    path = data / "pubmedqa" / "pqal_train.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    found: list[_Raw] = []
    for document in read_documents(path, corpus_recipe("pubmedqa")):
        if isinstance(document, Document):
            raw = whole[document.id.removeprefix("pmid:")]
            from kgcheck.literature.documents import clean

            begins = len(document.abstract) - len(clean(raw["LONG_ANSWER"]))
            gold = frozenset(i for i, (a, _) in enumerate(document.spans) if a >= begins)
            label = {"yes": 0, "no": 1, "maybe": 2}[raw["final_decision"]]
            found.append(_Raw(document.id, raw["QUESTION"], document, gold, label))
    return found


def _similar(raw: Sequence[_Raw], embedder: SentenceModel) -> list[Sequence[float]]:
    """Cosines of the passages of each example to its claim; each text is embedded once."""
    texts = list(dict.fromkeys(t for r in raw for t in (r.claim, *r.document.passages)))
    vectors = dict(zip(texts, embedder.encode(texts), strict=True))
    return [[float(vectors[p] @ vectors[r.claim]) for p in r.document.passages] for r in raw]


def _example(raw: _Raw, similar: Sequence[float] | None) -> Example:
    seen = look(raw.claim, raw.document.passages, similar)
    places = frozenset(seen.places.index(i) for i in raw.gold if i in seen.places)
    return Example(raw.group, seen, places, raw.label, raw.worth, raw.asked, raw.claim, raw.document)


def fit(examples: Sequence[Example], head: Head, *, vectors: bool) -> HeadWeights:
    """Train both models of a head."""
    rows, gold = [], []
    for e in examples:
        if e.gold:
            found = passage_features(e.seen)
            rows.append(rows_of(found, _names(found, vectors=vectors)))
            gold += [i in e.gold for i in range(len(e.seen.passages))]
    names = _names(passage_features(examples[0].seen), vectors=vectors)
    selector = _linear(np.concatenate(rows), np.array(gold, dtype=int), names, SELECTOR_C)
    odds = np.zeros(len(examples[0].seen.passages))
    stance_names = _names(claim_features(examples[0].seen, odds), vectors=vectors)
    features = _features(examples, selector, stance_names)
    labels = np.array([e.label for e in examples])
    worth = np.array([e.worth for e in examples])
    return HeadWeights(
        selector=selector,
        stance=_linear(features, labels, stance_names, STANCE_C[head], worth),
        trees=_trees(features, labels, worth) if head in WITH_TREES else None,
    )


def _accuracy(true: Labels, said: Labels) -> float:
    return float((said == true).mean())


def _macro_f1(true: Labels, said: Labels) -> float:
    table = _table(true, said)
    return float(np.mean([2 * table[k, k] / max(table[k].sum() + table[:, k].sum(), 1) for k in range(3)]))


def _table(true: Labels, said: Labels) -> Labels:
    table = np.zeros((3, 3), dtype=int)
    np.add.at(table, (true, said), 1)
    return table


def _names(features: Iterable[str], *, vectors: bool) -> list[str]:
    return [name for name in features if vectors or not needs_vectors(name)]


def _features(examples: Sequence[Example], selector: Linear, names: Sequence[str]) -> Numbers:
    rows = []
    for e in examples:
        odds = selector.scores(rows_of(passage_features(e.seen), selector.names))[:, 0]
        rows.append(rows_of(claim_features(e.seen, odds), names))
    return np.concatenate(rows)


def _linear(
    rows: Numbers,
    labels: np.ndarray[Any, Any],
    names: Sequence[str],
    strength: float,
    worth: np.ndarray[Any, Any] | None = None,
) -> Linear:
    from sklearn.linear_model import LogisticRegression

    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    # To six digits, as they are kept: what is measured is what is shipped.
    mean, scale = np.round(mean, 6), np.round(np.where(scale > 1e-9, scale, 1.0), 6)
    model = LogisticRegression(C=strength, max_iter=5000).fit((rows - mean) / scale, labels, worth)
    return Linear(
        names=tuple(names),
        mean=tuple(mean.tolist()),
        scale=tuple(scale.tolist()),
        coefficients=tuple(tuple(c) for c in np.round(model.coef_, 6).tolist()),
        intercept=tuple(np.round(model.intercept_, 6).tolist()),
    )


def _trees(rows: Numbers, labels: Labels, worth: Labels) -> Trees:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=80,
        learning_rate=0.06,
        max_leaf_nodes=8,
        l2_regularization=10,
        min_samples_leaf=15,
        early_stopping=False,
        random_state=0,
    ).fit(rows, labels, sample_weight=worth)
    # What it predicts by is in no public attribute; with another version of scikit-learn `main` would say so.
    nodes: list[tuple[int, float, int, int, float]] = []
    roots: list[tuple[int, ...]] = []
    for own in zip(*model._predictors, strict=True):
        begins = []
        for predictor in own:
            first = len(nodes)
            begins.append(first)
            for at, node in enumerate(predictor.nodes):
                if node["is_leaf"]:
                    nodes.append((0, 0.0, first + at, first + at, round(float(node["value"]), 6)))
                else:
                    threshold = float(node["num_threshold"])
                    left, right = first + int(node["left"]), first + int(node["right"])
                    nodes.append((int(node["feature_idx"]), threshold, left, right, 0.0))
        roots.append(tuple(begins))
    feature, threshold_, left_, right_, value = zip(*nodes, strict=True)
    made = Trees(
        start=tuple(np.round(model._baseline_prediction.ravel(), 6).tolist()),
        roots=tuple(roots),
        feature=feature,
        threshold=threshold_,
        left=left_,
        right=right_,
        value=value,
    )
    if np.abs(softmax(made.scores(rows)) - model.predict_proba(rows)).max() > _ROUNDED:
        raise RuntimeError("the trees are read wrongly from this version of scikit-learn")
    return made


def measure(examples: Sequence[Example], head: Head, *, vectors: bool, share: float = 1.0) -> Score:
    """Cross-validation by claim: no claim is both learnt from and asked about."""
    unasked = [i for i, e in enumerate(examples) if not e.asked]
    labels = np.array([e.label for e in examples])
    judged = np.setdiff1d(np.arange(len(examples)), unasked)
    accuracies, f1s, errors, silent, right, quoted = [], [], [], [], 0, 0
    confusion = np.zeros((3, 3), dtype=int)
    for repeat in range(REPEATS):
        chances = np.zeros((len(examples), 3))
        for train, test in _folds(examples, repeat, share):
            weights = fit([examples[i] for i in train], head, vectors=vectors)
            asked = [examples[i] for i in test]
            chances[test] = weights.chances(_features(asked, weights.selector, weights.stance.names))
            for e in asked:
                if e.gold:
                    odds = weights.fit(e.seen)
                    quoted += 1
                    right += bool({e.seen.places.index(p) for p in best_passages(e.seen, odds)} & e.gold)
        said, true = chances.argmax(axis=1)[judged], labels[judged]
        confusion += _table(true, said)
        accuracies.append(_accuracy(true, said))
        f1s.append(_macro_f1(true, said))
        silent.append(float((said == 2).mean()))
        errors.append(_calibration(chances[judged, said], said == true))
    return Score(
        examples=len(judged),
        majority=round(max(Counter(labels[judged].tolist()).values()) / len(judged), 4),
        accuracy=round(float(np.mean(accuracies)), 4),
        spread=round(float(np.std(accuracies)), 4),
        macro_f1=round(float(np.mean(f1s)), 4),
        abstention=round(float(np.mean(silent)), 4),
        calibration=round(float(np.mean(errors)), 4),
        quotes=round(right / max(quoted, 1), 4),
        confusion=(confusion / REPEATS).round().astype(int).tolist(),
    )


def _folds(examples: Sequence[Example], repeat: int, share: float) -> Iterator[tuple[list[int], list[int]]]:
    random = np.random.default_rng(SEED + repeat)
    groups = sorted({e.group for e in examples})
    fold = dict(zip(groups, random.permutation(np.arange(len(groups)) % FOLDS).tolist(), strict=True))
    for k in range(FOLDS):
        train = [i for i, e in enumerate(examples) if fold[e.group] != k]
        kept_groups = {examples[i].group for i in train}
        wanted = set(random.permutation(sorted(kept_groups))[: max(int(share * len(kept_groups)), 1)].tolist())
        yield (
            [i for i in train if examples[i].group in wanted],
            [i for i, e in enumerate(examples) if fold[e.group] == k and e.asked],
        )


def _calibration(sure: Numbers, right: np.ndarray[Any, Any]) -> float:
    """Expected calibration error in ten bins."""
    bins = np.minimum((sure * 10).astype(int), 9)
    return float(sum((bins == b).mean() * abs(sure[bins == b].mean() - right[bins == b].mean()) for b in set(bins)))


if __name__ == "__main__":
    main()
