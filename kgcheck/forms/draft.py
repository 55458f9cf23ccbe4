"""Draft the schema of a graph from its tables: labels, patterns and properties as they are found."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import duckdb

from kgcheck.choices import DRAFT, STATED_OTHERWISE
from kgcheck.errors import InputFormat
from kgcheck.forms.tables import GraphTables
from kgcheck.profile.schema import NAME_OF_GRAPH, Label, Pattern, Property, Schema
from kgcheck.quoting import literal
from kgcheck.standards.biolink import PREFIX, primary_labels

NODE = "Node"
"""Label of nodes that have none."""

MISSING_NODE = "MissingNode"
"""Label of what edges join, and no file that lists the nodes has."""

_OTHER = "OtherNode"
"""Label of nodes whose labels are too many to be told apart."""

_OTHER_RELATION = "other_relation"

MOST_PATTERNS = 600
MOST_PROPERTIES = 250
"""Properties of a label or a relation that are read, those that most have."""

_RESERVED = {"id", "head", "tail", "as_text"}
_OF_RULES = {
    "name", "category", "deprecated", "is_obsolete", STATED_OTHERWISE, "taxon", "in_taxon", "primary_knowledge_source",
    "knowledge_level", "agent_type",
}  # fmt: skip
_HIERARCHIES = ("subclass_of", "subclassof", "is_a", "isa")
_CLASS = "Class"
"""Label of the classes of an ontology. Each cell may derive from some cell: that is no loop of a thing."""

_AGAIN = "__"
"""Stands before the number of a name that comes to one with another."""


def draft_schema(tables: GraphTables, name: str, digest: str) -> Schema:
    """Label every node, name what is found, and describe it; adds ``labelled_node`` and ``labelled_edge``.

    The former has id, label and properties; the latter head, tail, pattern (the number of one) and properties.
    """
    if not tables.count("node") and not tables.count("edge"):
        raise InputFormat(f"{name} holds no nodes and no edges", "see the rows in quarantine, and docs/forms.md")
    _label_nodes(tables)
    patterns = _number_patterns(tables)
    labels, relations = _labels(tables), _relations(tables, patterns)
    title = f"a draft: {len(labels)} labels, {len(relations)} relation patterns"
    # Names of Biolink are known by their prefix.
    head = {"name": DRAFT, "version": 1, "title": title, "draft": True, "standards": ("bioregistry",)}
    return Schema.model_validate({"profile": head, "labels": labels, "relations": relations, "digest": digest})


# --- labels ---------------------------------------------------------------------------------------------


def _label_nodes(tables: GraphTables) -> None:
    db = tables.db
    sets = db.execute("SELECT labels, count(*) FROM node GROUP BY ALL").fetchall()
    primary = primary_labels(sets)
    nodes = Counter[str]()
    for labels, n in sets:
        nodes[primary.get(tuple(labels), NODE)] += n
    names = plain_names(_common_first(nodes))
    tables.notes += _other_spellings("label", names, nodes)
    db.execute("CREATE TEMP TABLE label_of (labels VARCHAR[], label VARCHAR)").fetchall()
    rows = [([], NODE), *((list(labels), names[label]) for labels, label in primary.items())]
    db.executemany("INSERT INTO label_of VALUES (?, ?)", rows)
    db.execute(
        # All categories of Biolink that a node has are held against the model, and one of them is its label.
        "CREATE TABLE labelled_node AS SELECT n.id, l.label, CASE WHEN len(n.labels) > 1 AND l.label LIKE 'biolink:%'"
        " THEN map_concat(n.properties, MAP {'category': array_to_string(n.labels, '|')}) ELSE n.properties END"
        " AS properties FROM node n JOIN label_of l ON n.labels = l.labels ORDER BY l.label"
    ).fetchall()
    db.execute("CREATE TABLE label_by_id AS SELECT id, min(label) AS label FROM labelled_node GROUP BY id").fetchall()
    closed = f"NOT list_contains({sorted(tables.open_files)}::INTEGER[], file)" if tables.lists_nodes else "false"
    db.execute(
        f"""
        INSERT INTO label_by_id
        SELECT id, CASE WHEN bool_or({closed}) THEN {literal(MISSING_NODE)} ELSE {literal(NODE)} END
        FROM (SELECT head AS id, file FROM edge UNION ALL SELECT tail, file FROM edge)
        ANTI JOIN label_by_id USING (id) GROUP BY id
        """
    ).fetchall()
    db.execute(
        f"INSERT INTO labelled_node SELECT id, label, MAP {{}} FROM label_by_id ANTI JOIN node USING (id)"
        f" WHERE label = {literal(NODE)}"
    ).fetchall()


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Names that a schema takes for names as people write them, the first of those that come to one without a number.

    >>> plain_names(["biolink:Gene", "gene/protein", "gene protein", "2"])
    {'biolink:Gene': 'biolink:Gene', 'gene/protein': 'gene_protein', 'gene protein': 'gene_protein__2', '2': 'n2'}
    """
    found: dict[str, str] = {}
    # Names of tables differ in more than case.
    used = {name.lower() for name in (NODE, MISSING_NODE, _OTHER)}
    for name in dict.fromkeys(names):
        plain = name
        if not NAME_OF_GRAPH.fullmatch(name):
            local = name.removeprefix(PREFIX)
            prefix = name[: len(name) - len(local)]
            last = local.rstrip("/#").rpartition("#")[2].rpartition("/")[2] if "://" in local else local
            plain = prefix + _plain(last)
        found[name] = NODE if name == NODE else _unique(plain, used, _AGAIN)
    return found


def _plain(name: str, otherwise: str = "") -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:80] or otherwise
    return plain if plain[:1].isalpha() else f"n{plain}"


def _unique(name: str, used: set[str], sign: str) -> str:
    """A name that is not in use, with a number after a sign where it would be."""
    unique, number = name, 2
    while unique.lower() in used:
        unique, number = f"{name}{sign}{number}", number + 1
    used.add(unique.lower())
    return unique


def without_number(name: str) -> str:
    """A name without the number that `plain_names` gives to what comes to one with another.

    >>> without_number("biolink:gene__2"), without_number("phase_2")
    ('biolink:gene', 'phase_2')
    """
    return re.sub(rf"{_AGAIN}\d+$", "", name)


def _common_first(counted: Mapping[str, int]) -> list[str]:
    return sorted(counted, key=lambda name: (-counted[name], not NAME_OF_GRAPH.fullmatch(name), name))


def _other_spellings(kind: str, names: Mapping[str, str], counted: Mapping[str, int]) -> list[str]:
    """Remarks on names that come to one with another."""
    stated = {plain.lower(): name for name, plain in names.items()}
    others = [(name, plain, stated.get(without_number(plain).lower())) for name, plain in names.items()]
    return [
        f"{kind} {name!r} ({counted[name]:,}) beside {first!r} ({counted[first]:,}): told apart as {plain}"
        for name, plain, first in others
        if first and first != name
    ]


def _labels(tables: GraphTables) -> list[Label]:
    db = tables.db
    counts = db.execute(
        "SELECT label, min(id) FROM (SELECT label, id FROM label_by_id UNION ALL SELECT label, id FROM labelled_node)"
        " GROUP BY label ORDER BY label"
    ).fetchall()
    rows = db.execute(
        "SELECT label, key, count(*) AS n FROM (SELECT label, unnest(map_keys(properties)) AS key FROM labelled_node)"
        " GROUP BY ALL ORDER BY n DESC, key"
    ).fetchall()
    properties = _properties(tables, ((label, key) for label, key, _ in rows))
    _name_properties(db, "label_property", properties)
    return [
        Label(
            name=label,
            meaning=label,
            id_pattern="(?s).+",
            id_example=example[:200] or "-",
            properties={plain: Property(type="string") for plain in properties.get(label, {}).values()},
        )
        for label, example in counts
    ]


def _properties(tables: GraphTables, keys: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """The most common properties of each holder: the name in the file, and that of the schema."""
    stated: dict[str, list[str]] = {}
    for holder, key in keys:
        stated.setdefault(holder, []).append(key)
    # What rules ask for is read in any case.
    for holder, some in stated.items():
        some.sort(key=lambda key: key not in _OF_RULES)
        if rare := some[MOST_PROPERTIES:]:
            shown = ", ".join(rare[:4] + ["..."] * (len(rare) > 4))
            tables.notes.append(f"{holder}: {len(rare):,} of {len(some):,} properties are not looked at: {shown}")
            del some[MOST_PROPERTIES:]
    return {holder: property_names(names) for holder, names in stated.items()}


def property_names(names: Iterable[str]) -> dict[str, str]:
    """Names of properties that a schema takes.

    >>> property_names(["name", "id", "in taxon", "in_taxon"])
    {'name': 'name', 'id': 'id_', 'in taxon': 'in_taxon', 'in_taxon': 'in_taxon_2'}
    """
    used: set[str] = set()
    plain = {name: _plain(name, "value") for name in names}
    return {n: _unique(f"{p}_" if p.lower() in _RESERVED else p, used, "_") for n, p in plain.items()}


def _name_properties(db: duckdb.DuckDBPyConnection, table: str, names: Mapping[str, Mapping[str, str]]) -> None:
    """Keep under which names properties are read."""
    db.execute(f"CREATE TABLE {table} (holder VARCHAR, stated VARCHAR, plain VARCHAR)").fetchall()
    rows = [(holder, stated, plain) for holder, some in names.items() for stated, plain in some.items()]
    if rows:
        db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)


# --- patterns -------------------------------------------------------------------------------------------


def _number_patterns(tables: GraphTables) -> list[tuple[str, str, str]]:
    """Give every edge the number of its pattern: label of the head, relation, label of the tail."""
    db = tables.db
    db.execute("ALTER TABLE edge ADD COLUMN kind VARCHAR").fetchall()
    db.execute("UPDATE edge SET kind = relation").fetchall()
    while len(stated := db.execute(_PATTERNS).fetchall()) > MOST_PATTERNS:
        if not _merge_labels(tables) and not _merge_relations(tables):
            break
    rows = db.execute("SELECT kind, count(*) FROM edge GROUP BY kind").fetchall()
    counted = {relation: n for relation, n in rows}
    plain = plain_names(_common_first(counted))
    _name_properties(db, "relation_name", {"": plain})
    tables.notes += _other_spellings("relation", plain, counted)
    db.execute("CREATE TEMP TABLE pattern_of (head VARCHAR, kind VARCHAR, tail VARCHAR, number INTEGER)").fetchall()
    if stated:
        db.executemany("INSERT INTO pattern_of VALUES (?, ?, ?, ?)", [(*row, n) for n, row in enumerate(stated)])
    db.execute(
        """
        CREATE TABLE labelled_edge AS
        SELECT e.head, e.tail, p.number AS pattern, e.properties
        FROM edge e JOIN label_by_id h ON h.id = e.head JOIN label_by_id t ON t.id = e.tail
        JOIN pattern_of p ON p.head = h.label AND p.kind = e.kind AND p.tail = t.label
        ORDER BY p.number
        """
    ).fetchall()
    return [(head, plain[relation], tail) for head, relation, tail in stated]


_PATTERNS = """
    SELECT h.label, kind, t.label FROM edge JOIN label_by_id h ON h.id = head JOIN label_by_id t ON t.id = tail
    GROUP BY ALL ORDER BY ALL
    """


def _merge_labels(tables: GraphTables) -> bool:
    """Look at the rarer half of the labels as one: nobody can look through so many patterns."""
    rows = tables.db.execute(
        "SELECT label FROM label_by_id WHERE label NOT IN (?, ?) GROUP BY label ORDER BY count(*), label",
        [MISSING_NODE, _OTHER],
    ).fetchall()
    rarest = [name for (name,) in rows[: len(rows) // 2]]
    if not rarest:
        return False
    tables.notes.append(f"{len(rarest)} rare labels are looked at as {_OTHER}: {', '.join(rarest[:5])}, ...")
    for table in ("label_by_id", "labelled_node"):
        tables.db.execute(f"UPDATE {table} SET label = ? WHERE list_contains(?, label)", [_OTHER, rarest]).fetchall()
    return True


def _merge_relations(tables: GraphTables) -> bool:
    """Look at the rarer relations as one, with what each was called as a property."""
    rows = tables.db.execute("SELECT kind FROM edge GROUP BY kind ORDER BY count(*) DESC, kind").fetchall()
    rarest = [name for (name,) in rows[MOST_PATTERNS // 2 :]]
    if not rarest:
        return False
    tables.notes.append(
        f"{len(rarest)} rare relations are looked at as {_OTHER_RELATION}: {', '.join(rarest[:4])}, ..."
    )
    tables.db.execute(
        "UPDATE edge SET kind = ?, properties = map_concat(properties, MAP {'relation': relation})"
        " WHERE list_contains(?, kind)",
        [_OTHER_RELATION, rarest],
    ).fetchall()
    return True


def _relations(tables: GraphTables, patterns: Sequence[tuple[str, str, str]]) -> list[Pattern]:
    db = tables.db
    # Patterns of one relation have the same properties: a store may keep them in one table.
    rows = db.execute(
        "SELECT pattern, key, count(*) AS n"
        " FROM (SELECT pattern, unnest(map_keys(properties)) AS key FROM labelled_edge)"
        " GROUP BY ALL ORDER BY n DESC, key"
    ).fetchall()
    of_relation = _properties(tables, dict.fromkeys((patterns[number][1], key) for number, key, _ in rows))
    stated = {(number, key) for number, key, _ in rows}
    names = {
        str(number): {key: plain for key, plain in of_relation.get(relation, {}).items() if (number, key) in stated}
        for number, (_, relation, _) in enumerate(patterns)
    }
    _name_properties(db, "edge_property", names)
    return [
        Pattern(
            type=relation,
            head=head,
            tail=tail,
            loops=head == tail and ((head == _CLASS and not _is_hierarchy(relation)) or "unknown"),
            hierarchy=head == tail and _is_hierarchy(relation),
            properties={plain: Property(type="string") for plain in names[str(number)].values()},
        )
        for number, (head, relation, tail) in enumerate(patterns)
    ]


def _is_hierarchy(relation: str) -> bool:
    return relation.rpartition(":")[2].lower() in _HIERARCHIES
