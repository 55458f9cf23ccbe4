"""Bare links: they say nothing but their ends, which a snapshot notes when it is built, so that nobody looks for more.

A relation of a source is bare where no link has a score, and each is found under its ends alone: its record is made of
both ids, as they are now.
"""

import duckdb

_KEY = "'bare link ' || to_json([{source}, {relation}])::VARCHAR"
"""SQL for the key in ``meta``."""


def note_bare(db: duckdb.DuckDBPyConnection) -> None:
    """Note in ``meta`` of a snapshot that is being built, whose links are up to date, which relations are bare."""
    db.execute(
        f"""
        INSERT INTO meta SELECT {_KEY.format(source="source", relation="relation")}, '' FROM link
        GROUP BY source, relation
        HAVING bool_and(score IS NULL AND record IS NOT DISTINCT FROM head_now || ' ' || tail_now)
        """
    ).fetchall()


def is_bare(db: duckdb.DuckDBPyConnection, source: str, relation: str) -> bool:
    """Whether the snapshot notes a relation of a source as bare."""
    noted = f"SELECT 1 FROM ref.meta WHERE key = {_KEY.format(source='$source', relation='$relation')}"
    return bool(db.execute(noted, {"source": source, "relation": relation}).fetchall())
