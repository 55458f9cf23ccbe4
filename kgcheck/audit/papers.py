"""Papers in an audit: what they say of edges, those first that the references did not confirm, up to a number."""

from typing import NamedTuple

import duckdb

from kgcheck.audit.plan import Unit
from kgcheck.literature.passages import SOURCE
from kgcheck.literature.triples import TripleReader, form_of
from kgcheck.model import Evidence, Ref, Stance, Triple
from kgcheck.sources.retractions import not_counted, paper_of, retracted_among

ASKED = 2_000
"""Edges of a run that papers are asked about."""


class Told(NamedTuple):
    """What papers say of an edge, and what the references alone had come to."""

    triple: Triple
    before: str
    evidence: tuple[Evidence, ...]


class Papers:
    """Asks the papers of an index about the edges of a run.

    Args:
        reader: The papers.
        limit: Most edges to ask about.
    """

    def __init__(self, reader: TripleReader, limit: int = ASKED) -> None:
        self.reader = reader
        self._left = limit
        self.told: list[Told] = []

    def add(self, db: duckdb.DuckDBPyConnection, unit: Unit) -> bool:
        """Add what papers say of the judged tasks to the table ``evidence``.

        Silence is not added: an index claims to hold nothing of what it does not.

        Args:
            db: A working database after `judge_tasks`.
            unit: What the tasks are of.

        Returns:
            Whether any paper spoke, so that the tasks must be judged again.
        """
        pattern = unit.pattern
        if pattern is None or self._left <= 0:
            return False
        probe = Triple(
            head=Ref(label=pattern.head, id="x"), relation=pattern.type, tail=Ref(label=pattern.tail, id="x")
        )
        if form_of(probe, self.reader.schema) is None:
            return False
        rows = db.execute(
            """
            SELECT task, head, tail, outcome FROM judged JOIN task USING (task)
            ORDER BY list_position(['refuted', 'insufficient', 'unavailable'], outcome) NULLS LAST, task LIMIT $left
            """,
            {"left": self._left},
        ).fetchall()
        self._left -= len(rows)
        spoke = False
        for task, head, tail, before in rows:
            triple = Triple(
                head=Ref(label=pattern.head, id=head), relation=pattern.type, tail=Ref(label=pattern.tail, id=tail)
            )
            spoken = _counted(db, [e for e in self.reader.evidence(triple) if e.stance is not Stance.SILENT])
            for evidence in spoken:
                _insert(db, task, evidence)
            if spoken:
                self.told.append(Told(triple, before, spoken))
                spoke = True
        return spoke


def _counted(db: duckdb.DuckDBPyConnection, told: list[Evidence]) -> tuple[Evidence, ...]:
    """What papers say, those that the snapshot lists as retracted silent."""
    gone = retracted_among(db, map(paper_of, told))
    return tuple(not_counted(e) if paper_of(e) in gone else e for e in told)


def _insert(db: duckdb.DuckDBPyConnection, task: int, evidence: Evidence) -> None:
    """A row that is judged as any other; its whole text is in ``value``, for the table has no place for quotes."""
    db.execute(
        """
        INSERT INTO evidence BY NAME
        SELECT $task AS task, $source AS source, NULL AS release_id, $record AS record, $stance AS stance,
               $world AS world, $tier AS tier, $reason AS reason, $value AS value, $score AS score, 'fact' AS about
        """,
        {
            "task": task,
            "source": SOURCE,
            "record": evidence.record,
            "stance": evidence.stance.value,
            "world": evidence.world.value,
            "tier": evidence.tier.value,
            "reason": evidence.reason.value if evidence.reason else None,
            "value": evidence.model_dump_json(),
            "score": evidence.score,
        },
    ).fetchall()
