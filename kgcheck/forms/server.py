"""Read a graph of any kind whole from a Neo4j server into tables, where it is drafted and audited as files are."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from kgcheck.forms.rows import text_pairs, without
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.graph.marks import MARKS
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.store import META_LABEL
from kgcheck.profile.schema import KEY, NAME_OF_GRAPH, Holder, Label, Property, PropertyType, Schema
from kgcheck.progress import Progress, ProgressStep

_DIFFERENT = 0.9
"""Share of different values above which a property may be an id: the others are of nodes that share one."""

Labels = tuple[str, ...]


class ServerGraph(NamedTuple):
    """The properties of a server: by which nodes of each set of labels are told apart, and the types of values.

    Types are by set of labels, or type of an edge, and name.
    """

    keys: dict[Labels, str]
    types: dict[tuple[Labels | str, str], set[type]]
    profile: str


def read_server(store: Neo4jStore, source: Source, tables: GraphTables, progress: Progress) -> ServerGraph:
    """Read all nodes and edges of a server; of each label, the property that is like an id calls its nodes."""
    types: dict[tuple[Labels | str, str], set[type]] = defaultdict(set)

    def described(owner: Labels | str, properties: dict[str, Any]) -> tuple[list[tuple[str, str]], int, None]:
        for name, value in properties.items():
            types[owner, name].add(type(value))
        return text_pairs(without(properties, *MARKS)), source.number, None

    def nodes(step: ProgressStep) -> Iterator[tuple[object, ...]]:
        for number, labels, properties in store.every_node():
            step.advance()
            if META_LABEL not in labels:
                yield str(number), sorted(labels), *described(tuple(sorted(labels)), properties)

    def edges(step: ProgressStep) -> Iterator[tuple[object, ...]]:
        for head, tail, relation, properties in store.every_edge():
            step.advance()
            yield str(head), relation, str(tail), *described(relation, properties)

    for table, rows in (("node", nodes), ("edge", edges)):
        with progress.step(f"reading {table}s") as step:
            tables.add(table, rows(step))
    # Of a server no edge dangles: one that was written meanwhile only seems to.
    return ServerGraph(_call_by_ids(tables), dict(types), store.meta().get("profile", ""))


def _call_by_ids(tables: GraphTables) -> dict[Labels, str]:
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
    keys: dict[Labels, str] = {}
    for labels, key, filled, different, nodes in sorted(rows, key=lambda row: _likeness_to_id(row[1])):
        rank = _likeness_to_id(key)[0]
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
    return keys


def _likeness_to_id(name: str) -> tuple[int, str]:
    """Rank a property by its name, 0 the most like an id, 3 not at all; the name itself comes second."""
    lower = name.lower()
    if lower == "id":
        return 0, name
    if lower in ("identifier", "curie", "accession", "key", "uri"):
        return 1, name
    return (2 if lower.endswith(("id", "_identifier", "curie", "accession")) else 3), name


def server_schema(tables: GraphTables, drafted: Schema, graph: ServerGraph) -> tuple[Schema, list[str]]:
    """The draft of a server in names, keys and types of its own, and notes on what no profile can have of it."""
    sets: dict[str, list[Labels]] = defaultdict(list)
    for label, some in tables.db.execute("SELECT label, labels FROM label_of ORDER BY ALL").fetchall():
        sets[label].append(tuple(some))
    labels, left_out = list[Label](), list[str]()
    for label in drafted.labels:
        if isinstance(found := _label_of_server(label, sets, graph), Label):
            labels.append(found)
        else:
            left_out.append(f"label {label.name}: {found}; left out, with its edges")
    names = {label.name for label in labels}
    plain = dict(tables.db.execute("SELECT stated, plain FROM relation_name").fetchall())
    odd = sorted(name for name in {*plain, *(name for _, name in graph.types)} if not NAME_OF_GRAPH.fullmatch(name))
    left_out += [f"{name!r}: not a plain name; left out" for name in odd]
    relations = [
        pattern.model_copy(update={"properties": _typed(pattern, [pattern.type], graph)})
        for pattern in drafted.relations
        if {pattern.head, pattern.tail} <= names and plain.get(pattern.type) == pattern.type
    ]
    profile = drafted.profile.model_copy(update={"reads": (graph.profile,) if graph.profile else ()})
    return Schema(profile=profile, labels=tuple(labels), relations=tuple(relations)), left_out


def _label_of_server(label: Label, sets: dict[str, list[Labels]], graph: ServerGraph) -> Label | str:
    """A label as a server has it, or why it can be none of a profile."""
    own = sets.get(label.name, [])
    if not own or not all(label.name in some for some in own):
        return "not a plain name"
    if also := sorted(name for name, some in sets.items() if name != label.name and label.name in chain(*some)):
        # A scan of the label would read those others, too.
        return f"nodes of {' and '.join(also[:2])} are such, too"
    keys = {graph.keys.get(some, "") for some in own}
    types = {kind for some in own for key in keys for kind in graph.types.get((some, key), ())}
    if len(keys) != 1 or len(types) != 1 or not types <= {str, int}:
        return "no property called like an id is filled on all nodes, different on each and of one type"
    (key,) = keys
    shared = sorted(set.intersection(*map(set, own)) - {label.name})
    known = {
        "key": key,
        "key_type": "integer" if types == {int} else "string",
        "also": tuple(filter(NAME_OF_GRAPH.fullmatch, shared)),
        "properties": {name: p for name, p in _typed(label, own, graph).items() if name not in (KEY, key)},
    }
    return label.model_copy(update=known)


def _typed(holder: Holder, owners: Iterable[Labels | str], graph: ServerGraph) -> dict[str, Property]:
    kinds = {name: {kind for one in owners for kind in graph.types.get((one, name), ())} for name in holder.properties}
    return {name: Property(type=_type_of(some)) for name, some in kinds.items() if some}


def _type_of(kinds: set[type]) -> PropertyType:
    if kinds <= {list, tuple}:
        return "strings"
    if kinds <= {int}:
        return "integer"
    return "number" if kinds <= {int, float} else "string"
