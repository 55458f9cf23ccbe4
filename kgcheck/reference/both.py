"""Two snapshots at once: the joins read one of them as ``ref``, and the other takes its place when it is wanted."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import duckdb

from kgcheck.reference.snapshot import attach_snapshots

Side = Literal["older", "newer"]

CHANGES = "changes"
"""Name of an empty database beside the two, for what differs between them: every connection sees it."""

_READ = ("meta", "release", "topic", "covered", "entity", "value", "link", "lifecycle", "ancestor")


def attach_both(older: Path) -> Callable[[duckdb.DuckDBPyConnection, Path | None], None]:
    """What attaches a snapshot as ``newer`` beside an older one, and reads the newer one as ``ref``."""

    def attach(db: duckdb.DuckDBPyConnection, newer: Path | None) -> None:
        attach_snapshots(db, {"older": older, "newer": newer or older})
        db.execute(f"ATTACH ':memory:' AS ref; ATTACH ':memory:' AS {CHANGES}").fetchall()
        read(db, "newer")

    return attach


def read(db: duckdb.DuckDBPyConnection, side: Side) -> None:
    """Let ``ref`` be one of the two."""
    # With the places of rows, so that these are found by few columns and fetched by their places, as in a table.
    views = (f"CREATE OR REPLACE VIEW ref.{t} AS SELECT *, rowid FROM {side}.{t}" for t in _READ)
    db.execute("; ".join(views)).fetchall()
