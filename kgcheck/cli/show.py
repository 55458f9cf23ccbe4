"""Shows a run in the form that was asked for, and gives its exit code."""

from collections.abc import Sequence
from pathlib import Path

from kgcheck.cli.console import results
from kgcheck.cli.output import say, text_result
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import Outcome, Tally
from kgcheck.outputs import write_text
from kgcheck.report.render import render
from kgcheck.report.tables import findings_table, summary_lines

TABLE_LIMIT = 50
"""Findings that a terminal shows unless more are asked for."""


def show_run(ledger: Ledger, run: Run, format_: str, output: Path | None, limit: int | None) -> None:
    """Write a run to stdout or a file.

    Args:
        ledger: Where it is.
        run: The run.
        format_: table, json, jsonl, csv, markdown or html.
        output: A file; stdout if None.
        limit: At most so many findings.

    Raises:
        InputError: The file cannot be written.
    """
    if format_ == "table" and output is None:
        shown = list(ledger.findings(run, limit=TABLE_LIMIT if limit is None else limit))
        results().print(findings_table(shown))
    else:
        text = render(ledger, run, format_, limit)
        if output is None:
            text_result(text)
        else:
            write_text(output, text)
    for line in summary_lines(run, ledger.tallies(run)):
        say(line)


def exit_code(tallies: Sequence[Tally], fail_on: str) -> int:
    """1 for findings at or over the threshold, else 3 if anything could not be looked at, else 0."""
    outcomes = {t.outcome for t in tallies}
    failing = {
        "refuted": {Outcome.REFUTED},
        "insufficient": {Outcome.REFUTED, Outcome.INSUFFICIENT},
        "never": set(),
    }[fail_on]
    if outcomes & failing:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if Outcome.UNAVAILABLE in outcomes else EXIT_CLEAN
