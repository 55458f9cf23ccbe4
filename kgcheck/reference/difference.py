"""Compare two snapshots: rows added, removed and changed, by source and table."""

from pathlib import Path

import duckdb

from kgcheck.duck import connected
from kgcheck.model import Value
from kgcheck.profile.schema import Schema
from kgcheck.quoting import literal
from kgcheck.reference.snapshot import Snapshot, attach_snapshots, damage_named

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
        attach_snapshots(db, {"older": older, "newer": newer})
        changes: list[TableChange] = []
        for table in _TABLES:
            either = f"SELECT source FROM older.{table} UNION SELECT source FROM newer.{table} ORDER BY source"
            changes += [_compare(db, table, source) for (source,) in db.execute(either).fetchall()]
        return changes


def _compare(db: duckdb.DuckDBPyConnection, table: str, source: str) -> TableChange:
    keys, content = _TABLES[table]
    named, of_source = ", ".join(keys), f"source = {literal(source)}"
    older, newer = (f"SELECT {named}, {content} FROM {side}.{table} WHERE {of_source}" for side in ("older", "newer"))
    # Most rows are on both sides: only what names one that is not is looked at closely.
    alone = f"(({older}) EXCEPT ({newer})) UNION ALL (({newer}) EXCEPT ({older}))"
    db.execute(f"CREATE OR REPLACE TEMP TABLE perhaps AS SELECT DISTINCT {named} FROM ({alone})").fetchall()
    for side in ("older", "newer"):
        db.execute(f"""
            CREATE OR REPLACE TEMP TABLE {side}_rows AS
            SELECT {named}, string_agg(DISTINCT {content}, '; ' ORDER BY {content}) AS content
            FROM {side}.{table} SEMI JOIN perhaps USING ({named}) WHERE {of_source} GROUP BY ALL""").fetchall()
    shown = " || ' ' || ".join(f"coalesce({key}, '')" for key in keys)
    added, removed, changed, examples = db.execute(f"""
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
        FROM marked""").fetchall()[0]
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
