"""What changed between two snapshots, by source and table."""

from pathlib import Path

import duckdb

from kgcheck.duck import connected
from kgcheck.model import Value
from kgcheck.profile.schema import Schema
from kgcheck.reference.snapshot import Snapshot, attach_snapshots, damage_named

EXAMPLES = 5
"""Rows that are shown of each kind of change."""

_TABLES = {
    "lifecycle": (("source", "id"), "state || coalesce(' now ' || nullif(array_to_string(successors, ', '), ''), '')"),
    "value": (("source", "id", "attribute", "value"), "status"),
    "link": (("source", "relation", "head", "tail"), "concat_ws(' ', CASE WHEN negated THEN 'NOT' END, score)"),
}
"""By table: what names a row, and what may change of it. Which release states it does not matter."""


class TableChange(Value):
    """What changed in one table of one source."""

    source: str
    table: str
    before: int
    after: int
    added: int
    removed: int
    changed: int
    examples: tuple[str, ...]


def compare_snapshots(older: Path, newer: Path, schema: Schema) -> list[TableChange]:
    """Compare two snapshots.

    Args:
        older: The one before.
        newer: The one after.
        schema: Profile that both must be of.

    Returns:
        A row for every source and table that either has, unchanged ones too.
    """
    for path in (older, newer):
        Snapshot(path, schema).close()
    with connected() as db, damage_named(older, newer):
        attach_snapshots(db, {"a": older, "b": newer})
        return [change for table in _TABLES for change in _compare(db, table)]


def _compare(db: duckdb.DuckDBPyConnection, table: str) -> list[TableChange]:
    keys, content = _TABLES[table]
    named = ", ".join(keys)
    shown = " || ' ' || ".join(f"coalesce({key}, '')" for key in keys[1:])
    for side in ("a", "b"):
        db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {side}_rows AS
            SELECT {named}, string_agg(DISTINCT {content}, '; ' ORDER BY {content}) AS content
            FROM {side}.{table} GROUP BY ALL
            """
        ).fetchall()
    rows = db.execute(
        f"""
        WITH compared AS (
            SELECT {named}, coalesce(a.here, false) AS old, coalesce(b.here, false) AS new,
                   a.content AS was, b.content AS is_now
            FROM (SELECT *, true AS here FROM a_rows) a FULL JOIN (SELECT *, true AS here FROM b_rows) b USING ({named})
        ), told AS (
            SELECT *, CASE WHEN NOT old THEN 'added' WHEN NOT new THEN 'removed' WHEN was <> is_now THEN 'changed' END
                      AS kind
            FROM compared
        ), marked AS (
            SELECT *, kind || ': ' || {shown} || coalesce(': ' || CASE kind WHEN 'changed' THEN was || ' -> ' || is_now
                       ELSE nullif(coalesce(was, is_now), '') END, '') AS text,
                   row_number() OVER (PARTITION BY source, kind ORDER BY {named}) AS place
            FROM told
        )
        SELECT source, count(*) FILTER (old), count(*) FILTER (new), count(*) FILTER (kind = 'added'),
               count(*) FILTER (kind = 'removed'), count(*) FILTER (kind = 'changed'),
               list(text ORDER BY kind, place) FILTER (kind IS NOT NULL AND place <= {EXAMPLES})
        FROM marked GROUP BY source ORDER BY source
        """
    ).fetchall()
    return [
        TableChange(
            source=source,
            table=table,
            before=old,
            after=new,
            added=added,
            removed=removed,
            changed=changed,
            examples=tuple(examples or ()),
        )
        for source, old, new, added, removed, changed, examples in rows
    ]
