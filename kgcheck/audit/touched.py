"""Which tasks of a unit may end otherwise than before, because what they read differs between two snapshots.

What a task reads is stated in kgcheck.evidence: lifecycles of its ends, values and coverage of their ids, links of its
pair. So whatever of these differs is brought back to nodes and pairs of the graph, and every task about one of them
is looked at again. Too many may be; too few never: where that cannot be told from rows, the whole unit is.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import duckdb
import pyarrow as pa

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.plan import Unit, sources_of
from kgcheck.duck import identifier, literal
from kgcheck.evidence.coverage import Topics
from kgcheck.evidence.tables import WorkingTables
from kgcheck.evidence.written import find_intended_ids, malformed, unlisted
from kgcheck.graph.store import GraphStore
from kgcheck.model import CheckType
from kgcheck.profile.catalogue import AttributeCheck, EdgeCheck
from kgcheck.profile.reference_files import NETWORKS
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.reference.both import Side, read
from kgcheck.reference.differing import SIDES, DifferingRows
from kgcheck.reference.ids_sql import STRING_ID, authority, base, key, part_of_id, sequence

_NO_IDS = "SELECT NULL::VARCHAR AS id WHERE false"


class TouchedUnit(NamedTuple):
    """How much of a unit may end otherwise: nodes at the head and at the tail, and pairs, all of the graph."""

    heads: int
    tails: int
    pairs: int

    @property
    def any(self) -> bool:
        """Whether anything may."""
        return bool(self.heads or self.tails or self.pairs)


class SnapshotChanges:
    """What differs between the snapshots ``older`` and ``newer``, as nodes and pairs of one graph.

    Args:
        db: A working database with both, see kgcheck.reference.both.
        store: The graph.
        copy: Makes ids printable.
        dates: Of what the graph has of each label and pattern, as far as they are known.
    """

    def __init__(
        self, db: duckdb.DuckDBPyConnection, store: GraphStore, copy: GraphCopy, dates: Mapping[str, str]
    ) -> None:
        self._db = db
        self._store = store
        self._schema: Schema = store.schema
        self._copy = copy
        self._dates = dates
        self._made: set[str] = set()
        self._unprintable: set[str] = set()
        self._tables = WorkingTables(db)
        self._rebuilt = self._rebuilt_sources()
        self._differing = DifferingRows(db)

    def of(self, unit: Unit) -> TouchedUnit | None:
        """Fill ``touched_head`` and ``touched_tail`` (id) and ``touched_pair`` (head, tail) for a unit.

        Args:
            unit: Not one of structure.

        Returns:
            How many there are; None where the whole unit is to be looked at.
        """
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
            changed = [self._lifecycles(label), self._covered(label.authority.source, "entity")]
            changed.append(self._values(label.authority.source, "sequence"))
        heads = self._fill_ends("touched_head", label, changed)
        self._fill_ends("touched_tail", label, [])
        self._make("touched_pair", "SELECT NULL::VARCHAR AS head, NULL::VARCHAR AS tail WHERE false")
        return TouchedUnit(heads, 0, 0)

    def _of_pattern(self, unit: Unit, pattern: Pattern) -> TouchedUnit | None:
        head, tail = self._schema.label(pattern.head), self._schema.label(pattern.tail)
        checks = [pattern.scored[unit.attribute]] if unit.attribute else pattern.checks
        if any(c.both_ends_mapped for c in checks) and self._differs(_SEVERAL_SPECIES):
            return None
        heads, tails = [self._lifecycles(head)], [self._lifecycles(tail)]
        pairs: list[str] = []
        for check in checks:
            links = self._links(check.source, check.link)
            ontology = check.ontology if check.match == "descendant" else None
            if pattern.hierarchy and check.match == "exact":
                ontology = check.source
            pairs += self._pairs_of(links, check, ontology)
            if unit.attribute:
                continue
            both = [self._covered(check.source, check.link)]
            if check.both_ends_mapped:
                both += [self._values(network, STRING_ID) for network in NETWORKS]
            if head.site or self._is_older(check.source, self._dates.get(str(pattern), "")):
                # Then it counts whether any link at all names an end.
                both += [f"SELECT unnest([head_now, tail_now]) AS id FROM {links}"]
            heads += both
            tails += both
            if unit.type is CheckType.POTENTIAL and ontology:
                # An edge of the graph to a term says the same of its ancestors.
                tails.append(f"SELECT ancestor AS id FROM {self._ancestors(ontology)}")
        if pattern.head == pattern.tail:
            heads = tails = [*heads, *tails]
        found = self._fill_ends("touched_head", head, heads), self._fill_ends("touched_tail", tail, tails)
        return TouchedUnit(*found, self._fill_pairs(pattern, head, tail, pairs))

    # Rows that differ, each kind once: tables of the working database

    def _links(self, source: str, relation: str) -> str:
        """Table of the links that one side alone has, as it has them: head, tail, head_now, tail_now."""
        name = f"changed link {source} {relation}"
        if name not in self._made:
            named = "head, tail, head_now, tail_now"
            self._make(name, self._differing.of(source, "link", named, f"= {literal(relation)}"))
        return identifier(name)

    def _lifecycles(self, label: Label) -> str:
        """A select of the ids whose life differs, or the life of what replaces them."""
        source = label.authority.source
        return self._lives(source) if source else _NO_IDS

    def _lives(self, source: str) -> str:
        name = f"changed lifecycle {source}"
        if name not in self._made:
            where = f"source = {literal(source)}"
            self._make(name, self._differing.of(source, "lifecycle", "id, successors"))
            changed = identifier(name)
            self._db.execute(
                f"""
                INSERT INTO {changed}
                SELECT DISTINCT id, successors FROM (
                    SELECT id, successors FROM older.lifecycle WHERE {where} AND len(successors) > 0
                    UNION ALL SELECT id, successors FROM newer.lifecycle WHERE {where} AND len(successors) > 0)
                WHERE successors[1] IN (SELECT id FROM {changed})
                """
            ).fetchall()
        return f"SELECT id FROM {identifier(name)}"

    def _values(self, source: str, attribute: str) -> str:
        """A select of the ids that have other values of an attribute."""
        name = f"changed value {source} {attribute}"
        if name not in self._made:
            self._make(name, self._differing.of(source, "value", "id", f"= {literal(attribute)}"))
        return f"SELECT id FROM {identifier(name)}"

    def _covered(self, source: str, topic: str) -> str:
        """A select of the ids whose coverage differs, for a topic or for a part of it, which follows after a space."""
        name = f"changed covered {source} {topic}"
        if name not in self._made:
            part = literal(topic + " ")
            self._make(name, self._differing.of(source, "covered", "id", f"|| ' ' ^@ {part}"))
        return f"SELECT id FROM {identifier(name)}"

    def _ancestors(self, ontology: str) -> str:
        """Table of the pairs of term and ancestor that one side alone has."""
        name = f"changed ancestor {ontology}"
        if name not in self._made:
            rows = [f"SELECT id, ancestor FROM {side}.ancestor WHERE ontology = {literal(ontology)}" for side in SIDES]
            found = f"({rows[0]} EXCEPT {rows[1]}) UNION ALL ({rows[1]} EXCEPT {rows[0]})"
            self._make(name, f"{rows[0]} LIMIT 0" if self._differing.are_none("ancestor", ontology) else found)
        return identifier(name)

    def _make(self, name: str, select: str) -> None:
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS {select}").fetchall()
        self._made.add(name)

    # From rows to nodes and pairs

    def _attribute_ids(self, check: AttributeCheck) -> list[str]:
        found = [self._values(check.source, check.reference)]
        if linked := check.otherwise:
            found.append(f"SELECT tail_now AS id FROM {self._links(linked.source, linked.link)}")
            # The heads that a changed id was before, or is.
            self._lives(linked.source)
            moved = f"SELECT unnest(successors) FROM {identifier(f'changed lifecycle {linked.source}')}"
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
            moved = self._ancestors(ontology)
            if self._db.execute(f"SELECT EXISTS (FROM {moved})").fetchall()[0][0]:
                yield f"""
                    SELECT l.head_now, a.ancestor FROM {side}.link l JOIN {moved} a ON a.id = l.tail_now
                    WHERE l.source = {literal(check.source)} AND l.relation = {literal(check.link)}"""

    def _fill_ends(self, table: str, label: Label, changed: Iterable[str]) -> int:
        """The nodes of a label that an id which differs may mean, however it is written."""
        ids = " UNION ".join(changed) or _NO_IDS
        self._make("changed id", f"SELECT DISTINCT id, upper(id) AS form FROM ({ids}) WHERE id IS NOT NULL")
        if not self._count(identifier("changed id")):
            self._make(table, _NO_IDS)
            return 0
        named = f"SELECT id, unnest([id, base, sequence, now, bare]) AS name FROM {self._filed(label)}"
        among = 'name IN (SELECT id FROM "changed id") OR upper(name) IN (SELECT form FROM "changed id")'
        self._make(table, f"SELECT DISTINCT id FROM ({named}) WHERE {among}")
        return self._count(table)

    def _fill_pairs(self, pattern: Pattern, head: Label, tail: Label, selects: Iterable[str]) -> int:
        """The pairs of nodes that a pair of ids may mean; in both orders, where order means nothing."""
        pairs = " UNION ".join(selects) or "SELECT NULL::VARCHAR, NULL::VARCHAR WHERE false"
        self._make("changed pair", f"SELECT * FROM ({pairs}) AS p(head, tail)")
        found = f"""
            SELECT h.id AS head, t.id AS tail FROM "changed pair" p
            JOIN {self._names(head)} h ON h.name = p.head JOIN {self._names(tail)} t ON t.name = p.tail"""
        self._make("touched_pair", f"SELECT DISTINCT * FROM ({found})")
        if pattern.symmetric:
            self._make("touched_pair", "FROM touched_pair UNION SELECT tail, head FROM touched_pair")
        return self._count("touched_pair")

    def _names(self, label: Label) -> str:
        """Table of the nodes of a label, each by the ids that pairs may name it by."""
        name = f"name in pairs {label.name}"
        if name not in self._made:
            nodes = self._nodes(label)
            others = f"SELECT id, now FROM {nodes} WHERE now <> id"
            self._make(name, f"SELECT id, id AS name FROM {nodes} UNION ALL {others}")
        return identifier(name)

    def _filed(self, label: Label) -> str:
        """Table of the nodes of a label: their ids, and every id under which a source may file them."""
        name = f"filed {label.name}"
        if name not in self._made:
            bare = r"regexp_replace(id, '[\s\p{Z}]+', '', 'g')"
            self._make(
                name,
                f"""
                SELECT id, now, {base(label, "id")} AS base, {sequence(label, "id")} AS sequence,
                       {part_of_id(label, bare, "entry", "i")} AS bare
                FROM {self._nodes(label)}
                """,
            )
        return identifier(name)

    def _nodes(self, label: Label) -> str:
        """Table of the nodes of a label: their ids, and those that they have now."""
        name = f"named {label.name}"
        if name in self._made:
            return identifier(name)
        ids = self.ids(label)
        read(self._db, "newer")
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
        return identifier(name)

    def ids(self, label: Label) -> str:
        """The quoted name of a table of the ids of a label, without its properties."""
        name = f"ids {label.name}"
        if name not in self._made:
            alone = label.model_copy(update={"properties": {}})
            self._make(name, "SELECT NULL::VARCHAR AS id WHERE false")
            for rows in self._store.scan_nodes(alone):
                self._insert_ids(name, label, rows)
        return identifier(name)

    def is_printable(self, label: Label) -> bool:
        """Whether every id of a label is written as it is: nearly all are, and to make sure of edges takes time."""
        self.ids(label)
        return label.name not in self._unprintable

    def _insert_ids(self, name: str, label: Label, rows: pa.Table) -> None:
        self._db.register("incoming", rows.select(["id"]))
        try:
            self._db.execute(f"INSERT INTO {identifier(name)} SELECT DISTINCT printable(id) FROM incoming").fetchall()
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
