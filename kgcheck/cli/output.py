"""Write results to stdout or files (lines, JSON, tables) and notes to stderr, without secrets.

Names, quotes, file names and messages of others may hold what a terminal obeys (kgcheck.visible), and messages may
hold secrets (kgcheck.redact).
"""

import logging
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from kgcheck.redact import redact
from kgcheck.visible import as_json, safe_json, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType

_QUIET = "kgcheck.quiet"


def be_quiet(ctx: click.Context) -> None:
    """Leave out all notes and progress of the command under way."""
    ctx.meta[_QUIET] = True


def is_quiet() -> bool:
    """True where notes and progress are left out."""
    context = click.get_current_context(silent=True)
    return context is not None and _QUIET in context.meta


def note(*messages: object) -> None:
    """Notes: each one line on stderr, as long as it is."""
    for message in () if is_quiet() else messages:
        line = visible(redact(re.sub(r"(?<!\s)\s*\n\s*", " ", str(message).strip("\n"))))
        click.echo(line, file=sys.stderr)


def secret_note(message: str) -> None:
    """A line on stderr that holds a secret for whoever started the command: nothing is taken out of it."""
    click.echo(visible(message), file=sys.stderr)


def result(line: object) -> None:
    """One line on stdout, as long as it is."""
    click.echo(visible(str(line)), file=sys.stdout)


def text_result(text: str) -> None:
    """A text of several lines on stdout, whose line breaks and tabs are kgcheck's own."""
    click.echo(visible(text, layout=True), file=sys.stdout, nl=False)


def json_result(value: Any) -> None:
    """JSON on stdout: a text that is JSON already, or a value that the json module takes."""
    click.echo(safe_json(value) if isinstance(value, str) else as_json(value, indent=2), file=sys.stdout)


def show(format_: str, row: Any, table: "RenderableType") -> None:
    """A result on stdout: as JSON, or as a table."""
    if format_ == "json":
        json_result(row)
        return
    from kgcheck.cli.console import results

    results().print(table)


def show_rows(
    format_: str,
    rows: "Sequence[Mapping[str, Any]]",
    columns: "Sequence[str]",
    in_table: "Sequence[Mapping[str, Any]] | None" = None,
) -> None:
    """Rows on stdout: as JSON, or these columns of them, or of others like them, as a table."""
    from kgcheck.report.tables import rows_table

    show(format_, rows, rows_table(rows if in_table is None else in_table, columns))


def show_or_write(shown: "RenderableType", out: "Path | None") -> None:
    """A text or a table on stdout or, where one is named, in a file."""
    from kgcheck.cli.console import results
    from kgcheck.outputs import write_text
    from kgcheck.report.safe_console import as_text

    if out is not None:
        write_text(out, shown if isinstance(shown, str) else as_text(shown))
    elif isinstance(shown, str):
        text_result(shown)
    else:
        results().print(shown)


def live_text(text: str) -> str:
    """A piece of text on stderr as it comes, with its line breaks."""
    if is_quiet():
        return ""
    shown = visible(text, layout=True)
    click.echo(shown, file=sys.stderr, nl=False)
    return shown


def show_logs() -> None:
    """Show what libraries warn about as notes: Python's own way shows it as it is."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(f"{record.name}: {record.getMessage()}")

    logging.lastResort = Notes(logging.WARNING)
    logging.captureWarnings(capture=True)
