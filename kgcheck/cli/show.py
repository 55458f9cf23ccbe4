"""Write a run or a list of findings to stdout or a file, in the format that was asked for."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kgcheck.cli.console import results
from kgcheck.cli.output import note, text_result
from kgcheck.curation import forms
from kgcheck.curation.compare import ComparedFinding
from kgcheck.curation.findings import NOT_REJECTED
from kgcheck.ledger.ledger import Run
from kgcheck.model import Tally
from kgcheck.report.summary import summary_lines, wrong_lines
from kgcheck.report.tables import findings_table
from kgcheck.workspace import Workspace

TABLE_LIMIT = 50
"""Findings that a terminal shows unless more are asked for."""


def most_shown(limit: int | None, format_: str) -> int | None:
    """Findings to show: as many as are asked for, else the first of a table, and all in other forms."""
    return TABLE_LIMIT if limit is None and format_ == "table" else limit


def show_run(
    workspace: Workspace,
    run: Run,
    tallies: Sequence[Tally],
    *,
    format_: str = "table",
    out: Path | None = None,
    limit: int | None = None,
    **fails: Any,
) -> None:
    """Write a run to stdout or a file; what fails is as `Workspace.report` has it."""
    listed = None if run.is_check else workspace.facets(workspace.list_findings(run))
    if out is not None:
        workspace.report(run, format_, output=out, limit=limit, **fails)
    elif format_ == "table":
        most = TABLE_LIMIT if limit is None else limit
        if run.is_check:
            shown, follow = list(workspace.findings(run, limit=most + 1)), dict[str, int]()
        else:
            compared = list(workspace.list_findings(run, decisions=NOT_REJECTED).page(limit=most + 1))
            shown = [one.finding for one in compared]
            follow = {one.fingerprint: one.consequences for one in compared}
        results().print(findings_table(shown[:most], follow))
        if limit is None and len(shown) > most:
            note(f"these are the first {most} findings; all: kgcheck report {run.id} --out findings.csv")
            note(*wrong_lines(run, listed.wrong if listed else Counter()))
    else:
        text_result(workspace.report(run, format_, limit=limit, **fails))
    note(*summary_lines(run, tallies, (listed.total, listed.followed) if listed else None))


def show_listed(
    findings: Iterable["ComparedFinding"],
    format_: str,
    out: Path | None = None,
    *,
    head: Callable[[], dict[str, Any]] = dict,
) -> None:
    """Write findings with what became of them and what was decided to stdout or a file."""
    if out is not None:
        forms.write(findings, format_, out, head)
    elif format_ == "table":
        results().print(forms.findings_table(findings))
    else:
        for text in forms.text_of(findings, format_, head):
            text_result(text)
