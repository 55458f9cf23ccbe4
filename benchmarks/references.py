"""Facts of made-up sources for a generated graph, with known disagreements: ``benchmarks.generate --reference``.

The first deciding source of every pattern states all of its pairs but those left out, under the ids that are valid now.
Of the proteins, a few were deleted or merged. ``answers.json`` counts, by pattern, outcome and reason, what an audit
must find.
"""

import json
from pathlib import Path

import duckdb

from kgcheck.profile.catalogue import PARENT
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.quoting import literal
from kgcheck.reference.facts import COLUMNS

_ONE_IN = 400
_DELETED, _MERGED = 7, 13
"""Of so many proteins, which one was deleted and which merged into the next; none of the first tenth, the hubs."""

_LEFT_OUT = 200
"""Of so many pairs one is left out, and another, where the source has a cut-off, is scored below it."""

_UNORDERED = ("Tissue", "Cellular_component", "Modification", "Pathway")
"""Terms of whose order the published graph has no edges: the sources order them as a tree."""
_CHILDREN = 4

_NOW = "2026"


class References:
    """Writes the facts of a generated graph.

    Args:
        db: The generator's database: a table (i, id) for each label, and ``pairs`` (n, head, tail) of the pattern.
        schema: Profile.
        folder: Where; made if missing.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, schema: Schema, folder: Path) -> None:
        self._db = db
        self._schema = schema
        self._folder = folder
        self._expected: dict[str, dict[str, int]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for table in ("entity", "link", "covered"):
            columns = ", ".join(f"{c} VARCHAR" for c in COLUMNS[table])
            db.execute(f"CREATE OR REPLACE TABLE facts_{table} ({columns})").fetchall()

    def nodes(self) -> None:
        """State the life of every id, and a hierarchy for each ontology whose terms the graph does not order."""
        self._db.execute(
            f"""
            CREATE OR REPLACE TABLE moved AS
            SELECT p.id, n.id AS now
            FROM "Protein" p LEFT JOIN "Protein" n ON p.i % {_ONE_IN} = {_MERGED} AND n.i = p.i + 1
            WHERE p.i * 10 > (SELECT count(*) FROM "Protein") AND p.i % {_ONE_IN} IN ({_DELETED}, {_MERGED})
            """
        ).fetchall()
        for label in self._schema.labels:
            if not label.site and not label.shares_ids_with:
                self._entities(label)
        for label in map(self._schema.label, _UNORDERED):
            self._db.execute(
                f"""
                INSERT INTO facts_link BY NAME
                SELECT {literal(label.authority.source)} AS source, '{_NOW}' AS release, '{PARENT}' AS relation,
                       c.id AS head, p.id AS tail, 'false' AS negated
                FROM "{label.name}" c JOIN "{label.name}" p ON p.i = c.i // {_CHILDREN} WHERE c.i > 0
                """
            ).fetchall()

    def edges(self, pattern: Pattern) -> None:
        """State the pairs of a pattern; those of its hierarchies must have been stated before they are counted."""
        check = pattern.checks[0]
        low = f"CASE WHEN n % {_LEFT_OUT} = 1 THEN {check.threshold} - 0.1 ELSE {check.threshold} + n % 60 * 0.01 END"
        score = f"round({low}, 2)" if check.threshold is not None else "NULL"
        self._db.execute(
            f"""
            CREATE OR REPLACE TABLE "told {pattern}" AS
            SELECT n, coalesce(h.now, head) AS head, coalesce(t.now, tail) AS tail, {score} AS score,
                   CASE WHEN {_gone("h")} OR {_gone("t")} THEN 'endpoint_deleted'
                        WHEN h.now IS NOT NULL OR t.now IS NOT NULL THEN 'endpoint_merged' END AS moved
            FROM pairs LEFT JOIN moved h ON h.id = head LEFT JOIN moved t ON t.id = tail;
            INSERT INTO facts_link BY NAME
            SELECT {literal(check.source)} AS source, '{_NOW}' AS release, {literal(check.link)} AS relation,
                   head, tail, score::VARCHAR AS score, 'false' AS negated
            FROM "told {pattern}" WHERE n % {_LEFT_OUT} <> 0
            """
        ).fetchall()
        if check.both_ends_mapped:
            self._db.execute(
                f"""
                INSERT INTO facts_covered BY NAME
                SELECT {literal(check.source)} AS source, '{_NOW}' AS release, {literal(check.link)} AS relation, id
                FROM "{pattern.head}"
                """
            ).fetchall()

    def finish(self) -> None:
        """Write the tables and what an audit must find."""
        self._db.execute(
            f"""
            CREATE OR REPLACE TABLE above AS
            WITH RECURSIVE up(source, id, ancestor) AS (
                SELECT source, head, tail FROM facts_link WHERE relation = '{PARENT}' UNION
                SELECT up.source, up.id, l.tail FROM up JOIN facts_link l
                ON l.source = up.source AND l.head = up.ancestor AND l.relation = '{PARENT}')
            FROM up
            """
        ).fetchall()
        expected = {}
        for pattern in self._schema.relations:
            held = self._db.execute("FROM duckdb_tables() WHERE table_name = ?", [f"told {pattern}"]).fetchall()
            if held:
                expected[str(pattern)] = self._expected_of(pattern)
        (self._folder / "answers.json").write_text(json.dumps(expected, indent=2), encoding="utf-8")
        self._db.execute(
            f"""
            CREATE OR REPLACE TABLE facts_releases AS
            SELECT DISTINCT source, '{_NOW}' AS release, '{_NOW}' AS released, source || ', generated' AS name,
                   'none' AS licence, '' AS url_template, 'complete' AS coverage
            FROM (SELECT source FROM facts_entity UNION SELECT source FROM facts_link);
            CREATE OR REPLACE TABLE facts_value AS
            SELECT source, '{_NOW}' AS release, id, '' AS attribute, '' AS value, '' AS status, '' AS record
            FROM facts_entity LIMIT 0
            """
        ).fetchall()
        for table in COLUMNS:
            path = literal(str(self._folder / f"{table}.tsv"))
            self._db.execute(f"COPY facts_{table} TO {path} (FORMAT csv, DELIMITER '\t', HEADER)").fetchall()

    def _entities(self, label: Label) -> None:
        state = "'current'"
        if label.name == "Protein":
            state = "CASE WHEN m.id IS NULL THEN 'current' WHEN m.now IS NULL THEN 'deleted' ELSE 'merged' END"
        self._db.execute(
            f"""
            INSERT INTO facts_entity BY NAME
            SELECT {literal(label.authority.source)} AS source, '{_NOW}' AS release, n.id,
                   {literal(label.authority.namespace or "")} AS namespace, {state} AS state, m.now AS successors
            FROM "{label.name}" n LEFT JOIN moved m ON m.id = n.id
            """
        ).fetchall()

    def _expected_of(self, pattern: Pattern) -> dict[str, int]:
        """Counts by outcome and reason, found by other means than the audit's."""
        check, told = pattern.checks[0], f'"told {pattern}"'
        stated = f"SELECT head, tail, score FROM {told} WHERE n % {_LEFT_OUT} <> 0"
        if check.match == "either_order":
            stated += f" UNION SELECT tail, head, score FROM {told} WHERE n % {_LEFT_OUT} <> 0"
        below = "SELECT NULL AS head, NULL AS tail WHERE false"
        if check.match == "descendant":
            below = f"""SELECT DISTINCT s.head, a.ancestor AS tail FROM ({stated}) s
                        JOIN above a ON a.source = {literal(check.ontology or "")} AND a.id = s.tail"""
        silent = "'refuted edge_unsupported'" if check.world.value == "closed" else "'insufficient nothing_found'"
        if check.match == "descendant" and self._schema.label(pattern.head).site:
            # A source that lists a site says what it is, so that its silence about another term is closed.
            listed = f"t.head IN (SELECT head FROM ({stated}))"
            silent = f"CASE WHEN {listed} THEN 'refuted edge_unsupported' ELSE {silent} END"
        if pattern.hierarchy:
            # A parent that is stated further up is true and says too much.
            further = f"(t.head, t.tail) IN (SELECT id, ancestor FROM above WHERE source = {literal(check.source)})"
            silent = f"CASE WHEN {further} THEN 'insufficient parent_indirect' ELSE {silent} END"
        weak = "'refuted below_threshold'" if check.world.value == "closed" else "'insufficient below_threshold'"
        rows = self._db.execute(
            f"""
            WITH exact AS (SELECT head, tail, coalesce(max(score), 1) AS score FROM ({stated}) GROUP BY ALL)
            SELECT CASE WHEN moved IS NOT NULL THEN 'refuted ' || moved
                        WHEN e.score >= {check.threshold or 0} THEN 'supported confirmed'
                        WHEN b.head IS NOT NULL THEN 'supported confirmed_by_descendant'
                        WHEN e.score IS NOT NULL THEN {weak} ELSE {silent} END AS found, count(*)
            FROM {told} t LEFT JOIN exact e ON e.head = t.head AND e.tail = t.tail
            LEFT JOIN ({below}) b ON b.head = t.head AND b.tail = t.tail GROUP BY found ORDER BY found
            """
        ).fetchall()
        return dict(rows)


def _gone(alias: str) -> str:
    return f"({alias}.id IS NOT NULL AND {alias}.now IS NULL)"
