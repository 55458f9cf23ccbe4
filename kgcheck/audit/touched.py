"""Which tasks of a unit may end otherwise than before, because what they read differs between two snapshots.

What a task reads is stated in kgcheck.evidence: lifecycles of its ends, values and coverage of their ids, links of its
pair. So whatever of these differs is brought back to nodes and pairs of the graph, and every task about one of them
is looked at again. Too many may be; too few never: where that cannot be told from rows, the whole unit is.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from threading import RLock
from typing import NamedTuple

import duckdb
import pyarrow as pa

from kgcheck.audit.changed_rows import NO_IDS, ChangedRows, table_of
from kgcheck.audit.graph_copy import add_printable
from kgcheck.audit.plan import Unit, sources_of
from kgcheck.duck import literal
from kgcheck.evidence.coverage import Topics
from kgcheck.evidence.tables import WorkingTables
from kgcheck.evidence.written import bare, find_intended_ids, malformed, unlisted
from kgcheck.graph.store import GraphStore
from kgcheck.model import CheckType
from kgcheck.profile.catalogue import AttributeCheck, EdgeCheck
from kgcheck.profile.reference_files import NETWORKS
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.reference.difference import SIDES, Side
from kgcheck.reference.ids_sql import STRING_ID, authority, base, key, part_of_id, sequence

UNITS_AHEAD = 4
"""Units of which what is touched is looked for while another one is judged."""

_HEADS, _TAILS, _PAIRS = "touched_head", "touched_tail", "touched_pair"


class TouchedUnit(NamedTuple):
    """How much of a unit may end otherwise: nodes at the head and at the tail, and pairs, all of the graph."""

    heads: int
    tails: int
    pairs: int
    number: int

    @property
    def any(self) -> bool:
        """Whether anything may."""
        return bool(self.heads or self.tails or self.pairs)

    def show(self, db: duckdb.DuckDBPyConnection) -> None:
        """Let a connection have them: ``touched_head`` and ``touched_tail`` (id), ``touched_pair`` (head, tail)."""
        for name in (_HEADS, _TAILS, _PAIRS):
            shown = f"CREATE OR REPLACE TEMP VIEW {name} AS FROM {table_of(f'{name} {self.number}')}"
            db.execute(shown).fetchall()


class SnapshotChanges:
    """What differs between the snapshots ``older`` and ``newer``, as nodes and pairs of one graph.

    One unit is looked at after the other, in any thread.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, store: GraphStore, dates: Mapping[str, str]) -> None:
        add_printable(db)
        self._db = db
        self._alone = RLock()
        self._store = store
        self._schema: Schema = store.schema
        self._dates = dates
        # One that is judged, and those that are looked for meanwhile.
        self._numbers = cycle(range(1 + UNITS_AHEAD))
        self._number = 0
        self._made: set[str] = set()
        self._listed: set[str] = set()
        self._unprintable: set[str] = set()
        self._tables = WorkingTables(db)
        self._rebuilt = self._rebuilt_sources()
        self._rows = ChangedRows(db)

    def of(self, unit: Unit) -> TouchedUnit | None:
        """Find the touched rows of a unit. They stay until as many other units were read as are read ahead."""
        with self._alone:
            self._number = next(self._numbers)
            return self._of(unit)

    def _of(self, unit: Unit) -> TouchedUnit | None:
        if self._read_by(unit) & self._rebuilt:
            return None
        if unit.pattern:
            return self._of_pattern(unit, unit.pattern)
        label = self._schema.label(unit.label or "")
        if unit.attribute:
            check = label.attributes[unit.attribute]
            if self._differs(f"SELECT count(*) > 0 FROM {{side}}.value WHERE {_of_value(check)}"):
                return None
            changed = self._attribute_ids(check)
        else:
            changed = [self._rows.lifecycles(label), self._rows.covered(label.authority.source, "entity")]
            changed.append(self._rows.values(label.authority.source, "sequence"))
        heads = self._fill_ends(_HEADS, label, changed)
        self._fill_ends(_TAILS, label, [])
        self._make(f"{_PAIRS} {self._number}", "SELECT NULL::VARCHAR AS head, NULL::VARCHAR AS tail WHERE false")
        return TouchedUnit(heads, 0, 0, self._number)

    def _of_pattern(self, unit: Unit, pattern: Pattern) -> TouchedUnit | None:
        head, tail = self._schema.label(pattern.head), self._schema.label(pattern.tail)
        checks = [pattern.scored[unit.attribute]] if unit.attribute else pattern.checks
        if any(c.both_ends_mapped for c in checks) and self._differs(_SEVERAL_SPECIES):
            return None
        heads, tails = [self._rows.lifecycles(head)], [self._rows.lifecycles(tail)]
        pairs: list[str] = []
        for check in checks:
            links = self._rows.links(check.source, check.link)
            ontology = check.ontology if check.match == "descendant" else None
            if pattern.hierarchy and check.match == "exact":
                ontology = check.source
            pairs += self._pairs_of(links, check, ontology)
            if unit.attribute:
                continue
            both = [self._rows.covered(check.source, check.link)]
            if check.both_ends_mapped:
                both += [self._rows.values(network, STRING_ID) for network in NETWORKS]
            if head.site or self._is_older(check.source, self._dates.get(str(pattern), "")):
                # Then it counts whether any link at all names an end.
                both += [f"SELECT unnest([head_now, tail_now]) AS id FROM {links}"]
            heads += both
            tails += both
            if unit.type is CheckType.POTENTIAL and ontology:
                # An edge of the graph to a term says the same of its ancestors.
                tails.append(f"SELECT ancestor AS id FROM {self._rows.ancestors(ontology)}")
        if pattern.head == pattern.tail:
            heads = tails = [*heads, *tails]
        found = self._fill_ends(_HEADS, head, heads), self._fill_ends(_TAILS, tail, tails)
        return TouchedUnit(*found, self._fill_pairs(pattern, head, tail, pairs), self._number)

    def _make(self, name: str, select: str) -> None:
        self._db.execute(f"CREATE OR REPLACE TABLE {table_of(name)} AS {select}").fetchall()
        self._made.add(name)

    # From rows to nodes and pairs

    def _attribute_ids(self, check: AttributeCheck) -> list[str]:
        found = [self._rows.values(check.source, check.reference)]
        if linked := check.otherwise:
            found.append(f"SELECT tail_now AS id FROM {self._rows.links(linked.source, linked.link)}")
            # The heads that a changed id was before, or is.
            moved = f"SELECT unnest(successors) FROM {self._rows.lives(linked.source)}"
            where = f"source = {literal(linked.source)} AND relation = {literal(linked.link)}"
            found += [f"SELECT tail_now AS id FROM {s}.link WHERE {where} AND head_now IN ({moved})" for s in SIDES]
        return found

    def _pairs_of(self, links: str, check: EdgeCheck, ontology: str | None) -> Iterator[str]:
        """Selects of head and tail: the pairs about which something else is stated."""
        stated = f"SELECT head, tail FROM {links} UNION SELECT head_now, tail_now FROM {links}"
        yield stated
        if check.match == "either_order":
            yield f"SELECT tail, head FROM ({stated})"
        if ontology is None:
            return
        where = f"ontology = {literal(ontology)}"
        for side in SIDES:
            yield f"""
                SELECT l.head_now, a.ancestor FROM {links} l JOIN {side}.ancestor a ON a.id = l.tail_now
                WHERE a.{where}"""
            moved = self._rows.ancestors(ontology)
            if self._db.execute(f"SELECT EXISTS (FROM {moved})").fetchall()[0][0]:
                yield f"""
                    SELECT l.head_now, a.ancestor FROM {side}.link l JOIN {moved} a ON a.id = l.tail_now
                    WHERE l.source = {literal(check.source)} AND l.relation = {literal(check.link)}"""

    def _fill_ends(self, table: str, label: Label, changed: Iterable[str]) -> int:
        """The nodes of a label that an id which differs may mean, however it is written."""
        table, differing = f"{table} {self._number}", table_of("changed id")
        ids = " UNION ".join(changed) or NO_IDS
        self._make("changed id", f"SELECT DISTINCT id, upper(id) AS form FROM ({ids}) WHERE id IS NOT NULL")
        if not self._count(differing):
            self._make(table, NO_IDS)
            return 0
        named = f"SELECT id, unnest([id, base, sequence, now, bare]) AS name FROM {self._filed(label)}"
        among = f"name IN (SELECT id FROM {differing}) OR upper(name) IN (SELECT form FROM {differing})"
        self._make(table, f"SELECT DISTINCT id FROM ({named}) WHERE {among}")
        return self._count(table_of(table))

    def _fill_pairs(self, pattern: Pattern, head: Label, tail: Label, selects: Iterable[str]) -> int:
        """The pairs of nodes that a pair of ids may mean; in both orders, where order means nothing."""
        pairs = " UNION ".join(selects) or "SELECT NULL::VARCHAR, NULL::VARCHAR WHERE false"
        self._make("changed pair", f"SELECT * FROM ({pairs}) AS p(head, tail)")
        found = f"""
            SELECT h.id AS head, t.id AS tail FROM {table_of("changed pair")} p
            JOIN {self._names(head)} h ON h.name = p.head JOIN {self._names(tail)} t ON t.name = p.tail"""
        if pattern.symmetric:
            found = f"WITH pair AS MATERIALIZED ({found}) FROM pair UNION ALL SELECT tail, head FROM pair"
        name = f"{_PAIRS} {self._number}"
        self._make(name, f"SELECT DISTINCT * FROM ({found})")
        return self._count(table_of(name))

    def _names(self, label: Label) -> str:
        """Table of the nodes of a label, each by the ids that pairs may name it by."""
        name = f"name in pairs {label.name}"
        if name not in self._made:
            nodes = self._nodes(label)
            others = f"SELECT id, now FROM {nodes} WHERE now <> id"
            self._make(name, f"SELECT id, id AS name FROM {nodes} UNION ALL {others}")
        return table_of(name)

    def _filed(self, label: Label) -> str:
        """Table of the nodes of a label: their ids, and every id under which a source may file them."""
        name = f"filed {label.name}"
        if name not in self._made:
            self._make(
                name,
                f"""
                SELECT id, now, {base(label, "id")} AS base, {sequence(label, "id")} AS sequence,
                       {part_of_id(label, bare("id"), "entry", "i")} AS bare
                FROM {self._nodes(label)}
                """,
            )
        return table_of(name)

    def _nodes(self, label: Label) -> str:
        """Table of the nodes of a label: their ids, and those that they have now."""
        name = f"named {label.name}"
        if name in self._made:
            return table_of(name)
        ids = self.ids(label)
        odd = f"{malformed(label, 'id')} OR {unlisted(topics := Topics(self._db), label, 'id')}"
        find_intended_ids(self._tables, topics, label, f"SELECT id FROM {ids} WHERE {odd}")
        self._make(
            name,
            f"""
            SELECT n.id,
                   CASE WHEN m.intended IS NOT NULL THEN {key(label, "m.intended")}
                        WHEN len(l.successors) > 0 AND l.state <> 'current' THEN l.successors[1]
                        ELSE {key(label, "n.id")} END AS now
            FROM {ids} n LEFT JOIN intended_id m ON m.id = n.id
            LEFT JOIN ref.lifecycle l ON l.source = {authority(label)} AND l.id = {base(label, "n.id")}
            """,
        )
        return table_of(name)

    def ids(self, label: Label) -> str:
        """The quoted name of a table of the ids of a label, without its properties."""
        table = table_of(name := f"ids {label.name}")
        if name not in self._listed:
            with self._alone:
                self._make(name, NO_IDS)
                for rows in self._store.scan_nodes(label.model_copy(update={"properties": {}})):
                    self._insert_ids(table, label, rows)
                self._listed.add(name)
        return table

    def is_printable(self, label: Label) -> bool:
        """Whether every id of a label is written as it is: nearly all are, and to make sure of edges takes time."""
        self.ids(label)
        return label.name not in self._unprintable

    def _insert_ids(self, table: str, label: Label, rows: pa.Table) -> None:
        self._db.register("incoming", rows.select(["id"]))
        try:
            self._db.execute(f"INSERT INTO {table} SELECT DISTINCT printable(id) FROM incoming").fetchall()
            odd = self._db.execute("SELECT EXISTS (FROM incoming WHERE id IS DISTINCT FROM printable(id))").fetchall()
        finally:
            self._db.unregister("incoming")
        if odd[0][0]:
            self._unprintable.add(label.name)

    # What is of a source as a whole

    def _read_by(self, unit: Unit) -> set[str]:
        found = sources_of([unit], self._schema)
        checks: list[EdgeCheck] = list(unit.pattern.checks) if unit.pattern else []
        if unit.pattern and unit.attribute:
            checks.append(unit.pattern.scored[unit.attribute])
        for check in checks:
            found |= {check.source, check.ontology or check.source}
            found |= set(NETWORKS) if check.both_ends_mapped else set()
        if unit.label and unit.attribute:
            linked = self._schema.attribute(unit.label, unit.attribute).otherwise
            found |= {linked.source} if linked else set()
        return found

    def _rebuilt_sources(self) -> set[str]:
        """Sources whose releases are others in number, order, topics, age or address: of those, rows cannot tell."""
        shapes: dict[Side, dict[str, list[tuple[object, ...]]]] = {}
        for side in SIDES:
            rows = self._db.execute(
                f"""
                SELECT r.source, dense_rank() OVER (PARTITION BY r.source ORDER BY r.recency) AS age, r.recency > 0,
                       r.url_template, coalesce(r.released, ''), coalesce(t.topics, [])
                FROM {side}.release r LEFT JOIN (
                    SELECT release_id, list([topic, complete::VARCHAR] ORDER BY topic, complete) AS topics
                    FROM (SELECT DISTINCT release_id, topic, complete FROM {side}.topic) GROUP BY release_id
                ) t ON t.release_id = r.id
                ORDER BY r.source, r.id
                """
            ).fetchall()
            found: dict[str, list[tuple[object, ...]]] = {}
            for source, age, dated, url, released, topics in rows:
                older = tuple(_is_older(released, date) for date in sorted(set(self._dates.values())))
                found.setdefault(source, []).append((age, dated, url, older, topics))
            shapes[side] = found
        older_, newer = shapes["older"], shapes["newer"]
        return {source for source in {*older_, *newer} if older_.get(source) != newer.get(source)}

    def _is_older(self, source: str, date: str) -> bool:
        """Whether a release of a source is older than what the graph has; in both sides or in none."""
        rows = self._db.execute(
            "SELECT coalesce(released, '') FROM newer.release WHERE source = ?", [source]
        ).fetchall()
        return any(_is_older(released, date) for (released,) in rows)

    def _differs(self, select: str) -> bool:
        older, newer = (self._db.execute(select.format(side=side)).fetchall() for side in SIDES)
        return bool(older != newer)

    def _count(self, table: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


_SEVERAL_SPECIES = f"""
    SELECT count(DISTINCT split_part(value, '.', 1)) > 1 FROM {{side}}.value
    WHERE attribute = {literal(STRING_ID)} AND status = 'current' AND source IN ({", ".join(map(literal, NETWORKS))})
"""


def _of_value(check: AttributeCheck) -> str:
    return f"source = {literal(check.source)} AND attribute = {literal(check.reference)}"


def _is_older(released: str, dated: str) -> bool:
    """As the macro is_older of kgcheck.evidence.nodes."""
    begins = released[:4].isdigit() and len(released) >= 4 and bool(dated)
    return begins and released[: len(dated)] < dated[: len(released)]
