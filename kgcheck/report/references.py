"""Tables about reference files and snapshots, for terminals."""

from collections.abc import Sequence

from rich.table import Table

from kgcheck.reference.difference import TableChange
from kgcheck.reference.download import Fetched


def fetched_table(files: Sequence[Fetched]) -> Table:
    """What became of each file that was to be fetched."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("source", "file", "bytes", "sha256", "state"):
        table.add_column(name, overflow="fold")
    for f in files:
        state = f.failure or ("unchanged" if f.unchanged else "fetched, MD5 agrees" if f.md5 else "fetched")
        table.add_row(f.source, f.file, f"{f.bytes:,}" if f.bytes else "", f.sha256[:12], state)
    return table


def difference_table(changes: Sequence[TableChange]) -> Table:
    """What changed between two snapshots."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("source", "table", "before", "after", "added", "removed", "changed", "for example"):
        table.add_column(name, overflow="fold")
    for c in changes:
        counts = (f"{n:,}" for n in (c.before, c.after, c.added, c.removed, c.changed))
        table.add_row(c.source, c.table, *counts, "\n".join(c.examples))
    return table
