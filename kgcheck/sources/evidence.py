"""Looks tasks up in a snapshot, as joins: the same statements serve one task and a whole graph.

The caller fills the table ``task`` (columns of TASK_COLUMNS) in a working database; the methods of `EvidenceJoin` append to
``evidence`` (one row an observation) and ``gap`` (one row a deciding source that could not be looked at).
"""

from pathlib import Path

import duckdb

from kgcheck.checks.catalogue import STATE_REASONS, AttributeCheck, EdgeCheck
from kgcheck.graph.schema import Label, Pattern
from kgcheck.model import Reason
from kgcheck.tables import literal

TASK_COLUMNS = "task BIGINT, head VARCHAR, tail VARCHAR, value VARCHAR, items VARCHAR[]"
"""``head`` is the id of a node task; ``value`` and ``items`` are what the graph says of an attribute."""

EVIDENCE_COLUMNS = (
    "task BIGINT, source VARCHAR, release_id INTEGER, record VARCHAR, stance VARCHAR, world VARCHAR, tier VARCHAR, "
    "reason VARCHAR, value VARCHAR, score DOUBLE, about VARCHAR, replacements VARCHAR[], candidates VARCHAR[]"
)

SCHEMA_SOURCE = "profile"
"""Source of evidence that needs no snapshot: the form of an identifier."""

MAX_RECORDS_SHOWN = 3
"""Records of one source kept for one task, the best first."""

_SITE = r"_([A-Z])([0-9]+)-"


class EvidenceJoin:
    """Joins between tasks and a snapshot.

    Args:
        db: A working database.
        snapshot: Path of the snapshot, or None: then every reference is missing.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, snapshot: Path | None) -> None:
        self._db = db
        if snapshot:
            db.execute(f"ATTACH {literal(str(snapshot))} AS ref (READ_ONLY)").fetchall()
        else:
            # Empty tables of the same form, so that every statement runs and finds nothing.
            from kgcheck.sources.snapshot import TABLES

            db.execute(f"ATTACH ':memory:' AS ref; USE ref; {TABLES}; USE {_main_catalog(db)}").fetchall()
            db.execute(
                """
                CREATE TABLE ref.lifecycle (source VARCHAR, id VARCHAR, label VARCHAR, state VARCHAR, name VARCHAR,
                    successors VARCHAR[], candidates VARCHAR[], detail VARCHAR, record VARCHAR, release_id INTEGER);
                CREATE TABLE ref.ancestor (ontology VARCHAR, id VARCHAR, ancestor VARCHAR)
                """
            ).fetchall()
        db.execute("CREATE TEMP TABLE state_reason (state VARCHAR, reason VARCHAR)").fetchall()
        for state, reason in STATE_REASONS.items():
            db.execute("INSERT INTO state_reason VALUES (?, ?)", [state.value, reason.value]).fetchall()
        db.execute(
            r"""
            CREATE TEMP MACRO folded(x) AS regexp_replace(lower(nfc_normalize(trim(x))), '\s+', ' ', 'g');
            CREATE TEMP MACRO told(state, detail, name, successors) AS concat_ws('; ',
                state, CASE WHEN lower(detail) NOT IN (state, '') THEN detail END, CASE WHEN state = 'current' THEN name END,
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
        bound = {"source": authority.source, "label": label.name}
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
            SELECT task, head, {_base(label, "head")} AS base FROM task
            WHERE regexp_full_match(head, $pattern) AND regexp_full_match(head, $issued)
            """,
            {"pattern": label.id_pattern, "issued": authority.pattern or ".*"},
        ).fetchall()
        # A site exists when its residue does, which the entry alone does not tell.
        told = "l.state <> 'current'" if authority.site else "true"
        self._db.execute(
            f"""
            INSERT INTO evidence BY NAME
            SELECT a.task, $source AS source, l.release_id, l.record,
                   CASE WHEN l.state = 'current' AND NOT {_elsewhere(label)} THEN 'supports' ELSE 'contradicts' END AS stance,
                   'closed' AS world, 'owner' AS tier,
                   CASE WHEN l.state = 'current' AND {_elsewhere(label)} THEN '{Reason.WRONG_NAMESPACE.value}'
                        WHEN l.state <> 'current' THEN s.reason END AS reason,
                   CASE WHEN {_elsewhere(label)} THEN 'a ' || l.label ELSE told(l.state, l.detail, l.name, l.successors) END AS value,
                   'fact' AS about, l.successors AS replacements, l.candidates
            FROM asked a JOIN ref.lifecycle l ON l.source = $source AND l.id = a.base
            LEFT JOIN state_reason s USING (state) WHERE {told} AND $label <> ''
            """,
            bound,
        ).fetchall()
        if authority.site:
            self._sites(authority.source)
        self._silence_of_ids(authority.source)
        if authority.other:
            self._db.execute(
                "INSERT INTO gap SELECT task, $source, $cause FROM task WHERE NOT regexp_full_match(head, $issued) AND regexp_full_match(head, $pattern)",
                {
                    "source": authority.other,
                    "cause": Reason.REFERENCE_MISSING.value,
                    "issued": authority.pattern,
                    "pattern": label.id_pattern,
                },
            ).fetchall()

    def attribute(self, label: Label, check: AttributeCheck) -> None:
        """Compare every task's value with the reference value of its node."""
        bound = {"source": check.source, "attribute": check.reference}
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE asked AS SELECT *, {_base(label, "head")} AS base FROM task;
            CREATE OR REPLACE TEMP TABLE stated AS
            SELECT id, list(DISTINCT value ORDER BY value) FILTER (status = 'current') AS now,
                   list(DISTINCT folded(value)) FILTER (status <> 'current') AS former,
                   list(DISTINCT value ORDER BY value) FILTER (status IN ('current', 'synonym')) AS every,
                   max(release_id) FILTER (status = 'current') AS release_id, any_value(record) AS record
            FROM ref.value WHERE source = {literal(check.source)} AND attribute = {literal(check.reference)} GROUP BY id
            """
        ).fetchall()
        judged = _LIST_COMPARISON if check.every else _VALUE_COMPARISON
        same = "false" if check.exact else "list_contains(list_transform(s.now, lambda x: folded(x)), folded(a.value))"
        self._db.execute(
            f"""
            INSERT INTO evidence BY NAME
            SELECT task, source, release_id, record,
                   CASE WHEN reason IS NULL OR reason = '{Reason.FORMATTING.value}' THEN 'supports' ELSE 'contradicts' END AS stance,
                   'closed' AS world, 'owner' AS tier, reason, value, 'fact' AS about
            FROM (SELECT a.task, $source AS source, s.release_id, coalesce(s.record, a.base) AS record,
                         {judged.format(same=same)}
                  FROM asked a JOIN stated s ON s.id = a.base WHERE s.now IS NOT NULL)
            """,
            {"source": check.source},
        ).fetchall()
        self._db.execute(
            """
            INSERT INTO gap
            SELECT task, $source, CASE WHEN EXISTS (FROM ref.value WHERE source = $source AND attribute = $attribute)
                                       THEN 'not_covered' ELSE 'reference_missing' END
            FROM asked ANTI JOIN (SELECT id AS base FROM stated WHERE now IS NOT NULL) USING (base)
            """,
            bound,
        ).fetchall()

    def edges(self, pattern: Pattern, head: Label, tail: Label) -> None:
        """Look every task's pair up in the deciding sources of its pattern, after following replaced ends."""
        self._resolve_ends(head, tail)
        for check in pattern.checks:
            self._hits(pattern, check)
            self._silence_of_edges(pattern, check)

    def _sites(self, source: str) -> None:
        """Compare the residue that a site id names with the sequence."""
        self._db.execute(
            rf"""
            INSERT INTO evidence BY NAME
            SELECT task, $source AS source, release_id, record,
                   CASE WHEN reason IS NULL THEN 'supports' ELSE 'contradicts' END AS stance,
                   'closed' AS world, 'owner' AS tier, reason, value, 'fact' AS about
            FROM (
                SELECT a.task, v.release_id, v.record,
                       CASE WHEN position < 1 OR position > length(v.value) THEN '{Reason.POSITION_OUT_OF_RANGE.value}'
                            WHEN v.value[position] <> residue THEN '{Reason.RESIDUE_MISMATCH.value}' END AS reason,
                       CASE WHEN position < 1 OR position > length(v.value) THEN 'the sequence has ' || length(v.value) || ' residues'
                            ELSE 'residue ' || position || ' is ' || v.value[position] END AS value
                FROM (SELECT *, regexp_extract(head, '{_SITE}', 1) AS residue,
                             try_cast(regexp_extract(head, '{_SITE}', 2) AS BIGINT) AS position FROM asked) a
                JOIN ref.value v ON v.source = $source AND v.id = a.base AND v.attribute = 'sequence' AND v.status = 'current'
                ANTI JOIN (SELECT task FROM evidence WHERE stance = 'contradicts') USING (task))
            """,
            {"source": source},
        ).fetchall()

    def _silence_of_ids(self, source: str) -> None:
        self._db.execute(
            """
            CREATE OR REPLACE TEMP TABLE unseen AS SELECT task, base FROM asked ANTI JOIN evidence USING (task);
            """
        ).fetchall()
        listing = self._complete_release(source, "entity")
        if listing is None:
            self._gap("unseen", source, "entity")
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
            SELECT task, $source AS source, $release AS release_id, base AS record, 'silent' AS stance, 'closed' AS world,
                   'owner' AS tier, 'not in this release' AS value, 'fact' AS about
            FROM unseen ANTI JOIN (SELECT id AS base FROM ref.lifecycle WHERE source = $source) USING (base)
            """,
            {"source": source, "release": listing},
        ).fetchall()

    def _resolve_ends(self, head: Label, tail: Label) -> None:
        """Table ``ends``: each pair under the ids that its ends have now; evidence about ends that moved."""
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE ends AS
            SELECT t.task, t.head, t.tail,
                   CASE WHEN len(h.successors) > 0 AND h.state <> 'current' THEN h.successors[1] ELSE {_key(head, "t.head")} END AS head_now,
                   CASE WHEN len(l.successors) > 0 AND l.state <> 'current' THEN l.successors[1] ELSE {_key(tail, "t.tail")} END AS tail_now
            FROM task t
            LEFT JOIN ref.lifecycle h ON h.source = {_authority(head)} AND h.id = {_base(head, "t.head")}
            LEFT JOIN ref.lifecycle l ON l.source = {_authority(tail)} AND l.id = {_base(tail, "t.tail")}
            """
        ).fetchall()
        for about, label in (("head", head), ("tail", tail)):
            self._db.execute(
                f"""
                INSERT INTO evidence BY NAME
                SELECT e.task, l.source, l.release_id, l.record, 'contradicts' AS stance, 'closed' AS world,
                       'owner' AS tier, CASE WHEN len(l.successors) > 0 THEN $merged ELSE $gone END AS reason,
                       told(l.state, l.detail, l.name, l.successors) AS value, $about AS about,
                       l.successors AS replacements, l.candidates
                FROM ends e JOIN ref.lifecycle l
                ON l.source = {_authority(label)} AND l.id = {_base(label, f"e.{about}")} AND l.state <> 'current'
                """,
                {
                    "merged": Reason.ENDPOINT_MERGED.value,
                    "gone": Reason.ENDPOINT_DELETED.value,
                    "about": about,
                },
            ).fetchall()

    def _hits(self, pattern: Pattern, check: EdgeCheck) -> None:
        """Evidence from links that the source states, and table ``hit``: the tasks that have any."""
        ways = [_hit("e.head_now", "e.tail_now", "NULL")]
        if check.match == "either_order":
            ways.append(_hit("e.tail_now", "e.head_now", "NULL") + " AND e.head_now <> e.tail_now")
        if check.match == "descendant":
            ways.append(_DESCENDANT_HIT.format(ontology=literal(check.ontology or ""), reason=Reason.CONFIRMED_BY_DESCENDANT.value))
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE hit AS
            SELECT * FROM ({" UNION ALL ".join(ways)})
            QUALIFY row_number() OVER (
                PARTITION BY task ORDER BY negated DESC, way NULLS FIRST, score DESC NULLS LAST, release_id DESC, record
            ) <= {MAX_RECORDS_SHOWN}
            """,
            {"source": check.source, "relation": pattern.type},
        ).fetchall()
        self._db.execute(
            """
            INSERT INTO evidence BY NAME
            SELECT task, $source AS source, release_id, record, stance, $world AS world, $tier AS tier,
                   CASE WHEN negated THEN $not_annotated WHEN stance = 'silent' THEN $below ELSE way END AS reason,
                   CASE WHEN negated THEN 'stated with NOT' ELSE said END AS value, score, 'fact' AS about
            FROM (SELECT *, CASE WHEN negated THEN 'contradicts' WHEN score < $threshold THEN 'silent' ELSE 'supports' END AS stance
                  FROM hit)
            """,
            {
                "source": check.source,
                "world": check.world.value,
                "tier": check.tier.value,
                "threshold": check.threshold if check.threshold is not None else float("-inf"),
                "not_annotated": Reason.EDGE_NEGATED.value,
                "below": Reason.BELOW_THRESHOLD.value,
            },
        ).fetchall()

    def _silence_of_edges(self, pattern: Pattern, check: EdgeCheck) -> None:
        self._db.execute("CREATE OR REPLACE TEMP TABLE unseen AS FROM ends ANTI JOIN hit USING (task)").fetchall()
        complete = self._complete_release(check.source, pattern.type)
        bound = {"source": check.source, "topic": pattern.type}
        if check.both_ends_mapped:
            mapped = _MAPPED_PAIR
        elif check.match == "either_order":
            mapped = _EITHER_COVERED
        else:
            mapped = _HEAD_COVERED
        if complete is not None and not check.both_ends_mapped:
            looked = f"SELECT task, head_now, {complete} AS release_id FROM unseen"
            bound = {}
        else:
            looked = mapped
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE looked AS {looked}", bound).fetchall()
        self._db.execute(
            """
            INSERT INTO evidence BY NAME
            SELECT task, $source AS source, release_id, head_now AS record, 'silent' AS stance, $world AS world,
                   $tier AS tier, 'no such link in this release' AS value, 'fact' AS about FROM looked
            """,
            {"source": check.source, "world": self._silent_world(check), "tier": check.tier.value},
        ).fetchall()
        self._db.execute("CREATE OR REPLACE TEMP TABLE unseen AS FROM unseen ANTI JOIN looked USING (task)").fetchall()
        if complete is not None and check.both_ends_mapped:
            self._db.execute(
                """
                INSERT INTO evidence BY NAME
                SELECT task, $source AS source, $release AS release_id, head_now || ' ' || tail_now AS record,
                       'silent' AS stance, 'open' AS world, $tier AS tier, $reason AS reason,
                       'an id that the source does not map' AS value, 'fact' AS about FROM unseen
                """,
                {
                    "source": check.source,
                    "release": complete,
                    "tier": check.tier.value,
                    "reason": Reason.UNMAPPED_IDENTIFIER.value,
                },
            ).fetchall()
        else:
            self._gap("unseen", check.source, pattern.type)

    def _silent_world(self, check: EdgeCheck) -> str:
        """Silence found by walking a hierarchy that is not complete is no closed silence."""
        if check.match == "descendant" and self._complete_release(check.ontology or "", "HAS_PARENT") is None:
            return "open"
        return check.world.value

    def _complete_release(self, source: str, topic: str) -> int | None:
        """The newest release that lists everything of a topic."""
        rows = self._db.execute(
            """
            SELECT arg_max(r.id, r.recency) FROM ref.topic t JOIN ref.release r ON r.id = t.release_id
            WHERE t.source = $source AND t.topic = $topic AND t.complete
            """,
            {"source": source, "topic": topic},
        ).fetchall()
        found = rows[0][0]
        return None if found is None else int(found)

    def _gap(self, table: str, source: str, topic: str) -> None:
        self._db.execute(
            f"""
            INSERT INTO gap
            SELECT task, $source, CASE WHEN EXISTS (FROM ref.topic WHERE source = $source AND topic = $topic)
                                       THEN '{Reason.NOT_COVERED.value}' ELSE '{Reason.REFERENCE_MISSING.value}' END
            FROM {table}
            """,
            {"source": source, "topic": topic},
        ).fetchall()


_VALUE_COMPARISON = f"""
    CASE WHEN coalesce(a.value, '') = '' THEN '{Reason.VALUE_MISSING.value}'
         WHEN list_contains(s.now, a.value) THEN NULL
         WHEN {{same}} THEN '{Reason.FORMATTING.value}'
         WHEN list_contains(s.former, folded(a.value)) THEN '{Reason.VALUE_OUTDATED.value}'
         ELSE '{Reason.VALUE_MISMATCH.value}' END AS reason,
    array_to_string(s.now, '; ') AS value
"""

_LIST_COMPARISON = f"""
    CASE WHEN len(list_filter(s.every, lambda x: NOT list_contains(
                  list_transform(coalesce(a.items, []), lambda y: folded(y)), folded(x)))) > 0
         THEN '{Reason.VALUE_MISSING.value}' END AS reason,
    array_to_string(s.every, '; ') AS value
    -- {{same}}
"""

_DESCENDANT_HIT = """
    SELECT e.task, l.release_id, l.record, l.score, l.negated, '{reason}' AS way,
           l.head || ' to its descendant ' || l.tail AS said
    FROM ends e JOIN ref.ancestor a ON a.ontology = {ontology} AND a.ancestor = e.tail_now
    JOIN ref.link l ON l.source = $source AND l.relation = $relation AND l.head = e.head_now AND l.tail = a.id
    WHERE NOT l.negated
"""

_HEAD_COVERED = """
    SELECT u.task, any_value(head_now) AS head_now, max(c.release_id) AS release_id FROM unseen u
    JOIN ref.covered c ON c.source = $source AND c.topic = $topic AND c.id = u.head_now GROUP BY u.task
"""

_EITHER_COVERED = """
    SELECT u.task, any_value(head_now) AS head_now, max(c.release_id) AS release_id FROM unseen u
    JOIN ref.covered c ON c.source = $source AND c.topic = $topic AND c.id IN (u.head_now, u.tail_now) GROUP BY u.task
"""

_MAPPED_PAIR = """
    SELECT u.task, any_value(head_now || ' ' || tail_now) AS head_now, max(a.release_id) AS release_id FROM unseen u
    JOIN ref.covered a ON a.source = $source AND a.topic = $topic AND a.id = u.head_now
    JOIN ref.covered b ON b.release_id = a.release_id AND b.topic = $topic AND b.id = u.tail_now GROUP BY u.task
"""


def _hit(head: str, tail: str, way: str) -> str:
    return f"""
    SELECT e.task, l.release_id, l.record, l.score, l.negated, {way}::VARCHAR AS way, l.head || ' ' || l.tail AS said
    FROM ends e JOIN ref.link l
    ON l.source = $source AND l.relation = $relation AND l.head = {head} AND l.tail = {tail} WHERE true"""


def _base(label: Label, column: str) -> str:
    """SQL for the id under which the authority files the id in a column; see Label.base_id."""
    base = f"split_part({column}, '_', 1)" if label.authority.site else column
    return f"split_part({base}, '-', 1)" if label.authority.isoforms else base


def _key(label: Label, column: str) -> str:
    """SQL for the id under which links name an end: a site by its own id, an isoform by its entry."""
    return column if label.authority.site else _base(label, column)


def _authority(label: Label) -> str:
    """SQL for the source whose lifecycle speaks of an end; none for sites, which are parts of another node."""
    return literal("" if label.authority.site else label.authority.source)


def _elsewhere(label: Label) -> str:
    """SQL that is true when the authority files the id under another label."""
    return f"coalesce(l.label <> {literal(label.name)}, false)" if label.authority.namespace else "false"


def _main_catalog(db: duckdb.DuckDBPyConnection) -> str:
    return '"' + str(db.execute("SELECT current_catalog()").fetchall()[0][0]) + '"'
