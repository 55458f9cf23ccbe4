"""Render a run in one format: table, JSON, CSV, HTML, Markdown, SARIF or JUnit."""

from itertools import islice
from typing import Any

from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import Finding
from kgcheck.report.comparison import ALONE, ComparisonSummary
from kgcheck.report.safe_console import as_text
from kgcheck.report.sheets import findings_csv
from kgcheck.report.tables import findings_table
from kgcheck.visible import as_json


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
