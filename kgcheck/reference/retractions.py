"""Retracted papers: mark links that rest on them alone, and discount them as evidence."""

from collections.abc import Callable, Iterable

import duckdb

from kgcheck.model import Evidence, Reason, Stance
from kgcheck.quoting import literal

SOURCE = "pubmed"
"""The source whose withdrawn ids, ``PMID:1``, are retracted papers."""

_PAPERS = "coalesce(citations, list_filter(string_split(record, '|'), lambda x: starts_with(x, 'PMID:')))"
"""SQL for the papers that a link rests on; a record that is a paper says so itself."""


def mark_retracted(db: duckdb.DuckDBPyConnection, retracted: Iterable[str] | None = None) -> None:
    """Mark the links of a snapshot that rest on retracted papers alone."""
    db.execute("CREATE OR REPLACE TEMP TABLE gone_paper (id VARCHAR)").fetchall()
    withdrawn = f"SELECT DISTINCT id FROM entity WHERE source = {literal(SOURCE)} AND state = 'withdrawn'"
    gone = withdrawn if retracted is None else "SELECT unnest($gone::VARCHAR[])"
    listed = None if retracted is None else {"gone": sorted(set(retracted))}
    db.execute(f"INSERT INTO gone_paper {gone}", listed).fetchall()
    if not db.execute("SELECT 1 FROM gone_paper LIMIT 1").fetchall():
        return
    db.execute(f"""
        UPDATE link SET retracted = true WHERE rowid IN (
            SELECT number FROM (SELECT rowid AS number, unnest({_PAPERS}) AS paper FROM link
                                WHERE citations IS NOT NULL OR starts_with(record, 'PMID:'))
            LEFT JOIN gone_paper ON id = paper GROUP BY number HAVING count(id) = count(*))""").fetchall()


def retracted_among(db: duckdb.DuckDBPyConnection, papers: Iterable[str], catalog: str = "ref") -> set[str]:
    """Return those of some papers that a snapshot lists as retracted."""
    rows = db.execute(
        f"""
        SELECT DISTINCT id FROM {catalog}.entity
        WHERE source = $source AND state = 'withdrawn' AND list_contains($papers::VARCHAR[], id)
        """,
        {"source": SOURCE, "papers": sorted(set(papers))},
    ).fetchall()
    return {str(row[0]) for row in rows}


def counted(found: Iterable[Evidence], retracted: Callable[[Iterable[str]], set[str]]) -> tuple[Evidence, ...]:
    """Return evidence of papers; those that were retracted are shown, and say nothing."""
    observations = list(found)
    papers = {paper for e in observations if (paper := _paper_of(e))}
    gone = retracted(papers) if papers else set()
    for place, e in enumerate(observations):
        if _paper_of(e) in gone:
            value = "; ".join(filter(None, (e.value, "a retracted publication")))
            changes = {"stance": Stance.SILENT, "reason": Reason.RETRACTED_EVIDENCE, "value": value}
            observations[place] = e.model_copy(update=changes)
    return tuple(observations)


def _paper_of(evidence: Evidence) -> str:
    kind, _, number = evidence.record.partition(":")
    return f"PMID:{number}" if kind.lower() == "pmid" and number.isdecimal() else ""
