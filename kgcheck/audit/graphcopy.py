"""The graph under audit as DuckDB tables, read from the store once and only as far as the plan needs."""

import duckdb

from kgcheck.graph.schema import Label, Pattern
from kgcheck.graph.store import AS_TEXT, GraphStore, edge_schema, node_schema, with_as_text
from kgcheck.tables import identifier, insert_arrow


class GraphCopy:
    """Tables ``nodes <label>`` (id, properties, as_text) and ``edges <pattern>`` (head, tail, properties, as_text).

    Args:
        db: A working database.
        store: The graph.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, store: GraphStore) -> None:
        self._db = db
        self._store = store
        self._have: set[str] = set()

    def nodes(self, label: Label) -> str:
        """The quoted name of the table of a label, filled."""
        name = f"nodes {label.name}"
        if name not in self._have:
            self._create(name, with_as_text(node_schema(label)))
            for table in self._store.scan_nodes(label):
                insert_arrow(self._db, name, table)
            self._have.add(name)
        return identifier(name)

    def edges(self, pattern: Pattern) -> str:
        """The quoted name of the table of a pattern, filled."""
        name = f"edges {pattern}"
        if name not in self._have:
            self._create(name, with_as_text(edge_schema(pattern)))
            for table in self._store.scan_edges(pattern):
                insert_arrow(self._db, name, table)
            self._have.add(name)
        return identifier(name)

    def _create(self, name: str, schema: object) -> None:
        import pyarrow as pa

        assert isinstance(schema, pa.Schema)
        self._db.register("empty", schema.empty_table())
        self._db.execute(f"CREATE OR REPLACE TABLE {identifier(name)} AS SELECT * FROM empty").fetchall()
        self._db.unregister("empty")


__all__ = ["AS_TEXT", "GraphCopy"]
