"""Findings as CSV, for a spreadsheet: one row a finding."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from kgcheck.model import Finding
from kgcheck.report.comparison import ALONE, ComparisonSummary
from kgcheck.report.tables import deciding, evidence_line, proposal
from kgcheck.visible import visible

COLUMNS = (
    *("finding", "type", "outcome", "graph", "reason", "confidence", "label", "id", "name", "relation"),
    *("other_label", "other_id", "other_name", "attribute", "value", "proposal", "evidence", "url", "not_looked_at"),
    "cause",
)

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet takes a cell that begins so for a formula, which may run programs and send the sheet away."""


STANDING = ("state", "decision")
"""Columns of a finding's state, where its run is compared, and of the decision about it."""


def findings_csv(findings: Iterable[Finding], compared: ComparisonSummary = ALONE) -> str:
    """Findings as RFC 4180 has them, with a header; what cannot be seen is spelt out."""
    rows = ((*finding_cells(f), compared.state(f) or "", compared.decided(f).words) for f in findings)
    return "".join(csv_lines(chain([(*COLUMNS, *STANDING)], rows)))


def csv_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Rows as lines of CSV, each cell text and no formula."""
    for row in rows:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow([_as_text(cell) for cell in row])
        yield out.getvalue()


def finding_cells(f: Finding) -> tuple[str, ...]:
    """The cells of a finding, in the order of COLUMNS."""
    task, best = f.task, deciding(f)[:1]
    other = task.object
    return (
        *(f.fingerprint, task.type.value, f.verdict.outcome.value, f.mark.graph or "", f.verdict.reason.value),
        f"{f.verdict.confidence:.3f}",
        *(task.subject.label, task.subject.id, f.names[0] or "", task.relation or ""),
        *((other.label, other.id, f.names[1] or "") if other else ("", "", "")),
        *(task.attribute or "", task.value or "", proposal(f.change)),
        *(
            "; ".join(evidence_line(e) for e in best),
            best[0].url if best else "",
            ", ".join(map(str, f.verdict.missing)),
        ),
        f.cause or "",
    )


def _as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula, whatever stands before it; a number stays one."""
    shown = visible(cell)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
