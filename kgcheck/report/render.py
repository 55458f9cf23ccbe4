"""A run as text: JSON, JSON lines, Markdown or HTML."""

from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.report.cells import as_text
from kgcheck.report.sheets import findings_csv
from kgcheck.report.tables import findings_table
from kgcheck.visible import as_json


def render(ledger: Ledger, run: Run, format_: str, limit: int | None = None) -> str:
    """A run in one of the forms that a file or a pipe takes.

    Args:
        ledger: Where the run is.
        run: The run.
        format_: table, json, jsonl, csv, markdown or html.
        limit: At most so many findings.

    Returns:
        The text, ending in a line break.
    """
    findings = ledger.findings(run, limit=limit)
    match format_:
        case "json":
            tallies = [t.as_row() for t in ledger.tallies(run)]
            whole = {"run": run.as_row(), "tallies": tallies, "findings": [f.as_row() for f in findings]}
            return as_json(whole, indent=2) + "\n"
        case "jsonl":
            return "".join(f"{as_json(f.as_row())}\n" for f in findings)
        case "csv":
            return findings_csv(findings)
        case "table":
            return as_text(findings_table(findings))
        case _:
            from kgcheck.report.documents import document

            return document(ledger, run, format_, limit)
