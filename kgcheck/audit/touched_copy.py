"""The part of a graph that may end otherwise than before, in the place of its copy."""

from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.plan import Unit
from kgcheck.audit.tasks import TaskSelection
from kgcheck.audit.touched import SnapshotChanges, TouchedUnit
from kgcheck.duck import identifier
from kgcheck.graph.store import GraphStore, edge_schema, node_schema, with_as_text
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Label, Pattern, Schema

_TOUCHED = ("touched_head", "touched_tail", "touched_pair")
_TOUCHED_EDGE = """(head IN (SELECT id FROM touched_head) OR tail IN (SELECT id FROM touched_tail)
    OR (head, tail) IN (FROM touched_pair))"""


class TouchedCopy(GraphCopy):
    """The touched part of the graph, one unit at a time; of potential edges, all that decides if one is there."""

    def __init__(self, db: duckdb.DuckDBPyConnection, store: GraphStore, changes: SnapshotChanges) -> None:
        super().__init__(db, store)
        self._changes = changes
        self._unit: Unit | None = None
        self._recorded: str | None = None
        self._edges_of: dict[str, str] = {}

    def begin(self, unit: Unit, touched: TouchedUnit, recorded: str | None) -> None:
        """Go on with another unit."""
        touched.show(self._db)
        self._unit = unit
        self._recorded = recorded
        self._have.clear()

    def nodes(self, label: Label) -> str:
        """See GraphCopy: the touched nodes, with the one property that is checked; of a pattern, the ids of all."""
        if self._unit is None or self._unit.pattern:
            return self._changes.ids(label)
        attribute = self._unit.attribute
        wanted = {attribute: label.properties[attribute]} if attribute else {}
        alone = label.model_copy(update={"properties": wanted})
        name = f"touched nodes {label.name}"
        if name not in self._have:
            where, found = "id IN (SELECT id FROM touched_head)", self._store.scan_nodes(alone)
            self._take(name, with_as_text(node_schema(alone)), found, ("id",), where)
        return identifier(name)

    def edges(self, pattern: Pattern) -> str:
        """See GraphCopy: the touched edges."""
        return self._filtered(f"touched edges {pattern}", pattern, "*")

    def pairs(self, pattern: Pattern) -> str:
        """See GraphCopy: the touched pairs."""
        kind = self._unit.type.value if self._unit else ""
        name = f"touched pairs {kind} {pattern}"
        if self._recorded:
            self._take_recorded(name, self._recorded, self._where(pattern))
            name = identifier(name)
        else:
            name = self._filtered(name, pattern.ends_alone, "DISTINCT head, tail")
        if self._unit and self._unit.type is CheckType.TRIPLE:
            self._edges_of[str(pattern)] = name
        return name

    def looked_at(self, pattern: Pattern) -> str | None:
        """The quoted name of the table of the edges that were looked at; None where there is none."""
        return self._edges_of.get(str(pattern))

    def _filtered(self, name: str, pattern: Pattern, columns: str) -> str:
        if name not in self._have:
            schema = with_as_text(edge_schema(pattern))
            scanned = self._store.scan_edges(pattern) if self._any() else ()
            labels = {"head": pattern.head, "tail": pattern.tail}
            odd = [end for end, of in labels.items() if not self._changes.is_printable(self._store.schema.label(of))]
            self._take(name, schema, scanned, odd, self._where(pattern), columns)
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

    def _take_recorded(self, name: str, recorded: str, where: str) -> None:
        if name not in self._have:
            if not self._any():
                where = "false"
            elif not self._any("touched_head", "touched_tail"):
                # Files of pairs are in the order of their heads: groups of rows without any of these are not read.
                recorded = f"SELECT * FROM ({recorded}) WHERE head IN (SELECT head FROM touched_pair)"
            select = f"SELECT DISTINCT head, tail FROM ({recorded}) WHERE {where}"
            self._db.execute(f"CREATE OR REPLACE TABLE {identifier(name)} AS {select}").fetchall()
            self._have.add(name)

    def _any(self, *tables: str) -> bool:
        """Whether anything is touched, or anything in some of the tables: else nothing need be read."""
        some = " OR ".join(f"EXISTS (FROM {table})" for table in tables or _TOUCHED)
        return bool(self._db.execute(f"SELECT {some}").fetchall()[0][0])

    def _take(
        self,
        name: str,
        schema: pa.Schema,
        scanned: Iterable[pa.Table],
        odd: Sequence[str],
        where: str,
        columns: str = "*",
    ) -> None:
        cleaned = ", ".join(f"printable({i}) AS {i}" for i in odd)
        read = f"(SELECT * REPLACE ({cleaned}) FROM incoming)" if odd else "incoming"
        select = f"SELECT {columns} FROM {read} WHERE {where}"
        self._select_into(f"CREATE OR REPLACE TABLE {identifier(name)} AS {select}", schema.empty_table())
        for table in scanned:
            self._select_into(f"INSERT INTO {identifier(name)} BY NAME {select}", table)
        self._have.add(name)


_ANY_TAIL = "EXISTS (FROM touched_tail)"


class FormerCopy(TouchedCopy):
    """What an earlier run's findings that were not found again are about, see kgcheck.audit.former."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        store: GraphStore,
        changes: SnapshotChanges,
        whole: GraphCopy,
        part: TouchedCopy,
    ) -> None:
        super().__init__(db, store, changes)
        self._graph = whole
        self._part = part
        self._of = ""

    def nodes(self, label: Label) -> str:
        """See GraphCopy: all of them."""
        return self._graph.nodes(label)

    def pairs(self, pattern: Pattern) -> str:
        """See GraphCopy: where all findings are about edges that were looked at, these need not be read again."""
        looked_at = self._part.looked_at(pattern)
        if looked_at:
            others = f"SELECT 1 FROM former ANTI JOIN {looked_at} USING (head, tail) LIMIT 1"
            if not self._db.execute(others).fetchall():
                return looked_at
        return super().pairs(pattern)

    def _filtered(self, name: str, pattern: Pattern, columns: str) -> str:
        rows = self._db.execute("SELECT concat_ws(' ', count(*), bit_xor(hash(head, tail))) FROM former").fetchall()
        if rows[0][0] != self._of:
            self._of = rows[0][0]
            self._have.clear()
        return super()._filtered(f"former {name}", pattern, columns)

    def _where(self, pattern: Pattern) -> str:
        if any(check.match == "descendant" for check in pattern.checks):
            # An edge to a term says the same of its ancestors.
            return "head IN (SELECT head FROM former)"
        turned = " OR (tail, head) IN (SELECT head, tail FROM former)" if pattern.symmetric else ""
        return f"((head, tail) IN (SELECT head, tail FROM former){turned})"

    def _any(self, *tables: str) -> bool:
        return True


class TouchedTasks(TaskSelection):
    """Selects the touched tasks of a unit."""

    def __init__(self, db: duckdb.DuckDBPyConnection, copy: TouchedCopy, schema: Schema, options: AuditOptions) -> None:
        super().__init__(db, copy, schema, options)

    def _tasks(self, unit: Unit) -> str:
        where = _TOUCHED_EDGE if unit.pattern else "head IN (SELECT id FROM touched_head)"
        return f"SELECT * FROM ({super()._tasks(unit)}) WHERE {where}"
