"""What the gate of quotes costs and gains, as it is ("strict") and with paraphrases: ``python -m benchmarks.gate``.

SciFact and PubMedQA in cross-validation by claim, as benchmarks.train_verifier does it, with words alone, and with
vectors where that is wanted; COVID-Fact, whose altered claims have one word exchanged; and our own exchanges and
attacks. Needs scikit-learn and ../shared/data.
"""

import argparse
import json
import sys
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks import train_verifier as training
from benchmarks.claim_attacks import attacks, made
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import SentenceModel
from kgcheck.literature.features import claim_features, rows_of
from kgcheck.literature.formats import read_documents
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.quote_relevance import objection, opposes, refutes
from kgcheck.literature.trained_verifier import Head, TrainedVerifier, quoted
from kgcheck.literature.verify import Opinion, verify
from kgcheck.model import Stance
from kgcheck.profile.corpus_files import corpus_recipe

EXCHANGES = Path(__file__).resolve().parents[1] / "tests" / "support" / "exchanges.toml"
SURE = 0.8


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--vectors", action="store_true", help="also with vectors")
    asked = parser.parse_args()
    columns = "accuracy | macro F1 | support precision | supports found | silent | contradictions right"
    sys.stdout.write(f"| set | gate | {columns} |\n|---|---|---|---|---|---|---|---|\n")
    statements = training._scifact(asked.data)
    questions = training._pubmedqa(asked.data)
    heads: dict[Head, list[training._Raw]] = {"statement": statements, "question": questions}
    for head, raw in heads.items():
        for embedder in (None, SentenceModel()) if asked.vectors else (None,):
            _cross(head, raw, embedder)
    _covid(asked.data)
    _traps()
    _corpus_scope(asked.data, statements)


def _cross(head: Head, raw: list[training._Raw], embedder: SentenceModel | None) -> None:
    """Predictions of each claim by models that did not see it, and what each gate leaves of them by their quotes."""
    similar = training._similar(raw, embedder) if embedder else [None] * len(raw)
    examples = [training._example(r, near) for r, near in zip(raw, similar, strict=True)]
    true: list[int] = []
    told: dict[str, list[int]] = {"none": [], "paraphrases": [], "strict": []}
    shipped = TrainedVerifier()._weights
    statement = (shipped.vectors if embedder else shipped.words)["statement"]
    for train, test in training._folds(examples, 0, 1.0):
        weights = training.fit([examples[i] for i in train], head, vectors=embedder is not None)
        for e in (examples[i] for i in test):
            assert e.document is not None  # noqa: S101
            odds = weights.fit(e.seen)
            row = rows_of(claim_features(e.seen, odds), weights.stance.names)
            said = int(weights.chances(row)[0].argmax())
            other = weights if head == "statement" else statement
            places = quoted(e.claim, e.document, e.seen, (odds + other.fit(e.seen)) / 2)
            quotes = [e.document.passages[i] for i in places]
            said = 1 if said == 0 and refutes(e.claim, quotes, e.document.abstract) else said
            against = said < 2 and opposes(e.claim, quotes) == (-1, 1)[said]
            true.append(e.label)
            told["none"].append(said)
            for name in ("paraphrases", "strict"):
                why = objection(e.claim, quotes, e.document.abstract, strict=name == "strict")
                told[name].append(2 if against or why else said)
    for name, column in told.items():
        _row(f"{head}, {'vectors' if embedder else 'words'}", name, np.array(true), np.array(column))


def _row(name: str, when: str, true: training.Labels, said: training.Labels) -> None:
    table = training._table(true, said)
    precision = table[0, 0] / max(table[:, 0].sum(), 1)
    recall = table[0, 0] / max(table[0].sum(), 1)
    cells = (
        training._accuracy(true, said),
        training._macro_f1(true, said),
        precision,
        recall,
        float((said == 2).mean()),
    )
    against = f"{table[1, 1]} of {table[:, 1].sum()}"
    sys.stdout.write(f"| {name} ({len(true)}) | {when} | {' | '.join(f'{c:.3f}' for c in cells)} | {against} |\n")


def _covid(data: Path) -> None:
    told: Counter[tuple[str, str]] = Counter()
    verifier = TrainedVerifier()
    for line in (data / "covidfact" / "claims.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = " ".join(row["evidence"])
        if not text.strip():
            continue
        paper = Document(ids=("x",), abstract=text)
        told[row["label"], "all"] += 1
        for when, opinion in _gates(row["claim"], paper, verifier).items():
            supports = opinion.stance is Stance.SUPPORTS
            told[row["label"], f"supported {when}"] += supports
            told[row["label"], f"at {SURE} and more {when}"] += supports and opinion.probability >= SURE
    for label in ("SUPPORTED", "REFUTED"):
        parts = ", ".join(f"{what} {n}" for (of, what), n in told.items() if of == label)
        sys.stdout.write(f"COVID-Fact, {label}: {parts}\n")


def _corpus_scope(data: Path, raw: list[training._Raw]) -> None:
    """What the papers that a search by words finds come to together, read by models that did not see the claim."""
    recipe = corpus_recipe("scifact")
    documents = [d for d in read_documents(data / "scifact" / "corpus.csv", recipe) if isinstance(d, Document)]
    words = Lexical.of(d.text for d in documents)
    examples = [training._example(r, None) for r in raw]
    labels: dict[str, int] = {}
    for r in raw:
        if r.asked:
            labels[r.group] = min(labels.get(r.group, 2), r.label)
    claims = {r.group: r.claim for r in raw if r.asked}
    weights = TrainedVerifier()._weights
    found: dict[int, list[tuple[float, bool, bool]]] = {3: [], 5: [], 8: []}
    for train, test in training._folds(examples, 0, 1.0):
        head = training.fit([examples[i] for i in train], "statement", vectors=False)
        verifier = TrainedVerifier(None, weights.model_copy(update={"words": {**weights.words, "statement": head}}))
        for group in sorted({examples[i].group for i in test}):
            order = np.argsort(-words.scores(claims[group]))
            for count, rows in found.items():
                judged = verify(claims[group], [documents[int(i)] for i in order[:count]], verifier)
                right = list(Stance).index(judged.stance) == _STANCES[labels[group]]
                rows.append((judged.probability, right, judged.stance is not Stance.SILENT))
    for count, rows in found.items():
        p, right, spoken = (np.array(column) for column in zip(*rows, strict=True))
        sys.stdout.write(
            f"SciFact, {count} papers found by words: accuracy {right.mean():.3f}, "
            f"calibration error {_error(p, right):.3f}; "
            f"{spoken.sum()} of {len(p)} decided, {right[spoken].mean():.3f} right, "
            f"calibration error {_error(p[spoken], right[spoken]):.3f}\n"
        )


_STANCES = tuple(list(Stance).index(s) for s in (Stance.SUPPORTS, Stance.CONTRADICTS, Stance.SILENT))


def _error(p: training.Labels, right: training.Labels) -> float:
    """Expected calibration error in ten bins."""
    bins = np.minimum((p * 10).astype(int), 9)
    return float(sum((bins == b).mean() * abs(p[bins == b].mean() - right[bins == b].mean()) for b in set(bins)))


def _gates(claim: str, paper: Document, verifier: TrainedVerifier) -> dict[str, Opinion]:
    """The opinion on a paper without a gate and with each."""
    (none,) = verifier.judge(claim, [paper])
    strict = {name: verify(claim, [paper], verifier, strict=name == "strict") for name in ("paraphrases", "strict")}
    return {"none": none, **{name: judged.opinions[0] for name, judged in strict.items()}}


def _traps() -> None:
    """Claims of our own with one thing exchanged, or that a note says nothing of: how many it takes as support."""
    verifier = TrainedVerifier()
    told: Counter[tuple[str, str]] = Counter()
    rows = tomllib.loads(EXCHANGES.read_text(encoding="utf-8"))["exchange"]
    claims = [(f"exchanges, {r['set']}", r["altered"], r["text"]) for r in rows]
    claims += [("true ones", r["claim"], r["text"]) for r in rows]
    for a in (*attacks(), *made(12)):
        if a.expected is Stance.SILENT:
            claims.append((f"attacks, {a.group}", a.claim, a.text))
        elif a.expected is Stance.SUPPORTS:
            claims.append(("true ones", a.claim, a.text))
    for name, claim, text in claims:
        told[name, "all"] += 1
        for when, opinion in _gates(claim, Document(ids=("x",), abstract=text), verifier).items():
            told[name, when] += opinion.stance is Stance.SUPPORTS
    for name in sorted({name for name, _ in told}):
        counts = ", ".join(f"{when} {told[name, when]}" for when in ("none", "paraphrases", "strict"))
        sys.stdout.write(f"{name}, supported of {told[name, 'all']}: {counts}\n")


if __name__ == "__main__":
    main()
