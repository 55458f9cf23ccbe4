"""GraphCopy: DuckDB tables of the nodes and edges under audit, read from the store on demand."""

from collections.abc import Callable, Iterable
from functools import partial
from hashlib import md5
from itertools import chain

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
        scan = partial(self._store.scan_nodes, label)
        return self._made(f"nodes {label.name}", scan, with_as_text(node_schema(label)), "id")

    def edges(self, pattern: Pattern) -> str:
        scan = partial(self._store.scan_edges, pattern)
        return self._made(f"edges {pattern}", scan, with_as_text(edge_schema(pattern)), "head", "tail")

    def pairs(self, pattern: Pattern) -> str:
        if self._whole:
            return self._made(f"pairs {pattern}", lambda: f"SELECT DISTINCT head, tail FROM {self.edges(pattern)}")
        schema = pa.schema([("head", pa.string()), ("tail", pa.string())])
        return self._made(
            f"pairs {pattern}", lambda: (pa.table(list(e), schema) for e in self.numbered(pattern).pieces()), schema
        )

    def cited(self, pattern: Pattern) -> str:
        """The quoted name of the table of the papers that edges of a pattern cite, filled."""
        return self._made(f"cited {pattern}", lambda: citations_sql(pattern, self.edges(pattern)) or "")

    def _made(
        self, name: str, rows: Callable[[], str | Iterable[pa.Table]], schema: pa.Schema | None = None, *ids: str
    ) -> str:
        """The quoted name of a table, which is made once: of a select, or of tables with columns of ids."""
        if name not in self._have:
            found = rows()
            if isinstance(found, str):
                self._db.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS {found}").fetchall()
            else:
                self._fill(identifier(name), (schema or pa.schema([])).empty_table(), found, ids)
            self._have.add(name)
        return identifier(name)

    def _fill(self, name: str, empty: pa.Table, tables: Iterable[pa.Table], ids: tuple[str, ...]) -> None:
        statement = f"CREATE OR REPLACE TABLE {name} AS FROM incoming"
        for table in chain([empty], tables):
            for column in ids:
                table = table.set_column(table.column_names.index(column), column, _shown(table.column(column)))
            self._db.register("incoming", table)
            try:
                self._db.execute(statement).fetchall()
            finally:
                self._db.unregister("incoming")
            statement = f"INSERT INTO {name} BY NAME FROM incoming"

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


def _shown(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids, those made printable that a Ref cannot take."""
    if _is_printable(column):
        return column
    printed = []
    for ids in column.cast(pa.string()).chunks:
        wrong = pc.or_(pc.match_substring_regex(ids, r"[\x00-\x1f]|^$"), pc.greater(pc.utf8_length(ids), _MOST))
        odd = pc.fill_null(wrong, fill_value=True)
        texts = pa.array(map(printable, ids.filter(odd).to_pylist()), pa.string())
        printed.append(pc.replace_with_mask(ids, odd, texts))
    return pa.chunked_array(printed, pa.string())


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
