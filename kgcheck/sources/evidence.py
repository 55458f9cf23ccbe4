"""Looks tasks up in a snapshot, as joins: the same statements serve one task and a whole graph.

The caller fills the table ``task`` (columns of TASK_COLUMNS) in a working database; the methods of `EvidenceJoin`
append to ``evidence`` (one row an observation) and ``gap`` (one row a deciding source that could not be looked at).
"""

from collections.abc import Callable
from pathlib import Path

import duckdb

from kgcheck.checks.catalogue import STATE_REASONS, AttributeCheck
from kgcheck.checks.items import JOINED_SQL
from kgcheck.graph.schema import Label, Pattern
from kgcheck.model import Reason
from kgcheck.sources.channels import Cited
from kgcheck.sources.coverage import add_gaps, complete_release
from kgcheck.sources.keys import OF_ONE_SEQUENCE, base, sequence
from kgcheck.sources.links import SCHEMA_SOURCE, look_up_edges
from kgcheck.sources.overlay import attach_snapshot
from kgcheck.sources.plain import plainly_supported
from kgcheck.tables import literal

__all__ = ["EVIDENCE_COLUMNS", "SCHEMA_SOURCE", "TASK_COLUMNS", "EvidenceJoin"]

TASK_COLUMNS = "task BIGINT, head VARCHAR, tail VARCHAR, value VARCHAR, items VARCHAR[]"
"""``head`` is the id of a node task; ``value`` and ``items`` are what the graph says of an attribute."""

EVIDENCE_COLUMNS = (
    "task BIGINT, source VARCHAR, release_id INTEGER, record VARCHAR, stance VARCHAR, world VARCHAR, tier VARCHAR, "
    "reason VARCHAR, value VARCHAR, score DOUBLE, about VARCHAR, replacements VARCHAR[], candidates VARCHAR[]"
)

_SITE = r"_([A-Z])([0-9]+)-"


class EvidenceJoin:
    """Joins between tasks and a snapshot.

    Args:
        db: A working database.
        snapshot: Path of the snapshot, or None: then every reference is missing.
        attach: Makes the catalog ``ref`` of the snapshot.
    """

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        snapshot: Path | None,
        attach: Callable[[duckdb.DuckDBPyConnection, Path | None], None] = attach_snapshot,
    ) -> None:
        self._db = db
        attach(db, snapshot)
        db.execute("CREATE TEMP TABLE state_reason (state VARCHAR, reason VARCHAR)").fetchall()
        for state, reason in STATE_REASONS.items():
            db.execute("INSERT INTO state_reason VALUES (?, ?)", [state.value, reason.value]).fetchall()
        db.execute(
            r"""
            CREATE TEMP MACRO folded(x) AS trim(regexp_replace(lower(nfc_normalize(x)), '[\s\p{Z}]+', ' ', 'g'));
            CREATE TEMP MACRO told(state, detail, name, successors) AS concat_ws('; ',
                state, CASE WHEN lower(detail) NOT IN (state, '') THEN detail END,
                CASE WHEN state = 'current' THEN name END,
                CASE WHEN len(successors) > 0 THEN 'now ' || array_to_string(successors, ', ') END)
            """
        ).fetchall()
        self.reset()

    def reset(self) -> None:
        """Start with no tasks and no evidence."""
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE task ({TASK_COLUMNS});
            CREATE OR REPLACE TEMP TABLE evidence ({EVIDENCE_COLUMNS});
            CREATE OR REPLACE TEMP TABLE gap (task BIGINT, source VARCHAR, cause VARCHAR)
            """
        ).fetchall()

    def existence(self, label: Label) -> None:
        """Look every task's id up at the authority of its label."""
        authority = label.authority
        self._db.execute(
            """
            INSERT INTO evidence BY NAME
            SELECT task, $source AS source, 0 AS release_id, head AS record, 'contradicts' AS stance, 'closed' AS world,
                   'owner' AS tier, $reason AS reason, 'an id looks like ' || $example AS value, 'fact' AS about
            FROM task WHERE NOT regexp_full_match(head, $pattern)
            """,
            {
                "source": SCHEMA_SOURCE,
                "reason": Reason.MALFORMED_ID.value,
                "example": label.id_example,
                "pattern": label.id_pattern,
            },
        ).fetchall()
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE asked AS
            SELECT task, head, {base(label, "head")} AS base, {sequence(label, "head")} AS sequence FROM task
            WHERE regexp_full_match(head, $pattern) AND regexp_full_match(head, $issued)
            """,
            {"pattern": label.id_pattern, "issued": authority.pattern or ".*"},
        ).fetchall()
        self._lifecycles(label)
        if authority.site:
            self._sites(authority.source)
        self._silence_of_ids(authority.source)
        if authority.other:
            self._db.execute(
                """
                INSERT INTO gap SELECT task, $source, $cause FROM task
                WHERE NOT regexp_full_match(head, $issued) AND regexp_full_match(head, $pattern)
                """,
                {
                    "source": authority.other,
                    "cause": Reason.REFERENCE_MISSING.value,
                    "issued": authority.pattern,
                    "pattern": label.id_pattern,
                },
            ).fetchall()

    def attribute(self, label: Label, check: AttributeCheck) -> None:
        """Compare every task's value with the reference value of its node."""
        known_by = sequence if check.reference in OF_ONE_SEQUENCE else base
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE asked AS SELECT *, {known_by(label, "head")} AS base FROM task;
            CREATE OR REPLACE TEMP TABLE stated AS
            SELECT v.id, list(DISTINCT value ORDER BY value) FILTER (status = 'current') AS now,
                   list(DISTINCT folded(value)) FILTER (status <> 'current') AS former,
                   list(DISTINCT value ORDER BY value) FILTER (status IN ('current', 'synonym')) AS every,
                   max_by(release_id, [r.recency, release_id]) FILTER (status = 'current') AS release_id,
                   min(record) FILTER (status = 'current') AS record
            FROM ref.value v JOIN ref.release r ON r.id = v.release_id
            WHERE v.source = {literal(check.source)} AND attribute = {literal(check.reference)}
              AND folded(value) <> '' AND v.id IN (SELECT base FROM asked)
            GROUP BY v.id HAVING now IS NOT NULL
            """
        ).fetchall()
        same = "false" if check.exact else "list_contains(list_transform(s.now, lambda x: folded(x)), folded(a.value))"
        judged = _LIST_COMPARISON if check.every else _VALUE_COMPARISON.format(same=same)
        self._db.execute(
            f"""
            INSERT INTO evidence BY NAME
            SELECT task, $source AS source, release_id, record,
                   CASE WHEN reason IS NULL OR reason = $formatting THEN 'supports' ELSE 'contradicts' END AS stance,
                   'closed' AS world, 'owner' AS tier, reason, value, 'fact' AS about, candidates
            FROM (SELECT a.task, s.release_id, s.record, {judged} FROM asked a JOIN stated s ON s.id = a.base)
            """,
            {"source": check.source, "formatting": Reason.FORMATTING.value},
        ).fetchall()
        self._db.execute(
            """
            INSERT INTO gap
            SELECT task, $source, CASE WHEN EXISTS (FROM ref.value WHERE source = $source AND attribute = $attribute)
                                       THEN 'not_covered' ELSE 'reference_missing' END
            FROM asked ANTI JOIN (SELECT id AS base FROM stated) USING (base)
            """,
            {"source": check.source, "attribute": check.reference},
        ).fetchall()

    def edges(self, pattern: Pattern, head: Label, tail: Label, cited: Cited | None = None) -> None:
        """Look every task's pair up in the deciding sources of its pattern, after following replaced ends.

        Args:
            pattern: What the pairs are joined by.
            head: Label of the heads.
            tail: Label of the tails.
            cited: What the edges cite, as the graph states them, or None.
        """
        look_up_edges(self._db, pattern, head, tail, cited)

    def plainly_supported(self, pattern: Pattern, head: Label, tail: Label) -> str | None:
        """A condition for edges that all have the verdict of any of them; see kgcheck.sources.plain."""
        return plainly_supported(self._db, pattern, head, tail)

    def _lifecycles(self, label: Label) -> None:
        """What the authority says of each id that it knows."""
        elsewhere = f"coalesce(l.label <> {literal(label.name)}, false)" if label.authority.namespace else "false"
        # A site exists when its residue does, which the entry alone does not tell.
        told = "l.state <> 'current'" if label.authority.site else "true"
        self._db.execute(
            f"""
            INSERT INTO evidence BY NAME
            SELECT a.task, l.source, l.release_id, l.record,
                   CASE WHEN l.state = 'current' AND NOT {elsewhere} THEN 'supports' ELSE 'contradicts' END AS stance,
                   'closed' AS world, 'owner' AS tier,
                   CASE WHEN l.state <> 'current' THEN s.reason
                        WHEN {elsewhere} THEN '{Reason.WRONG_NAMESPACE.value}' END AS reason,
                   CASE WHEN {elsewhere} THEN 'a ' || l.label || '; ' ELSE '' END
                   || told(l.state, l.detail, l.name, l.successors) AS value,
                   'fact' AS about, l.successors AS replacements, l.candidates
            FROM asked a JOIN ref.lifecycle l ON l.source = $source AND l.id = a.base
            LEFT JOIN state_reason s USING (state) WHERE {told}
            """,
            {"source": label.authority.source},
        ).fetchall()

    def _sites(self, source: str) -> None:
        """Compare the residue that a site id names with the sequence."""
        self._db.execute(
            f"""
            INSERT INTO evidence BY NAME
            SELECT task, $source AS source, release_id, record,
                   CASE WHEN reason IS NULL THEN 'supports' ELSE 'contradicts' END AS stance,
                   'closed' AS world, 'owner' AS tier, reason, value, 'fact' AS about
            FROM (
                SELECT task, release_id, record,
                       CASE WHEN position BETWEEN 1 AND length(residues) THEN
                                CASE WHEN residues[position] <> residue THEN '{Reason.RESIDUE_MISMATCH.value}' END
                            ELSE '{Reason.POSITION_OUT_OF_RANGE.value}' END AS reason,
                       CASE WHEN position BETWEEN 1 AND length(residues)
                            THEN 'residue ' || position || ' is ' || residues[position]
                            ELSE 'the sequence has ' || length(residues) || ' residues' END AS value
                FROM (SELECT task, v.release_id, v.record, v.value AS residues, r.recency,
                             regexp_extract(head, '{_SITE}', 1) AS residue,
                             try_cast(regexp_extract(head, '{_SITE}', 2) AS BIGINT) AS position
                      FROM asked a JOIN ref.value v ON v.id = a.sequence JOIN ref.release r ON r.id = v.release_id
                      WHERE v.source = $source AND v.attribute = 'sequence' AND v.status = 'current')
                ANTI JOIN (SELECT task FROM evidence WHERE stance = 'contradicts') USING (task)
                QUALIFY row_number() OVER (PARTITION BY task ORDER BY recency DESC, release_id, residues) = 1)
            """,
            {"source": source},
        ).fetchall()

    def _silence_of_ids(self, source: str) -> None:
        self._db.execute(
            "CREATE OR REPLACE TEMP TABLE unseen AS SELECT task, base FROM asked ANTI JOIN evidence USING (task)"
        ).fetchall()
        self._asked_for(source)
        listing = complete_release(self._db, source, "entity")
        if listing is None:
            add_gaps(self._db, "unseen", source, "entity")
            return
        # A listed id whose parts the source does not show (a site without its sequence) was not looked at.
        self._db.execute(
            """
            INSERT INTO gap SELECT task, $source, 'not_covered' FROM unseen
            SEMI JOIN (SELECT id AS base FROM ref.lifecycle WHERE source = $source) USING (base)
            """,
            {"source": source},
        ).fetchall()
        self._db.execute(
            """
            INSERT INTO evidence BY NAME
            SELECT task, $source AS source, $release AS release_id, base AS record, 'silent' AS stance,
                   'closed' AS world, 'owner' AS tier, 'not in this release' AS value, 'fact' AS about
            FROM unseen ANTI JOIN (SELECT id AS base FROM ref.lifecycle WHERE source = $source) USING (base)
            """,
            {"source": source, "release": listing},
        ).fetchall()

    def _asked_for(self, source: str) -> None:
        """An id that a release was asked for by itself, and did not know, is not there."""
        self._db.execute(
            """
            INSERT INTO evidence BY NAME
            SELECT u.task, $source AS source, max(c.release_id) AS release_id, base AS record, 'silent' AS stance,
                   'closed' AS world, 'owner' AS tier, 'not in this release' AS value, 'fact' AS about
            FROM unseen u JOIN ref.covered c ON c.source = $source AND c.topic = 'entity' AND c.id = base
            GROUP BY u.task, base
            """,
            {"source": source},
        ).fetchall()
        self._db.execute("DELETE FROM unseen WHERE task IN (SELECT task FROM evidence)").fetchall()


_VALUE_COMPARISON = f"""
    CASE WHEN folded(coalesce(a.value, '')) = '' THEN '{Reason.VALUE_MISSING.value}'
         WHEN list_contains(s.now, a.value) THEN NULL
         WHEN {{same}} THEN '{Reason.FORMATTING.value}'
         WHEN list_contains(s.former, folded(a.value)) THEN '{Reason.VALUE_OUTDATED.value}'
         ELSE '{Reason.VALUE_MISMATCH.value}' END AS reason,
    array_to_string(s.now, '; ') AS value, CASE WHEN len(s.now) > 1 THEN s.now END AS candidates
"""

_LACKING = """list_filter(s.every, lambda x: NOT list_contains(
    list_transform(coalesce(a.items, []), lambda y: folded(y)), folded(x)))"""

_LIST_COMPARISON = f"""
    CASE WHEN len({_LACKING}) > 0 THEN '{Reason.VALUE_MISSING.value}' END AS reason,
    CASE WHEN len({_LACKING}) > 0 THEN {JOINED_SQL.format(items=_LACKING)}
         ELSE {JOINED_SQL.format(items="s.every")} END AS value,
    NULL::VARCHAR[] AS candidates
"""
"""Of a list, the names that it lacks are what the source says."""
