"""What a ledger is and what became of a copy, as tables for the terminal."""

from collections.abc import Iterable

from rich.table import Table

from kgcheck.ledger.copying import Copied, LedgerFacts
from kgcheck.report.cells import cell


def ledger_table(facts: LedgerFacts) -> Table:
    """What a ledger is, and how much is in it: one row a fact."""
    table = Table(box=None, show_header=False)
    table.add_row("ledger", cell(facts.ledger))
    table.add_row("kept in", cell(facts.database))
    table.add_row("format", str(facts.format))
    table.add_row("size", f"{facts.bytes / 2**20:,.1f} MiB")
    for name, rows in facts.rows.items():
        table.add_row(name, f"{rows:,}")
    return table


def copied_table(copied: Iterable[Copied]) -> Table:
    """What became of each table of a ledger that was copied."""
    table = Table("table", "rows", "added", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for done in copied:
        table.add_row(cell(done.table), f"{done.rows:,}", f"{done.added:,}")
    return table
