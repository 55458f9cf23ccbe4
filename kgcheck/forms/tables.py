"""GraphTables: nodes, edges and rejected rows of graph files as DuckDB tables, whatever form they had."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from kgcheck.duck import insert_arrow
from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.forms.source import Source
from kgcheck.inputs import MIB

_TEXTS = pa.map_(pa.string(), pa.string())
_DESCRIBED = {"properties": _TEXTS, "file": pa.int32(), "line": pa.int64()}
_SCHEMAS = {
    "node": pa.schema({"id": pa.string(), "labels": pa.list_(pa.string()), **_DESCRIBED}),
    "edge": pa.schema({"head": pa.string(), "relation": pa.string(), "tail": pa.string(), **_DESCRIBED}),
    "quarantine": pa.schema(
        {n: pa.int64() if n == "line" else pa.string() for n in ("file", "line", "reason", "detail", "row_text")}
    ),
}
TOGETHER = 20_000
"""Rows that are put into a table together."""

_LARGEST_BATCH = 64 * MIB
"""Characters that are in memory together, about."""


class RejectedRow(NamedTuple):
    """A row that could not be read, and why: a word for its kind, and what was wrong."""

    line: int | None
    reason: str
    detail: str = ""
    row: str = ""


class GraphTables:
    """The tables ``node``, ``edge`` and ``quarantine``, which the readers of forms fill.

    Nodes may stand in ``node`` several times, and edges may end where no node is.

    Attributes:
        db: The database; a reader may also insert by SELECT.
        lists_nodes: A file claims to list the nodes, so that an edge to no node dangles.
        open_files: Numbers of the files whose edges may end where no node is listed: ontologies, RDF.
        notes: Remarks on how files were read, for people.
        negated: Statements that something does not hold, by file; no edges.
        listing_files: Numbers of the files of tables, of which a node or an edge that stands twice is a fault; in other
            forms each file is a graph of its own.
        refused: Why files are left out that could not be read, by number.
        more_rejected: Rows that were rejected, and are not kept, for there are too many.
        columns: Names of columns of tables, each with what it is taken for.
        named: Those of them that a table has.
        forms: What a file turned out to be, by its number, where that is more than the name of its form.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, columns: Mapping[str, str] | None = None) -> None:
        self.db = db
        self.lists_nodes = False
        self.open_files: set[int] = set()
        self.notes: list[str] = []
        self.negated = Counter[str]()
        self.forms: dict[int, str] = {}
        self.columns = dict(columns or {})
        self.named: set[str] = set()
        self.refused: dict[int, str] = {}
        self.listing_files: set[int] = set()
        self.more_rejected = 0
        texts, place = "properties MAP(VARCHAR, VARCHAR)", "file INTEGER, line BIGINT"
        db.execute(
            f"""
            CREATE TABLE node (id VARCHAR, labels VARCHAR[], {texts}, {place});
            CREATE TABLE edge (head VARCHAR, relation VARCHAR, tail VARCHAR, {texts}, {place});
            CREATE TABLE quarantine (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR);
            """
        ).fetchall()

    def add(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Append rows to a table, properties as pairs."""
        for some in arrow_tables(rows, _SCHEMAS[table]):
            insert_arrow(self.db, table, some)

    def reject(self, source: Source, rows: Iterable[RejectedRow]) -> None:
        """Keep what could not be read, with the reason."""
        self.add("quarantine", ((source.name, *row) for row in rows))

    def merge_files(self) -> None:
        """Make one node of what several files state of an id, and one edge of what several state alike.

        Not of tables, where what stands twice is a fault: in other forms a file is a graph of its own.
        """
        own = f"NOT list_contains({sorted(self.listing_files)}::INTEGER[], file)"
        once = "list_filter(entries, lambda e, i: list_position(list_transform(entries, lambda x: x.key), e.key) = i)"
        self.db.execute(
            f"""
            CREATE TEMP TABLE merged AS
            SELECT id, labels, map_from_entries({once}) AS properties, file, line FROM (
                SELECT id, list_distinct(flatten(list(labels ORDER BY file))) AS labels,
                       flatten(list(map_entries(properties) ORDER BY file)) AS entries,
                       min(file) AS file, min_by(line, file) AS line
                FROM node WHERE {own} GROUP BY id HAVING count(DISTINCT file) > 1);
            DELETE FROM node WHERE {own} AND id IN (SELECT id FROM merged);
            INSERT INTO node SELECT * FROM merged;
            DELETE FROM edge WHERE rowid IN (SELECT rowid FROM (
                SELECT rowid, file, min(file) OVER (PARTITION BY head, relation, tail, properties::VARCHAR) AS first
                FROM edge WHERE {own}) WHERE file <> first);
            DROP TABLE merged;
            """
        ).fetchall()

    def renamed(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names of columns, those that somebody has said what they hold by what is known to hold that."""
        self.named.update(name for name in names if name in self.columns)
        return tuple(self.columns.get(name, name) for name in names)

    def remarks(self) -> dict[str, Any]:
        """Copy what is known of the files beside their rows."""
        return {name: copy(value) for name, value in vars(self).items() if name != "db"}

    def take_back(self, sources: Sequence[Source], before: Mapping[str, Any]) -> None:
        """Take back what was read of files since a copy of the `remarks`: they are left out, or read again."""
        vars(self).update({name: copy(value) for name, value in before.items()})
        for source in sources:
            for table, file in (("node", source.number), ("edge", source.number), ("quarantine", source.name)):
                self.db.execute(f"DELETE FROM {table} WHERE file = ?", [file]).fetchall()

    def note(self, source: Source, remark: str) -> None:
        """Keep a remark on a file."""
        self.notes.append(f"{source.name}: {remark}")

    def leave_out(self, source: Source, error: KgcheckError) -> None:
        """Keep why a file is left out, of several."""
        self.refused[source.number] = f"{error.message}: left out; {error.hint}"

    def why_none(self) -> InputFormat:
        """The error of files of which none could be read."""
        shown = "; ".join([*self.refused.values()][:3]) or "there are headers alone"
        return InputFormat(shown, "docs/forms.md lists the forms")

    def count(self, table: str, source: Source | None = None) -> int:
        """Rows of a table, of one file or of all."""
        of_file = f" WHERE file = {source.number}" if source else ""
        return int(self.db.execute(f"SELECT count(*) FROM {table}{of_file}").fetchall()[0][0])


def arrow_tables(rows: Iterable[Sequence[object]], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows as Arrow tables, some thousands in each, or fewer where their texts are long."""
    left = iter(rows)
    while some := list(islice(left, 1)):
        size = 0
        for row in islice(left, TOGETHER - 1):
            some.append(row)
            size += sum(len(value) for value in row if isinstance(value, str))
            if size > _LARGEST_BATCH:
                break
        columns = zip(*some, strict=True)
        yield pa.table([pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema)
