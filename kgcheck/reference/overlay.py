"""Attach a snapshot to DuckDB, alone or with live answers laid over it by views.

`base` is the snapshot, `live` a small one made of live answers, `ref` views of both: what live says of an id, an
attribute or a subject takes the place of what the snapshot says.
"""

from pathlib import Path

import duckdb

from kgcheck.profile.schema import Schema
from kgcheck.quoting import identifier, literal
from kgcheck.reference.ids_sql import covers_tails
from kgcheck.reference.snapshot import DERIVED_TABLES, TABLES, attach_snapshots

FIRST_LIVE_RELEASE = 1_000_000_000
"""Numbers of live releases begin here, so that they are none of the snapshot's."""


def attach_snapshot(db: duckdb.DuckDBPyConnection, snapshot: Path | None) -> None:
    """Attach a snapshot as ``ref``, or empty tables of the same form, so that every statement finds nothing."""
    if snapshot:
        attach_snapshots(db, {"ref": snapshot})
    else:
        _attach_empty(db, "ref")


def _attach_empty(db: duckdb.DuckDBPyConnection, name: str) -> None:
    own = identifier(str(db.execute("SELECT current_catalog()").fetchall()[0][0]))
    db.execute(f"ATTACH ':memory:' AS {name}; USE {name}; {TABLES} {DERIVED_TABLES} USE {own}").fetchall()


def attach_overlay(db: duckdb.DuckDBPyConnection, snapshot: Path | None, schema: Schema) -> None:
    """Attach a snapshot as ``base``, an empty ``live``, and ``ref`` over both."""
    attach_snapshots(db, {"base": snapshot} if snapshot else {})
    for name in ("live",) if snapshot else ("live", "base"):
        _attach_empty(db, name)
    # What the snapshot notes of its links may not hold of what services say.
    db.execute("ATTACH ':memory:' AS ref; CREATE TABLE ref.meta (key VARCHAR, value VARCHAR)").fetchall()
    for table in ("release", "topic", "covered", "entity", "ancestor"):
        db.execute(f"CREATE VIEW ref.{table} AS FROM base.{table} UNION ALL BY NAME FROM live.{table}").fetchall()
    by_tail = [p for p in schema.relations if covers_tails(schema.label(p.head), schema.label(p.tail))]
    links = {check.link for p in by_tail for check in p.checks}
    links -= {check.link for p in schema.relations if p not in by_tail for check in p.checks}
    both_ways = " OR ".join(f"l.relation = {literal(link)}" for link in sorted(links)) or "false"
    sources = {check.source for p in schema.relations for check in p.checks if check.both_ends_mapped}
    networks = ", ".join(map(literal, sorted(sources))) or "''"
    db.execute(f"""
        CREATE VIEW ref.lifecycle AS
        FROM base.lifecycle b ANTI JOIN (
            SELECT source, id FROM live.lifecycle UNION SELECT source, id FROM live.covered WHERE topic = 'entity'
        ) USING (source, id) UNION ALL BY NAME FROM live.lifecycle;
        CREATE VIEW ref.value AS
        SELECT b.* REPLACE (CASE WHEN n.id IS NOT NULL AND status = 'current' THEN 'former' ELSE status END AS status)
        FROM base.value b LEFT JOIN (SELECT DISTINCT source, id, attribute FROM live.value WHERE status = 'current') n
        ON n.source = b.source AND n.id = b.id AND n.attribute = b.attribute
        UNION ALL BY NAME FROM live.value;
        CREATE VIEW ref.link AS
        FROM base.link l
        WHERE NOT (l.source NOT IN ({networks}) AND EXISTS (
            FROM live.covered c WHERE c.source = l.source AND c.topic = l.relation AND c.id = l.head))
        AND NOT (({both_ways}) AND EXISTS (
            FROM live.covered c WHERE c.source = l.source AND c.topic = l.relation AND c.id = l.tail))
        AND NOT (l.source IN ({networks}) AND EXISTS (
            FROM live.covered a JOIN live.covered b USING (release_id, source, topic)
            WHERE source = l.source AND topic = l.relation AND a.id = l.head AND b.id = l.tail))
        UNION ALL BY NAME FROM live.link""").fetchall()
