"""Answers and metrics of questions, for the terminal."""

from collections.abc import Mapping

from rich.table import Table

from kgcheck.model import Value
from kgcheck.questions.answer import Answer, Edge
from kgcheck.report.cells import cell

_SHOWN_NAME = 80


def answer_table(answer: Answer, limit: int) -> Table:
    """Answers with their paths.

    Args:
        answer: What came of a question.
        limit: At most so many.

    Returns:
        One row an answer.
    """
    table = Table("id", "name", "path", box=None)
    for found in answer.found[:limit]:
        name = found.name or str(found.properties.get("sequence") or "")
        shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}..."
        table.add_row(cell(found.ref.id), cell(shown), cell("; ".join(_edge(edge) for edge in found.path)))
    return table


def _edge(edge: Edge) -> str:
    said = edge.properties.get("source")
    return f"{edge.triple}{f' [{said}]' if said else ''}"


def metrics_table(metrics: Mapping[str, Value]) -> Table:
    """Metrics by type: one row a type, one column a metric."""
    first = next(iter(metrics.values()))
    table = Table("type", *type(first).model_fields, box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, value in metrics.items():
        cells = value.model_dump().values()
        table.add_row(
            cell(kind), *("-" if c is None else f"{c:.1f}" if isinstance(c, float) else f"{c:,}" for c in cells)
        )
    return table
