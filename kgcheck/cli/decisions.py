"""``kgcheck decisions``: exchange decisions as files, and show the history of one finding."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, table_or_json_option, workspace_options
from kgcheck.cli.output import note, result, show
from kgcheck.errors import EXIT_INCOMPLETE
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.group("decisions")
def command() -> None:
    """Export and import decisions, and show their history."""


@command.command("export")
@click.argument("file", type=FilePath(dir_okay=False))
@workspace_options("ledger", progress=False)
def export(workspace: "Workspace", file: Path) -> None:
    """Write every decision to FILE, .toml or .jsonl, in an order that does not change: it can be kept in git."""
    count = workspace.export_decisions(file)
    note(f"wrote {how_many(count, 'decision')} to {file}")


@command.command("import")
@click.argument("file", type=FilePath(dir_okay=False))
@click.option(
    "--quarantine",
    type=FilePath(dir_okay=False),
    help="JSON lines file for decisions about findings that are not in the ledger [default: beside FILE].",
)
@workspace_options("ledger", progress=False)
def import_(workspace: "Workspace", file: Path, quarantine: Path | None) -> None:
    """Add the decisions of FILE, and show where others decided otherwise: both are kept, and the newer one counts.

    Exit codes: 0, 2 usage or a wrong file, 3 some are about findings that are not in the ledger, and are kept in the
    quarantine file.
    """
    imported = workspace.import_decisions(file, quarantine=quarantine)
    for line in imported.lines:
        result(line)
    click.get_current_context().exit(EXIT_INCOMPLETE if imported.unknown else 0)


@command.command("history")
@click.argument("finding")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def history(workspace: "Workspace", finding: str, format_: str) -> None:
    """Show every decision about FINDING, the oldest first."""
    from kgcheck.curation.forms import history_table

    decisions = workspace.history(finding)
    show(format_, [one.model_dump(mode="json") for one in decisions], history_table(decisions))
