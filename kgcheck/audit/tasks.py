"""TaskSelection: select a unit's tasks from the graph's copy in SQL, by filters and sample."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.numbers import Pairs, pairs_of
from kgcheck.audit.plain_pairs import Alike, PlainPairs
from kgcheck.audit.plan import SUPPORTED_EDGE, Unit
from kgcheck.duck import put_arrow
from kgcheck.errors import UnknownName, nearest
from kgcheck.evidence.plain_support import PlainEdges
from kgcheck.graph.edge_score import scores_to_check
from kgcheck.graph.store import GraphStore
from kgcheck.graph.symmetry import unordered
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.quoting import identifier, literal
from kgcheck.reference.ids_sql import in_scope

NO_VALUE = "NULL::VARCHAR AS value, NULL::VARCHAR[] AS items"
"""Columns of a task about no value."""

_PAIR = pa.schema([("head", pa.string()), ("tail", pa.string())])

_SUGGESTIONS = 20
"""Ids that are compared closely with one that does not exist."""


class Selected(NamedTuple):
    """Tasks of a unit: how many are to be looked at, a digest of all, and those that are plainly supported."""

    chosen: int
    digest: str
    alike: Alike | None = None

    @property
    def plain(self) -> int:
        """Number of plainly supported tasks."""
        return len(self.alike.pairs.numbers) if self.alike else 0


class Looked(NamedTuple):
    """The pairs of a unit, those of them that are plainly supported, and of each whether it is."""

    pairs: Pairs
    alike: Alike
    is_plain: npt.NDArray[np.bool_]


class TaskSelection:
    """Selects tasks by the filters and the sample of an audit."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        copy: GraphCopy,
        schema: Schema,
        options: AuditOptions,
        *,
        records: bool = True,
        plain: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self._db = db
        self._plain = PlainPairs(plain or db, records=records)
        self._copy = copy
        self._schema = schema
        self._options = options
        self._threshold: int | None = None

    def check_ids(self, store: GraphStore, units: Iterable[Unit]) -> None:
        names = dict.fromkeys(name for unit in units for name in unit.labels)
        labels = [self._schema.label(name) for name in names]
        for wanted in self._options.ids:
            self._schema.ref(labels[0].name, wanted)
            if not any(store.nodes(label, [wanted]) for label in labels):
                near = nearest(wanted, self._similar(wanted, labels))
                raise UnknownName("node", wanted, near, "" if near else "no id in the graph looks like it")

    def draw(self, units: Sequence[Unit]) -> None:
        """Find the hash below which a task is in the sample: the N smallest of all tasks of all units."""
        size = self._options.sample
        if size is None:
            return
        self._db.execute("CREATE OR REPLACE TEMP TABLE smallest (hash UBIGINT)").fetchall()
        for unit in units:
            if unit.type is not CheckType.STRUCTURE:
                self._db.execute(
                    f"INSERT INTO smallest SELECT hash FROM ({self._wanted(unit)}) ORDER BY hash LIMIT {size}"
                ).fetchall()
        drawn = f"SELECT max(hash) FROM (SELECT hash FROM smallest ORDER BY hash LIMIT {size})"
        ((largest,),) = self._db.execute(drawn).fetchall()
        self._threshold = largest or 0

    def select(self, unit: Unit, looked: Looked | None = None) -> Selected:
        """Fill table ``chosen``: the tasks of a unit, numbered from 1 in an order that does not change."""
        if looked:
            return self._without_plain(*looked)
        rows, order = f"({self._sampled(unit)})", "head, tail"
        if unit.type is CheckType.EVIDENCE:
            # Papers on edges that nothing else supports come first.
            rows += f" LEFT JOIN (SELECT *, true AS is_supported FROM {SUPPORTED_EDGE}) USING (head, tail)"
            order = "is_supported NULLS FIRST, head, tail, value"
        numbered = f"SELECT row_number() OVER (ORDER BY {order}) AS number, head, tail, value, items"
        self.choose(f"{numbered} FROM {rows}")
        count, all_, numbered = self._db.execute(
            "SELECT count(*), bit_xor(hash(head, tail, value, items)), bit_xor(hash(number, head, tail)) FROM chosen"
        ).fetchall()[0]
        return Selected(count, f"{(all_ or 0) ^ (numbered or 0):016x}")

    def choose(self, select: str) -> None:
        """Table ``chosen``: tasks, numbered from 1 in an order that does not change; 0 is for all plainly supported."""
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE chosen AS {select}").fetchall()

    def look(self, unit: Unit, plain: PlainEdges) -> Looked:
        if unit.pattern and self.is_numbered:
            pairs = self._copy.numbered(unit.pattern)
        else:
            pairs = pairs_of(self._db.sql(f"SELECT head, tail FROM ({self._sampled(unit)})").to_arrow_table())
        return Looked(pairs, *self._plain.among(pairs, plain))

    @property
    def is_numbered(self) -> bool:
        """Tell whether all edges are looked at, as numbers: then `look` has no use for the connection `db`."""
        return not self._options.ids and self._threshold is None and self._copy.is_numbered

    def _without_plain(self, pairs: Pairs, alike: Alike, is_plain: npt.NDArray[np.bool_]) -> Selected:
        rest = pairs.some(~is_plain)
        heads, tails = rest.ends()
        numbers = np.arange(1, len(rest.numbers) + 1, dtype=np.int64)
        rows = [pa.table({"number": numbers, "head": heads, "tail": tails})]
        if len(alike.pairs.numbers):
            head, tail = alike.pairs.some(slice(1)).ends()
            rows.append(pa.table({"number": np.zeros(1, np.int64), "head": head, "tail": tail}))
        self._db.register("incoming", pa.concat_tables(rows))
        try:
            self.choose(f"SELECT *, {NO_VALUE} FROM incoming")
        finally:
            self._db.unregister("incoming")
        return Selected(len(numbers), f"{pairs.digest(rest.numbers):016x}", alike)

    def count(self, unit: Unit) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM ({self._sampled(unit)})").fetchall()[0][0])

    def select_of(self, unit: Unit, *, whole: bool = False) -> str:
        """A select of the tasks of a unit: head, tail, value, items."""
        return f"SELECT head, tail, value, items FROM ({self._tasks(unit) if whole else self._sampled(unit)})"

    def concerns(self, ids: set[str]) -> bool:
        return not self._options.ids or bool(ids & set(self._options.ids))

    def note_supported(self, edges: Iterable[tuple[str, str | None]]) -> None:
        """Fill the table of the edges of a unit that the references support, whatever papers say."""
        rows = [{"head": head, "tail": tail} for head, tail in edges]
        put_arrow(self._db, SUPPORTED_EDGE, pa.Table.from_pylist(rows, _PAIR))

    def _sampled(self, unit: Unit) -> str:
        kept = f"WHERE hash <= {self._threshold}" if self._threshold is not None else ""
        return f"SELECT * FROM ({self._wanted(unit)}) {kept}"

    def _wanted(self, unit: Unit) -> str:
        """A select of the tasks of a unit that the filters leave, each with the hash that draws the sample."""
        ends = "head, tail, value" if unit.type is CheckType.EVIDENCE else "head, tail"
        key = f"concat_ws(chr(31), {self._options.seed}, {literal(f'{unit.type.value} {unit.target}')}, {ends})"
        drawn = f", md5_number_lower({key}) AS hash" if self._options.sample else ""
        listed = ", ".join(literal(i) for i in self._options.ids)
        only = f"WHERE head IN ({listed}) OR tail IN ({listed})" if listed else ""
        return f"SELECT *{drawn} FROM ({self._tasks(unit)}) {only}"

    def _tasks(self, unit: Unit) -> str:
        if unit.pattern and unit.attribute:
            scores = scores_to_check(unit.pattern, unit.attribute, self._copy.edges(unit.pattern))
            return f"SELECT *, NULL::VARCHAR[] AS items FROM ({scores})"
        if unit.pattern and unit.type is CheckType.EVIDENCE:
            return f"SELECT head, tail, paper AS value, NULL::VARCHAR[] AS items FROM {self._copy.cited(unit.pattern)}"
        if unit.pattern:
            pairs = self._copy.pairs(unit.pattern)
            if unit.type is CheckType.POTENTIAL:
                missing = " UNION ".join(self._missing_of(unit.pattern, check) for check in unit.pattern.checks)
                pairs = f"({missing or f'FROM {pairs} WHERE false'})"
            return f"SELECT head, tail, {NO_VALUE} FROM {pairs}"
        label = self._schema.label(unit.label or "")
        if unit.attribute:
            return self._attribute_tasks(label, unit.attribute)
        ids = f"{self._copy.nodes(label)} WHERE {in_scope(label, 'id')}"
        return f"SELECT DISTINCT id AS head, NULL::VARCHAR AS tail, {NO_VALUE} FROM {ids}"

    def _attribute_tasks(self, label: Label, attribute: str) -> str:
        column = identifier(attribute)
        listed = label.properties[attribute].type == "strings"
        value = "NULL::VARCHAR" if listed else f"{column}::VARCHAR"
        items = column if listed else "NULL::VARCHAR[]"
        # A graph of which nobody knows more need not state the names of what it has by its ids.
        stated = f"AND trim({column}::VARCHAR) <> ''" if label.authorities else ""
        # Nodes that share an id are one task; which of their values is checked must not change from run to run.
        return f"""
        SELECT id AS head, NULL::VARCHAR AS tail, {value} AS value, {items} AS items FROM {self._copy.nodes(label)}
        WHERE ({in_scope(label, "id", label.attributes[attribute].reference)}) {stated}
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY {column}) = 1"""

    def _missing_of(self, pattern: Pattern, check: EdgeCheck) -> str:
        """A select of the pairs of nodes that a deciding source links and the graph does not."""
        heads = self._copy.nodes(self._schema.label(pattern.head))
        tails = self._copy.nodes(self._schema.label(pattern.tail))
        least = check.threshold
        if least is not None:
            least = max(least, self._options.threshold or 0.0)
        enough = f"AND (score IS NULL OR score >= {least})" if least is not None else ""
        looped = "" if pattern.loops or pattern.head != pattern.tail else "AND l.head <> l.tail"
        # Where order means nothing, both orders are one pair.
        return f"""
        SELECT DISTINCT {unordered(pattern)} FROM (
            SELECT l.head, l.tail FROM ref.link l
            SEMI JOIN {heads} h ON h.id = l.head SEMI JOIN {tails} t ON t.id = l.tail
            {self._under_its_label(pattern.head, "head")} {self._under_its_label(pattern.tail, "tail")}
            WHERE l.source = {literal(check.source)} AND l.relation = {literal(check.link)}
            AND NOT l.negated AND NOT l.retracted {looped} {enough}
        ) ANTI JOIN ({self._stated(pattern, check)}) AS stated(head, tail) USING (head, tail)"""

    def _under_its_label(self, name: str, end: str) -> str:
        """A join that leaves out ends which their authority files under another label: nothing is missing there."""
        authority = self._schema.label(name).authority
        if not authority.namespace:
            return ""
        elsewhere = f"source = {literal(authority.source)} AND namespace <> {literal(authority.namespace)}"
        return f"ANTI JOIN (SELECT id FROM ref.lifecycle WHERE {elsewhere}) AS not_{end} ON not_{end}.id = l.{end}"

    def _stated(self, pattern: Pattern, check: EdgeCheck) -> str:
        edges = self._copy.pairs(pattern)
        stated = f"SELECT head, tail FROM {edges}"
        if pattern.symmetric:
            stated += f" UNION ALL SELECT tail, head FROM {edges}"
        if check.match == "descendant":
            # An edge to a term says the same of its ancestors, so that nothing is missing there.
            stated += f""" UNION ALL SELECT e.head, a.ancestor FROM {edges} e
            JOIN ref.ancestor a ON a.ontology = {literal(check.ontology or "")} AND a.id = e.tail"""
        return stated

    def _similar(self, wanted: str, labels: Iterable[Label]) -> list[str]:
        listed = " UNION ALL ".join(f"SELECT id FROM {self._copy.nodes(label)}" for label in labels)
        rows = self._db.execute(
            f"""
            SELECT DISTINCT id, jaro_winkler_similarity(lower(id), lower($wanted)) AS similarity FROM ({listed})
            ORDER BY similarity DESC, id LIMIT {_SUGGESTIONS}
            """,
            {"wanted": wanted},
        ).fetchall()
        return [row[0] for row in rows]
