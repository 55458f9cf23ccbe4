"""The report of a batch of claims: metrics.json, and Markdown with the confusion table and a reliability plot."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgcheck.bench.metrics import CLASSES, ClaimMetrics
from kgcheck.outputs import write_text

_SIDE = 320
_EDGE = 40

_TEXT = """\
# Claims verified

{options}

| measure | value |
| --- | --- |
{measures}

## Confusion

Rows are labels, columns answers.

| label | {header} |
| --- | {rule} |
{confusion}

## Reliability

How often an answer of about one probability is right. On the diagonal, a probability means what it says.

![reliability plot](reliability.svg)

| probability | answers | mean probability | right |
| --- | --- | --- | --- |
{bins}
"""


def lines(metrics: ClaimMetrics) -> list[tuple[str, str]]:
    """Name and value of every single measure, in the order of the report."""
    rows = [
        ("claims", f"{metrics.claims:,}"),
        ("with a label", f"{metrics.labelled:,}"),
        ("accuracy", _percent(metrics.accuracy)),
        ("accuracy of the most frequent label", _percent(metrics.majority)),
        ("macro F1", _number(metrics.macro_f1)),
        ("answers that cannot tell", _percent(metrics.abstention)),
        (
            "right quotes",
            f"{_percent(metrics.right_quotes)} of {metrics.quoted:,}" if metrics.quoted else "not measured",
        ),
        ("errors", f"{metrics.errors:,} ({_percent(metrics.error_rate)})"),
        ("calibration error", _number(metrics.calibration_error)),
        ("nDCG@10", _number(metrics.ndcg_at_10)),
        ("recall@10", _number(metrics.recall_at_10)),
        ("recall@50", _number(metrics.recall_at_50)),
    ]
    return rows


def write_report(folder: Path, metrics: ClaimMetrics, options: Mapping[str, Any]) -> None:
    """Write metrics.json, report.md and reliability.svg."""
    answers = (*CLASSES, "error")
    text = _TEXT.format(
        options="\n".join(f"* {name}: `{value}`" for name, value in options.items() if value is not None),
        measures="\n".join(f"| {name} | {value} |" for name, value in lines(metrics)),
        header=" | ".join(answers),
        rule=" | ".join("---" for _ in answers),
        confusion="\n".join(
            f"| {label} | {' | '.join(str(row[a]) for a in answers)} |" for label, row in metrics.confusion.items()
        ),
        bins="\n".join(
            f"| {b.low:.1f} to {b.low + 0.1:.1f} | {b.count} | {b.probability:.3f} | {b.accuracy:.3f} |"
            for b in metrics.calibration
        ),
    )
    write_text(folder / "metrics.json", metrics.model_dump_json(indent=2) + "\n")
    write_text(folder / "report.md", text)
    write_text(folder / "reliability.svg", _plot(metrics))


def _plot(metrics: ClaimMetrics) -> str:
    """A reliability plot: probability to the right, share of right answers upwards, area by the number of answers."""
    most = max((b.count for b in metrics.calibration), default=1)

    def x(value: float) -> float:
        return round(_EDGE + value * _SIDE, 1)

    def y(value: float) -> float:
        return round(_EDGE / 2 + (1 - value) * _SIDE, 1)

    dots = [
        f'<circle cx="{x(b.probability)}" cy="{y(b.accuracy)}" r="{4 + 10 * (b.count / most) ** 0.5:.1f}"'
        ' fill="#1f77b4" fill-opacity="0.7"/>'
        for b in metrics.calibration
    ]
    ticks = [
        f'<text x="{x(v)}" y="{y(0) + 16}" text-anchor="middle">{v}</text>'
        f'<text x="{_EDGE - 6}" y="{y(v) + 4}" text-anchor="end">{v}</text>'
        for v in (0, 0.5, 1)
    ]
    width, height = _SIDE + 2 * _EDGE, _SIDE + 2 * _EDGE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif"'
            ' font-size="11">',
            f'<rect x="{x(0)}" y="{y(1)}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#888"/>',
            f'<line x1="{x(0)}" y1="{y(0)}" x2="{x(1)}" y2="{y(1)}" stroke="#888" stroke-dasharray="4"/>',
            *ticks,
            *dots,
            f'<text x="{x(0.5)}" y="{height - 12}" text-anchor="middle">probability of the answer</text>',
            "</svg>",
            "",
        ]
    )


def _percent(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"
