"""Derive a snapshot's final rows in SQL: id lifecycles, hierarchies, links brought up to date."""

from collections.abc import Mapping

import duckdb

from kgcheck.profile.catalogue import PARENT, EdgeCheck, State
from kgcheck.profile.schema import Label, Schema
from kgcheck.quoting import literal
from kgcheck.reference.ids_sql import base, covers_tails
from kgcheck.reference.retractions import mark_retracted

_LONGEST_CHAIN = 20
"""Replacements of replacements that are followed."""

_REPLACED = "lifecycle WHERE state <> 'current' AND len(successors) > 0"


def derive(db: duckdb.DuckDBPyConnection, schema: Schema, dropped: Mapping[str, State]) -> None:
    """Make the tables ``lifecycle`` and ``ancestor``, and bring links and values up to date."""
    db.execute("""
        UPDATE entity SET record = id WHERE coalesce(record, '') = '';
        UPDATE value SET record = id WHERE coalesce(record, '') = '';
        UPDATE link SET record = head || ' ' || tail WHERE coalesce(record, '') = ''""").fetchall()
    mark_retracted(db)
    if _any(db, "release GROUP BY source HAVING count(*) > 1"):
        _drop_superseded_links(db, schema)
        _age_values(db)
    _settle_lifecycles(db, dropped)
    if _any(db, "lifecycle WHERE state <> 'current'"):
        _follow_replacements(db)
        _forget_lost_replacements(db)
        _suggest_namesakes(db)
    _bring_links_up_to_date(db, schema)
    _close_hierarchies(db)


def _any(db: duckdb.DuckDBPyConnection, rows: str) -> bool:
    """Tell whether there are such rows.

    Of a few live answers there are mostly none, and each statement takes its time.
    """
    return bool(db.execute(f"SELECT 1 FROM {rows} LIMIT 1").fetchall())


def _drop_superseded_links(db: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """Drop what an older release said of a relation if a newer one lists it all, or all of its subject.

    A release without a date is neither older nor newer than any other.
    """
    db.execute("""
        CREATE TEMP TABLE superseded AS
        SELECT old.release_id, old.topic FROM topic old JOIN release o ON o.id = old.release_id AND o.recency > 0
        JOIN topic new ON new.source = old.source AND new.topic = old.topic AND new.complete
        JOIN release n ON n.id = new.release_id AND n.recency > o.recency
        WHERE old.topic NOT IN ('entity', 'value');
        DELETE FROM link USING superseded s WHERE s.release_id = link.release_id AND s.topic = link.relation;
        DELETE FROM covered USING superseded s WHERE s.release_id = covered.release_id AND s.topic = covered.topic;
        DELETE FROM topic USING superseded s WHERE s.release_id = topic.release_id AND s.topic = topic.topic
        """).fetchall()
    left = _perhaps_repeated(db)
    for pattern in schema.relations:
        for check in pattern.checks:
            if (check.source, check.link) in left:
                left.remove((check.source, check.link))
                tails = covers_tails(schema.label(pattern.head), schema.label(pattern.tail))
                _drop_repeated_links(db, check, tails=tails)


def _perhaps_repeated(db: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """The sources and relations of which a release has links, and a newer one covers a subject."""
    found = db.execute("""
        SELECT DISTINCT l.source, l.relation FROM (SELECT DISTINCT source, relation, release_id FROM link) l
        JOIN (SELECT DISTINCT source, topic, release_id FROM covered) c ON c.source = l.source AND c.topic = l.relation
        JOIN release o ON o.id = l.release_id AND o.recency > 0
        JOIN release n ON n.id = c.release_id AND n.recency > o.recency""").fetchall()
    return {(str(source), str(relation)) for source, relation in found}


def _drop_repeated_links(db: duckdb.DuckDBPyConnection, check: EdgeCheck, *, tails: bool) -> None:
    both = "JOIN covered b ON b.release_id = c.release_id AND b.topic = c.topic AND b.id = l.tail"
    found = " UNION ALL ".join(
        f"""
        SELECT l.rowid AS row FROM link l JOIN release o ON o.id = l.release_id AND o.recency > 0
        JOIN covered c ON c.source = l.source AND c.topic = l.relation AND c.id = l.{end}
        {both if check.both_ends_mapped else ""}
        JOIN release n ON n.id = c.release_id AND n.recency > o.recency
        WHERE l.source = {literal(check.source)} AND l.relation = {literal(check.link)}"""
        for end in ("head", *(["tail"] if tails else []))
    )
    db.execute(f"DELETE FROM link WHERE rowid IN (SELECT row FROM ({found}))").fetchall()


def _age_values(db: duckdb.DuckDBPyConnection) -> None:
    """Mark values that only an older release states as former, if a newer one states the attribute."""
    db.execute("""
        CREATE TEMP TABLE newest AS
        SELECT v.source, v.id, v.attribute, max(r.recency) AS recency
        FROM value v JOIN release r ON r.id = v.release_id WHERE v.status = 'current' GROUP BY ALL;
        UPDATE value SET status = 'former' FROM release r, newest n
        WHERE r.id = value.release_id AND r.recency > 0 AND value.status <> 'former'
          AND n.source = value.source AND n.id = value.id AND n.attribute = value.attribute AND n.recency > r.recency
        """).fetchall()


def _settle_lifecycles(db: duckdb.DuckDBPyConnection, dropped: Mapping[str, State]) -> None:
    """Table ``lifecycle``, one row an id.

    The newest release that names the id decides. What a release older than the newest complete one says only counts
    where nothing newer names the id; a current id that it left out is dropped. That an id is also an alias of another
    says nothing of its own life. Where one release gives an id several states, the order of State tells; where it names
    several replacements for one that was merged or is a mere alias or secondary id, a curator must choose.
    """
    ambiguous = f"state IN ('{State.MERGED}', '{State.ALIAS}', '{State.SECONDARY}') AND len(successors) > 1"
    placed = f"list_position([{', '.join(literal(state) for state in State)}], state)"
    states = " ".join(f"WHEN {literal(source)} THEN {literal(state)}" for source, state in dropped.items())
    gone = f"CASE source {states} ELSE {literal(State.DROPPED)} END" if states else literal(State.DROPPED)
    db.execute(f"""
        INSERT INTO lifecycle
        WITH complete AS (
            SELECT t.source, max(r.recency) AS recency, max_by(r.id, [r.recency, r.id]) AS release_id
            FROM topic t JOIN release r ON r.id = t.release_id WHERE t.topic = 'entity' AND t.complete GROUP BY t.source
        ), stated AS (
            SELECT e.*, r.recency, r.recency > 0 AND coalesce(r.recency < c.recency, false) AS stale,
                   c.release_id AS left_out_by
            FROM entity e JOIN release r ON r.id = e.release_id LEFT JOIN complete c ON c.source = e.source
        ), deciding AS (
            SELECT * FROM stated QUALIFY rank() OVER (
                PARTITION BY source, id
                ORDER BY stale, state = 'alias', recency DESC, {placed}
            ) = 1
        ), one AS (
            SELECT source, id, first(namespace ORDER BY release_id, record, namespace) AS namespace,
                   any_value(state) AS state,
                   first(name ORDER BY release_id, record, name) AS name,
                   flatten(list(coalesce(successors, []) ORDER BY release_id, record, successors)) AS told,
                   flatten(list(coalesce(candidates, []) ORDER BY release_id, record, candidates)) AS candidates,
                   first(detail ORDER BY release_id, record, detail) AS detail,
                   first(record ORDER BY release_id, record) AS record, min(release_id) AS release_id,
                   any_value(stale) AND any_value(state) = 'current' AS dropped, any_value(left_out_by) AS left_out_by
            FROM deciding GROUP BY source, id
        ), named AS (
            SELECT *, list_filter(told, lambda x, i: x <> '' AND x <> id AND list_position(told, x) = i) AS successors
            FROM one
        )
        SELECT source, id, namespace,
               CASE WHEN dropped THEN {gone} WHEN state = 'merged' AND {ambiguous} THEN 'demerged' ELSE state END,
               name, CASE WHEN {ambiguous} THEN [] ELSE successors END AS successors,
               CASE WHEN {ambiguous} THEN successors ELSE candidates END AS candidates, detail, record,
               CASE WHEN dropped THEN left_out_by ELSE release_id END AS release_id
        FROM named""").fetchall()


def _follow_replacements(db: duckdb.DuckDBPyConnection) -> None:
    """Follow chains of replacements: name the last id, which was not itself replaced."""
    db.execute(f"""
        CREATE TEMP TABLE moved AS
        SELECT source, id, unnest(successors) AS next, generate_subscripts(successors, 1) AS place
        FROM lifecycle WHERE state <> 'current' AND len(successors) > 0;
        UPDATE lifecycle SET successors = ends.ids FROM (
            WITH RECURSIVE walk(source, id, next, places, seen) AS (
                SELECT source, id, next, [place], [id, next] FROM moved
                UNION ALL
                SELECT w.source, w.id, m.next, list_append(w.places, m.place), list_append(w.seen, m.next)
                FROM walk w JOIN moved m ON m.source = w.source AND m.id = w.next
                WHERE NOT list_contains(w.seen, m.next) AND len(w.seen) < {_LONGEST_CHAIN}
            ), reached AS (
                SELECT source, id, next, min(places) AS places, max(len(places)) AS steps
                FROM walk ANTI JOIN (SELECT source, id AS next FROM moved) USING (source, next)
                GROUP BY source, id, next
            )
            SELECT source, id, list(next ORDER BY places) AS ids FROM reached GROUP BY source, id HAVING max(steps) > 1
        ) ends WHERE lifecycle.source = ends.source AND lifecycle.id = ends.id""").fetchall()


def _forget_lost_replacements(db: duckdb.DuckDBPyConnection) -> None:
    """A replacement that is itself gone replaces nothing; what may stand for it may stand for the first id, too."""
    db.execute("""
        UPDATE lifecycle SET successors = left_over.ids, candidates = list_concat(candidates, left_over.others) FROM (
            SELECT l.source, l.id, coalesce(list(l.next ORDER BY place) FILTER (gone.id IS NULL), []) AS ids,
                   flatten(list(coalesce(gone.candidates, []) ORDER BY place)) AS others
            FROM (SELECT source, id, unnest(successors) AS next, generate_subscripts(successors, 1) AS place
                  FROM lifecycle WHERE state <> 'current') l
            LEFT JOIN (FROM lifecycle WHERE state <> 'current' AND len(successors) = 0) gone
            ON gone.source = l.source AND gone.id = l.next
            GROUP BY l.source, l.id HAVING count(gone.id) > 0
        ) left_over WHERE lifecycle.source = left_over.source AND lifecycle.id = left_over.id""").fetchall()


def _suggest_namesakes(db: duckdb.DuckDBPyConnection) -> None:
    """A term that is gone without a named replacement: live terms of the same name are worth a look."""
    db.execute("""
        UPDATE lifecycle SET candidates = same.ids FROM (
            SELECT gone.source, gone.id, list(DISTINCT live.id ORDER BY live.id) AS ids
            FROM lifecycle gone JOIN value v ON v.source = gone.source AND lower(v.value) = lower(gone.name)
            JOIN lifecycle live ON live.source = v.source AND live.id = v.id AND live.state = 'current'
            WHERE gone.state IN ('obsolete', 'dropped') AND v.attribute = 'name' AND live.id <> gone.id
            GROUP BY ALL) same
        WHERE lifecycle.source = same.source AND lifecycle.id = same.id
          AND len(lifecycle.successors) = 0 AND len(lifecycle.candidates) = 0""").fetchall()


def _bring_links_up_to_date(db: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """Columns ``head_now`` and ``tail_now``: a link that names a replaced id speaks of the replacement.

    So does a task that names one (kgcheck.evidence.edges), and both speak of the entry where they name an isoform.
    """
    db.execute("UPDATE link SET head_now = head, tail_now = tail").fetchall()
    linked = set(db.execute("SELECT DISTINCT source, relation FROM link").fetchall())
    replaced = {source for (source,) in db.execute(f"SELECT DISTINCT source FROM {_REPLACED}").fetchall()}
    done: set[tuple[str, ...]] = set()
    for pattern in schema.relations:
        for check in pattern.checks:
            for end, label in (("head", schema.label(pattern.head)), ("tail", schema.label(pattern.tail))):
                chosen = (check.source, check.link, end, label.authority.source)
                if chosen[:2] in linked and chosen not in done and not label.site:
                    done.add(chosen)
                    _update_ends(db, chosen, label, any_replaced=chosen[3] in replaced)


def _update_ends(db: duckdb.DuckDBPyConnection, chosen: tuple[str, ...], label: Label, *, any_replaced: bool) -> None:
    source, relation, end, authority = chosen
    links = f"link.source = {literal(source)} AND link.relation = {literal(relation)}"
    if label.isoforms:
        db.execute(
            f"UPDATE link SET {end}_now = {base(label, end)} WHERE {links} AND {end}_now <> {base(label, end)}"
        ).fetchall()
    if any_replaced:
        db.execute(f"""
            UPDATE link SET {end}_now = l.successors[1] FROM (FROM {_REPLACED}) l
            WHERE {links} AND l.source = {literal(authority)} AND l.id = link.{end}_now""").fetchall()


def _close_hierarchies(db: duckdb.DuckDBPyConnection) -> None:
    """Table ``ancestor``: every term above a term, by any number of steps."""
    db.execute(f"""
        INSERT INTO ancestor
        WITH RECURSIVE step AS (
            SELECT DISTINCT source AS ontology, head_now AS id, tail_now AS parent
            FROM link WHERE relation = {literal(PARENT)} AND NOT negated
        ), up(ontology, id, ancestor) AS (
            SELECT ontology, id, parent FROM step
            UNION
            SELECT up.ontology, up.id, s.parent FROM up JOIN step s ON s.ontology = up.ontology AND s.id = up.ancestor
        )
        SELECT ontology, id, ancestor FROM up WHERE id <> ancestor""").fetchall()
