"""Lines for people and programs: results on stdout, notes on stderr. Nothing else writes there but console.py.

Names, quotes, file names and messages of others may hold what a terminal obeys (kgcheck.visible), and messages may
hold secrets (kgcheck.redact).
"""

import logging
import re
import sys
from typing import Any

import click

from kgcheck.redact import redact
from kgcheck.visible import as_json, safe_json, visible


def note(message: str) -> None:
    """A note: one line on stderr, as long as it is."""
    line = visible(redact(re.sub(r"(?<!\s)\s*\n\s*", " ", message.strip("\n"))))
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


def live_text(text: str) -> str:
    """A piece of text on stderr as it comes, with its line breaks."""
    shown = visible(text, layout=True)
    click.echo(shown, file=sys.stderr, nl=False)
    return shown


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(f"{record.name}: {record.getMessage()}")


def show_logs() -> None:
    """Show what libraries warn about as notes: Python's own way shows it as it is."""
    logging.lastResort = _Notes(logging.WARNING)
    logging.captureWarnings(capture=True)
