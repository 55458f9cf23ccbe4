"""Which edges a snapshot supports so plainly that all of them have one verdict: of a whole graph, nearly all.

An edge is plainly supported when both ends are ids of their labels and what they were, a deciding source of the best
tier states the very link, all links of the pair support it, and whatever else there is to look up ends the same for
every such edge. Then their outcome, their reason and the sources that spoke are one, and one of them, looked up and
judged as any other, tells of all. Which of several links of a pair count is never asked: whichever do, they say the
same (kgcheck.evidence.stance).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb

from kgcheck.duck import identifier, literal
from kgcheck.evidence.coverage import Topics
from kgcheck.evidence.stance import stance
from kgcheck.evidence.written import malformed, unlisted
from kgcheck.model import Stance
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Label, Pattern
from kgcheck.reference.ids_sql import authority, base, key


class PlainEdges(NamedTuple):
    """SQL for the edges of a pattern that are plainly supported, over the columns head and tail.

    Attributes:
        links: A select of the links that support them: head, tail, source, release_id and record.
        head: The id under which links file the head.
        tail: The same of the tail.
        besides: What must be true of an edge besides having such a link.
    """

    links: str
    head: str
    tail: str
    besides: str

    @property
    def condition(self) -> str:
        """All of it as one condition."""
        return f"({self.head}, {self.tail}) IN (SELECT head, tail FROM ({self.links})) AND {self.besides}"


def plainly_supported(
    db: duckdb.DuckDBPyConnection, pattern: Pattern, head: Label, tail: Label, *, few: bool = False
) -> PlainEdges | None:
    """SQL for the edges of a pattern that a snapshot plainly supports.

    Args:
        db: A working database with the catalog ``ref``.
        pattern: What the pairs are joined by.
        head: Label of the heads.
        tail: Label of the tails.
        few: Few edges are asked about: each is looked at, and not each id that a link names.

    Returns:
        The edges; None where no edge of the pattern can be told to be so.
    """
    if not pattern.checks or (tail.site and not head.site):
        return None
    topics = Topics(db)
    # Of a source of which no release speaks, every edge has the same gap.
    speaking = [check for check in pattern.checks if topics.speak(check.source, check.link)]
    # Where releases of different dates speak, the newest of a record counts, which takes a closer look.
    if not speaking or any(topics.dates(check.source, check.link) > 1 for check in speaking):
        return None
    conditions = [condition for end in ((head, "head"), (tail, "tail")) if (condition := _unmoved(db, *end))]
    for label, end in ((head, "head"), (tail, "tail")):
        conditions += _well_formed(db, topics, label, end, pattern, () if few else speaking)
    if len(pattern.checks) > 1:
        for check in speaking:
            looked = _looked_at(topics, check, key(head, "head"))
            if looked is None:
                return None
            conditions.append(looked)
    best = min(check.tier.rank for check in speaking)
    ends = key(head, "head"), key(tail, "tail")
    deciding = [check for check in speaking if check.tier.rank == best]
    stated = " UNION ALL ".join(_pairs(check, "=") for check in deciding)
    if _qualified(db, " UNION ALL ".join(_pairs(check, "<>") for check in speaking), stated):
        conditions.append(f"({ends[0]}, {ends[1]}) NOT IN (FROM qualified)")
    links = " UNION ALL ".join(_pairs(check, "=", ", source, release_id, record") for check in deciding)
    return PlainEdges(links, *ends, " AND ".join(conditions) or "true")


def _qualified(db: duckdb.DuckDBPyConnection, others: str, stated: str) -> bool:
    """Table ``qualified``: of the pairs that a source states, those of which a link says something else, too.

    What is asked of every edge costs time, and of most relations no link says anything else.

    Returns:
        Whether there are any.
    """
    if not db.execute(f"SELECT 1 FROM ({others}) LIMIT 1").fetchall():
        return False
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE qualified AS SELECT DISTINCT * FROM ({others}) WHERE (head, tail) IN ({stated})"
    ).fetchall()
    return bool(db.execute("SELECT 1 FROM qualified LIMIT 1").fetchall())


def _looked_at(topics: Topics, check: EdgeCheck, head: str) -> str | None:
    """A condition under which the source says something of an edge, be it silence.

    Returns:
        The condition; None where it depends on more than the head.
    """
    if check.both_ends_mapped or check.match == "either_order":
        return None
    if topics.complete(check.source, check.link) is not None:
        return "true"
    covered = f"source = {literal(check.source)} AND topic = {literal(check.link)}"
    return f"{head} IN (SELECT id FROM ref.covered WHERE {covered})"


def _unmoved(db: duckdb.DuckDBPyConnection, label: Label, column: str) -> str | None:
    """A condition under which an end is what it was; None where all are."""
    moved = f"SELECT id FROM ref.lifecycle WHERE source = {authority(label)} AND state <> 'current'"
    found = db.execute(f"{moved} LIMIT 1").fetchall()
    return f"{base(label, column)} NOT IN ({moved})" if found else None


def _well_formed(
    db: duckdb.DuckDBPyConnection,
    topics: Topics,
    label: Label,
    end: str,
    pattern: Pattern,
    speaking: Sequence[EdgeCheck],
) -> Iterator[str]:
    """Conditions under which an end is an id of its label that its authority does not miss.

    An end that a source states is filed under one of the ids of its links, of which there are few: those are looked at
    once, instead of every edge. Only what an isoform adds to the id of its entry stands in no link.

    Yields:
        Conditions; none where all ends are so.
    """
    if speaking:
        odd = _odd_ids(db, topics, label, end, pattern, speaking)
        if db.execute(f"SELECT 1 FROM {odd} LIMIT 1").fetchall():
            yield f"{key(label, end)} NOT IN (FROM {odd})"
    else:
        yield f"NOT ({malformed(label, key(label, end))} OR {unlisted(topics, label, key(label, end))})"
    if label.isoforms:
        signed = f"contains({end}, {literal(label.isoform_sign)})" if label.isoform_sign else "true"
        yield f"NOT ({signed} AND {malformed(label, end)})"


def _odd_ids(
    db: duckdb.DuckDBPyConnection,
    topics: Topics,
    label: Label,
    end: str,
    pattern: Pattern,
    speaking: Sequence[EdgeCheck],
) -> str:
    """A table of the ids of links that are no ids of a label, or that its authority misses: its name."""
    stated = " OR ".join(f"source = {literal(c.source)} AND relation = {literal(c.link)}" for c in speaking)
    known = _known_ids(db, label)
    ids = " UNION ".join(
        f"""SELECT DISTINCT {column} AS id FROM ref.link
            WHERE ({stated}) AND {column} NOT IN (FROM {known})"""
        for column in (("head_now", "tail_now") if pattern.head == pattern.tail else (f"{end}_now",))
    )
    odd = f"odd_{end}"
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {odd} AS
        SELECT id FROM ({ids}) WHERE {malformed(label, "id")} OR {unlisted(topics, label, "id")}
        """
    ).fetchall()
    return odd


def _known_ids(db: duckdb.DuckDBPyConnection, label: Label) -> str:
    """A table of the ids that the authority of a label knows and that have its form: nearly all that links name.

    Returns:
        Its quoted name; it is filled once.
    """
    name = identifier(f"known {label.name}")
    db.execute(
        f"""
        CREATE TEMP TABLE IF NOT EXISTS {name} AS
        SELECT DISTINCT id FROM ref.lifecycle
        WHERE source = {literal(label.authority.source)} AND NOT {malformed(label, "id")}
        """
    ).fetchall()
    return name


def _pairs(check: EdgeCheck, how: str, more: str = "") -> str:
    """Pairs (head, tail) that have a link whose stance is supporting, ``=``, or another, ``<>``.

    With more columns of the link, and in both orders, where order means nothing.

    Returns:
        A select.
    """
    links = f"FROM ref.link WHERE source = {literal(check.source)} AND relation = {literal(check.link)}"
    chosen = f"{links} AND ({stance(check)}) {how} '{Stance.SUPPORTS.value}'"
    pairs = f"SELECT head_now AS head, tail_now AS tail{more} {chosen}"
    return f"{pairs} UNION ALL SELECT tail_now, head_now{more} {chosen}" if check.match == "either_order" else pairs
