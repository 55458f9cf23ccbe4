"""Metrics of claim verification (accuracy, F1, calibration, retrieval), with report and plot."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from kgcheck.bench.scv import ClaimItem, Gold
from kgcheck.model import Stance, Value
from kgcheck.outputs import write_text
from kgcheck.report.documents import html_environment, page
from kgcheck.report.tables import measure_text

S = TypeVar("S")
M = TypeVar("M")
V = TypeVar("V", bound=Value)


def by_type(
    results: Sequence[Mapping[str, Any]],
    read: Callable[[Mapping[str, Any]], S],
    mean: Callable[[Sequence[S]], M],
    group: Callable[[str], str] | None = None,
) -> dict[str, M]:
    """Metrics over all results (``all``), by type, and by groups of types."""
    kinds: dict[str, list[S]] = {"all": []}
    groups: dict[str, list[S]] = {}
    for result in results:
        scored, kind = read(result), str(result.get("type") or "without a type")
        kinds["all"].append(scored)
        kinds.setdefault(kind, []).append(scored)
        if group:
            groups.setdefault(group(kind), []).append(scored)
    return {kind: mean(scores) for kind, scores in (kinds | groups).items() if scores}


Spread = dict[str, float]
"""Standard deviation of each measure between the runs of a batch."""


def averaged(runs: Sequence[V]) -> tuple[V, Spread]:
    """Average the measures of several runs of a batch; what is no number, such as a table, stays empty.

    >>> averaged([Bin(low=0, count=2, probability=0.5, accuracy=a) for a in (0.5, 1)])[0].accuracy
    0.75
    """
    means: dict[str, Any] = {}
    spread: Spread = {}
    for name, value in runs[0]:
        values = [getattr(run, name) for run in runs]
        numbers = [v for v in values if isinstance(v, int | float)]
        if numbers:
            mean = statistics.mean(numbers)
            means[name] = mean if any(isinstance(v, float) for v in numbers) else round(mean)
            spread[name] = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
        elif value is not None:
            means[name] = type(value)()
    return runs[0].model_copy(update=means), spread


_SHOWN = {
    "accuracy": ("accuracy", ".1%"),
    "accuracy of the most frequent label": ("majority", ".1%"),
    "macro F1": ("macro_f1", ".3f"),
    "answers that cannot tell": ("abstention", ".1%"),
    "right quotes": ("right_quotes", ".1%"),
    "right quotes, of all with gold evidence": ("right_quotes_of_all", ".1%"),
    "errors": ("error_rate", ".1%"),
    "calibration error": ("calibration_error", ".3f"),
    "nDCG@10": ("ndcg_at_10", ".3f"),
    "recall@10": ("recall_at_10", ".3f"),
    "recall@50": ("recall_at_50", ".3f"),
}
"""Measures of a report, with their forms."""

CLASSES = tuple(s.value for s in Stance)
_BINS = 10


Spans = Callable[[str], Sequence[tuple[int, int]]]
"""The sentences of a document, by its id."""


class Bin(Value):
    """Answers of about one probability: how many there are, how sure they were, how many are right."""

    low: float
    count: int
    probability: float
    accuracy: float


class ClaimMetrics(Value):
    """Measures over the claims that have a label; None where nothing could be measured."""

    claims: int
    labelled: int
    errors: int = Field(description="claims that ended with an error: they count as wrong")
    error_rate: float
    accuracy: float | None
    majority: float | None = Field(description="accuracy of always giving the most frequent label")
    macro_f1: float | None
    abstention: float | None = Field(description="share of answers that say: cannot tell")
    confusion: dict[str, dict[str, int]] = Field(description="by label, then by answer")
    calibration_error: float | None
    calibration: tuple[Bin, ...]
    right_quotes: float | None = Field(description="of the answers that quote, on claims with gold evidence")
    right_quotes_of_all: float | None = Field(
        description="of all claims with gold evidence, as BioKGBench counts: an answer that takes no side has none"
    )
    quoted: int
    ndcg_at_10: float | None
    recall_at_10: float | None
    recall_at_50: float | None
    tokens: int = Field(default=0, description="of results that say so: those of a published protocol")
    cost: float | None = None


def measure(
    items: Sequence[ClaimItem], results: Mapping[str, dict[str, Any]], spans: Spans | None = None
) -> ClaimMetrics:
    """Measure a batch."""
    done = [(item, results[item.id]) for item in items if item.id in results]
    errors = sum(r.get("answer", "error") == "error" for _, r in done)
    labelled = [(i.label.value, r.get("answer", "error"), r.get("probability")) for i, r in done if i.label]
    confusion = {c: dict.fromkeys((*CLASSES, "error"), 0) for c in CLASSES}
    for label, answer, _ in labelled:
        confusion[label][answer] += 1
    bins = bins_of([(p, label == answer) for label, answer, p in labelled if p is not None])
    takes_side = {Stance.SUPPORTS.value, Stance.CONTRADICTS.value}
    with_gold = [r.get("answer") in takes_side and bool(_right_quote(i, r, spans)) for i, r in done if i.gold]
    quotes = [q for i, r in done if (q := _right_quote(i, r, spans)) is not None]
    retrieval = [_retrieval(i, r) for i, r in done if i.documents and r.get("retrieved") is not None]
    total = len(labelled)
    return ClaimMetrics(
        claims=len(done),
        labelled=total,
        errors=errors,
        error_rate=_share(errors, len(done)) or 0.0,
        accuracy=_share(sum(label == answer for label, answer, _ in labelled), total),
        majority=_share(max((sum(row.values()) for row in confusion.values()), default=0), total),
        macro_f1=_macro_f1(confusion) if total else None,
        abstention=_share(sum(answer == Stance.SILENT.value for _, answer, _ in labelled), total),
        confusion=confusion,
        calibration_error=error_of(bins),
        calibration=tuple(bins),
        right_quotes=_share(sum(quotes), len(quotes)),
        right_quotes_of_all=_share(sum(with_gold), len(with_gold)),
        quoted=len(quotes),
        ndcg_at_10=_mean(r[0] for r in retrieval),
        recall_at_10=_mean(r[1] for r in retrieval),
        recall_at_50=_mean(r[2] for r in retrieval),
        tokens=sum(r.get("tokens", 0) for _, r in done),
        cost=sum(costs) if (costs := [r["cost"] for _, r in done if r.get("cost") is not None]) else None,
    )


def ndcg(ranked: Sequence[str], wanted: Iterable[str], depth: int = 10) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002), each wanted document worth one.

    The first and the third are wanted: (1 + 1 / 2) / (1 + 1 / log2(3)).

    >>> round(ndcg(["a", "b", "c"], ["a", "c"]), 4)
    0.9197
    """
    relevant = set(wanted)
    gain = sum(1 / math.log2(i + 2) for i, name in enumerate(ranked[:depth]) if name in relevant)
    best = sum(1 / math.log2(i + 2) for i in range(min(depth, len(relevant))))
    return gain / best if best else 0.0


def _retrieval(item: ClaimItem, result: dict[str, Any]) -> tuple[float, float, float]:
    ranked, wanted = result["retrieved"], set(item.documents)
    return (
        ndcg(ranked, wanted),
        len(wanted & set(ranked[:10])) / len(wanted),
        len(wanted & set(ranked[:50])) / len(wanted),
    )


def _right_quote(item: ClaimItem, result: dict[str, Any], spans: Spans | None) -> bool | None:
    """Tell whether any quote of an answer is gold evidence; None where there is nothing to compare."""
    quotes = [(o["document"], q) for o in result.get("opinions", ()) for q in o["quotes"]]
    if not item.gold or not quotes:
        return None
    return any(_is_gold(document, quote, gold, spans) for document, quote in quotes for gold in item.gold)


def _is_gold(document: str, quote: dict[str, Any], gold: Gold, spans: Spans | None) -> bool:
    if gold.words:
        return quote["text"] in gold.words or gold.words in quote["text"]
    if document != gold.document:
        return False
    if not gold.sentences:
        return True
    if spans is None:
        return False
    sentence_spans = spans(document)
    return any(
        sentence_spans[n][0] < quote["end"] and sentence_spans[n][1] > quote["start"]
        for n in gold.sentences
        if n < len(sentence_spans)
    )


def error_of(bins: Sequence[Bin]) -> float | None:
    """Expected calibration error of answers in bins; None of none."""
    total = sum(b.count for b in bins)
    return round(sum(b.count * abs(b.probability - b.accuracy) for b in bins) / total, 4) if total else None


def bins_of(answers: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Answers by about how sure they were, each a probability and whether it is right."""
    found = []
    for n in range(_BINS):
        inside = [(p, right) for p, right in answers if min(int(p * _BINS), _BINS - 1) == n]
        if inside:
            sure = sum(p for p, _ in inside) / len(inside)
            right = sum(r for _, r in inside) / len(inside)
            found.append(Bin(low=n / _BINS, count=len(inside), probability=round(sure, 4), accuracy=round(right, 4)))
    return found


def _macro_f1(confusion: Mapping[str, Mapping[str, int]]) -> float:
    """Mean of the F1 of the classes that occur, as a label or as an answer.

    Of supports 2 of 3 are right and one is called silent, of contradicts 1 of 1: F1 of 0.8, 0 and 1.

    >>> none = {"supports": 0, "contradicts": 0, "silent": 0}
    >>> supports, contradicts = none | {"supports": 2, "silent": 1}, none | {"contradicts": 1}
    >>> _macro_f1({"supports": supports, "contradicts": contradicts, "silent": none})
    0.6
    """
    scores = []
    for name in CLASSES:
        right = confusion[name][name]
        labels, answers = sum(confusion[name].values()), sum(row[name] for row in confusion.values())
        if labels + answers:
            scores.append(2 * right / (labels + answers))
    return round(sum(scores) / len(scores), 4) if scores else 0.0


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return round(sum(numbers) / len(numbers), 4) if numbers else None


def lines(metrics: ClaimMetrics, spread: Spread | None = None) -> list[tuple[str, str]]:
    """Name and value of every single measure, in the order of the report, with its spread where there is one."""
    shown = {title: measure_text(metrics, name, spread, form) for title, (name, form) in _SHOWN.items()}
    shown["errors"] = f"{metrics.errors:,} ({shown['errors']})"
    shown["right quotes"] += f" of {metrics.quoted:,}" if metrics.quoted else ""
    return [("claims", f"{metrics.claims:,}"), ("with a label", f"{metrics.labelled:,}"), *shown.items()]


def scope_rows(metrics: Mapping[str, Value], spread: Mapping[str, Spread]) -> list[tuple[str, ...]]:
    """Rows of BioKGBench's table 13: accuracy, right quotes and errors by scope."""
    names = ("accuracy", "right_quotes_of_all", "error_rate")
    return [
        (scope, *(measure_text(measured, name, spread.get(scope), ".1%") for name in names))
        for scope, measured in metrics.items()
    ]


def write_report(folder: Path, metrics: ClaimMetrics, options: Mapping[str, Any]) -> None:
    """Write metrics.json, report.md and reliability.svg."""
    report: dict[str, Any] = {"options": options, "measures": lines(metrics), "answers": (*CLASSES, "error")}
    plot, most = html_environment().get_template("reliability.svg"), max([1, *(b.count for b in metrics.calibration)])
    write_text(folder / "metrics.json", metrics.model_dump_json(indent=2) + "\n")
    write_text(folder / "report.md", page("claims", "md", metrics=metrics, **report))
    write_text(folder / "reliability.svg", plot.render(bins=metrics.calibration, most=most))
