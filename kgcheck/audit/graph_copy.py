"""GraphCopy: DuckDB tables of the nodes and edges under audit, read from the store on demand."""

from collections.abc import Iterable
from hashlib import md5

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.audit.numbers import HALF, LOW, Ids, Pairs, Places, as_numbers, in_order, paired, pairs_of
from kgcheck.graph.citations import citations_sql
from kgcheck.graph.extracts import GraphExtract
from kgcheck.graph.store import NO_ID, GraphStore, PlacedStore, edge_schema, node_schema, with_as_text
from kgcheck.profile.schema import Label, Pattern
from kgcheck.quoting import identifier

_MOST = 512
"""Characters of an id that a Ref takes."""


def printable(identifier: str | None) -> str:
    """An id in the form that a Ref takes."""
    if not identifier:
        return NO_ID
    if len(identifier) <= _MOST and all(ord(c) >= 32 for c in identifier):
        return identifier
    digest = md5(identifier.encode(), usedforsecurity=False).hexdigest()[:8]
    return "".join(c if ord(c) >= 32 else "\ufffd" for c in identifier)[: _MOST - 40] + f"… {digest}"


class GraphCopy:
    """Tables ``nodes <label>``, ``edges <pattern>`` and ``pairs <pattern>``.

    The columns are those of the store's scans; pairs have a head and a tail, and parallel edges are one of them. An id
    that no Ref can hold (empty, too long, with control characters) is made printable, so that it can be told.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, store: GraphStore | GraphExtract, *, whole: bool = True) -> None:
        self._db = db
        self._store = store
        self._whole = whole
        self._have: set[str] = set()
        self._places: dict[str, tuple[Ids, Places]] = {}

    def nodes(self, label: Label) -> str:
        """The quoted name of the table of a label, filled."""
        name = f"nodes {label.name}"
        if name not in self._have:
            self._fill(name, with_as_text(node_schema(label)), self._store.scan_nodes(label), ("id",))
            self._have.add(name)
        return identifier(name)

    def edges(self, pattern: Pattern) -> str:
        name = f"edges {pattern}"
        if name not in self._have:
            self._fill(name, with_as_text(edge_schema(pattern)), self._store.scan_edges(pattern), ("head", "tail"))
            self._have.add(name)
        return identifier(name)

    def pairs(self, pattern: Pattern) -> str:
        name = f"pairs {pattern}"
        if name not in self._have:
            if self._whole:
                rows = f"SELECT DISTINCT head, tail FROM {self.edges(pattern)}"
                self._db.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS {rows}").fetchall()
            else:
                schema = pa.schema([("head", pa.string()), ("tail", pa.string())])
                pieces = (pa.table(list(ends), schema) for ends in self.numbered(pattern).pieces())
                self._fill(name, schema, pieces, ())
            self._have.add(name)
        return identifier(name)

    def cited(self, pattern: Pattern) -> str:
        """The quoted name of the table of the papers that edges of a pattern cite, filled."""
        name = f"cited {pattern}"
        if name not in self._have:
            select = citations_sql(pattern, self.edges(pattern))
            self._db.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS {select}").fetchall()
            self._have.add(name)
        return identifier(name)

    @property
    def is_numbered(self) -> bool:
        """Tell whether pairs are read as numbers, and not as the edges that structure looks at."""
        return not self._whole

    def numbered(self, pattern: Pattern) -> Pairs:
        store = self._store
        if not isinstance(store, PlacedStore):
            ends = pattern.ends_alone
            scanned = pa.concat_tables([with_as_text(edge_schema(ends)).empty_table(), *store.scan_edges(ends)])
            return pairs_of(pa.table({end: _shown(scanned.column(end)) for end in ("head", "tail")}))
        (heads, of_head), (tails, of_tail) = self._ids(store, pattern.head), self._ids(store, pattern.tail)
        places = as_numbers(store.scan_pairs(pattern).column("number")).view(np.uint64)
        return Pairs(heads, tails, paired(of_head[places >> HALF], of_tail[places & LOW]))

    def _ids(self, store: PlacedStore, label: str) -> tuple[Ids, Places]:
        """The ids of a label as they are shown, in order; and the number of each by its place in the store."""
        if label not in self._places:
            scanned = store.scan_places(self._store.schema.label(label))
            ids, numbers = in_order(_shown(scanned.column("id")).combine_chunks(), label)
            places = as_numbers(scanned.column("place"))
            by_place = np.zeros(int(places.max()) + 1 if len(places) else 0, np.uint64)
            by_place[places] = numbers
            self._places[label] = ids, by_place
        return self._places[label]

    def _fill(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table], ids: tuple[str, ...]) -> None:
        self._select_into(f"CREATE OR REPLACE TABLE {identifier(name)} AS SELECT * FROM incoming", schema.empty_table())
        for table in tables:
            for place, column in enumerate(table.column_names):
                if column in ids:
                    table = table.set_column(place, column, _shown(table.column(column)))
            self._select_into(f"INSERT INTO {identifier(name)} BY NAME FROM incoming", table)

    def _select_into(self, statement: str, rows: pa.Table) -> None:
        self._db.register("incoming", rows)
        try:
            self._db.execute(statement).fetchall()
        finally:
            self._db.unregister("incoming")


def _shown(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if _is_printable(column):
        return column
    return pa.chunked_array(map(_printed, column.cast(pa.string()).chunks), pa.string())


def _printed(ids: pa.StringArray) -> pa.StringArray:
    wrong = pc.or_(pc.match_substring_regex(ids, r"[\x00-\x1f]|^$"), pc.greater(pc.utf8_length(ids), _MOST))
    odd = pc.fill_null(wrong, fill_value=True)
    return pc.replace_with_mask(ids, odd, pa.array(map(printable, ids.filter(odd).to_pylist()), pa.string()))


def _is_printable(column: pa.ChunkedArray) -> bool:
    """Tell whether no id needs to be made printable: a glance at the bytes, not a pattern over each id."""
    if column.type != pa.string() or column.null_count:
        return False
    sizes = pc.min_max(pc.binary_length(column)).as_py()
    if not len(column) or sizes["min"] == 0 or sizes["max"] > _MOST:
        return not len(column)
    for chunk in column.chunks:
        _, places, text = chunk.buffers()
        ends = np.frombuffer(places, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        if len(chunk) and np.frombuffer(text, np.uint8)[ends[0] : ends[-1]].min() < 32:
            return False
    return True
