"""Compare two snapshots: rows added, removed and changed, by source and table.

Of most rows digests and hashes tell that both have them (kgcheck.reference.hashes): these are counted, not compared.
"""

from pathlib import Path
from typing import Literal

import duckdb

from kgcheck.duck import connected
from kgcheck.model import Value
from kgcheck.profile.schema import Schema
from kgcheck.quoting import identifier, literal
from kgcheck.reference.hashes import STATED, are_hashed_alike, digests_of, find_differing, hash_of, have_digests
from kgcheck.reference.snapshot import Snapshot, attach_snapshots, damage_named

Side = Literal["older", "newer"]

SIDES: tuple[Side, ...] = ("older", "newer")


class DifferingRows:
    """Compares the tables of the snapshots ``older`` and ``newer``: by digests and hashes, where both have them."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._db = db
        self._releases = {side: self._release_numbers(side) for side in SIDES}
        self._has_hashes = are_hashed_alike(db, SIDES)
        self._has_digests = self._has_hashes and have_digests(db, SIDES)

    def of(self, source: str, table: str, wanted: str, kinds: str = "") -> str:
        """A select of what one side alone has of a source; it does not matter how often."""
        kind, stated = STATED[table]
        where, of_digests = f"source = {literal(source)}", "true"
        if kinds:
            where, of_digests = f"{where} AND {kind} {kinds}", f"kind {kinds}"
        found = [f"SELECT {wanted} FROM newer.{table} LIMIT 0"]
        if table == "link" and self._has_hashes:
            hashed = {str(s): f"SELECT rowid AS number, hash FROM {s}.{table} WHERE {where}" for s in SIDES}
            parts = {str(s): digests_of(s, table, source, of_digests) for s in SIDES}
            find_differing(self._db, hashed, parts if self._has_digests else None)
        elif self.are_none(table, source, of_digests):
            return found[0]
        else:
            find_differing(self._db, {str(side): self._hashed(side, source, table, stated, where) for side in SIDES})
        alone = self._db.execute("SELECT count(older), count(newer) FROM differing").fetchall()[0]
        found += [
            f"SELECT {wanted} FROM {side}.{table} SEMI JOIN differing ON differing.{side} = {table}.rowid"
            for side, count in zip(SIDES, alone, strict=True)
            if count
        ]
        return " UNION ALL ".join(f"({select})" for select in found)

    def are_none(self, table: str, source: str, kinds: str = "true") -> bool:
        """Tell whether digests show that both sides have the same rows."""
        if not self._has_digests:
            return False
        older, newer = (self._db.execute(digests_of(side, table, source, kinds)).fetchall() for side in SIDES)
        return bool(older == newer)

    def _hashed(self, side: Side, source: str, table: str, stated: str, where: str) -> str:
        # Releases are others on the other side, and in the same order.
        hashed, name = hash_of(stated, self._releases[side].get(source, [])), identifier(f"hashed {side}")
        rows = f"SELECT rowid AS number, {hashed} AS hash FROM {side}.{table} WHERE {where}"
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {rows}").fetchall()
        return f"FROM {name}"

    def _release_numbers(self, side: Side) -> dict[str, list[int]]:
        rows = self._db.execute(f"SELECT source, list(id ORDER BY id) FROM {side}.release GROUP BY source").fetchall()
        return {str(source): [int(number) for number in numbers] for source, numbers in rows}


EXAMPLES = 5
"""Rows that are shown of each kind of change."""

_TABLES = {
    "lifecycle": (("id",), "state || coalesce(' now ' || nullif(array_to_string(successors, ', '), ''), '')"),
    "value": (("id", "attribute", "value"), "status"),
    "link": (("relation", "head", "tail"), "concat_ws(' ', CASE WHEN negated THEN 'NOT' END, score)"),
}
"""By table: what names a row of a source, and what may change of it. Which release states it does not matter."""


class TableChange(Value):
    """Changes in one table of one source."""

    source: str
    table: str
    before: int
    after: int
    added: int
    removed: int
    changed: int
    examples: tuple[str, ...]


def compare_snapshots(older: Path, newer: Path, schema: Schema) -> list[TableChange]:
    """Compare two snapshots."""
    for path in (older, newer):
        Snapshot(path, schema).close()
    with connected() as db, damage_named(older, newer):
        attach_snapshots(db, dict(zip(SIDES, (older, newer), strict=True)))
        differing = DifferingRows(db)
        return [_compare(db, differing, table, source) for table in _TABLES for source in _sources(db, table)]


def _sources(db: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    either = " UNION ".join(f"SELECT source FROM {side}.{table}" for side in SIDES)
    return [str(source) for (source,) in db.execute(f"{either} ORDER BY source").fetchall()]


def _compare(db: duckdb.DuckDBPyConnection, differing: DifferingRows, table: str, source: str) -> TableChange:
    keys, content = _TABLES[table]
    named, of_source = ", ".join(keys), f"source = {literal(source)}"
    # Only what names a row that one side alone has may be another.
    perhaps = differing.of(source, table, named)
    db.execute(f"CREATE OR REPLACE TEMP TABLE perhaps AS SELECT DISTINCT * FROM ({perhaps})").fetchall()
    for side in SIDES:
        db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {side}_rows AS
            SELECT {named}, string_agg(DISTINCT {content}, '; ' ORDER BY {content}) AS content
            FROM {side}.{table} SEMI JOIN perhaps USING ({named}) WHERE {of_source} GROUP BY ALL
            """
        ).fetchall()
    shown = " || ' ' || ".join(f"coalesce({key}, '')" for key in keys)
    added, removed, changed, examples = db.execute(
        f"""
        WITH compared AS (
            SELECT {named}, CASE WHEN a.here IS NULL THEN 'added' WHEN b.here IS NULL THEN 'removed'
                                 WHEN a.content <> b.content THEN 'changed' END AS kind,
                   a.content AS was, b.content AS is_now
            FROM (SELECT *, true AS here FROM older_rows) a FULL JOIN (SELECT *, true AS here FROM newer_rows) b
            USING ({named})
        ), marked AS (
            SELECT kind, kind || ': ' || {shown} || coalesce(': ' || CASE kind WHEN 'changed'
                       THEN was || ' -> ' || is_now ELSE nullif(coalesce(was, is_now), '') END, '') AS text,
                   row_number() OVER (PARTITION BY kind ORDER BY {named}) AS place
            FROM compared
        )
        SELECT count(*) FILTER (kind = 'added'), count(*) FILTER (kind = 'removed'),
               count(*) FILTER (kind = 'changed'),
               list(text ORDER BY kind, place) FILTER (kind IS NOT NULL AND place <= {EXAMPLES})
        FROM marked
        """
    ).fetchall()[0]
    each = f"SELECT DISTINCT {named} FROM older.{table} WHERE {of_source}"
    before = int(db.execute(f"SELECT count(*) FROM ({each})").fetchall()[0][0])
    return TableChange(
        source=source,
        table=table,
        before=before,
        after=before + added - removed,
        added=added,
        removed=removed,
        changed=changed,
        examples=tuple(examples or ()),
    )
