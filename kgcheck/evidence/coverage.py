"""What a snapshot's releases speak about, and what becomes of tasks that none speaks of."""

import duckdb

from kgcheck.evidence.tables import WorkingTables
from kgcheck.model import Reason


def complete_release(db: duckdb.DuckDBPyConnection, source: str, topic: str) -> int | None:
    """The newest release that lists everything of a topic, or None."""
    rows = db.execute(
        """
        SELECT r.id FROM ref.topic t JOIN ref.release r ON r.id = t.release_id
        WHERE t.source = $source AND t.topic = $topic AND t.complete ORDER BY r.recency DESC, r.id DESC LIMIT 1
        """,
        {"source": source, "topic": topic},
    ).fetchall()
    return int(rows[0][0]) if rows else None


def add_gaps(tables: WorkingTables, source: str, topic: str) -> None:
    """Gaps of the tasks in ``unseen``: the source could not be looked at for this topic."""
    tables.add_gaps(
        f"""
        SELECT task, $source AS source,
               CASE WHEN EXISTS (FROM ref.topic WHERE source = $source AND topic = $topic)
                    THEN '{Reason.NOT_COVERED.value}' ELSE '{Reason.REFERENCE_MISSING.value}' END AS cause
        FROM unseen
        """,
        {"source": source, "topic": topic},
    )
