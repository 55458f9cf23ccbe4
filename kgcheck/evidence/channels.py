"""The channel of a source that an edge itself cites, ``DISEASES (GHR)``: of that one, silence counts."""

from collections.abc import Callable, Sequence

import duckdb

from kgcheck.duck import literal
from kgcheck.evidence.coverage import complete_release
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Pattern

Cited = Callable[[], str]
"""Gives a select of head, tail and source of edges, as the graph states them; to read them all may take long."""


def cited_by(head: str, tail: str, sources: Sequence[str]) -> Cited | None:
    """What the edges between two nodes cite, for a task by itself; None where they cite nothing."""
    rows = ", ".join(f"({literal(head)}, {literal(tail)}, {literal(source)})" for source in sources)
    return (lambda: f"SELECT * FROM (VALUES {rows}) AS t(head, tail, source)") if rows else None


def channel_topic(relation: str, channel: str) -> str:
    """The topic under which a release covers the proteins and the terms of which a channel of it speaks."""
    return f"{relation} {channel}"


def look_at_own_channel(db: duckdb.DuckDBPyConnection, pattern: Pattern, check: EdgeCheck, cited: Cited | None) -> None:
    """Closed silence for the tasks in ``unseen`` whose edges cite channels that would have stated them.

    Each channel that the edges of a task cite must be covered, for the head and for the term, and the hierarchy must be
    whole, for a link to a descendant might have been missed. All others stay in ``unseen``.

    Args:
        db: The working database.
        pattern: What the pairs are joined by.
        check: With the name of the source as edges cite it.
        cited: What edges cite, or None; only asked for where a channel speaks of both ends of a task.
    """
    if not check.channels or not cited or complete_release(db, check.ontology or "", "HAS_PARENT") is None:
        return
    topic = literal(channel_topic(pattern.type, ""))
    covered = f"FROM ref.covered WHERE source = {literal(check.source)} AND starts_with(topic, {topic})"
    both = f"head_now IN (SELECT id {covered}) AND tail_now IN (SELECT id {covered})"
    if not db.execute(f"SELECT EXISTS (FROM unseen WHERE {both})").fetchall()[0][0]:
        return
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE own AS
        WITH named AS (
            SELECT DISTINCT u.task, u.head_now, u.tail_now, regexp_extract(c.source, $form, 1) AS channel
            FROM (FROM unseen WHERE {both}) u JOIN ({cited()}) c ON c.head = u.head AND c.tail = u.tail)
        SELECT n.task, max(h.release_id) AS release_id, string_agg(DISTINCT channel, ', ' ORDER BY channel) AS channels,
               any_value(n.head_now) AS record
        FROM named n
        LEFT JOIN (SELECT DISTINCT topic, id, release_id {covered}) h
        ON h.topic = {topic} || channel AND h.id = n.head_now
        LEFT JOIN (SELECT DISTINCT topic, id, release_id {covered}) t
        ON t.topic = h.topic AND t.id = n.tail_now AND t.release_id = h.release_id
        GROUP BY n.task HAVING count(DISTINCT channel) = count(DISTINCT channel) FILTER (t.id IS NOT NULL)
        """,
        {"form": rf"^{check.channels} \((.+)\)$"},
    ).fetchall()
    db.execute(
        """
        INSERT INTO evidence BY NAME
        SELECT task, $source AS source, release_id, record, 'silent' AS stance, 'closed' AS world, $tier AS tier,
               'no such link in the channel that the edge cites: ' || channels AS value, 'fact' AS about
        FROM own
        """,
        {"source": check.source, "tier": check.tier.value},
    ).fetchall()
    db.execute("CREATE OR REPLACE TEMP TABLE unseen AS FROM unseen ANTI JOIN own USING (task)").fetchall()
