"""Graphs in database files: SQLite as semantic-sql or with tables of nodes and edges, and DuckDB with such tables.

A file of somebody else is opened read-only, and only its tables are read: a view or a virtual table may run anything.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import quote

import duckdb

from kgcheck.duck import confine, connected, insert_arrow
from kgcheck.errors import InputFormat
from kgcheck.forms.form import GraphForm
from kgcheck.forms.rows import NO_RELATION, RowBuffer, buffered, text_list, without
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables, RejectedRow
from kgcheck.plurals import how_many
from kgcheck.quoting import identifier, literal

_STEPS_A_BYTE = 1_000
"""Steps of SQLite's machine for each byte of a file; a scan needs some ten for each row."""

_EVERY = 100_000
_MOST_REJECTED = 1_000
_AS_KGX = "tables of nodes (id, category, name) and edges (subject, predicate, object) are read, as KGX has them"

_IDS = ("id", "node_id", "curie", ":id")
_LABELS = ("category", "categories", "labels", ":label", "node_type", "kind", "type")
_RELATIONS = ("predicate", "relation", "edge_label", ":type", "relationship", "interaction", "edge_type", "type")
_ENDS = (
    *(("subject", "object"), ("head", "tail"), ("source", "target"), ("source_id", "target_id")),
    *(("start_id", "end_id"), (":start_id", ":end_id"), ("head_id", "tail_id"), ("from_id", "to_id")),
)
_NODE_TABLES = ("nodes", "node", "kg_nodes", "entities", "entity", "concepts")
_EDGE_TABLES = ("edges", "edge", "kg_edges", "relationships", "relations", "links", "triples", "associations")


class _Layout(NamedTuple):
    """A table of nodes or edges with its columns of ids, and that of labels or relations, if it has one."""

    table: str
    ids: tuple[str, ...]
    kind: str | None
    columns: tuple[str, ...]


def _layouts(tables: Mapping[str, Sequence[str]], source: Source) -> tuple[_Layout | None, _Layout]:
    """The tables of nodes and of edges among those of a file."""
    edges = {name: found for name, columns in tables.items() if (found := _edge_layout(name, columns))}
    others = {name: columns for name, columns in tables.items() if name not in edges}
    nodes = {name: found for name, columns in others.items() if (found := _node_layout(name, columns))}
    edge = _only(edges, _EDGE_TABLES, source)
    if edge is None:
        shown = ", ".join(sorted(tables)[:10]) or "none"
        raise InputFormat(f"{source.name} has no table of edges; its tables: {shown}", _AS_KGX)
    node = _only({name: n for name, n in nodes.items() if name.lower() in _NODE_TABLES} or nodes, _NODE_TABLES, source)
    return node, edge


def _only(found: Mapping[str, _Layout], names: Sequence[str], source: Source) -> _Layout | None:
    for name in names:
        for table, layout in found.items():
            if table.lower() == name:
                return layout
    if len(found) > 1:
        raise InputFormat(
            f"{source.name} has several tables that may be meant: {', '.join(sorted(found)[:10])}",
            "call those of the graph nodes and edges, or export them to KGX TSV",
        )
    return next(iter(found.values()), None)


def _edge_layout(table: str, columns: Sequence[str]) -> _Layout | None:
    known = {column.lower(): column for column in columns}
    for ends in _ENDS:
        if all(end in known for end in ends):
            relation = next((known[name] for name in _RELATIONS if name in known), None)
            return _Layout(table, tuple(known[end] for end in ends), relation, tuple(columns))
    return None


def _node_layout(table: str, columns: Sequence[str]) -> _Layout | None:
    known = {column.lower(): column for column in columns}
    id_ = next((known[name] for name in _IDS if name in known), None)
    label = next((known[name] for name in _LABELS if name in known), None)
    if id_ is None or not (label or "name" in known):
        return None
    return _Layout(table, (id_,), label, tuple(columns))


# SQLite


def _is_sqlite(source: Source) -> bool:
    return source.head.startswith(b"SQLite format 3\0")


def _fits_semantic_sql(source: Source) -> bool:
    return _is_sqlite(source) and _SEMANTIC <= set(_sqlite_tables(source).get("statements", ()))


_SEMANTIC = frozenset({"subject", "predicate", "object", "value"})


def _fits_sqlite(source: Source) -> bool:
    return _is_sqlite(source) and not _fits_semantic_sql(source)


def _sqlite_tables(source: Source) -> dict[str, tuple[str, ...]]:
    """Columns of the plain tables; none of a file that cannot be opened, whose reader will say why."""
    try:
        return _tables_at(source, source.path.stat().st_mtime_ns)
    except InputFormat:
        return {}


@lru_cache(maxsize=8)
def _tables_at(source: Source, _changed: int) -> dict[str, tuple[str, ...]]:
    with _sqlite(source) as db:
        names = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
            " AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        return {
            name: tuple(column[1] for column in db.execute(f"PRAGMA table_info({identifier(name)})").fetchall())
            for (name,) in names
        }


@contextmanager
def _sqlite(source: Source) -> Iterator[sqlite3.Connection]:
    """A database that is only read, by statements of this module, for as long as a file of its size may take."""
    path = source.path.absolute()
    log = path.with_name(path.name + "-wal")
    alone = not (log.exists() and log.stat().st_size)
    left = max(path.stat().st_size, 1 << 20) * _STEPS_A_BYTE // _EVERY

    def is_too_long() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    try:
        address = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if alone else ''}"
        with closing(sqlite3.connect(address, uri=True)) as db:
            db.text_factory = lambda text: text.decode(errors="backslashreplace")
            for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
                db.execute(f"PRAGMA {setting}").fetchall()
            db.set_progress_handler(is_too_long, _EVERY)
            db.set_authorizer(_only_reading)
            yield db
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        raise InputFormat(
            f"{source.name} cannot be read as a SQLite database: {error}", "it may be cut off: fetch it again"
        ) from error


_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_FUNCTIONS = ("like", "substr")


def _only_reading(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = (
        action in _READING
        or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_info")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _read_sqlite(sources: Sequence[Source], tables: GraphTables) -> None:
    for source in sources:
        with _sqlite(source), buffered(source, tables) as buffer:
            node, edge = _layouts(_tables_at(source, source.path.stat().st_mtime_ns), source)
            if node:
                for item in _sqlite_rows(source, node):
                    labels = text_list(item.get(node.kind)) if node.kind else []
                    buffer.node(item.get(node.ids[0]), labels, without(item, node.ids[0], node.kind or ""), node.table)
            for item in _sqlite_rows(source, edge):
                _sqlite_edge(buffer, edge, item)


def _sqlite_edge(buffer: RowBuffer, edge: _Layout, item: dict[str, Any]) -> None:
    if str(item.get("negated")).lower() in ("true", "1"):
        buffer.negated()
        return
    head, tail = edge.ids
    relation = item.get(edge.kind) if edge.kind else NO_RELATION
    rest = without(item, head, tail, edge.kind or "", "negated")
    buffer.edge(item.get(head), relation, item.get(tail), rest, edge.table)


def _sqlite_rows(source: Source, layout: _Layout) -> Iterator[dict[str, Any]]:
    columns = ", ".join(map(identifier, layout.columns))
    with _sqlite(source) as db:
        for row in db.execute(f"SELECT {columns} FROM {identifier(layout.table)}"):
            yield {
                name: value.hex() if isinstance(value, bytes) else value
                for name, value in zip(layout.columns, row, strict=True)
            }


# semantic-sql


_SEMANTIC_EDGES = """
SELECT subject, predicate, object FROM statements
WHERE predicate IN ('rdfs:subClassOf', 'rdfs:subPropertyOf')
  AND substr(object, 1, 2) <> '_:'
UNION
SELECT s.subject, p.object, f.object
FROM statements s
JOIN statements p ON p.subject = s.object AND p.predicate = 'owl:onProperty'
JOIN statements f ON f.subject = s.object AND f.predicate = 'owl:someValuesFrom'
WHERE s.predicate = 'rdfs:subClassOf' AND substr(s.object, 1, 2) = '_:'
  AND substr(f.object, 1, 2) <> '_:'
UNION
SELECT i.subject, i.predicate, i.object FROM statements i
WHERE i.predicate = 'rdf:type' AND substr(i.subject, 1, 2) <> '_:' AND substr(i.object, 1, 2) <> '_:'
  AND i.object IN (SELECT c.subject FROM statements c WHERE c.predicate = 'rdf:type' AND c.object = 'owl:Class')
"""
"""The statements behind the view ``edge`` of semantic-sql: named superclasses, existential restrictions, types."""

_SEMANTIC_NODES = """
SELECT subject, predicate, object, value FROM statements WHERE substr(subject, 1, 2) <> '_:' ORDER BY subject
"""
_KINDS = {
    "owl:Class": "Class",
    "owl:NamedIndividual": "Individual",
    "owl:ObjectProperty": "Property",
    "owl:AnnotationProperty": "Property",
    "owl:DatatypeProperty": "Property",
}
_NAMES = {
    "rdfs:label": "name",
    "owl:deprecated": "deprecated",
    "IAO:0000115": "definition",
    "oio:hasDbXref": "xrefs",
    "oio:inSubset": "subsets",
    **{f"oio:has{kind}Synonym": "synonyms" for kind in ("Exact", "Narrow", "Broad", "Related")},
}


def _read_semantic_sql(sources: Sequence[Source], tables: GraphTables) -> None:
    for source in sources:
        with _sqlite(source) as db, buffered(source, tables, open_world=True) as buffer:
            for subject, rows in groupby(db.execute(_SEMANTIC_NODES), itemgetter(0)):
                _semantic_node(buffer, subject, rows)
            unnamed = 0
            for head, relation, tail in db.execute(_SEMANTIC_EDGES):
                if str(head).startswith("_:"):
                    unnamed += 1
                else:
                    buffer.edge(_bare(head), _bare(relation), _bare(tail), {}, "statements")
            if unnamed:
                buffer.note(f"read without {how_many(unnamed, 'edge')} of classes that have no name")


def _semantic_node(buffer: RowBuffer, subject: Any, rows: Iterator[tuple[Any, ...]]) -> None:
    labels: list[str] = []
    found = defaultdict[str, list[Any]](list)
    for _, predicate, other, value in rows:
        if predicate == "rdf:type":
            labels += [_KINDS[other]] if other in _KINDS else []
        elif value is not None or str(predicate).startswith(("oio:", "IAO:")):
            name = _NAMES.get(predicate) or str(predicate).removeprefix("oio:").removeprefix("rdfs:")
            found[_bare(name)].append(other if value is None else value)
    if labels:
        buffer.node(_bare(subject), labels, found, "statements")


def _bare(name: Any) -> Any:
    """An IRI without the brackets around it."""
    return name[1:-1] if isinstance(name, str) and name.startswith("<") and name.endswith(">") else name


# DuckDB


def _is_duckdb(source: Source) -> bool:
    return source.head[8:12] == b"DUCK"


@contextmanager
def _duckdb(source: Source) -> Iterator[duckdb.DuckDBPyConnection]:
    try:
        with connected(str(source.path), config={"access_mode": "READ_ONLY"}) as db:
            confine(db)
            yield db
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        shown = str(error).splitlines()[0][:300] if str(error) else "unknown"
        raise InputFormat(
            f"{source.name} cannot be read as a DuckDB database: {shown}",
            "it may be cut off, or of a newer DuckDB: fetch it again, or export its tables to Parquet",
        ) from error


def _read_duckdb(sources: Sequence[Source], tables: GraphTables) -> None:
    for source in sources:
        with _duckdb(source) as db:
            columns: dict[str, dict[str, str]] = defaultdict(dict)
            for table, column, kind in db.execute(
                """
                SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() c
                JOIN duckdb_tables() t USING (database_oid, schema_oid, table_oid)
                WHERE NOT t.internal AND t.database_name = current_database() AND t.schema_name = 'main'
                ORDER BY c.table_name, c.column_index
                """
            ).fetchall():
                columns[table][column] = kind
            node, edge = _layouts({table: tuple(kinds) for table, kinds in columns.items()}, source)
            if node:
                _copy_duckdb(db, source, tables, node, columns[node.table])
                tables.lists_nodes |= tables.count("node", source) > 0
            _copy_duckdb(db, source, tables, edge, columns[edge.table])


def _copy_duckdb(
    db: duckdb.DuckDBPyConnection, source: Source, tables: GraphTables, layout: _Layout, kinds: Mapping[str, str]
) -> None:
    """Copy a table's rows, those that lack an id to the quarantine."""
    is_edge = len(layout.ids) > 1
    ids = [f"trim({_as_text(name, kinds[name])})" for name in layout.ids]
    whole, holds = " AND ".join(f"coalesce({i}, '') <> ''" for i in ids), "true"
    negated = next((name for name in kinds if is_edge and name.lower() == "negated"), None)
    if negated:
        holds = f"coalesce(lower(CAST({identifier(negated)} AS VARCHAR)), '') NOT IN ('true', '1')"
    if is_edge:
        relation = _as_text(layout.kind, kinds[layout.kind]) if layout.kind else literal(NO_RELATION)
        whole += f" AND coalesce(trim({relation}), '') <> ''"
        named = f"{ids[0]} AS head, trim({relation}) AS relation, {ids[1]} AS tail"
    else:
        labels = f"string_split({_as_text(layout.kind, kinds[layout.kind])}, '|')" if layout.kind else "NULL"
        named = f"{ids[0]} AS id, list_filter(coalesce({labels}, []::VARCHAR[]), lambda l: l <> '') AS labels"
    rest = [name for name in kinds if name not in (*layout.ids, layout.kind, negated)]
    pairs = ", ".join(f"{{'key': {literal(name)}, 'value': {_as_text(name, kinds[name])}}}" for name in rest)
    properties = f"map_from_entries(list_filter([{pairs}], lambda p: coalesce(p.value, '') <> ''))" if rest else "NULL"
    table = identifier(layout.table)
    query = f"""
        SELECT {named}, {properties} AS properties, {source.number}::INTEGER AS file, NULL::BIGINT AS line
        FROM {table} WHERE {holds} AND {whole}
        """
    insert_arrow(tables.db, "edge" if is_edge else "node", db.sql(query).to_arrow_reader(20_000))
    lacking = f"FROM {table} WHERE {holds} AND NOT ({whole})"
    shown = ", ".join(f"{literal(name)}: {_as_text(name, kinds[name])}" for name in (*layout.ids, *rest[:3]))
    rows = db.execute(f"SELECT CAST({{{shown}}} AS VARCHAR)[:500] {lacking} LIMIT {_MOST_REJECTED}").fetchall()
    reason = (
        ("end_missing", "an edge without head, relation or tail") if is_edge else ("bad_id", "a node without an id")
    )
    tables.reject(source, (RejectedRow(None, *reason, row) for (row,) in rows))
    if len(rows) == _MOST_REJECTED:
        ((count,),) = db.execute(f"SELECT count(*) {lacking}").fetchall()
        tables.more_rejected += count - len(rows)
        tables.note(source, f"{count:,} rows of {layout.table} have no ids; {_MOST_REJECTED:,} are kept")
    if negated:
        ((count,),) = db.execute(f"SELECT count(*) FROM {table} WHERE NOT ({holds})").fetchall()
        tables.negated[source.name] += count


def _as_text(column: str, kind: str) -> str:
    """A column as text: lists joined by ``|``, what is nested as JSON."""
    name = identifier(column)
    if kind.endswith("[]") and not kind.startswith(("STRUCT", "MAP")) and kind.count("[") == 1:
        return f"array_to_string(CAST({name} AS VARCHAR[]), '|')"
    if kind.startswith(("STRUCT", "MAP", "UNION")) or kind.endswith("]"):
        return f"CAST(to_json({name}) AS VARCHAR)"
    return f"CAST({name} AS VARCHAR)"


FORMS = (
    GraphForm("SQLite (semantic-sql)", _fits_semantic_sql, _read_semantic_sql),
    GraphForm("SQLite", _fits_sqlite, _read_sqlite),
    GraphForm("DuckDB", _is_duckdb, _read_duckdb),
)
"""Databases that are read."""
