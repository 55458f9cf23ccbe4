"""Judging many tasks at once: group by evidence signature, judge each signature once, join the verdicts back."""

import json
from collections.abc import Iterator

import duckdb

from kgcheck.checks.repair import propose
from kgcheck.checks.signature import MAX_RECORDS, Gap, Observation, Signature
from kgcheck.checks.verdicts import judge
from kgcheck.model import (
    CheckTask,
    CheckType,
    Finding,
    Outcome,
    Reason,
    Ref,
    Stance,
    Tally,
    Tier,
    Verdict,
    World,
)
from kgcheck.sources.observe import evidence_of, gaps_of


def judge_tasks(db: duckdb.DuckDBPyConnection, kind: CheckType) -> None:
    """Table ``judged``: task, outcome, reason, confidence, note, sources.

    Args:
        db: A working database whose tables task, evidence and gap are filled.
        kind: The type of all tasks.
    """
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE signed AS
        WITH said AS (
            SELECT task, source, about, stance, world, tier, reason, floor(score * 10 + 0.5) / 10 AS score,
                   least(count(DISTINCT record), {MAX_RECORDS}) AS records
            FROM evidence GROUP BY ALL
        ), observed AS (
            SELECT task, list([source, about, stance, world, tier, reason, score::VARCHAR, records::VARCHAR]
                              ORDER BY source, about, stance, world, tier, reason, score, records) AS observations
            FROM said GROUP BY task
        ), missing AS (
            SELECT task, list(DISTINCT [source, cause] ORDER BY [source, cause]) AS gaps FROM gap GROUP BY task
        )
        SELECT t.task, to_json([coalesce(o.observations, []), coalesce(m.gaps, [])])::VARCHAR AS signature
        FROM task t LEFT JOIN observed o USING (task) LEFT JOIN missing m USING (task)
        """
    ).fetchall()
    db.execute(
        "CREATE OR REPLACE TEMP TABLE verdict (signature VARCHAR, outcome VARCHAR, reason VARCHAR, confidence DOUBLE, note VARCHAR, sources VARCHAR)"
    ).fetchall()
    for (text,) in db.execute("SELECT DISTINCT signature FROM signed").fetchall():
        signature = _parsed(kind, text)
        judged = judge(signature)
        row = [text, judged.outcome.value, judged.reason.value, judged.confidence, judged.note, signature.sources]
        db.execute("INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?)", row).fetchall()
    db.execute(
        "CREATE OR REPLACE TEMP TABLE judged AS SELECT s.task, v.* EXCLUDE (signature) FROM signed s JOIN verdict v USING (signature)"
    ).fetchall()


def tallies(db: duckdb.DuckDBPyConnection, kind: CheckType, target: str) -> list[Tally]:
    """Counts of the judged tasks by outcome, reason and sources."""
    rows = db.execute("SELECT outcome, reason, sources, count(*) FROM judged GROUP BY ALL ORDER BY ALL").fetchall()
    return [
        Tally(type=kind, target=target, outcome=Outcome(o), reason=Reason(r), sources=s, count=n) for o, r, s, n in rows
    ]


def findings(
    db: duckdb.DuckDBPyConnection,
    run: str,
    kind: CheckType,
    *,
    head: str,
    relation: str | None = None,
    tail: str | None = None,
    attribute: str | None = None,
    keep_all: bool = False,
) -> Iterator[Finding]:
    """A finding for every judged task that is refuted or insufficient.

    What is supported, and what nobody could look at, is counted and makes no finding unless asked for.

    Args:
        db: A working database, after `judge_tasks`.
        run: The run's id.
        kind: The type of all tasks.
        head: Label of the subject.
        relation: Relation of edge tasks.
        tail: Label of the object of edge tasks.
        attribute: Attribute of attribute tasks.
        keep_all: A finding also for supported and unavailable tasks.
    """
    wanted = "" if keep_all else "WHERE outcome IN ('refuted', 'insufficient')"
    chosen = f"SELECT task FROM judged {wanted}"
    evidence, missing = evidence_of(db, chosen), gaps_of(db, chosen)
    rows = db.execute(
        f"""
        SELECT j.task, t.head, t.tail, coalesce(t.value, array_to_string(t.items, '; ')), outcome, reason, confidence, note
        FROM judged j JOIN task t USING (task) {wanted} ORDER BY j.task
        """
    ).fetchall()
    for number, subject, target, value, outcome, reason, confidence, note in rows:
        task = CheckTask(
            type=kind,
            subject=Ref(label=head, id=subject),
            relation=relation,
            object=Ref(label=tail, id=target) if tail and target else None,
            attribute=attribute,
            value=value,
        )
        verdict = Verdict(
            outcome=Outcome(outcome),
            reason=Reason(reason),
            confidence=confidence,
            evidence=evidence.get(number, ()),
            missing=tuple(str(gap) for gap in missing.get(number, ())),
            note=note,
        )
        yield Finding(run=run, fingerprint=task.fingerprint, task=task, verdict=verdict, change=propose(task, verdict))


def _parsed(kind: CheckType, text: str) -> Signature:
    observations, gaps = json.loads(text)
    seen = [
        Observation(
            source=source,
            about=about,
            stance=Stance(stance),
            world=World(world),
            tier=Tier(tier),
            reason=Reason(reason) if reason else None,
            score=float(score) if score is not None else None,
            records=int(records),
        )
        for source, about, stance, world, tier, reason, score, records in observations
    ]
    unseen = [Gap(source, Reason(cause)) for source, cause in gaps]
    return Signature(kind, tuple(sorted(seen, key=repr)), tuple(sorted(unseen)))
