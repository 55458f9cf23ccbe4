"""Read a graph of any kind whole from a Neo4j server into tables, where it is drafted and audited as files are."""

from collections import Counter
from collections.abc import Callable, Iterator

from kgcheck.forms.rows import texts, without
from kgcheck.forms.source import Source
from kgcheck.forms.tables import EdgeRow, GraphTables, NodeRow
from kgcheck.graph.marks import MARKS
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.store import META_LABEL
from kgcheck.graph.survey import likeness_to_id
from kgcheck.progress import Progress

_DIFFERENT = 0.9
"""Share of different values above which a property may be an id: the others are of nodes that share one."""


def read_server(store: Neo4jStore, source: Source, tables: GraphTables, progress: Progress) -> None:
    """Read all nodes and edges of a server; of each label, the property that is like an id calls its nodes."""
    with progress.step("reading nodes") as step:
        tables.add_nodes(source, _nodes(store, step.advance))
    with progress.step("reading edges") as step:
        tables.add_edges(source, _edges(store, step.advance))
    # Of a server no edge dangles: one that was written meanwhile only seems to.
    _call_by_ids(tables)


def _nodes(store: Neo4jStore, advance: Callable[[], object]) -> Iterator[NodeRow]:
    for number, labels, properties in store.every_node():
        advance()
        if META_LABEL not in labels:
            yield NodeRow(str(number), sorted(labels), texts(without(properties, *MARKS)))


def _edges(store: Neo4jStore, advance: Callable[[], object]) -> Iterator[EdgeRow]:
    for head, tail, relation, properties in store.every_edge():
        advance()
        yield EdgeRow(str(head), relation, str(tail), texts(without(properties, *MARKS)))


def _call_by_ids(tables: GraphTables) -> None:
    """Put in place of the server's numbers the values of the property that is like an id, for each set of labels."""
    db = tables.db
    rows = db.execute(
        """
        SELECT labels, key, count(*), count(DISTINCT value), any_value(nodes)
        FROM (SELECT labels, unnest(map_keys(properties)) AS key, unnest(map_values(properties)) AS value, nodes
              FROM (SELECT *, count(*) OVER (PARTITION BY labels) AS nodes FROM node))
        GROUP BY ALL
        """
    ).fetchall()
    keys: dict[tuple[str, ...], str] = {}
    for labels, key, filled, different, nodes in sorted(rows, key=lambda row: likeness_to_id(row[1])):
        rank = likeness_to_id(key)[0]
        # What is called id is the id, though some nodes share one; another name must tell all apart.
        is_key = filled == nodes and different >= (_DIFFERENT * nodes if rank == 0 else nodes) and rank <= 2
        if is_key:
            keys.setdefault(tuple(labels), key)
    used = Counter(keys.values())
    db.execute("CREATE TEMP TABLE key_of (labels VARCHAR[], key VARCHAR)").fetchall()
    if keys:
        db.executemany("INSERT INTO key_of VALUES (?, ?)", [(list(labels), key) for labels, key in keys.items()])
    # A node without such a property keeps the server's number, in a form that no other id has. What is no CURIE, and
    # stands under several sets of labels, is an id of each alone.
    db.execute(
        """
        CREATE TEMP TABLE id_of AS
        WITH stated AS (
            SELECT n.id AS number, n.labels, n.properties[k.key] AS value
            FROM node n LEFT JOIN key_of k ON n.labels = k.labels),
        shared AS (SELECT value FROM stated GROUP BY value HAVING count(DISTINCT labels) > 1)
        SELECT number, CASE
            WHEN value IS NULL THEN 'node ' || number
            WHEN strpos(value, ':') = 0 AND value IN (FROM shared) THEN array_to_string(labels, '+') || '/' || value
            ELSE value END AS id
        FROM stated
        """
    ).fetchall()
    db.execute("UPDATE node SET id = i.id FROM id_of i WHERE i.number = node.id").fetchall()
    for end in ("head", "tail"):
        db.execute(f"UPDATE edge SET {end} = i.id FROM id_of i WHERE i.number = edge.{end}").fetchall()
    db.execute(
        """
        UPDATE node SET properties = map_from_entries(list_filter(map_entries(properties), lambda e: e.key <> k.key))
        FROM key_of k WHERE node.labels = k.labels
        """
    ).fetchall()
    ((without,),) = db.execute("SELECT count(*) FROM node n ANTI JOIN key_of k ON n.labels = k.labels").fetchall()
    shown = ", ".join(f"{key} of {n} sets of labels" for key, n in used.most_common(5))
    tables.notes.append(f"ids: {shown or 'none'}" + (f"; {without:,} nodes have none" if without else ""))
