"""Render a run in one format: table, JSON, CSV, HTML, Markdown, SARIF or JUnit."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import Finding
from kgcheck.report.comparison import ALONE, ComparisonSummary
from kgcheck.report.safe_console import as_text
from kgcheck.report.tables import deciding, evidence_line, findings_table, proposal
from kgcheck.visible import as_json, visible


def render(
    ledger: Ledger,
    run: Run,
    format_: str,
    limit: int | None = None,
    *,
    compared: ComparisonSummary = ALONE,
    fail_on: str = "refuted",
    exit_code: int = 0,
) -> str:
    """A run in one of the forms that a file or a pipe takes."""
    findings = ledger.findings(run, limit=limit)
    match format_:
        case "json":
            tallies = [t.as_row() for t in ledger.tallies(run)]
            whole = {"run": run.as_row(), "tallies": tallies, "findings": [_row(f, compared) for f in findings]}
            if compared.counts:
                parts = [one._asdict() for one in compared.parts]
                whole["compared"] = {"before": compared.before, "counts": dict(compared.counts), "parts": parts}
            return as_json(whole, indent=2) + "\n"
        case "jsonl":
            return "".join(f"{as_json(_row(f, compared))}\n" for f in findings)
        case "csv":
            return findings_csv(findings, compared)
        case "junit":
            from kgcheck.report.junit import junit

            return junit(run, ledger.findings(run), ledger.tallies(run), compared, fail_on, limit)
        case "sarif":
            from kgcheck.report.sarif import sarif

            return sarif(run, ledger.findings(run), ledger.tallies(run), compared, limit, exit_code)
        case "table":
            causes = (f for f in ledger.findings(run) if not compared.follows(f))
            return as_text(findings_table(islice(causes, limit), ledger.consequences(run)))
        case _:
            from kgcheck.report.documents import document

            return document(ledger, run, format_, limit, compared=compared)


def _row(finding: Finding, compared: ComparisonSummary) -> dict[str, Any]:
    """A finding with what became of it, where it is compared, and what was decided, where something was."""
    row = finding.as_row()
    if state := compared.state(finding):
        row["state"] = state
    decided = compared.decided(finding)
    if made := decided.decision:
        shown = made.model_dump(mode="json", include={"action", "by", "at", "note", "until"})
        row["decision"] = shown | {"stands": decided.stands}
    return row


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
