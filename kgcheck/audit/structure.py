"""Structure checks: faults that a graph shows by itself, found by joins over its copy (checks.md, "Structure").

Each rule is one select that gives: head (id), tail (id or null), tail_label, detail.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import duckdb

from kgcheck.audit.graphcopy import AS_TEXT, GraphCopy
from kgcheck.checks.catalogue import STRUCTURE_RULES
from kgcheck.graph.schema import Label, Pattern, Schema
from kgcheck.model import CheckTask, CheckType, Evidence, Reason, Ref, Stance, Tier, World
from kgcheck.tables import identifier, literal

GRAPH_SOURCE = "graph"
PLACEHOLDERS = ("unspecified", "unknown", "not specified", "none", "n/a", "nan", "null", "-")
"""Text that stands for a missing value, compared without case; and the number below."""
PLACEHOLDER_NUMBER = -1.0

MOVED_SHARE = 0.1
"""A count that moved by more than this share since the last run is worth a look."""


class Hit(NamedTuple):
    """One structural fault."""

    rule: Reason
    head: Ref
    relation: str | None
    tail: Ref | None
    detail: str


class StructureRules:
    """The rules over one copy of a graph.

    Args:
        db: A working database.
        copy: The graph.
        schema: Profile.
        present: Labels and patterns (as text) that the store holds.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, copy: GraphCopy, schema: Schema, present: set[str]) -> None:
        self._db = db
        self._copy = copy
        self._schema = schema
        self._labels = [s for s in schema.labels if s.name in present]
        self._patterns = [p for p in schema.relations if str(p) in present]

    def of_label(self, label: Label) -> Iterator[Hit]:
        """Every fault of the nodes of a label."""
        table = self._copy.nodes(label)
        rules = {
            Reason.MALFORMED_ID: _malformed(label, table),
            Reason.ORPHAN_NODE: self._orphans(label, table),
            Reason.ID_ON_TWO_LABELS: self._elsewhere(label, table),
            Reason.NUMBER_AS_TEXT: _as_text(table, "id", "NULL"),
            Reason.PLACEHOLDER_VALUE: _placeholders(label, table, "id", "NULL"),
        }
        if "name" in label.properties:
            rules[Reason.SHARED_NAME] = _shared_names(table)
        for rule, select in rules.items():
            for head, tail, tail_label, detail in self._rows(select):
                other = Ref(label=tail_label or label.name, id=tail) if tail else None
                yield Hit(rule, Ref(label=label.name, id=head), None, other, detail or "")

    def of_pattern(self, pattern: Pattern) -> Iterator[Hit]:
        """Every fault of the edges of a pattern."""
        table = self._copy.edges(pattern)
        rules = {
            Reason.PARALLEL_DUPLICATE: _parallel(pattern, table),
            Reason.NUMBER_AS_TEXT: _as_text(table, "head", "tail"),
            Reason.PLACEHOLDER_VALUE: _placeholders(pattern, table, "head", "tail"),
            Reason.SCORE_OUT_OF_RANGE: _out_of_range(pattern, table),
        }
        # A sequence carries the accession of its protein, so only edges within one label can loop.
        if pattern.head == pattern.tail:
            rules[Reason.SELF_LOOP] = f"SELECT DISTINCT head, tail, NULL, NULL FROM {table} WHERE head = tail"
        if pattern.type == "HAS_PARENT":
            rules[Reason.PARENT_CYCLE] = _cycles(table)
        if pattern.symmetric:
            rules[Reason.REVERSED_DUPLICATE] = _reversed(pattern, table)
        if "source" in pattern.properties:
            rules[Reason.MISSING_PROVENANCE] = (
                f"SELECT DISTINCT head, tail, NULL, 'no source' FROM {table} WHERE coalesce(trim(\"source\"), '') = ''"
            )
        for rule, select in rules.items():
            for head, tail, _, detail in self._rows(select):
                ends = Ref(label=pattern.head, id=head), Ref(label=pattern.tail, id=tail)
                yield Hit(rule, ends[0], pattern.type, ends[1], detail or "")

    def _rows(self, select: str) -> list[tuple[str, str | None, str | None, str | None]]:
        return self._db.execute(f"SELECT * FROM ({select}) ORDER BY ALL").fetchall()

    def _orphans(self, label: Label, table: str) -> str:
        ends = [f"SELECT head FROM {self._copy.edges(p)}" for p in self._patterns if p.head == label.name]
        ends += [f"SELECT tail FROM {self._copy.edges(p)}" for p in self._patterns if p.tail == label.name]
        joined = " UNION ALL ".join(ends) or "SELECT NULL::VARCHAR"
        return f"SELECT id, NULL, NULL, 'no edge' FROM {table} ANTI JOIN ({joined}) AS seen(id) USING (id)"

    def _elsewhere(self, label: Label, table: str) -> str:
        others = [
            f"SELECT id, {literal(s.name)} AS label FROM {self._copy.nodes(s)}"
            for s in self._labels
            if s.name > label.name and s.name not in label.shares_ids_with and label.name not in s.shares_ids_with
        ]
        joined = " UNION ALL ".join(others) or "SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS label"
        return f"SELECT n.id, n.id AS tail, o.label, 'also a ' || o.label FROM {table} n JOIN ({joined}) o USING (id)"


def moved_counts(before: dict[str, int], after: dict[str, int]) -> Iterator[tuple[str, str]]:
    """What moved by more than MOVED_SHARE between two runs: the label or pattern, and by how much."""
    for name in sorted({*before, *after}):
        old, new = before.get(name, 0), after.get(name, 0)
        if abs(new - old) > MOVED_SHARE * max(old, 1):
            yield name, f"{old:,} before, {new:,} now"


def judged(hit: Hit, seen_at: datetime) -> tuple[CheckTask, Evidence]:
    """The task and the evidence of a hit: the graph is its own witness."""
    fault = STRUCTURE_RULES[hit.rule]
    task = CheckTask(
        type=CheckType.STRUCTURE,
        subject=hit.head,
        relation=hit.relation,
        object=hit.tail,
        rule=hit.rule.value,
        value=hit.detail or None,
    )
    evidence = Evidence(
        source=GRAPH_SOURCE,
        release="as audited",
        record=f"{hit.head.id} {hit.relation} {hit.tail.id}" if hit.relation and hit.tail else hit.head.id,
        retrieved_at=seen_at,
        stance=Stance.CONTRADICTS if fault else Stance.SILENT,
        world=World.CLOSED if fault else World.OPEN,
        tier=Tier.OWNER,
        reason=hit.rule,
        value=hit.detail or None,
    )
    return task, evidence


def _malformed(label: Label, table: str) -> str:
    pattern, example = literal(label.id_pattern), literal(f"an id looks like {label.id_example}")
    return f"SELECT id, NULL, NULL, {example} FROM {table} WHERE NOT regexp_full_match(id, {pattern})"


def _shared_names(table: str) -> str:
    """Pairs with the smallest id of a name: n nodes of one name give n - 1 hits."""
    return f"""
    SELECT min(id) OVER (PARTITION BY name) AS first, id AS tail, NULL, name
    FROM {table} WHERE name IS NOT NULL QUALIFY id <> first"""


def _as_text(table: str, head: str, tail: str) -> str:
    return f"SELECT DISTINCT {head}, {tail}, NULL, array_to_string({AS_TEXT}, ', ') FROM {table} WHERE len({AS_TEXT}) > 0"


def _placeholders(holder: Label | Pattern, table: str, head: str, tail: str) -> str:
    words = ", ".join(literal(w) for w in PLACEHOLDERS)
    told = [
        f"CASE WHEN lower(trim({identifier(n)})) IN ({words}) THEN {literal(n)} || '=' || {identifier(n)} END"
        for n, p in holder.properties.items()
        if p.type == "string"
    ] + [
        f"CASE WHEN {identifier(n)} = {PLACEHOLDER_NUMBER} THEN {literal(n)} || '=' || {identifier(n)} END"
        for n, p in holder.properties.items()
        if p.type in ("number", "integer")
    ]
    said = f"concat_ws(', ', {', '.join(told)})" if told else "''"
    return f"SELECT {head}, {tail}, NULL, min({said}) FROM {table} WHERE {said} <> '' GROUP BY ALL"


def _out_of_range(pattern: Pattern, table: str) -> str:
    wrong = [
        f"SELECT head, tail, NULL, {literal(n)} || ' is ' || any_value({identifier(n)}) FROM {table} "
        f"WHERE {identifier(n)} NOT BETWEEN {p.range[0]} AND {p.range[1]} AND {identifier(n)} <> {PLACEHOLDER_NUMBER} GROUP BY head, tail"
        for n, p in pattern.properties.items()
        if p.range
    ]
    return " UNION ALL ".join(wrong) or f"SELECT head, tail, NULL, NULL FROM {table} WHERE false"


def _parallel(pattern: Pattern, table: str) -> str:
    stated = ", ".join(["head", "tail", *(identifier(n) for n in pattern.properties)])
    return f"""
    SELECT DISTINCT head, tail, NULL, 'the same edge ' || n || ' times'
    FROM (SELECT {stated}, count(*) AS n FROM {table} GROUP BY ALL HAVING n > 1)"""


def _reversed(pattern: Pattern, table: str) -> str:
    same = " AND ".join(f"a.{identifier(n)} IS NOT DISTINCT FROM b.{identifier(n)}" for n in pattern.properties)
    return f"""
    SELECT DISTINCT a.head, a.tail, NULL, 'stated in both directions'
    FROM {table} a JOIN {table} b ON a.head = b.tail AND a.tail = b.head AND a.head < a.tail AND {same or "true"}"""


def _cycles(table: str) -> str:
    """Terms that are their own ancestors: what remains when leaves and roots are peeled away, walked upwards."""
    return f"""
    WITH RECURSIVE up(start, at) AS (
        SELECT head, tail FROM {table} WHERE head <> tail
        UNION
        SELECT up.start, e.tail FROM up JOIN {table} e ON e.head = up.at WHERE up.at <> up.start
    )
    SELECT u.start, u.start AS tail, NULL, 'its own ancestor' FROM up u WHERE u.start = u.at"""

