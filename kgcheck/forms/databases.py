"""Graphs in database files: SQLite as semantic-sql or with tables of nodes and edges, and DuckDB with such tables.

A file of somebody else is opened read-only, and only its tables are read: a view or a virtual table may run anything.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import quote

import duckdb

from kgcheck.duck import confine, connected, insert_arrow, put_arrow
from kgcheck.errors import InputFormat
from kgcheck.forms.columns import Columns, EdgeColumns, End, NodeColumns, PropertyColumn
from kgcheck.forms.delimited import insert_rows
from kgcheck.forms.form import GraphForm
from kgcheck.forms.rows import NO_RELATION, RowBuffer
from kgcheck.forms.source import Source
from kgcheck.forms.tables import TOGETHER, GraphTables, arrow_tables
from kgcheck.forms.text_rows import TextRows
from kgcheck.plurals import how_many
from kgcheck.quoting import identifier

_STEPS_A_BYTE = 1_000
"""Steps of SQLite's machine for each byte of a file; a scan needs some ten for each row."""

_EVERY = 100_000
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


_Tables = Mapping[str, Sequence[str]]
"""Columns of each table of a file."""


def _graph_tables(tables: _Tables, source: Source) -> dict[str, Columns]:
    """The tables of nodes, if there is one, and of edges among those of a file, and what their columns hold."""
    edges = {name: edge for name, columns in tables.items() if (edge := _edge_columns(columns))}
    nodes = {n: node for n, columns in tables.items() if n not in edges and (node := _node_columns(columns))}
    known = {name: node for name, node in nodes.items() if name.lower() in _NODE_TABLES}
    of_edges = _only(edges, _EDGE_TABLES, source)
    if not of_edges:
        shown = ", ".join(sorted(tables)[:10]) or "none"
        raise InputFormat(f"{source.name} has no table of edges; its tables: {shown}", _AS_KGX)
    return {name: nodes.get(name) or edges[name] for name in (*_only(known or nodes, _NODE_TABLES, source), *of_edges)}


def _only(found: Mapping[str, Columns], names: Sequence[str], source: Source) -> list[str]:
    if known := [table for name in names for table in found if table.lower() == name]:
        return known[:1]
    if len(found) > 1:
        raise InputFormat(
            f"{source.name} has several tables that may be meant: {', '.join(sorted(found)[:10])}",
            "call those of the graph nodes and edges, or export them to KGX TSV",
        )
    return list(found)


def _edge_columns(columns: Sequence[str]) -> EdgeColumns | None:
    places = {column.lower(): place for place, column in enumerate(columns)}
    ends = next((ends for ends in _ENDS if places.keys() >= set(ends)), None)
    if not ends:
        return None
    head, tail = (places[end] for end in ends)
    relation, negation = next((places[name] for name in _RELATIONS if name in places), None), places.get("negated")
    name = NO_RELATION if relation is None else ""
    return EdgeColumns(
        "", End(head), End(tail), relation, _rest(columns, head, tail, relation, negation), name, negation
    )


def _node_columns(columns: Sequence[str]) -> NodeColumns | None:
    places = {column.lower(): place for place, column in enumerate(columns)}
    id_ = next((places[name] for name in _IDS if name in places), None)
    label = next((places[name] for name in _LABELS if name in places), None)
    if id_ is None or (label is None and "name" not in places):
        return None
    return NodeColumns("", id_, label, _rest(columns, id_, label), separators="|")


def _rest(columns: Sequence[str], *used: int | None) -> tuple[PropertyColumn, ...]:
    return tuple(PropertyColumn(place, name) for place, name in enumerate(columns) if place not in used)


# SQLite

_SEMANTIC = {"subject", "predicate", "object", "value"}
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_FUNCTIONS = ("like", "substr")


def _is_sqlite(source: Source, *, semantic: bool) -> bool:
    if not source.head.startswith(b"SQLite format 3\0"):
        return False
    try:
        columns = source.known(_sqlite_tables).get("statements", ())
    except InputFormat:
        # Its reader will say why it cannot be opened.
        columns = ()
    return semantic == (set(columns) >= _SEMANTIC)


def _sqlite_tables(source: Source) -> _Tables:
    """Columns of the plain tables."""
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


def _only_reading(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = (
        action in _READING
        or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_info")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _read_sqlite(sources: Sequence[Source], tables: GraphTables) -> None:
    for source in sources:
        known = source.known(_sqlite_tables)
        for table, columns in _graph_tables(known, source).items():
            with _sqlite(source) as db:
                names = ", ".join(map(identifier, known[table]))
                rows = db.execute(f"SELECT {names} FROM {identifier(table)}")
                put_arrow(tables.db, "text_row", TextRows.SCHEMA.empty_table())
                for some in arrow_tables(((None, list(map(_as_text, row))) for row in rows), TextRows.SCHEMA):
                    insert_arrow(tables.db, "text_row", some)
            _insert(source, columns, tables)


def _as_text(value: Any) -> str | None:
    return value.hex() if isinstance(value, bytes) else None if value is None else str(value)


def _insert(source: Source, columns: Columns, tables: GraphTables) -> None:
    if tables.count("text_row"):
        insert_rows(source, columns, tables)


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
        with _sqlite(source) as db, RowBuffer(source, tables, open_world=True) as buffer:
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
            kinds: dict[str, dict[str, str]] = defaultdict(dict)
            for table, column, kind in db.execute(
                """
                SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() c
                JOIN duckdb_tables() t USING (database_oid, schema_oid, table_oid)
                WHERE NOT t.internal AND t.database_name = current_database() AND t.schema_name = 'main'
                ORDER BY c.table_name, c.column_index
                """
            ).fetchall():
                kinds[table][column] = kind
            for table, columns in _graph_tables({table: tuple(some) for table, some in kinds.items()}, source).items():
                fields = ", ".join(_text_of(column, kind) for column, kind in kinds[table].items())
                select = f"SELECT NULL::BIGINT AS line, [{fields}] AS fields FROM {identifier(table)}"
                put_arrow(tables.db, "text_row", db.sql(select).to_arrow_reader(TOGETHER))
                _insert(source, columns, tables)


def _text_of(column: str, kind: str) -> str:
    """A column as text: lists joined by ``|``, what is nested as JSON."""
    name = identifier(column)
    if kind.endswith("[]") and not kind.startswith(("STRUCT", "MAP")) and kind.count("[") == 1:
        return f"array_to_string(CAST({name} AS VARCHAR[]), '|')"
    if kind.startswith(("STRUCT", "MAP", "UNION")) or kind.endswith("]"):
        return f"CAST(to_json({name}) AS VARCHAR)"
    return f"CAST({name} AS VARCHAR)"


FORMS = (
    GraphForm("SQLite (semantic-sql)", partial(_is_sqlite, semantic=True), _read_semantic_sql),
    GraphForm("SQLite", partial(_is_sqlite, semantic=False), _read_sqlite),
    GraphForm("DuckDB", lambda source: source.head[8:12] == b"DUCK", _read_duckdb),
)
"""Databases that are read."""
