"""Compares the score of an edge with that of the source which it cites."""

from kgcheck.evidence.coverage import Topics, add_gaps
from kgcheck.evidence.edges import resolve_ends
from kgcheck.evidence.tables import WorkingTables
from kgcheck.model import Reason
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Label, Pattern


def look_up_scores(
    tables: WorkingTables, pattern: Pattern, head: Label, tail: Label, check: EdgeCheck, dated: str
) -> None:
    """Fill the tables evidence and gap for the scores in the table task, in ``value``.

    Of several scores that the newest release gives a pair, the nearest counts; so it does of both orders.
    """
    if check.score is None:
        return
    resolve_ends(tables, head, tail)
    ends = [("e.head_now", "e.tail_now")]
    if check.match == "either_order":
        ends.append(("e.tail_now", "e.head_now"))
    stated = " UNION ALL ".join(
        f"""
        SELECT e.task, l.score, l.release_id, l.record, r.recency, r.released
        FROM ends e JOIN ref.link l ON l.head_now = {one} AND l.tail_now = {other}
        JOIN ref.release r ON r.id = l.release_id
        WHERE l.source = $source AND l.relation = $relation AND NOT l.negated AND l.score IS NOT NULL"""
        for one, other in ends
    )
    tables.add_evidence(
        f"""
        SELECT task, $source AS source, release_id, record,
               CASE WHEN reason IS NULL THEN 'supports' WHEN reason = $older THEN 'silent' ELSE 'contradicts' END
               AS stance,
               CASE WHEN reason = $older THEN 'open' ELSE 'closed' END AS world, 'owner' AS tier, reason,
               score::DECIMAL(18, 3)::DOUBLE::VARCHAR AS value, 'fact' AS about
        FROM (
            SELECT *, CASE WHEN own IS NULL THEN $missing WHEN round(abs(score - own), 6) <= $most THEN NULL
                           WHEN is_older(released, $dated) THEN $older ELSE $mismatch END AS reason
            FROM (SELECT s.*, try_cast(t.value AS DOUBLE) AS own FROM ({stated}) s JOIN task t USING (task))
            QUALIFY row_number() OVER (
                PARTITION BY task ORDER BY recency DESC, abs(score - own), score DESC, release_id, record) = 1)
        """,
        {
            "source": check.source,
            "relation": check.link,
            "most": check.score.most,
            "dated": dated,
            "missing": Reason.VALUE_MISSING.value,
            "older": Reason.REFERENCE_OLDER.value,
            "mismatch": Reason.VALUE_MISMATCH.value,
        },
    )
    tables.set_unseen("FROM ends ANTI JOIN evidence USING (task)")
    add_gaps(tables, Topics(tables.db), check.source, check.link)
