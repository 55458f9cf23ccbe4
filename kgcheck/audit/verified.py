"""Write an audit's verdicts on all tasks, supported ones too, to Parquet beside the ledger."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.audit.numbers import as_numbers, repeated
from kgcheck.audit.plain_pairs import Alike
from kgcheck.audit.plan import Piece
from kgcheck.checks.repair import AGAINST_SQL
from kgcheck.checks.signature import Observation, Signature
from kgcheck.checks.verdicts import judge
from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.ledger.verified import VerifiedFiles
from kgcheck.model import INFORMS, CheckType, Stance, Tier
from kgcheck.profile.catalogue import EdgeCheck

_TIERS = ", ".join(repr(tier.value) for tier in Tier)


Writing = tuple[Callable[..., None], Path, Callable[[int, int], pa.Table], int, dict[str, Any]]
"""A function that writes a file, and its arguments. It has no use for the database."""


def judged_files(files: VerifiedFiles, tables: WorkingTables, run: str, pieces: Sequence[Piece]) -> Iterator[Writing]:
    """Keep the tasks of pieces that were looked at one by one: a file for each piece."""
    # Of several observations, one that says what the verdict says, for its reason, of the best tier.
    rank = f"""struct_pack(
        informs := about = '{INFORMS}',
        otherwise := CASE j.outcome WHEN 'supported' THEN stance <> 'supports' WHEN 'refuted' THEN NOT {AGAINST_SQL}
                     ELSE false END,
        another := e.reason IS DISTINCT FROM j.reason, tier := list_position([{_TIERS}], tier),
        score := -coalesce(score, 0.0), source := e.source, record := e.record)"""
    stands = "LEFT JOIN ref.release r ON r.id = e.release_id"
    count = "SELECT task, count(*) AS pieces FROM evidence GROUP BY task"
    tables.db.execute(f"CREATE OR REPLACE TEMP TABLE judged_evidence AS {count}").fetchall()
    # Most have one observation, which needs no comparing.
    best = f"""
        SELECT e.task, e.source, coalesce(e.release, r.release) AS release, e.record
        FROM evidence e SEMI JOIN (FROM judged_evidence WHERE pieces = 1) USING (task) {stands}
        UNION ALL
        SELECT task, unnest(best) FROM (
            SELECT e.task, arg_min(struct_pack(source := e.source, release := coalesce(e.release, r.release),
                                               record := e.record), {rank}) AS best
            FROM evidence e SEMI JOIN (FROM judged_evidence WHERE pieces > 1) USING (task)
            JOIN judged j USING (task) {stands} GROUP BY e.task)"""
    of_many = ", ".join(str(piece.first) for piece in pieces if piece.plain) or "NULL"
    rows = f"""
    SELECT task, t.head, t.tail, j.outcome, j.reason, j.confidence, d.source, d.release, d.record
    FROM judged j JOIN task t USING (task) LEFT JOIN ({best}) d USING (task)
    WHERE coalesce(task NOT IN ({of_many}), true)"""
    whole = tables.db.sql(f"SELECT * FROM ({rows}) ORDER BY head").to_arrow_table()
    for piece in pieces:
        found, tasks = whole, whole.column("task")
        if len(pieces) > 1:
            found = whole.filter(pc.and_(pc.greater_equal(tasks, piece.first), pc.less_equal(tasks, piece.last)))
        found = found.drop_columns("task")
        path, about = files.paths(run, piece.name)[0], _piece_columns(run, piece)
        yield files.write, path, found.slice, len(found), about


def alike_file(files: VerifiedFiles, db: duckdb.DuckDBPyConnection, run: str, piece: Piece, alike: Alike) -> Writing:
    """Keep the tasks that are plainly supported: all have the verdict of the first number, and each its own record.

    How sure the verdict is depends on all that supports a pair: it is kept where that is one link, and left out else.
    """
    outcome, reason = db.execute("SELECT outcome, reason FROM judged WHERE task = ?", [piece.first]).fetchall()[0]
    same = {"outcome": outcome, "reason": reason, "record_of_ends": True}
    names = dict(db.execute("SELECT id, release FROM ref.release").fetchall())
    releases = [names.get(origin.release_id) for origin in alike.origins]
    if len(alike.origins) == 1:
        same |= {"source": alike.origins[0].source, "release": releases[0]}
    pairs, links = alike.pairs, alike.links
    sure: pa.ChunkedArray | None = None
    if links is not None:
        numbers = as_numbers(links.column("number"))
        pairs = pairs._replace(numbers=numbers)
        if alike.alone:
            # Of several links, nobody works it out.
            scores, several = links.column("score"), pa.array(repeated(numbers))
            of_scores = pc.unique(scores)
            each = pa.array([_confidence(alike.alone, score) for score in of_scores.to_pylist()], pa.float64())
            by_link = each.take(pc.index_in(scores, of_scores))
            sure = pc.if_else(several, pa.scalar(None, pa.float64()), by_link)
    elif alike.alone:
        same["confidence"] = _confidence(alike.alone, None)

    def some(first: int, count: int) -> pa.Table:
        heads, tails = pairs.some(slice(first, first + count)).ends()
        rows = {"head": heads, "tail": tails}
        if links is None:
            return pa.table(rows)
        of_these = links.slice(first, count)
        rows["record"] = of_these.column("record")
        if sure is not None:
            rows["confidence"] = sure.slice(first, count)
        if len(alike.origins) > 1:
            places = of_these.column("origin")
            rows["source"] = pa.array([o.source for o in alike.origins], pa.string()).take(places)
            rows["release"] = pa.array(releases, pa.string()).take(places)
        return pa.table(rows)

    path = files.paths(run, piece.name)[1]
    return files.write, path, some, len(pairs.numbers), same | _piece_columns(run, piece)


def _confidence(check: EdgeCheck, score: float | None) -> float:
    link = Observation(check.source, "fact", Stance.SUPPORTS, check.world, check.tier, None, score, 1)
    return judge(Signature(CheckType.TRIPLE, (link,), ())).confidence


def _piece_columns(run: str, piece: Piece) -> dict[str, Any]:
    return {"run": run, "piece": piece.name, "type": piece.unit.type.value, **dict(piece.unit.target)}
