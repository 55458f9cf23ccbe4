"""Trains the reader of pairs and measures it: ``python -m benchmarks.relations``.

Sentences of BioInfer, HPRD50, IEPA, LLL, GAD, BioRelEx, BioRED and BC5CDR in which people marked whether two names have
to do with each other. Each corpus is also left out of the training whole. Writes
``corpus/verifier/pairs.json`` with ``--write``: single words with a weight, and no sentence. Needs
``make setup-train`` and ../shared/data.
"""

import argparse
import json
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.claim_attacks import _DIRECTED, _SHAPES, _symbols
from benchmarks.pair_sentences import claim_of
from benchmarks.relation_data import PPI, Pair, abstracts, biorelex, gad, in_abstract, marked_pairs, ppi
from kgcheck import clock
from kgcheck.checks.calibration import Calibration, Cell, bounds_of
from kgcheck.literature.judges import SHIPPED, pairs_digest
from kgcheck.literature.pairs import (
    SURE,
    PairWeights,
    directed,
    pair_features,
    probability,
    text_of,
)
from kgcheck.model import Stance
from kgcheck.resources import resource_dir
from kgcheck.text.assertions import Assertion, pair_words, read_pair

Array = np.ndarray[Any, Any]

STRENGTH = 0.05
WORDS = 0.3
"""Single words count by so much: they differ from corpus to corpus more than what stands where."""

OWN = 3.0
"""Each corpus has an intercept of its own in training, held less tightly by so much; a new one gets their mean."""

WORTH = 0.5
"""Each corpus counts by its size to this power, less than its size: BioInfer has half of all pairs."""

FEWEST = 8
"""Sentences or documents, of two corpora at least, in which a word must stand to be a feature."""

NOT_LEARNT = ("GAD",)
"""Its labels call denials related."""

THRESHOLDS = np.linspace(0.05, 0.9, 69)
HIGH = 0.6
COUNTS = (0.5, 0.55, 0.6)
"""From where a pair counts, in the tables with Wilson's lower bound."""

BINDS = re.compile(
    r"(?:interact|bind|bound|complex|associat|recruit|coprecip|co-precip|immunoprec|coimmuno|affinit|contact|dock|recogni|coupl"
    r"|link|form|precipit|assembl|react|attach)"
)
VERBS = re.compile(
    r"(?i)\b(?:interact|bind|bound|activat|inhibit|phosphorylat|complex|cleav|degrad|recruit|associat|mutat|varia|caus|risk"
    r"|predispos|deficien|regulat|induc|express|mediat|stimulat|repress|suppress|reduc|increas|decreas|effect)"
)


class Found(NamedTuple):
    """All pairs, the features of those that a clause states, and the pairs of each two things of an abstract."""

    pairs: list[Pair]
    features: list[dict[str, float]]
    together: list[tuple[str, str, str, int, range]]
    stated: Array


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--write", action="store_true", help="write corpus/verifier/pairs.json")
    parser.add_argument("--calibrate", action="store_true", help=f"write corpus/{SHIPPED}, and nothing else")
    asked = parser.parse_args()
    found = read(asked.data)
    left_out, crossed = np.zeros(len(found.pairs)), np.zeros(len(found.pairs))
    corpus = np.array([p.corpus for p in found.pairs])
    for name in sorted(set(corpus)):
        weights = fit(found, np.flatnonzero(corpus != name))
        left_out[corpus == name] = chances(found, np.flatnonzero(corpus == name), weights)
    if asked.calibrate:
        path = resource_dir("corpus") / SHIPPED
        path.write_text(calibration(found, left_out).model_dump_json(indent=1) + "\n", encoding="utf-8")
        return
    fold = np.array([zlib.crc32(p.group.encode()) % 5 for p in found.pairs])
    for k in range(5):
        weights = fit(found, np.flatnonzero(fold != k))
        crossed[fold == k] = chances(found, np.flatnonzero(fold == k), weights)
    sys.stdout.write(_HEAD.format(what="sentences", sure=HIGH))
    for how, p in (("corpus left out", left_out), ("five folds by document", crossed)):
        _sentences(found, p, how)
    sys.stdout.write(_HEAD.format(what="abstracts", sure=HIGH))
    for how, p in (("corpus left out", left_out), ("five folds by document", crossed)):
        _abstracts(found, p, how)
    _sure(found, left_out)
    _bounds(found, left_out)
    _denials(asked.data, found)
    _directions(found)
    if asked.write:
        weights = fit(found, np.arange(len(found.pairs)))
        path = resource_dir("corpus") / "verifier" / "pairs.json"
        path.write_text(json.dumps(weights.model_dump(mode="json")) + "\n", encoding="utf-8")
        sys.stdout.write(f"{len(weights.weights)} weights\n")


def read(data: Path) -> Found:
    """Read all corpora and look at their pairs."""
    pairs = [*(p for name in PPI for p in ppi(data, name)), *gad(data), *biorelex(data)]
    together = []
    for corpus, file in (("BioRED", "BioRED_Train.PubTator"), ("CDR", "CDR_TrainingSet.PubTator.txt")):
        for abstract in abstracts(data / "literature" / file):
            for kind, _, label, here in in_abstract(corpus, abstract):
                if corpus == "CDR" and kind != "chemical-disease":
                    continue
                together.append((corpus, abstract.name, kind, label, range(len(pairs), len(pairs) + len(here))))
                pairs += here
    readings = [read_pair(p.text, p.one, p.two, _relates(p), unlike=_unlike(p)) for p in pairs]
    stated = np.array([r.assertion is Assertion.STATED for r in readings])
    seen = [
        pair_features(r.clause, unlike=_unlike(p), around=p.around) if r.assertion is Assertion.STATED else {}
        for p, r in zip(pairs, readings, strict=True)
    ]
    return Found(pairs, seen, together, stated)


def _relates(pair: Pair) -> re.Pattern[str]:
    """Words of relation of the claims that are made of such pairs."""
    if pair.corpus == "GAD" or pair.kind == "disease-gene":
        return _claim("protein", "disease", "associated_with")
    if pair.corpus == "BioRelEx":
        return BINDS
    return _claim("protein", "protein", "regulates") if _like(pair.kind) else _claim("chemical", "other", "affects")


@cache
def _claim(head: str, tail: str, relation: str) -> re.Pattern[str]:
    return claim_of("A", head, "B", tail, relation).relates


def fit(found: Found, rows: Array) -> PairWeights:
    """Train on some of the pairs."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    rows = np.array([i for i in rows if found.stated[i] and found.pairs[i].corpus not in NOT_LEARNT])
    groups, corpora = defaultdict(set), defaultdict(set)
    for i in rows:
        for name in found.features[i]:
            groups[name].add(found.pairs[i].group)
            corpora[name].add(found.pairs[i].corpus)
    kept = {n for n in groups if ":" not in n or (len(groups[n]) >= FEWEST and len(corpora[n]) >= 2)}
    # Where there is no abstract, what is seen of it counts as its mean would.
    of_abstracts = sorted(n for n in kept if n.startswith("doc_"))
    read = [i for i in rows if found.pairs[i].around]
    means = {n: float(np.mean([found.features[i][n] for i in read])) for n in of_abstracts} if read else {}

    def scaled(i: int) -> dict[str, float]:
        seen = {n: v * WORDS if ":" in n else v for n, v in found.features[i].items() if n in kept and n != "doc"}
        if found.pairs[i].around:
            seen |= {n: seen[n] - means[n] for n in of_abstracts}
        return seen | {f"corpus={found.pairs[i].corpus}": OWN}

    vectors = DictVectorizer()
    matrix = vectors.fit_transform(scaled(i) for i in rows)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    sizes = Counter(found.pairs[i].corpus for i in rows)
    worth = np.array([sizes[found.pairs[i].corpus] ** -WORTH for i in rows])
    labels = np.array([found.pairs[i].label == 1 for i in rows])
    model = LogisticRegression(C=STRENGTH, solver="liblinear", max_iter=400)
    model.fit(matrix, labels, worth * len(worth) / worth.sum())
    learnt = dict(zip(vectors.get_feature_names_out(), model.coef_[0].tolist(), strict=True))
    own = [learnt.pop(name) * OWN for name in list(learnt) if name.startswith("corpus=")]
    learnt["doc"] = -sum(learnt[n] * mean for n, mean in means.items())
    weights = {n: round(w * WORDS if ":" in n else w, 4) for n, w in learnt.items()}
    intercept = round(float(model.intercept_[0] + np.mean(own)), 4)
    return PairWeights(version=1, intercept=intercept, weights={n: w for n, w in sorted(weights.items()) if w})


def chances(found: Found, rows: Array, weights: PairWeights) -> Array:
    """What a model makes of some of the pairs."""
    return np.array([probability(found.features[i], weights) if found.stated[i] else 0.0 for i in rows])


def calibration(found: Found, p: Array) -> Calibration:
    """Count what is right of the pairs that count, each corpus left out of the training, by kind.

    BioRelEx is no part of it: of the pairs that it marks nearly all are bound, and of others it does not say.
    """
    cells: dict[str, list[bool]] = defaultdict(list)
    rows = [i for i, pair in enumerate(found.pairs) if pair.corpus != "BioRelEx"]
    count = [i for i in rows if p[i] >= SURE]
    for i in count:
        cells[_kind_of(found.pairs[i])].append(found.pairs[i].label == 1)
    corpora = sorted({found.pairs[i].corpus for i in rows})
    right = np.array([found.pairs[i].label == 1 for i in count])
    return Calibration(
        judge="trained",
        model=pairs_digest(),
        evidence=f"{', '.join(corpora)}; each left out of training",
        measured=clock.now(),
        items=len(rows),
        cells=tuple(
            Cell(stance=Stance.SUPPORTS, relation=kind, cases=len(marks), right=sum(marks))
            for kind, marks in sorted(cells.items())
        ),
        found=int(right.sum()),
        labelled=sum(found.pairs[i].label == 1 for i in rows),
        error=round(_calibration(p[count], right), 4),
    )


def _kind_of(pair: Pair) -> str:
    return pair.kind or ("disease-gene" if pair.corpus == "GAD" else "gene-gene")


def best_threshold(found: Found, p: Array, sets: Sequence[tuple[str, Array]]) -> float:
    """Where F1 gains most over naming both, on the mean of some sets."""
    labels = _labels(found)

    def gain(threshold: float) -> float:
        gains = [_f1(labels[rows], p[rows] >= threshold)[2] - _both(labels[rows])[2] for _, rows in sets if len(rows)]
        return float(np.mean(gains))

    return float(max(THRESHOLDS, key=gain))


_HEAD = (
    "\n| {what}, how trained | set | pairs | related | both named P / R / F1 | and a verb F1 | reader P / R / F1"
    " | average precision | P at half and at 0.9 of all | at {sure} P / R | calibration error |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n"
)


def _sets(found: Found) -> list[tuple[str, Array]]:
    named = np.array([f"{p.corpus} {p.kind}" if p.corpus == "BioRED" else p.corpus for p in found.pairs])
    return [(n, np.flatnonzero(named == n)) for n in sorted(set(named))]


def _sentences(found: Found, p: Array, how: str) -> None:
    labels = _labels(found)
    verb = np.array([bool(VERBS.search(x.text)) for x in found.pairs])
    marked = np.array([x.kind == "marked" for x in found.pairs])
    sets = _sets(found)
    for name, rows in sets:
        unlike = _unlike(found.pairs[rows[0]])
        others = [s for s in sets if s[0].split()[0] != name.split()[0] and _unlike(found.pairs[s[1][0]]) == unlike]
        threshold = best_threshold(found, p, others)
        _row(how, name, labels[rows], verb[rows], p[rows], threshold)
        if name == "BioRelEx":
            only = rows[marked[rows]]
            _row(how, "BioRelEx, marked pairs alone", labels[only], verb[only], p[only], threshold)


def _abstracts(found: Found, p: Array, how: str) -> None:
    """Each two things of an abstract: related if its best sentence says so; those that never meet in one are not."""
    kinds = sorted({(c, k) for c, _, k, _, _ in found.together})
    for corpus, kind in kinds:
        mine = [t for t in found.together if (t[0], t[2]) == (corpus, kind)]
        others = [t for t in found.together if (t[0], t[2]) != (corpus, kind) and _like(t[2]) == _like(kind)]
        best = np.array([max((p[i] for i in t[4]), default=0.0) for t in mine])
        labels = np.array([t[3] == 1 for t in mine])
        met = np.array([len(t[4]) > 0 for t in mine])
        verb = np.array([any(VERBS.search(found.pairs[i].text) for i in t[4]) for t in mine])
        other_best = np.array([max((p[i] for i in t[4]), default=0.0) for t in others])
        other_labels = np.array([t[3] == 1 for t in others])
        threshold = float(max(THRESHOLDS, key=lambda q: _f1(other_labels, other_best >= q)[2]))
        _row(how, f"{corpus} {kind}", labels, verb, best, threshold, met)


def _row(how: str, name: str, true: Array, verb: Array, p: Array, threshold: float, met: Array | None = None) -> None:
    both = _both(true) if met is None else _f1(true, met)
    read, sure = _f1(true, p >= threshold), _f1(true, p >= HIGH)
    met = np.ones(len(true), bool) if met is None else met
    cells = (
        str(len(true)),
        f"{true.mean():.2f}",
        " / ".join(f"{x:.3f}" for x in both),
        f"{_f1(true, verb & met)[2]:.3f}",
        f"{' / '.join(f'{x:.3f}' for x in read)} (at {threshold:.2f})",
        f"{_average_precision(true, p):.3f}",
        " / ".join(f"{_precision_at(true, p, share):.3f}" for share in (0.5, 0.9)),
        f"{sure[0]:.3f} / {sure[1]:.3f}",
        f"{_calibration(p, true):.3f}",
    )
    sys.stdout.write(f"| {how} | {name} | {' | '.join(cells)} |\n")


def _sure(found: Found, p: Array) -> None:
    """What precision comes of how sure the reader must be, each corpus left out: the mean of the sets."""
    labels = _labels(found)
    sets = _sets(found)
    told = [
        "",
        "| from | precision, mean of the sets | of two of a kind | of unlike ones | found |",
        "|---|---|---|---|---|",
    ]
    for q in np.arange(0.4, 0.86, 0.05):
        rows = [(_unlike(found.pairs[r[0]]), _f1(labels[r], p[r] >= q)) for _, r in sets]
        cells = [[f[0] for u, f in rows if u in which and f[1]] for which in ((True, False), (False,), (True,))]
        means = " | ".join(f"{np.mean(c):.3f}" for c in cells)
        told.append(f"| {q:.2f} | {means} | {np.mean([f[1] for _, f in rows]):.3f} |")
    sys.stdout.write("\n".join(told) + "\n")


def _bounds(found: Found, p: Array) -> None:
    """How many are right of those that count, in each set left out, with Wilson's lower bound."""
    labels, marked = _labels(found), np.array([x.kind != "unmarked" for x in found.pairs])
    told = ["", f"| corpus left out | {' | '.join(f'from {q:.2f}' for q in COUNTS)} |", "|---|---|---|---|"]
    for name, rows in _sets(found):
        cells = []
        for q in COUNTS:
            count = rows[(p[rows] >= q) & marked[rows]]
            right = int(labels[count].sum())
            shown = (
                f"{right / len(count):.2f} of {len(count)} ({bounds_of(right, len(count)).lower:.2f})"
                if len(count)
                else ""
            )
            cells.append(shown)
        told.append(f"| {name} | {' | '.join(cells)} |")
    sys.stdout.write("\n".join(told) + "\n")


def _denials(data: Path, found: Found) -> None:
    """BioRelEx marks denials: how many of those read are some, and how many true bindings are called denied."""
    told: Counter[tuple[int, bool]] = Counter()
    for label, text, mentions in marked_pairs(data):
        told[label, any(_denies(text, one, two) for one, two in mentions)] += 1
    read = sum(n for (_, was), n in told.items() if was)
    denied = sum(n for (label, _), n in told.items() if label == -1)
    true = sum(n for (label, _), n in told.items() if label == 1)
    sys.stdout.write(
        f"\ndenials of BioRelEx: {told[-1, True]} of {denied} found, "
        f"precision {told[-1, True] / max(read, 1):.3f} of {read};"
        f" {told[1, True]} of {true} true bindings called denied\n"
    )
    other = Counter(
        p.corpus for p in found.pairs if p.corpus not in ("BioRelEx", "GAD") and _denies(p.text, p.one, p.two)
    )
    sys.stdout.write(f"called denied elsewhere: {dict(other)}\n")


def _denies(text: str, one: tuple[int, int], two: tuple[int, int]) -> bool:
    return read_pair(text, one, two, BINDS).assertion is Assertion.DENIED


def _directions(found: Found) -> None:
    """LLL marks who regulates whom; and sentences made by rule."""
    told: Counter[str] = Counter()
    for pair in found.pairs:
        if pair.corpus == "LLL" and pair.directed and pair.label == 1:
            told[_way(pair.text, pair.one, pair.two)] += 1
    sys.stdout.write(f"direction in LLL: {dict(told)}; the wrong one of {sum(told.values())} pairs: {told['turned']}\n")
    made = Counter(_way(*sentence) for sentence in _made(400))
    sys.stdout.write(f"direction in sentences made by rule: {dict(made)}\n")


def _way(text: str, one: tuple[int, int], two: tuple[int, int]) -> str:
    way = directed(text_of(pair_words(text, one, two)))
    return "not read" if way.straight == way.turned else "straight" if way.straight else "turned"


def _made(count: int) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    import random

    chance = random.Random(7)  # noqa: S311
    for _ in range(count):
        a, b = _symbols(chance, 2)
        verb, past, noun = chance.choice(_DIRECTED)
        text = chance.choice(_SHAPES).format(a=a, b=b, verb=verb, past=past, noun=noun, n=40, where="neurons")
        yield text, _span(text, a), _span(text, b)


def _span(text: str, name: str) -> tuple[int, int]:
    return text.index(name), text.index(name) + len(name)


def _labels(found: Found) -> Array:
    return np.array([p.label == 1 for p in found.pairs])


def _unlike(pair: Pair) -> bool:
    return pair.corpus == "GAD" or not _like(pair.kind)


def _like(kind: str) -> bool:
    return len(set(kind.split("-"))) == 1


def _both(true: Array) -> tuple[float, float, float]:
    return _f1(true, np.ones(len(true), bool))


def _f1(true: Array, found: Array) -> tuple[float, float, float]:
    hits = float((true & found).sum())
    return (
        hits / max(found.sum(), 1),
        hits / max(true.sum(), 1),
        2 * hits / max(float(true.sum() + found.sum()), 1),
    )


def _average_precision(true: Array, p: Array) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(true, p))


def _precision_at(true: Array, p: Array, share: float) -> float:
    """Precision where so much of what is related is found."""
    order = np.argsort(-p, kind="stable")
    hits = true[order].cumsum()
    at = int(np.searchsorted(hits, share * true.sum()))
    return float(hits[at] / (at + 1))


def _calibration(p: Array, true: Array) -> float:
    """Expected calibration error in ten bins."""
    bins = np.minimum((p * 10).astype(int), 9)
    return float(sum((bins == b).mean() * abs(p[bins == b].mean() - true[bins == b].mean()) for b in set(bins)))


if __name__ == "__main__":
    main()
