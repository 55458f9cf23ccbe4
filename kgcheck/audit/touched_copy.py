"""The part of a graph that may end otherwise than before, in the place of its copy."""

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.plan import AuditOptions, Unit
from kgcheck.audit.tasks import TaskSelection
from kgcheck.duck import identifier, literal
from kgcheck.graph.store import GraphStore, edge_schema, node_schema, with_as_text
from kgcheck.model import CheckType
from kgcheck.profile.schema import Label, Pattern, Schema

_TOUCHED_EDGE = """(head IN (SELECT id FROM touched_head) OR tail IN (SELECT id FROM touched_tail)
    OR (head, tail) IN (FROM touched_pair))"""


class TouchedCopy(GraphCopy):
    """What is touched of the graph, for one unit at a time; of potential edges, all that decides whether one is there.

    Args:
        db: A working database, with the tables of kgcheck.audit.touched.
        store: The graph.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, store: GraphStore) -> None:
        super().__init__(db, store)
        self._unit: Unit | None = None

    def begin(self, unit: Unit) -> None:
        """Go on with another unit."""
        self._unit = unit
        self._have = {name for name in self._have if name.startswith("touched ids ")}

    def nodes(self, label: Label) -> str:
        """See GraphCopy: the touched nodes, with the one property that is checked; of a pattern, the ids of all."""
        if self._unit is None or self._unit.pattern:
            return self._named(f"touched ids {label.name}", label.model_copy(update={"properties": {}}), "true")
        attribute = self._unit.attribute
        wanted = {attribute: label.properties[attribute]} if attribute else {}
        alone = label.model_copy(update={"properties": wanted})
        return self._named(f"touched nodes {label.name}", alone, "id IN (SELECT id FROM touched_head)")

    def edges(self, pattern: Pattern) -> str:
        """See GraphCopy: the touched edges."""
        return self._filtered(f"touched edges {pattern}", pattern, "*")

    def pairs(self, pattern: Pattern) -> str:
        """See GraphCopy: the touched pairs."""
        return self._filtered(f"touched pairs {pattern}", pattern.ends_alone, "DISTINCT head, tail")

    def _named(self, name: str, label: Label, where: str) -> str:
        if name not in self._have:
            self._take(name, with_as_text(node_schema(label)), self._store.scan_nodes(label), ("id",), where)
        return identifier(name)

    def _filtered(self, name: str, pattern: Pattern, columns: str) -> str:
        if name not in self._have:
            schema = with_as_text(edge_schema(pattern))
            scanned = self._store.scan_edges(pattern) if self._any(pattern) else ()
            self._take(name, schema, scanned, ("head", "tail"), self._where(pattern), columns)
        return identifier(name)

    def _where(self, pattern: Pattern) -> str:
        if (
            self._unit
            and self._unit.type is CheckType.POTENTIAL
            and any(c.match == "descendant" for c in pattern.checks)
        ):
            # An edge to a term says the same of its ancestors: every edge of a head decides which are missing.
            return f"({_TOUCHED_EDGE} OR head IN (SELECT head FROM touched_pair) OR {_ANY_TAIL})"
        return _TOUCHED_EDGE

    def _any(self, pattern: Pattern) -> bool:
        counts = "SELECT (SELECT count(*) FROM touched_head) + (SELECT count(*) FROM touched_tail)"
        return bool(self._db.execute(f"{counts} + (SELECT count(*) FROM touched_pair)").fetchall()[0][0])

    def _take(
        self,
        name: str,
        schema: pa.Schema,
        scanned: Iterable[pa.Table],
        ids: tuple[str, ...],
        where: str,
        columns: str = "*",
    ) -> None:
        cleaned = ", ".join(f"printable({i}) AS {i}" for i in ids)
        select = f"SELECT {columns} FROM (SELECT * REPLACE ({cleaned}) FROM incoming) WHERE {where}"
        self._select_into(f"CREATE OR REPLACE TABLE {identifier(name)} AS {select}", schema.empty_table())
        for table in scanned:
            self._select_into(f"INSERT INTO {identifier(name)} BY NAME {select}", table)
        self._have.add(name)


_ANY_TAIL = "EXISTS (FROM touched_tail)"


class TouchedTasks(TaskSelection):
    """Selects the touched tasks of a unit.

    Args:
        db: A working database with an attached snapshot.
        copy: What is touched of the graph.
        schema: Profile.
        options: What was asked for.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, copy: TouchedCopy, schema: Schema, options: AuditOptions) -> None:
        super().__init__(db, copy, schema, options)

    def _tasks(self, unit: Unit) -> str:
        where = _TOUCHED_EDGE if unit.pattern else "head IN (SELECT id FROM touched_head)"
        return f"SELECT * FROM ({super()._tasks(unit)}) WHERE {where}"

    def fingerprints(self, unit: Unit, tasks: str) -> list[str]:
        """The fingerprints of the tasks of a select, see CheckTask.fingerprint."""
        target = unit.target
        parts = [literal(unit.type.value), literal(target.label or ""), "head", literal(target.relation or "")]
        parts += [literal(target.object_label or ""), "coalesce(tail, '')", literal(target.attribute or ""), "''"]
        named = f"left(sha256(concat_ws(chr(31), {', '.join(parts)})), 16)"
        return [str(row[0]) for row in self._db.execute(f"SELECT {named} FROM ({tasks})").fetchall()]
