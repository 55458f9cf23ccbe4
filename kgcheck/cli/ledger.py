"""``kgcheck ledger``: what keeps the runs."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import LedgerName, table_or_json_option, workspace_options
from kgcheck.cli.output import show

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.group("ledger")
def command() -> None:
    """Show what keeps the runs, and copy it to another place."""


@command.command("info")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def info(workspace: "Workspace", format_: str) -> None:
    """Show what the ledger is kept in, its format, its size, and how much is in it."""
    from kgcheck.report.tables import ledger_table

    facts = workspace.ledger_facts()
    show(format_, facts._asdict(), ledger_table(facts))


@command.command("copy")
@click.argument("source", metavar="FROM", type=LedgerName())
@click.argument("target", metavar="TO", type=LedgerName())
@table_or_json_option()
def copy(source: str, target: str, format_: str) -> None:
    """Write into the ledger TO what FROM has, all of it or nothing.

    Each is a SQLite file or postgresql://HOST/DATABASE. TO may be new or empty, or have some of the same rows, say of
    an earlier copy; one with anything else is refused. Tokens, sessions and tasks of a service stay where they are.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.report.tables import copied_table
    from kgcheck.workspace import Workspace

    with Workspace(ledger=source, progress=RichProgress()) as workspace:
        copied = workspace.copy_ledger(target)
    show(format_, [table._asdict() for table in copied], copied_table(copied))
