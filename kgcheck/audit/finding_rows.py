"""Build rows of the ledger's finding table from judged tasks in bulk, in DuckDB and Arrow.

What a row is, `kgcheck.ledger.rows.finding_row` says of a Finding; a test compares both for whatever an audit writes.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.audit.judging import parsed
from kgcheck.audit.naming import NodeNames
from kgcheck.audit.plan import SUPPORTED_EDGE, Piece, place_sql
from kgcheck.checks.lists import JOINED_SQL
from kgcheck.checks.repair import AGAINST_SQL, SEVERAL, Filling, Offered, completed, plan_repair
from kgcheck.checks.verdicts import Judgement
from kgcheck.duck import put_arrow
from kgcheck.evidence.working_tables import SHOWN_ORDER, WorkingTables
from kgcheck.ledger.basis import BY_SEVERITY, DECIDING_SQL, OBSERVED_SQL, basis_sql, digest_sql
from kgcheck.ledger.rows import FindingRows
from kgcheck.ledger.tables import FINDING_COLUMNS, OPEN_SEVERITIES
from kgcheck.model import CheckType, Evidence, Outcome, Reason, TallyMark
from kgcheck.quoting import literal

_TOGETHER = 10_000
"""Rows that are handed over together."""

_PLAN = pa.schema(
    [(name, pa.int64()) for name in ("verdict", "replaced", "offered")]
    + [(name, pa.string()) for name in ("kind", "because", "fills", "shows")]
)
_GAPS = """LEFT JOIN (SELECT task, list_sort(list_distinct(list([source, cause]))) AS gaps
    FROM gap SEMI JOIN found USING (task) GROUP BY task) g USING (task)"""
_PAIRS = pa.schema([("head", pa.string()), ("tail", pa.string())])
_WHOLE = pa.schema([("task", pa.int64()), ("whole", pa.string())])
_OF_PIECE = pa.schema(
    [("place", pa.int64()), *((name, pa.string()) for name in ("head_label", "relation", "tail_label", "attribute"))]
)


class UnlookedPool(NamedTuple):
    """Choice among tasks that nobody could look at, for whoever asks other sources."""

    places: Sequence[int]
    """Places of the pieces that they are of."""
    most: int
    """Tasks of each."""
    first: Sequence[tuple[str, str]]
    """Ids of heads and tails, the latter empty of nodes, that are chosen before others, however many."""
    draw: str
    """Draws others."""


def finding_rows(
    tables: WorkingTables,
    names: NodeNames,
    run: str,
    pieces: Sequence[Piece],
    *,
    keep_all: bool = False,
    pool: UnlookedPool | None = None,
) -> list[FindingRows]:
    """A row for every judged task that the graph has wrong or that nobody can tell, by piece in the order of the tasks.

    What is right, and what nobody could look at, is counted and makes no finding unless asked for, or chosen for a
    pool. All pieces are of one type of check.
    """
    db, kind = tables.db, pieces[0].unit.type
    found = [o for o in Outcome if TallyMark.of(kind, o).severity in OPEN_SEVERITIES]
    wanted = f"outcome IN ({', '.join(literal(o.value) for o in found)})"
    kept = f"{wanted} OR outcome = {literal(Outcome.UNAVAILABLE.value)}" if pool else wanted
    if not db.execute(f"SELECT 1 FROM signature_verdict {'' if keep_all else f'WHERE {kept}'} LIMIT 1").fetchall():
        return [FindingRows(()) for _ in pieces]
    if pool:
        _choose(db, pieces, pool)
        wanted += " OR j.task IN (FROM unlooked)"
    wanted = "" if keep_all else f"WHERE {wanted}"
    of_pieces = []
    for place, piece in enumerate(pieces):
        pattern, label = piece.unit.pattern, piece.unit.label or ""
        ends = (pattern.head, pattern.type, pattern.tail) if pattern else (label, None, None)
        of_pieces.append(dict(zip(_OF_PIECE.names, (place, *ends, piece.unit.attribute), strict=True)))
    put_arrow(db, "found_piece", pa.Table.from_pylist(of_pieces, _OF_PIECE))
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE found AS
        SELECT j.task, {place_sql(pieces, "j.task")} AS place, j.verdict, j.outcome, j.reason, j.confidence, j.note,
               t.head, t.tail, coalesce(t.value, {JOINED_SQL.format(items="t.items")}) AS value
        FROM judged j JOIN task t USING (task) {wanted}""").fetchall()
    _collect(tables)
    completes = Filling.COMPLETED in _plan(db, kind)
    if completes:
        # Lists with the names that they lack.
        lacking = db.execute(f"""
            SELECT task, value, stated FROM found_known JOIN repair_plan p USING (verdict, replaced, offered)
            WHERE p.fills = '{Filling.COMPLETED.value}'""").fetchall()
        whole = [{"task": task, "whole": completed(value, stated)} for task, value, stated in lacking]
        put_arrow(db, "whole_value", pa.Table.from_pylist(whole, _WHOLE))
    of_end = "SELECT {end}_label, {end} FROM found JOIN found_piece USING (place)"
    names.put(db, " UNION ".join(of_end.format(end=end) for end in ("head", "tail")))
    rows = db.sql(f"SELECT * EXCLUDE (task) FROM ({_rows(run, kind, completes)}) ORDER BY task").to_arrow_table()
    places, rows = rows.column("place").to_numpy(), rows.drop_columns("place")
    limits = np.searchsorted(places, np.arange(len(pieces) + 1))
    return [FindingRows(_batches(rows.slice(first, last - first))) for first, last in pairwise(map(int, limits))]


def _choose(db: duckdb.DuckDBPyConnection, pieces: Sequence[Piece], pool: UnlookedPool) -> None:
    """Table ``unlooked``: tasks of a pool."""
    first = [dict(zip(_PAIRS.names, pair, strict=True)) for pair in pool.first]
    put_arrow(db, "chosen_first", pa.Table.from_pylist(first, _PAIRS))
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE unlooked AS
        SELECT task FROM (
            SELECT j.task, {place_sql(pieces, "j.task")} AS place, c.head IS NOT NULL AS is_first, row_number() OVER (
                PARTITION BY place ORDER BY md5(concat_ws(' ', $draw, t.head, t.tail))) AS number
            FROM judged j JOIN task t USING (task)
            LEFT JOIN chosen_first c ON c.head = t.head AND c.tail = coalesce(t.tail, '')
            WHERE j.outcome = 'unavailable'
        ) WHERE list_contains($places, place) AND (is_first OR number <= $most)
        """,
        {"draw": pool.draw, "places": list(pool.places), "most": pool.most},
    ).fetchall()


def _batches(found: pa.Table) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of a table, some at a time, made of values when they are taken; one that all rows have is made once."""

    def values(column: pa.ChunkedArray) -> list[Any]:
        if column.null_count == len(column) or pc.all(pc.equal(column, column[0]), skip_nulls=False).as_py():
            return [column[0].as_py()] * len(column)
        found: list[Any] = column.to_pylist()
        return found

    for first in range(0, len(found), _TOGETHER):
        yield list(zip(*map(values, found.slice(first, _TOGETHER).columns), strict=True))


def _collect(tables: WorkingTables) -> None:
    """Table ``found_known``: ``found``, and what is known of each task, in one row."""
    counted = "SELECT task, count(*) AS pieces FROM evidence SEMI JOIN found USING (task) GROUP BY task"
    tables.db.execute(f"CREATE OR REPLACE TEMP TABLE found_evidence AS {counted}").fetchall()
    # Most have one piece of evidence, which spares them lists.
    known = _of_one(tables, "FROM found_evidence WHERE pieces = 1")
    if tables.has("found_evidence WHERE pieces > 1"):
        known += f" UNION ALL BY NAME {_of_several(tables, 'FROM found_evidence WHERE pieces > 1')}"
    has_gaps = tables.has("gap")
    tables.db.execute(f"""
        CREATE OR REPLACE TEMP TABLE found_known AS
        WITH known AS ({known})
        SELECT f.*, known.* EXCLUDE (task), {"gaps" if has_gaps else "NULL::VARCHAR[][] AS gaps"},
               least(coalesce(len(replacements), 0), {SEVERAL}) AS replaced,
               least(coalesce(len(candidates), 0), {SEVERAL}) AS offered
        FROM found f LEFT JOIN known USING (task) {_GAPS if has_gaps else ""}""").fetchall()


def _shown() -> str:
    """SQL for a piece of evidence as JSON."""
    time = "strftime({0}, '%Y-%m-%dT%H:%M:%SZ')"
    # A number that is none cannot stand in JSON.
    written = {"score": "CASE WHEN isfinite(score) THEN score END"}
    written |= {name: time.format(name) for name in ("retrieved_at", "pinned_at")}
    fields = ", ".join(f"{name} := {written.get(name, name)}" for name in Evidence.model_fields)
    return f"to_json(struct_pack({fields}))::VARCHAR"


def _of_one(tables: WorkingTables, tasks: str) -> str:
    """A select of what is known of tasks that have one piece of evidence each."""
    return f"""
    SELECT task, '[' || {_shown()} || ']' AS shown, score AS best_score,
           CASE WHEN {AGAINST_SQL} THEN nullif(value, '') END AS stated,
           CASE WHEN {AGAINST_SQL} THEN {_distinct("replacements")} ELSE [] END AS replacements,
           CASE WHEN {AGAINST_SQL} THEN {_distinct("candidates")} ELSE [] END AS candidates,
           CASE WHEN {DECIDING_SQL} THEN [{OBSERVED_SQL}] ELSE [] END AS observed
    FROM ({tables.stated(tasks)})"""


def _of_several(tables: WorkingTables, tasks: str) -> str:
    # Sorted as lists of few items, which takes a third of the time of an aggregate that sorts.
    order = ", ".join(f"key_{number} := {key}" for number, key in enumerate(SHOWN_ORDER))
    return f"""
    SELECT task, shown, best_score, stated, {_distinct("replacements")} AS replacements,
           {_distinct("candidates")} AS candidates, observed
    FROM (
        SELECT task, '[' || array_to_string(list_transform(items, lambda x: x.shown), ',') || ']' AS shown,
               items[1].score AS best_score, list_sort(list_distinct(list_transform(
                   list_filter(items, lambda x: x.is_deciding), lambda x: x.observed))) AS observed,
               list_filter(list_transform(against, lambda x: x.value), lambda v: v <> '')[1] AS stated,
               flatten(list_transform(against, lambda x: x.replacements)) AS replacements,
               flatten(list_transform(against, lambda x: x.candidates)) AS candidates
        FROM (
            SELECT task, items, list_filter(items, lambda x: x.is_against) AS against
            FROM (
                SELECT task, CASE WHEN len(items) > 1 THEN list_sort(items) ELSE items END AS items
                FROM (
                    SELECT task, list(struct_pack({order}, shown := {_shown()},
                        is_against := {AGAINST_SQL}, is_deciding := {DECIDING_SQL}, observed := {OBSERVED_SQL},
                        value := value, score := score, replacements := replacements, candidates := candidates
                        )) AS items
                    FROM ({tables.stated(tasks)}) GROUP BY task))))"""


def _distinct(items: str) -> str:
    """SQL for a list with each item once, where it stands first."""
    once = f"list_filter({items}, lambda x, i: list_position({items}, x) = i)"
    return f"CASE WHEN len({items}) < 2 THEN {items} ELSE {once} END"


def _plan(db: duckdb.DuckDBPyConnection, kind: CheckType) -> set[Filling]:
    """Table ``repair_plan``: what changes are made of, each for all findings that are alike."""
    rows = db.execute("""
        SELECT v.number, f.replaced, f.offered, v.signature, v.outcome, v.reason, v.confidence, v.note
        FROM (SELECT DISTINCT verdict, replaced, offered FROM found_known) f
        JOIN signature_verdict v ON v.number = f.verdict""").fetchall()
    plans, fillings = [], set()
    for number, replaced, offered, signature, outcome, reason, confidence, note in rows:
        ended = Judgement(Outcome(outcome), Reason(reason), confidence, note)
        ids = Offered(replaced, offered)
        plan = plan_repair(parsed(kind, signature), ended, ids, of_attribute=kind is CheckType.ATTRIBUTE)
        if plan:
            made = (plan.kind.value, plan.because, plan.to.value, plan.candidates.value)
            plans.append(dict(zip(_PLAN.names, (number, *ids, *made), strict=True)))
            fillings.add(plan.to)
    put_arrow(db, "repair_plan", pa.Table.from_pylist(plans, _PLAN))
    return fillings


_RANK = {
    CheckType.POTENTIAL: "-coalesce(f.best_score, 0.0)",
    CheckType.EVIDENCE: "(CASE WHEN e.head IS NULL THEN 0 ELSE 1 END)::DOUBLE",
}
"""SQL for the rank of findings within their outcome."""


def _rows(run: str, kind: CheckType, completes: bool) -> str:
    """A select of the columns of the table finding, in their order, with number and piece of the task before them."""
    of_task = {
        "type": literal(kind.value),
        "subject_label": "o.head_label",
        "subject_id": "f.head",
        "relation": "o.relation",
        "object_label": "o.tail_label",
        "object_id": "f.tail",
        # Of a cited paper, which the task has as its value.
        "attribute": "f.value" if kind is CheckType.EVIDENCE else "o.attribute",
        "rule": "NULL",
    }
    # In the order of CheckTask.fingerprint, which is not that of the table.
    named = ("type", "subject_label", "subject_id", "relation", "object_label", "object_id", "attribute", "rule")
    value = "NULL::VARCHAR" if kind is CheckType.EVIDENCE else "f.value"
    is_ranked = kind is CheckType.POTENTIAL
    severities = {outcome.value: TallyMark.of(kind, outcome).severity for outcome in Outcome}
    severity = " ".join(f"WHEN '{outcome}' THEN {number}" for outcome, number in severities.items())
    in_basis = " ".join(f"WHEN '{outcome}' THEN '{BY_SEVERITY[number]}'" for outcome, number in severities.items())
    change_to = f"""CASE p.fills WHEN '{Filling.REPLACEMENTS.value}' THEN f.replacements[1]
        WHEN '{Filling.STATED.value}' THEN f.stated
        WHEN '{Filling.COMPLETED.value}' THEN {"w.whole" if completes else "NULL"} END"""
    candidates = f"""CASE p.shows WHEN '{Filling.CANDIDATES.value}' THEN f.candidates
        WHEN '{Filling.BOTH.value}' THEN list_concat(f.replacements, f.candidates) ELSE [] END"""
    columns = {
        **of_task,
        "fingerprint": digest_sql(f"coalesce({of_task[name]}::VARCHAR, '')" for name in named),
        "run": literal(run),
        "subject_name": "h.name",
        "object_name": "t.name",
        "value": value,
        "outcome": "f.outcome",
        "reason": "f.reason",
        "confidence": "f.confidence",
        "note": "f.note",
        "evidence": "coalesce(f.shown, '[]')",
        "gaps": "coalesce(to_json(f.gaps)::VARCHAR, '[]')",
        "change_kind": "p.kind",
        "change_to": change_to,
        "change_because": "p.because",
        "change_candidates": f"to_json({candidates})::VARCHAR",
        "basis": basis_sql(
            f"CASE f.outcome {in_basis} END", "f.reason", value, "p.kind", change_to, candidates, "f.observed"
        ),
        "severity": f"CASE f.outcome {severity} END",
        "by_confidence": "-f.confidence" if is_ranked else "0.0::DOUBLE",
        "by_score": _RANK.get(kind, "0.0::DOUBLE"),
    }
    return f"""
    SELECT f.task, f.place, {", ".join(f"{columns[name]} AS {name}" for name in FINDING_COLUMNS)}
    FROM found_known f JOIN found_piece o USING (place) LEFT JOIN repair_plan p USING (verdict, replaced, offered)
    {"LEFT JOIN whole_value w USING (task)" if completes else ""}
    {f"LEFT JOIN {SUPPORTED_EDGE} e ON e.head = f.head AND e.tail = f.tail" if kind is CheckType.EVIDENCE else ""}
    LEFT JOIN node_name h ON h.label = o.head_label AND h.id = f.head
    LEFT JOIN node_name t ON t.label = o.tail_label AND t.id = f.tail"""
