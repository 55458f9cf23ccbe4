"""Read graphs in delimited text and Parquet: KGX, neo4j-admin, Hetionet, PrimeKG, annotations and any edge table."""

from collections.abc import Iterator, Sequence
from glob import escape
from typing import NamedTuple

import duckdb
import pyarrow as pa

from kgcheck.choices import STATED_OTHERWISE
from kgcheck.duck import put_arrow
from kgcheck.errors import InputFormat
from kgcheck.forms.columns import PART, Columns, EdgeColumns, End, NodeColumns, PropertyColumn, admin_fields, columns_of
from kgcheck.forms.form import GraphForm
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.forms.text_rows import SEPARATORS, Dialect, TextRows, dialect_of, fields_of
from kgcheck.plurals import how_many
from kgcheck.quoting import identifier, literal

_LOOKED = 500
"""Rows by which columns are told apart."""

_PARQUET = b"PAR1"
_NEGATED = r"(^|\|)\s*(not\b|true$|1$|t$|yes$)"
"""Values of a column of negation by which a statement does not hold, in small letters."""


class FileTable(NamedTuple):
    """A file as a table; ``dialect`` is None of Parquet."""

    source: Source
    dialect: Dialect | None
    rows: list[list[str]]
    columns: Columns


def fits(source: Source) -> bool:
    """Tell whether a file is delimited text of two columns and more, or Parquet."""
    return source.head.startswith(_PARQUET) or (b"\x00" not in source.head and source.known(dialect_of) is not None)


def read(files: Sequence[Source], tables: GraphTables) -> None:
    """Read the tables of a graph: files of nodes and of edges in any order, and headers in files of their own."""
    found = list(_tables(files, tables))
    if not found:
        raise tables.why_none()
    spaced = _has_numbers_in_spaces(found)
    # Nodes first: rows of edges describe their ends only where nothing else does.
    for table in sorted(found, key=lambda table: isinstance(table.columns, EdgeColumns)):
        try:
            _read(table, tables, spaced=spaced)
        except InputFormat as error:
            if len(found) == 1:
                raise
            tables.leave_out(table.source, error)
            continue
        tables.forms[table.source.number] = table.columns.form
        tables.listing_files.add(table.source.number)
        if table.columns.assumed:
            tables.note(table.source, table.columns.assumed)
    if all(table.source.number in tables.refused for table in found):
        raise tables.why_none()


def _has_numbers_in_spaces(found: Sequence[FileTable]) -> bool:
    """Tell whether ids are whole numbers, which are one in their space alone: 1 of Gene and 1 of Film."""
    nodes = [(table.rows, table.columns) for table in found if isinstance(table.columns, NodeColumns)]
    if len({columns.space for _, columns in nodes}) < 2:
        return False
    return any(row[columns.id].isdigit() for rows, columns in nodes for row in rows[:50] if columns.id < len(row))


def _tables(files: Sequence[Source], tables: GraphTables) -> Iterator[FileTable]:
    headers = {source: header for source in files if (header := _lone_header(source))}
    by_stem = {PART.sub("", source.stem): header for source, header in headers.items()}
    tables.forms |= {source.number: "neo4j-admin import, a header" for source in headers}
    rest = [source for source in files if source not in headers]
    bare: list[str] = []
    for source in rest:
        try:
            table = _table(source, by_stem.get(PART.sub("", source.stem), ()), tables)
        except InputFormat as error:
            if len(rest) == 1:
                raise
            tables.leave_out(source, error)
            continue
        if table.dialect and not table.dialect.header and PART.search(source.stem):
            bare.append(source.name)
        yield table
    if bare:
        tables.notes.append(
            f"no header is there for {', '.join(bare)}: what a column holds is a guess; name the header files, too"
        )


def _lone_header(source: Source) -> list[str] | None:
    """The header of other files' rows, if a file is no more than that."""
    lines = [line for line in source.lines if line.strip()]
    if len(lines) != 1:
        return None
    parted = ([f.strip() for f in fields_of(lines[0], sign, '"') or []] for sign in SEPARATORS)
    return next((fields for fields in parted if len(fields) > 1 and admin_fields(fields)), None)


def _table(source: Source, header: Sequence[str], tables: GraphTables) -> FileTable:
    if source.head.startswith(_PARQUET):
        names = tables.renamed(_parquet_schema(source).names)
        return FileTable(source, None, [], columns_of(source.name, source.stem, names, []))
    dialect = source.known(dialect_of)
    if dialect is None:
        raise InputFormat(f"{source.name} is no table of two and more columns", "docs/forms.md lists the forms")
    if header:
        dialect = dialect._replace(header=tuple(header), first=dialect.comments + 1)
    dialect = dialect._replace(header=tables.renamed(dialect.header))
    lines = source.lines[dialect.first - 1 :][:_LOOKED]
    rows = [fields_of(line, dialect.separator, dialect.quote) or [] for line in lines if line]
    return FileTable(source, dialect, rows, columns_of(source.name, source.stem, dialect.header, rows))


def _parquet_fields(source: Source) -> Iterator[str]:
    """SQL for each column of a Parquet file as text: lists joined as in KGX, what is nested as JSON."""
    for field in _parquet_schema(source):
        name = identifier(field.name)
        if pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
            yield f"array_to_string(list_transform({name}, lambda x: x::VARCHAR), '|')"
        else:
            yield f"to_json({name})::VARCHAR" if pa.types.is_nested(field.type) else f"{name}::VARCHAR"


def _parquet_schema(source: Source) -> pa.Schema:
    from pyarrow import parquet

    try:
        return parquet.read_schema(source.path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputFormat(f"{source.name} is no whole Parquet file: {error}", "fetch it again") from error


def _read(table: FileTable, tables: GraphTables, *, spaced: bool) -> None:
    source, rows = table.source, None
    try:
        if table.dialect is None:
            fields = ", ".join(_parquet_fields(source))
            # A name is no pattern of names.
            at = literal(escape(str(source.path)))
            tables.db.execute(
                f"CREATE OR REPLACE TEMP TABLE text_row AS SELECT row_number() OVER () AS line, [{fields}] AS fields"
                f" FROM read_parquet({at}, hive_partitioning = false)"
            ).fetchall()
        else:
            width = len(table.dialect.header) or max(map(len, table.rows), default=1)
            rows = TextRows(source, table.dialect, width)
            batches = (batch for some in rows.batches() for batch in some.to_batches())
            put_arrow(tables.db, "text_row", pa.RecordBatchReader.from_batches(TextRows.SCHEMA, batches))
    except duckdb.Error as error:
        # DuckDB passes an exception of its input on as text only.
        if rows and rows.failure:
            raise rows.failure from None
        raise InputFormat(f"{source.name} cannot be read: {error}", "see that the file is whole") from error
    if rows:
        tables.reject(source, rows.rejected)
        if rows.short:
            ends = how_many(rows.short, "row ends", "rows end")
            tables.note(source, f"{ends} before the last of {rows.width} columns")
    insert_rows(source, table.columns, tables, spaced=spaced)


def insert_rows(source: Source, columns: Columns, tables: GraphTables, *, spaced: bool = False) -> None:
    """Put the rows of the table ``text_row``, a line and fields each, into those of the graph."""
    if isinstance(columns, NodeColumns):
        _insert_nodes(source, columns, tables, spaced=spaced)
    else:
        _insert_edges(source, columns, tables, spaced=spaced)


def _insert_nodes(source: Source, columns: NodeColumns, tables: GraphTables, *, spaced: bool) -> None:
    at = _in_space(_cell(columns.id), columns.space) if spaced else _cell(columns.id)
    labels = f"[{literal(columns.kind)}]" if columns.kind else "[]"
    if columns.labels is not None:
        cell = _cell(columns.labels)
        parted = f"regexp_split_to_array({cell}, {literal(f'[{columns.separators}]')})"
        stated = parted if columns.separators else f"[{cell}]"
        labels = f"list_filter(list_transform({stated}, lambda x: trim(x)), lambda x: x <> '')"
    _quarantine(source, tables, f"{at} = ''", "no_id", "the id is empty")
    tables.db.execute(
        f"INSERT INTO node SELECT {at}, {labels}, {_texts(columns.properties)}, {source.number}, line FROM text_row"
        f" WHERE {at} <> ''"
    ).fetchall()
    tables.lists_nodes = True


def _insert_edges(source: Source, columns: EdgeColumns, tables: GraphTables, *, spaced: bool) -> None:
    head, tail = (_id(end, spaced=spaced) for end in (columns.head, columns.tail))
    relation, negated = literal(columns.name), "false"
    if columns.relation is not None:
        stated = _cell(columns.relation)
        if columns.relation == columns.negation:
            stated = rf"regexp_replace({stated}, '(?i)^\s*not\s*\|?\s*', '')"
        relation = f"coalesce(nullif({stated}, ''), {relation})"
    if columns.negation is not None:
        negated = f"regexp_matches(lower({_cell(columns.negation)}), {literal(_NEGATED)})"
    lacking = f"({head} = '' OR {tail} = '' OR {relation} = '')"
    _quarantine(source, tables, lacking, "no_end", "an end or the relation is empty")
    ((count,),) = tables.db.execute(f"SELECT count(*) FROM text_row WHERE {negated} AND NOT {lacking}").fetchall()
    if count:
        tables.negated[source.name] += int(count)
    tables.db.execute(
        f"INSERT INTO edge SELECT {head}, {relation}, {tail}, {_texts(columns.properties)}, {source.number}, line"
        f" FROM text_row WHERE NOT {negated} AND NOT {lacking}"
    ).fetchall()
    for end, at in ((columns.head, head), (columns.tail, tail)):
        if end.described:
            label = f"list_filter([{_cell(end.label)}], lambda x: x <> '')" if end.label is not None else "[]"
            label = f"[{literal(end.kind)}]" if end.kind else label
            name = _texts((PropertyColumn(end.name, "name"),) if end.name is not None else ())
            # A node of which something is denied alone is a node, and has no edge.
            mark = f"CASE WHEN bool_and({negated}) THEN MAP {{{literal(STATED_OTHERWISE)}: 'true'}} ELSE MAP {{}} END"
            tables.db.execute(
                f"INSERT INTO node SELECT {at}, any_value({label}), map_concat(any_value({name}), {mark}),"
                f" {source.number}, min(line)"
                f" FROM text_row WHERE NOT {lacking} AND {at} NOT IN (SELECT id FROM node) GROUP BY 1"
            ).fetchall()


def _quarantine(source: Source, tables: GraphTables, wrong: str, reason: str, detail: str) -> None:
    stated = f"{literal(source.name)}, line, {literal(reason)}, {literal(detail)}, array_to_string(fields, chr(9))"
    tables.db.execute(f"INSERT INTO quarantine SELECT {stated} FROM text_row WHERE {wrong}").fetchall()


def _cell(place: int | None) -> str:
    return "''" if place is None else f"trim(coalesce(fields[{place + 1}], ''))"


def _id(end: End, *, spaced: bool) -> str:
    cell = _cell(end.place)
    if spaced:
        return _in_space(cell, end.space)
    if end.before is None:
        return cell
    return f"CASE WHEN {cell} = '' THEN '' ELSE {_cell(end.before)} || {literal(end.sign)} || {cell} END"


def _in_space(cell: str, space: str) -> str:
    return f"CASE WHEN {cell} = '' THEN '' ELSE {literal(f'{space}/')} || {cell} END" if space else cell


def _texts(properties: Sequence[PropertyColumn]) -> str:
    # A map has a key once.
    places = {name: place for place, name in reversed(properties)}
    entries = ", ".join(f"{{k: {literal(name)}, v: {_cell(place)}}}" for name, place in places.items())
    return f"map_from_entries(list_filter([{entries}], lambda e: e.v <> ''))" if entries else "MAP {}"


FORMS = (GraphForm("delimited text", fits, read),)
