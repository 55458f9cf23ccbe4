"""The embedded store: LadybugDB, one file, in this process (https://docs.ladybugdb.com)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

import ladybug
import pyarrow as pa

from kgcheck.choices import FILES
from kgcheck.errors import StoreError, StoreMissing, StoreSchema, StoreUnavailable
from kgcheck.graph.changes import Run
from kgcheck.graph.diskspace import unwritable
from kgcheck.graph.marks import MARKS, RETIRED
from kgcheck.graph.queries import (
    Catalogue,
    also,
    columns,
    hop_places,
    label_place,
    pattern_places,
    projection,
    quoted,
    where,
)
from kgcheck.graph.queries import same as same_values
from kgcheck.graph.query_process import QueryProcess
from kgcheck.graph.reads import CatalogueReads, Row, Shape, unknown_names
from kgcheck.graph.store import (
    AS_TEXT,
    META_LABEL,
    MOST_HOPS,
    Direction,
    Hop,
    Properties,
    Reading,
    StrayEdge,
    new_state,
    read_hops,
    unfinished,
    with_as_text,
)
from kgcheck.graph.store import edge_schema as edge_columns
from kgcheck.graph.store import node_schema as node_columns
from kgcheck.locks import FileLock, in_use
from kgcheck.outputs import make_folder
from kgcheck.profile.schema import Label, Pattern, PropertyType, Schema

_MARKS: dict[str, PropertyType] = dict.fromkeys(MARKS, "string")

_TOGETHER = 1 << 20
"""Pairs of places that are handed over together."""

_FEW = 100
"""So many keyed queries (0.05 ms each) take no longer than one of many keys (about 8 ms)."""


class EmbeddedStore(CatalogueReads):
    """A graph in one LadybugDB file."""

    backend = "embedded"

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        create: bool = False,
        timeout_s: float = 600.0,
        with_retired: bool = False,
    ) -> None:
        self.schema = schema
        self.name = str(path)
        self.with_retired = with_retired
        self._hiding: dict[str, bool] = {}
        self._own_tables = {*schema.label_names, *schema.relation_types}
        self._cypher = Catalogue(self.backend)
        # A load that fails before it writes must leave no empty graph behind.
        self._unused = path if create and not path.exists() else None
        self._timeout_ms = max(1, int(timeout_s * 1000))
        self._connection: ladybug.Connection | None = None
        self._database: ladybug.Database | None = None
        self._lock: FileLock | None = None
        self._guarded: QueryProcess | None = None
        self._asking = Lock()
        try:
            self._database = self._opened(path, create)
            self._connection = ladybug.Connection(self._database)
            self._connection.set_query_timeout(self._timeout_ms)
            self._tables = self._read_tables()
            self.check(list(self._tables), create=create)
            if create:
                self._add_marks()
        except BaseException:
            self.close()
            raise

    def _opened(self, path: Path, create: bool) -> ladybug.Database:
        _check_path(path, create)
        if path.exists():
            self._lock = FileLock(path, exclusive=create)
        try:
            database = ladybug.Database(str(path), read_only=not create)
        except RuntimeError as error:
            raise _open_error(path, str(error)) from error
        if self._lock is None:
            self._lock = FileLock(path, exclusive=True)
        return database

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        if not ids or not self._holds(pattern):
            return []
        places = hop_places(pattern) | {"where": self._of_edges(pattern)}
        if len(ids) > _FEW:
            rows = self._rows(f"hops_{direction}", places, ids=ids, limit=MOST_HOPS + 1)
        else:
            text = self._cypher.text(f"hops_{direction}_one", **places)
            rows = []
            for id_ in ids:
                rows += self._read(text, {"id": id_, "limit": MOST_HOPS + 1 - len(rows)})
        return read_hops(rows, pattern)

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        """See GraphStore. It runs in a process that can do nothing but read this store."""
        if self._database is None:
            raise StoreError(f"the store {self.name} is closed")
        if self._database.read_only is False:
            raise StoreError(f"the store {self.name} is open for writing", "open it for reading to ask it")
        hides = any(map(self._hides, self._own_tables & self._tables.keys()))
        try:
            with self._asking:
                self._guarded = self._guarded or QueryProcess(Path(self.name))
            rows = self._guarded.rows(reading.leaving_out() if hides else reading, limit, timeout_s)
        except RuntimeError as error:
            raise self._mapped(error) from error
        if any(len(row) != len(reading.columns) for row in rows):
            raise StoreError(f"a query on {self.name} gave other columns than it was asked for", "ask in another way")
        return [dict(zip(reading.columns, row, strict=True)) for row in rows]

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        if label.name in self._tables:
            places = label_place(label) | {"where": where(self._hidden(n=label.name))}
            text = self._cypher.text("scan_nodes", **places, properties=projection("n", label.properties))
            yield self._scan(text, node_columns(label))

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        if self._holds(pattern):
            places = pattern_places(pattern) | {"where": self._of_edges(pattern)}
            text = self._cypher.text("scan_edges", **places, properties=projection("r", pattern.properties))
            yield self._scan(text, edge_columns(pattern))

    def scan_places(self, label: Label) -> pa.Table:
        if label.name not in self._tables:
            return pa.schema([("place", pa.int64()), ("id", pa.string())]).empty_table()
        with self._run(self._cypher.text("scan_places", **label_place(label)), {}) as result:
            return result.get_as_arrow()

    def scan_pairs(self, pattern: Pattern) -> pa.Table:
        if not self._holds(pattern):
            return pa.schema([("number", pa.int64())]).empty_table()
        places = pattern_places(pattern) | {"where": self._of_edges(pattern)}
        text = self._cypher.text("scan_pairs", **places)
        # A quarter of the time, and other threads go on. Of two columns of places LadybugDB 0.22 gives no row.
        with self._result(lambda connection: connection.query_as_arrow(text, _TOGETHER)) as result:
            return result.get_as_arrow()

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        # The tables of this store can hold none.
        return []

    def unknown(self) -> dict[str, int]:
        nodes, edges = list[Shape](), list[Shape]()
        for name, kind in self._rows("tables"):
            if name == META_LABEL or "`" in name:
                continue
            of, shapes = ("node", nodes) if kind == "NODE" else ("edge", edges)
            hidden = self._hidden(**{"n" if of == "node" else "r": name})
            count = {"label" if of == "node" else "table": f"`{name}`", "where": where(hidden)}
            holders = [h for h in self.schema.holders if name == (h.name if isinstance(h, Label) else h.type)]
            known = {column for h in holders for column in ("id", *h.properties)}
            shapes.append(([name], [], self._count("count_nodes" if of == "node" else "count_table_edges", **count)))
            # A table that the profile lacks is told as a whole; of the others, the names are the schema's.
            for column in self._columns(name) if known else ():
                if column not in known and column not in MARKS and "`" not in column:
                    places = {"table": f"`{name}`", "property": f"`{column}`", "also": also(hidden)}
                    shapes.append(([name], [column], self._count(f"count_{of}_values", **places)))
        return {what: n for what, n in unknown_names(self.schema, nodes, edges).items() if n}

    def _own_id(self) -> str:
        return str(Path(self.name).resolve())

    def prepare(self) -> None:
        self._unused = None
        self.prepare_records()
        for label in self.schema.labels:
            types = {name: p.type for name, p in label.properties.items()} | _MARKS
            self._rows("create_node_table", {**label_place(label), "columns": columns(types)})
        for relation in self.schema.relation_types:
            patterns = self.schema.patterns(relation)
            pairs = ", ".join(f"FROM {quoted(p.head)} TO {quoted(p.tail)}" for p in patterns)
            types = _merged_types(patterns) | _MARKS
            places = {"relation": quoted(relation), "pairs": pairs, "columns": columns(types)}
            self._rows("create_rel_table", places)
        self._tables = self._read_tables()

    def add_nodes(self, label: Label, rows: pa.Table) -> None:
        table = rows.select(node_columns(label).names)
        names = "".join(f", {quoted(n)}" for n in label.properties)
        with self.changing([label.name]):
            self._rows("copy_nodes", {**label_place(label), "names": names}, rows=table)

    def update_nodes(self, label: Label, rows: pa.Table) -> None:
        if not label.properties:
            return
        assignments = ", ".join(f"n.{quoted(p)} = {quoted(p)}" for p in label.properties)
        places = {**label_place(label), "assignments": assignments}
        with self.changing([label.name]):
            self._rows("update_nodes", places, rows=rows.select(node_columns(label).names))

    def add_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        given = [n for n in _merged_types(self.schema.patterns(pattern.type)) if n in pattern.properties]
        names = f"({', '.join(quoted(n) for n in given)})"
        ends = {"head_name": pattern.head, "tail_name": pattern.tail}
        with self.changing([str(pattern)]):
            places = {"relation": quoted(pattern.type), "names": names, **ends}
            self._rows("copy_edges", places, rows=rows.select(["head", "tail", *given]))

    def remove_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        same = same_values((f"r.{quoted(n)}", quoted(n)) for n in pattern.properties)
        with self.changing([str(pattern)]):
            columns = rows.select(edge_columns(pattern).names)
            self._rows("remove_edges", {**pattern_places(pattern), "same": same}, rows=columns)

    def remove_nodes(self, label: Label, rows: pa.Table) -> None:
        with self.changing([label.name]):
            self._rows("remove_nodes", label_place(label), rows=rows.select(["id"]))

    def prepare_records(self) -> None:
        self._rows("create_meta_table")
        self._tables = self._read_tables()
        self._make_states(new_state())

    @contextmanager
    def statements(self, *, write: bool) -> Iterator[Run]:
        if not write:
            yield self._read
            return
        self._rows("begin_write")
        try:
            yield self._read
            self._rows("commit")
        except BaseException:
            # A statement that fails ends the transaction by itself.
            with suppress(StoreError):
                self._rows("rollback")
            raise

    def close(self) -> None:
        try:
            for opened in (self._guarded, self._connection, self._database):
                if opened:
                    opened.close()
            if self._unused and self._database:
                for path in (self._unused, self._unused.with_name(self._unused.name + ".wal")):
                    path.unlink(missing_ok=True)
        except RuntimeError as error:
            raise self._mapped(error) from error
        finally:
            self._guarded = self._connection = self._database = None
            if self._lock:
                self._lock.release()
                self._lock = None

    def _has(self, *names: str) -> bool:
        return self._tables.keys() >= set(names)

    def _holds(self, pattern: Pattern) -> bool:
        return self._has(pattern.type, pattern.head, pattern.tail)

    def _of_edges(self, pattern: Pattern) -> str:
        return where(self._hidden(a=pattern.head, r=pattern.type, b=pattern.tail))

    def _hidden(self, **names: str) -> list[str]:
        return [variable for variable, table in names.items() if self._hides(table)]

    def _hides(self, table: str) -> bool:
        """Return whether a table has something retired to leave out; where not, statements stay as quick."""
        if self.with_retired or self._database is None:
            return False
        if not self._database.read_only:
            # What is written meanwhile counts at once.
            return table in self._tables and self._holds_retired(table)
        if table not in self._hiding:
            self._hiding[table] = "`" not in table and self._holds_retired(table)
        return self._hiding[table]

    def _holds_retired(self, table: str) -> bool:
        of = "node" if self._tables.get(table) == "NODE" else "edge"
        places = {"table": f"`{table}`", "property": quoted(RETIRED), "also": ""}
        return RETIRED in self._columns(table) and self._count(f"count_{of}_values", **places) > 0

    def _columns(self, table: str) -> list[str]:
        return [name for (name,) in self._rows("table_columns", {"table": f"'{table}'"})]

    def _add_marks(self) -> None:
        for table in sorted(self._own_tables & self._tables.keys()):
            present = self._columns(table)
            for mark in MARKS:
                if mark not in present:
                    self._rows("add_mark", {"table": quoted(table), "mark": quoted(mark)})

    def _read_tables(self) -> dict[str, str]:
        return {name: kind for name, kind in self._rows("tables")}

    def _count(self, statement: str, **places: str) -> int:
        return int(self._rows(statement, places)[0][0])

    def _scan(self, text: str, wanted: pa.Schema) -> pa.Table:
        # Not query_as_arrow, which LadybugDB 0.22 has and which is a fifth faster: it gives an empty text for a null.
        with self._run(text, {}) as result:
            table = result.get_as_arrow()
        nothing = pa.nulls(table.num_rows, pa.list_(pa.string()))
        return table.select(wanted.names).append_column(AS_TEXT, nothing).cast(with_as_text(wanted))

    def _read(self, text: str, parameters: dict[str, Any]) -> list[Row]:
        with self._run(text, parameters) as result:
            return [list(row) for row in result.get_all()]

    _write = _read

    def _run(self, text: str, parameters: dict[str, Any]) -> ladybug.QueryResult:
        return self._result(lambda connection: connection.execute(text, parameters))

    def _result(self, execute: Callable[[ladybug.Connection], object]) -> ladybug.QueryResult:
        if self._connection is None:
            raise StoreError(f"the store {self.name} is closed")
        try:
            result = execute(self._connection)
        except RuntimeError as error:
            raise self._mapped(error) from error
        if not isinstance(result, ladybug.QueryResult):
            raise StoreError(f"the store {self.name} was sent more than one statement")
        return result

    def _mapped(self, error: RuntimeError) -> StoreError:
        message = str(error)
        if "Interrupted" in message:
            return StoreUnavailable(f"a query on {self.name} took too long", "raise KGCHECK_QUERY_TIMEOUT_S")
        full = unwritable(self.name, message)
        if full:
            return full
        if "Cannot find property" in message or "does not exist" in message:
            return StoreSchema(
                f"the store {self.name} has other columns than profile {self.schema.profile.name!r}: {message}",
                "load the graph into a new store",
            )
        return StoreError(f"the store {self.name} refused a query: {message}")


def _merged_types(patterns: list[Pattern]) -> dict[str, PropertyType]:
    return {name: p.type for pattern in patterns for name, p in pattern.properties.items()}


def _check_path(path: Path, create: bool) -> None:
    if not create and not path.exists():
        raise StoreMissing(f"there is no graph at {path}", f"load one: kgcheck load DIR --store {path}")
    if path.is_dir():
        raise StoreError(
            f"{path} is a folder, and an embedded store is a file",
            f"name a file: {path / 'graph.lbdb'}; graph files are named {FILES}{path}",
        )
    if create:
        try:
            make_folder(path.parent)
        except OSError as error:
            raise StoreError(
                f"cannot make {path.parent}: {error.strerror}", "name another place with --store"
            ) from error


def _open_error(path: Path, message: str) -> StoreError:
    full = unwritable(str(path), message)
    if full:
        return full
    if "lock" in message.lower():
        return in_use(path)
    if "recovery is pending" in message:
        # Only an opening for writing may finish a checkpoint that was cut short.
        return StoreError(*unfinished(str(path)))
    if "not a valid" in message:
        return StoreError(
            f"{path} is not an embedded graph", f"kgcheck load makes one; graph files are named {FILES}{path}"
        )
    if "version" in message.lower():
        return StoreSchema(
            f"the store {path} was written by another version of LadybugDB: {message}",
            "load the graph into a new store",
        )
    return StoreError(f"cannot open the store {path}: {message}")
