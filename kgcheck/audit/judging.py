"""Judge tasks in bulk in DuckDB: each evidence signature once, verdicts joined back, tallies."""

import json
from collections import Counter
from collections.abc import Sequence

import duckdb

from kgcheck.audit.plan import Piece, place_sql
from kgcheck.checks.signature import MAX_RECORDS, ROUNDED_SQL, Observation, Signature, first, merge_observations
from kgcheck.checks.verdicts import judge
from kgcheck.evidence.working_tables import insert_rows
from kgcheck.model import CheckType, Gap, Outcome, Reason, Stance, Tally, Tier, World

# Sorted as lists of few items, which takes a third of the time of an aggregate that sorts. Any order will do that is
# always the same.
_SIGNATURES = f"""
    WITH by_record AS (
        SELECT task, source, about, stance, world, tier, record,
               CASE WHEN count(*) = count(reason) THEN array_to_string(list_sort(list_distinct(list(reason))), ' ')
               END AS reasons,
               {ROUNDED_SQL.format("max(score)")} AS score
        FROM evidence {{of}} GROUP BY ALL
    ), recorded AS (
        SELECT * EXCLUDE (record), least(count(*), {MAX_RECORDS}) AS records FROM by_record GROUP BY ALL
    ), observed AS (
        SELECT task, list_sort(list([source, about, stance, world, tier, reasons, score::VARCHAR, records::VARCHAR]))
               AS observations
        FROM recorded GROUP BY task
    ), missing AS (
        SELECT task, list_sort(list_distinct(list([source, cause]))) AS gaps FROM gap {{of}} GROUP BY task
    )
    SELECT t.task, to_json([coalesce(o.observations, []), coalesce(m.gaps, [])])::VARCHAR AS signature
    FROM {{tasks}} t LEFT JOIN observed o USING (task) LEFT JOIN missing m USING (task)"""

_SIGNATURE_VERDICT = """
    CREATE OR REPLACE TEMP TABLE signature_verdict (
        number INTEGER, signature VARCHAR, outcome VARCHAR, reason VARCHAR, confidence DOUBLE, note VARCHAR,
        sources VARCHAR[],  -- sources that made an observation
        gaps VARCHAR[][]    -- source and cause of each gap
    )"""

_Ended = tuple[str, str, tuple[str, ...], tuple[tuple[str, ...], ...]]

_KIND = ("source", "about", "stance", "world", "tier", "reason", "score")

_SIGNATURES_OF_ONE = f"""
    SELECT unnest(tasks) AS task, to_json([
        CASE WHEN observed = 1 THEN [[{", ".join(_KIND[:-1])}, score::VARCHAR, '1']] ELSE [] END,
        CASE WHEN missing = 1 THEN [[unseen, cause]] ELSE [] END])::VARCHAR AS signature
    FROM (
        SELECT observed, missing, {", ".join(f"e.{name}" for name in _KIND[:-1])},
               {ROUNDED_SQL.format("e.score")} AS score, g.source AS unseen, g.cause, list(p.task) AS tasks
        FROM task_pieces p LEFT JOIN evidence e USING (task) LEFT JOIN gap g USING (task)
        WHERE observed <= 1 AND missing <= 1 GROUP BY ALL)"""


def judge_tasks(db: duckdb.DuckDBPyConnection, kind: CheckType) -> None:
    """Make ``signature_verdict``, what each evidence signature comes to, and ``judged``, how each task ended."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE task_pieces AS
        SELECT task, coalesce(e.pieces, 0) AS observed, coalesce(g.pieces, 0) AS missing FROM task
        LEFT JOIN (SELECT task, count(*) AS pieces FROM evidence GROUP BY task) e USING (task)
        LEFT JOIN (SELECT task, count(*) AS pieces FROM gap GROUP BY task) g USING (task)""").fetchall()
    # Nearly all have one observation or gap, which spares them lists.
    others = "(SELECT task FROM task_pieces WHERE observed > 1 OR missing > 1)"
    of_others = _SIGNATURES.format(tasks=others, of=f"SEMI JOIN {others} USING (task)")
    select = f"{of_others} UNION ALL BY NAME ({_SIGNATURES_OF_ONE})"
    db.execute(f"CREATE OR REPLACE TEMP TABLE task_signature AS {select}").fetchall()
    db.execute(_SIGNATURE_VERDICT).fetchall()
    signatures = db.execute("SELECT DISTINCT signature FROM task_signature").fetchall()
    rows = []
    for number, (text,) in enumerate(signatures):
        signature = parsed(kind, text)
        known = {"sources": list(signature.sources), "gaps": [[gap.source, gap.cause.value] for gap in signature.gaps]}
        rows.append({"number": number, "signature": text, **judge(signature)._asdict(), **known})
    insert_rows(db, "signature_verdict", rows)
    db.execute("""
        CREATE OR REPLACE TEMP TABLE judged AS SELECT task, number AS verdict, outcome, reason, confidence, note
        FROM task_signature JOIN signature_verdict USING (signature)""").fetchall()


def tallies(db: duckdb.DuckDBPyConnection, pieces: Sequence[Piece]) -> list[list[Tally]]:
    """Counts of the judged tasks by outcome, reason and sources, of each piece."""
    plain = " ".join(f"WHEN {piece.first} THEN {piece.plain}" for piece in pieces if piece.plain)
    number = f"sum(CASE task {plain} ELSE 1 END)" if plain else "count(*)"
    rows = db.execute(f"""
        SELECT place, v.outcome, v.reason, v.sources, v.gaps, j.n
        FROM (
            SELECT {place_sql(pieces, "task")} AS place, verdict, {number} AS n FROM judged GROUP BY ALL) j
        JOIN signature_verdict v ON v.number = j.verdict""").fetchall()
    counts: list[Counter[_Ended]] = [Counter() for _ in pieces]
    for place, outcome, reason, sources, gaps, count in rows:
        counts[place][outcome, reason, tuple(sources), tuple(map(tuple, gaps))] += int(count)
    return [
        [
            Tally(
                type=piece.unit.type,
                target=piece.unit.target,
                outcome=Outcome(outcome),
                reason=Reason(reason),
                sources=sources,
                gaps=tuple(Gap(source, Reason(cause)) for source, cause in gaps),
                count=count,
            )
            for (outcome, reason, sources, gaps), count in sorted(counted.items())
        ]
        for piece, counted in zip(pieces, counts, strict=True)
    ]


def least_decided(db: duckdb.DuckDBPyConnection, piece: Piece, most: int) -> list[tuple[int, str, str, Outcome]]:
    """Judged tasks of a piece about edges: the refuted first, then what nothing decides, and what is supported last."""
    rows = db.execute(
        """
        SELECT task, head, tail, outcome FROM judged JOIN task USING (task) WHERE task BETWEEN $first AND $last
        ORDER BY list_position(['refuted', 'insufficient', 'unavailable'], outcome) NULLS LAST, task LIMIT $most
        """,
        {"most": most, "first": piece.first, "last": piece.last},
    ).fetchall()
    return [(task, head, tail, Outcome(outcome)) for task, head, tail, outcome in rows]


def parsed(kind: CheckType, text: str) -> Signature:
    """The signature that a text of ``signature_verdict`` stands for."""
    observations, gaps = json.loads(text)
    seen = [
        Observation(
            source=source,
            about=about,
            stance=Stance(stance),
            world=World(world),
            tier=Tier(tier),
            reason=first(map(Reason, reasons.split())) if reasons else None,
            score=float(score) if score is not None else None,
            records=int(records),
        )
        for source, about, stance, world, tier, reasons, score, records in observations
    ]
    return merge_observations(kind, seen, [Gap(source, Reason(cause)) for source, cause in gaps])
