"""SQL conditions under which a snapshot plainly supports an edge.

An edge is plainly supported when both ends are ids of their labels and what they were, a deciding source of the best
tier states the very link, all links of the pair support it, and whatever else there is to look up ends the same for
every such edge. Then their outcome, their reason and the sources that spoke are one, and one of them, looked up and
judged as any other, tells of all. Which of several links of a pair count is never asked: whichever do, they say the
same (kgcheck.evidence.edges).
"""

from typing import NamedTuple

import duckdb

from kgcheck.evidence.coverage import Topics, malformed, unlisted
from kgcheck.evidence.edges import stance
from kgcheck.model import Stance
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Label, Pattern
from kgcheck.quoting import literal
from kgcheck.reference.ids_sql import authority, base, key
from kgcheck.reference.snapshot import is_bare


class PlainEnd(NamedTuple):
    """Conditions of plain support on one end of an edge: SQL over the column id."""

    filed: str
    fine: str


class PlainEdges(NamedTuple):
    """Conditions of plain support on the edges of a pattern: on each end, and that there is a link."""

    links: str
    head: PlainEnd
    tail: PlainEnd
    alone: EdgeCheck | None
    bare: bool
    sources: tuple[str, ...]


def plainly_supported(db: duckdb.DuckDBPyConnection, pattern: Pattern, head: Label, tail: Label) -> PlainEdges | None:
    """Return the conditions by which a snapshot plainly supports edges of a pattern; None if it cannot."""
    if not pattern.checks or (tail.site and not head.site):
        return None
    topics = Topics(db)
    # Of a source of which no release speaks, every edge has the same gap.
    speaking = [check for check in pattern.checks if topics.speak(check.source, check.link)]
    # Where releases of different dates speak, the newest of a record counts, which takes a closer look.
    if not speaking or any(topics.dates(check.source, check.link) > 1 for check in speaking):
        return None
    if pattern.head == pattern.tail and not pattern.loops:
        links = " OR ".join(f"source = {literal(c.source)} AND relation = {literal(c.link)}" for c in speaking)
        if db.execute(f"SELECT 1 FROM ref.link WHERE head_now = tail_now AND ({links}) LIMIT 1").fetchall():
            return None
    of_head = _fine(db, topics, head)
    if len(pattern.checks) > 1:
        for check in speaking:
            looked = _looked_at(topics, check, key(head, "id"))
            if looked is None:
                return None
            of_head += looked
    best = min(check.tier.rank for check in speaking)
    deciding = [check for check in speaking if check.tier.rank == best]
    links = " UNION ALL ".join(_pairs(check, "=", ", source, release_id, record, score") for check in deciding)
    stated = " UNION ALL ".join(_pairs(check, "=") for check in deciding)
    if _qualified(db, " UNION ALL ".join(_pairs(check, "<>") for check in speaking), stated):
        links = f"SELECT * FROM ({links}) WHERE (head, tail) NOT IN (FROM qualified)"
    ends = PlainEnd(key(head, "id"), _all_of(of_head)), PlainEnd(key(tail, "id"), _all_of(_fine(db, topics, tail)))
    alone = speaking[0] if len(speaking) == 1 and speaking[0].match != "descendant" else None
    bare = all(c.match != "either_order" and is_bare(db, c.source, c.link) for c in deciding)
    return PlainEdges(links, *ends, alone, bare, tuple(check.source for check in deciding))


def _qualified(db: duckdb.DuckDBPyConnection, others: str, stated: str) -> bool:
    """Table ``qualified``: of the pairs that a source states, those (few) of which a link says something else, too."""
    if not db.execute(f"SELECT 1 FROM ({others}) LIMIT 1").fetchall():
        return False
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE qualified AS SELECT DISTINCT * FROM ({others}) WHERE (head, tail) IN ({stated})"
    ).fetchall()
    return bool(db.execute("SELECT 1 FROM qualified LIMIT 1").fetchall())


def _looked_at(topics: Topics, check: EdgeCheck, head: str) -> list[str] | None:
    """Conditions under which the source says something of an edge, be it silence."""
    if check.both_ends_mapped or check.match == "either_order":
        return None
    if topics.complete(check.source, check.link) is not None:
        return []
    covered = f"source = {literal(check.source)} AND topic = {literal(check.link)}"
    return [f"{head} IN (SELECT id FROM ref.covered WHERE {covered})"]


def _fine(db: duckdb.DuckDBPyConnection, topics: Topics, label: Label) -> list[str]:
    """Conditions under which an id is one of its label that its authority does not miss, and what it was.

    An isoform is filed under its entry: then both must have the form of the label.
    """
    filed = key(label, "id")
    conditions = [f"NOT ({malformed(label, filed)})", f"NOT ({unlisted(topics, label, filed)})"]
    if label.isoforms:
        signed = f"contains(id, {literal(label.isoform_sign)})" if label.isoform_sign else "true"
        conditions.append(f"NOT ({signed} AND {malformed(label, 'id')})")
    moved = f"SELECT id FROM ref.lifecycle WHERE source = {authority(label)} AND state <> 'current'"
    if db.execute(f"{moved} LIMIT 1").fetchall():
        conditions.append(f"{base(label, 'id')} NOT IN ({moved})")
    return conditions


def _all_of(conditions: list[str]) -> str:
    return " AND ".join(f"({condition})" for condition in conditions)


def _pairs(check: EdgeCheck, how: str, more: str = "") -> str:
    """Pairs (head, tail), with more columns, that have a link whose stance is supporting, ``=``, or another, ``<>``."""
    links = f"FROM ref.link WHERE source = {literal(check.source)} AND relation = {literal(check.link)}"
    chosen = f"{links} AND ({stance(check)}) {how} '{Stance.SUPPORTS.value}'"
    pairs = f"SELECT head_now AS head, tail_now AS tail{more} {chosen}"
    return f"{pairs} UNION ALL SELECT tail_now, head_now{more} {chosen}" if check.match == "either_order" else pairs
