"""SnapshotWriter: fill a DuckDB connection with releases, topics and rows; derive the rest."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from kgcheck import __version__, clock
from kgcheck.duck import insert_arrow
from kgcheck.profile.catalogue import State
from kgcheck.profile.schema import Schema
from kgcheck.reference.derive import derive
from kgcheck.reference.snapshot import DERIVED_TABLES, FORMAT_VERSION, TABLES, note_bare

COLUMNS = {
    "entity": ("id", "namespace", "state", "name", "successors", "candidates", "detail", "record"),
    "value": ("id", "attribute", "value", "status", "record"),
    "link": ("relation", "head", "tail", "score", "negated", "record", "citations"),
    "covered": ("topic", "id"),
}
"""By table, the columns that a source fills."""

_ARROW = {
    "successors": pa.list_(pa.string()),
    "candidates": pa.list_(pa.string()),
    "citations": pa.list_(pa.string()),
    "score": pa.float64(),
    "negated": pa.bool_(),
}


class SnapshotWriter:
    """Fills a new snapshot."""

    def __init__(self, db: duckdb.DuckDBPyConnection, schema: Schema, first: int = 1) -> None:
        self._db = db
        self._schema = schema
        self.next_release = first
        self._now = clock.now().replace(tzinfo=None)
        db.execute(TABLES + DERIVED_TABLES).fetchall()

    def add_release(self, row: Mapping[str, object]) -> int:
        release_id, self.next_release = self.next_release, self.next_release + 1
        dates = {"retrieved_at": self._now, "built_at": self._now, "recency": recency(str(row["released"]))}
        filled = {"id": release_id, **dates, **row}
        columns = ", ".join(f"${name} AS {name}" for name in filled)
        self._db.execute(f"INSERT INTO release BY NAME SELECT {columns}", filled).fetchall()
        return release_id

    def take_back(self, first: int) -> None:
        """Take back releases and their rows, from the one with a number on."""
        for table in (*COLUMNS, "topic"):
            self._db.execute(f"DELETE FROM {table} WHERE release_id >= ?", [first]).fetchall()
        self._db.execute("DELETE FROM release WHERE id >= ?", [first]).fetchall()
        self.next_release = first

    def date_release(self, release_id: int, release: str, released: str) -> None:
        """Name and date a release whose file told so at its end."""
        self._db.execute(
            "UPDATE release SET release = ?, released = ?, recency = ? WHERE id = ?",
            [release, released, recency(released), release_id],
        ).fetchall()

    def add_topics(self, release_id: int, source: str, topics: Mapping[str, bool]) -> None:
        """Say what topics a release speaks of, and of each whether it lists all of it."""
        self._db.execute(
            "INSERT INTO topic SELECT ?, ?, unnest(?::VARCHAR[]), unnest(?::BOOLEAN[])",
            [release_id, source, list(topics), list(topics.values())],
        ).fetchall()

    def add_rows(self, table: str, source: str, release_id: int, rows: list[dict[str, object]]) -> None:
        """Add rows of a release to a table; what a row lacks is null."""
        columns = [(column, _ARROW.get(column, pa.string())) for column in COLUMNS[table]]
        arrow = pa.Table.from_pylist(rows, pa.schema(columns))
        for name, value in {"release_id": release_id, "source": source}.items():
            arrow = arrow.append_column(name, pa.repeat(value, len(rows)))
        insert_arrow(self._db, table, arrow)

    def finish(self, dropped: Mapping[str, State]) -> None:
        derive(self._db, self._schema, dropped)
        note_bare(self._db)
        built = {"format": str(FORMAT_VERSION), "kgcheck": __version__, "built_at": self._now.isoformat()}
        for entry in ({"profile": self._schema.profile.name} | built).items():
            self._db.execute("INSERT INTO meta VALUES (?, ?)", list(entry)).fetchall()


def recency(released: str) -> int:
    """A day, month or year as a number that orders releases; 0 where nothing is stated."""
    digits = "".join(c for c in released[:10] if c.isdigit())
    return int(digits.ljust(8, "0")) if digits else 0
