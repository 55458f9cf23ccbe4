"""A run as text: JSON, JSON lines, Markdown or HTML."""

import io
import json

from kgcheck.audit.ledger import Ledger, Run
from kgcheck.report.tables import findings_table


def render(ledger: Ledger, run: Run, format_: str, limit: int | None = None) -> str:
    """A run in one of the forms that a file or a pipe takes.

    Args:
        ledger: Where the run is.
        run: The run.
        format_: table, json, jsonl, markdown or html.
        limit: At most so many findings.

    Returns:
        The text, ending in a line break.
    """
    findings = ledger.findings(run, limit=limit)
    match format_:
        case "json":
            tallies = [t.model_dump(mode="json") for t in ledger.tallies(run)]
            whole = {"run": run.model_dump(mode="json"), "tallies": tallies, "findings": [f.as_row() for f in findings]}
            return json.dumps(whole, indent=2) + "\n"
        case "jsonl":
            return "".join(f"{json.dumps(f.as_row())}\n" for f in findings)
        case "table":
            from rich.console import Console

            console = Console(width=200, color_system=None, record=True, file=io.StringIO())
            console.print(findings_table(findings))
            return console.export_text()
        case _:
            from kgcheck.report.documents import document

            return document(ledger, run, format_, limit)
