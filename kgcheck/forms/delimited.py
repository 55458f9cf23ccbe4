"""Read graphs in delimited text and Parquet: KGX, neo4j-admin, Hetionet, PrimeKG, annotations and any edge table."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple

import duckdb
import pyarrow as pa

from kgcheck.errors import InputFormat
from kgcheck.forms.form import Form
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.forms.text_rows import Dialect, TextRows, dialect_of, fields_of
from kgcheck.quoting import literal

_ENDS: tuple[tuple[str, str], ...] = (
    ("subject", "object"),
    ("subject_id", "object_id"),
    ("source", "target"),
    ("source_id", "target_id"),
    ("sourceid", "targetid"),
    ("head", "tail"),
    ("head_id", "tail_id"),
    ("from", "to"),
    ("from_id", "to_id"),
    ("start", "end"),
    ("start_id", "end_id"),
    ("start_node", "end_node"),
    ("src", "dst"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("entity1", "entity2"),
    ("entity_1", "entity_2"),
    ("protein1", "protein2"),
    ("gene1", "gene2"),
    ("interactor_a", "interactor_b"),
    ("id(s) interactor a", "id(s) interactor b"),
    ("#id(s) interactor a", "id(s) interactor b"),
    ("concept_code_1", "concept_code_2"),
    ("parent", "child"),
    ("h", "t"),
    ("s", "o"),
)
"""Names of the columns of both ends of an edge, in small letters; the first that both stand in a header count."""

_RELATIONS = (
    "predicate", "predicate_id", "relation", "relation_type", "relationship", "relationship_type", "rel_type", "rel",
    "edge_type", "edgetype", "metaedge", "interaction", "interaction_type", "type", "label", "edge", "link", "r", "p",
)  # fmt: skip
_IDS = ("id", "node_id", "nodeid", "identifier", "curie", "node", "key", "name")
_LABELS = ("category", "categories", "label", "labels", "kind", "type", "node_type", "nodetype", "entity_type", "class")
_NAMES = ("name", "title", "preferred_name", "display_name", "label", "symbol")
_SIDES = ("source", "target")

_ADMIN = re.compile(r"(?P<name>[^:]*):(?P<kind>ID|START_ID|END_ID|LABEL|TYPE|IGNORE)(\((?P<space>[^)]*)\))?(\{.*\})?", re.I)
_TYPED = re.compile(r"(?P<name>.+?):(string|int|integer|long|float|double|boolean|bool|byte|short|char|date|point)(\[\])?", re.I)
_PART = re.compile(r"[-_.]?(header|part[-_]?\d+)$")

_NOT = re.compile(r"(^|\|)\s*not\b", re.IGNORECASE)


_KINDS = ("gene", "protein", "disease", "drug", "chemical", "compound", "phenotype", "pathway", "variant", "tissue", "anatomy",
          "cell", "process", "function", "component", "term", "symptom", "target", "taxon", "organism", "metabolite", "mirna")  # fmt: skip
"""Kinds of things, as words in names of columns."""

_CURIE = re.compile(r"[A-Za-z][\w.-]*:\S+")


class Column(NamedTuple):
    """A column that is read: its place, from 0, and the name that its values get as a property."""

    place: int
    name: str


@dataclass
class Roles:
    """Columns of a table by what they hold, and texts that stand for a column where there is none.

    Attributes:
        form: Form of the table, in words.
        kind: Rows are nodes, edges, or edges that also describe both of their ends.
        id_prefix: Columns whose values, joined by a sign, stand before an id, by end.
        negation: Column that says that the statement does not hold, and the values that say so.
        lists: Separators of labels.
        assumed: Which column was taken for what, where names did not tell.
    """

    form: str
    kind: Literal["nodes", "edges"]
    id: int | None = None
    labels: int | None = None
    name: int | None = None
    head: int | None = None
    tail: int | None = None
    relation: int | None = None
    label: str = ""
    relation_name: str = ""
    prefixes: dict[str, tuple[int | str, str]] = field(default_factory=dict)
    ends: dict[str, tuple[int | None, int | None, str]] = field(default_factory=dict)
    negation: int | None = None
    separators: str = ""
    properties: list[Column] = field(default_factory=list)
    assumed: str = ""
    lists_nodes: bool = False


class Table(NamedTuple):
    """A file as a table, and what its columns hold."""

    source: Source
    dialect: Dialect | None
    header: tuple[str, ...]
    roles: Roles


def fits(source: Source) -> bool:
    """Tell whether a file is delimited text of two columns and more, or Parquet."""
    return source.head.startswith(b"PAR1") or (_is_text(source) and dialect_of(source) is not None)


def read(files: Sequence[Source], tables: GraphTables) -> None:
    """Read the tables of a graph: files of nodes and of edges in any order, and headers in files of their own."""
    parted = list(_tables(files, tables))
    if all(table.roles.kind == "nodes" for table in parted) and tables.count("edge") == 0:
        _demote_mistaken(parted)
    for table in parted:
        _read_one(table, tables)
        tables.forms[table.source.number] = table.roles.form
        if table.roles.assumed:
            tables.notes.append(f"{table.source.name}: {table.roles.assumed}")


def _is_text(source: Source) -> bool:
    return b"\x00" not in source.head and source.text.count("\ufffd") * 20 <= len(source.text)


def _demote_mistaken(parted: list[Table]) -> None:
    if not any(table.roles.form.startswith(("KGX", "neo4j", "a table of nodes")) for table in parted):
        names = ", ".join(table.source.name for table in parted)
        raise InputFormat(f"no edges are in {names}", "name the file of edges, too")


# --- which column is what ------------------------------------------------------------------------------


def _tables(files: Sequence[Source], tables: GraphTables) -> Iterator[Table]:
    headers, rest = _apart(files)
    without: list[str] = []
    for source in rest:
        if source.head.startswith(b"PAR1"):
            header = _parquet_columns(source)
            yield Table(source, None, header, roles_of(source, header, []))
            continue
        dialect = dialect_of(source)
        if dialect is None:
            raise InputFormat(f"{source.name} is no table of two and more columns", "see docs/forms.md")
        own = headers.get(_PART.sub("", source.stem))
        if own is not None:
            dialect = dialect.without_header()
            dialect = dialect._replace(header=tuple(own))
            dialect = dialect._replace(first=dialect.comments + 1)
        rows = [fields_of(line, dialect.separator, dialect.quote) or [] for line in source.lines[dialect.first - 1 :][:500]]
        roles = roles_of(source, dialect.header, rows)
        if not dialect.header and _PART.search(source.stem):
            without.append(source.name)
        yield Table(source, dialect, dialect.header, roles)
    if without:
        tables.notes.append(
            f"no header file for {', '.join(without)}: what each column means is a guess from what stands in it; "
            "name the header files, too"
        )


def _apart(files: Sequence[Source]) -> tuple[dict[str, list[str]], list[Source]]:
    """Headers that stand in files of their own, as neo4j-admin reads them, by the stem of their parts."""
    headers: dict[str, list[str]] = {}
    rest: list[Source] = []
    for source in files:
        lines = [line for line in source.lines if line.strip()]
        if len(lines) == 1 and _is_text(source) and (found := _admin_fields(lines[0])):
            headers[_PART.sub("", source.stem)] = found
        else:
            rest.append(source)
    return headers, rest


def _admin_fields(line: str) -> list[str] | None:
    for separator in ("\t", ",", ";", "|"):
        found = [f.strip() for f in fields_of(line, separator, '"') or []]
        if len(found) > 1 and any(_ADMIN.fullmatch(f) for f in found):
            return found
    return None


def roles_of(source: Source, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Roles:
    """Tell what the columns of a table hold, by their names, or by their values where there are none."""
    lower = [name.strip().strip('"').lower() for name in header]
    for known in (
        _of_admin, _of_prime, _of_sssom, _of_mitab, _of_kgx, _of_hetionet, _of_edges, _of_nodes, _of_kinds, _of_curies
    ):  # fmt: skip
        if lower and (roles := known(source, [h.strip() for h in header], lower, rows)):
            return roles
    if not lower and (roles := _of_annotations(rows) or _of_admin_part(source, rows) or _of_triples(rows)):
        return roles
    shown = ", ".join(header[:8]) or ", ".join((rows[0] if rows else [])[:8])
    raise InputFormat(
        f"{source.name}: no two columns are known as the ends of an edge, none as the id of a node: {shown[:200]}",
        "name columns subject, predicate and object, or id and category (docs/forms.md lists what is known)",
    )


Rows = Sequence[Sequence[str]]


def _others(header: Sequence[str], used: Iterable[int | None]) -> list[Column]:
    taken = {place for place in used if place is not None}
    seen: set[str] = set()
    found = []
    for place, name in enumerate(header):
        plain = m["name"] if (m := _TYPED.fullmatch(name)) else name
        if place not in taken and plain.strip() and plain not in seen:
            seen.add(plain)
            found.append(Column(place, plain.strip()))
    return found


def _first(lower: Sequence[str], names: Iterable[str], but: Iterable[int | None] = ()) -> int | None:
    return next((lower.index(name) for name in names if name in lower and lower.index(name) not in set(but)), None)


def _of_admin(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    found: dict[str, int] = {}
    names: dict[str, str] = {}
    for place, name in enumerate(header):
        if m := _ADMIN.fullmatch(name):
            found.setdefault(m["kind"].upper(), place)
            names.setdefault(m["kind"].upper(), m["name"])
    stem = _PART.sub("", source.stem)
    if "START_ID" in found and "END_ID" in found:
        roles = Roles("neo4j-admin import, edges", "edges", head=found["START_ID"], tail=found["END_ID"])
        roles.relation = found.get("TYPE")
        roles.relation_name = "" if "TYPE" in found else stem
    elif "ID" in found:
        roles = Roles("neo4j-admin import, nodes", "nodes", id=found["ID"], labels=found.get("LABEL"), lists_nodes=True)
        roles.separators, roles.label = ";|", "" if "LABEL" in found else stem
    else:
        return None
    roles.properties = _others(header, found.values())
    if names.get("ID") and "ID" in found:
        roles.properties.append(Column(found["ID"], names["ID"]))
    return roles


def _of_prime(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    if not {"x_id", "x_type", "y_id", "y_type"} <= set(lower):
        return None
    at = lower.index
    relation = _first(lower, ("relation", "relation_integrated", "display_relation"))
    form = "PrimeKG, a table of edges that describes their ends" if "x_index" in lower else "a table of edges like PrimeKG's"
    roles = Roles(form, "edges", head=at("x_id"), tail=at("y_id"), relation=relation, relation_name="edge")
    roles.prefixes = {"head": (at("x_type"), "/"), "tail": (at("y_type"), "/")}
    roles.ends = {end: (at(f"{side}_type"), _first(lower, (f"{side}_name",)), "") for end, side in (("head", "x"), ("tail", "y"))}
    ends = [place for place, name in enumerate(lower) if name.startswith(("x_", "y_")) and name[2:] in ("id", "type", "name", "index")]
    roles.properties = _others(header, [*ends, relation])
    return roles


def _of_sssom(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    if not {"subject_id", "predicate_id", "object_id"} <= set(lower):
        return None
    at = lower.index
    roles = Roles("SSSOM mapping set", "edges", head=at("subject_id"), tail=at("object_id"), relation=at("predicate_id"))
    roles.negation = _first(lower, ("predicate_modifier",))
    roles.ends = {end: (_first(lower, (f"{side}_category",)), _first(lower, (f"{side}_label",)), "")
                  for end, side in (("head", "subject"), ("tail", "object"))}  # fmt: skip
    roles.properties = _others(header, [roles.head, roles.tail, roles.relation])
    return roles


def _of_mitab(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    if len(lower) < 15 or not lower[0].lstrip("#").startswith("id(s) interactor a"):
        return None
    roles = Roles("PSI-MITAB", "edges", head=0, tail=1, relation=11)
    roles.negation = next((place for place, name in enumerate(lower) if name == "negative"), None)
    roles.properties = _others(header, [0, 1, 11])
    return roles


def _of_kgx(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    if {"subject", "predicate", "object"} <= set(lower) and not ("category" in lower and "id" in lower and _empty(rows, lower.index("subject"))):
        at = lower.index
        roles = Roles("KGX, edges", "edges", head=at("subject"), tail=at("object"), relation=at("predicate"))
        roles.negation = _first(lower, ("negated",))
        roles.properties = [c for c in _others(header, [roles.head, roles.tail, roles.relation]) if c.name.lower() != "id"]
        return roles
    if "id" in lower and "category" in lower:
        at = lower.index
        roles = Roles("KGX, nodes", "nodes", id=at("id"), labels=at("category"), separators="|ǂ", lists_nodes=True)
        roles.properties = _others(header, [roles.id, roles.labels])
        return roles
    return None


def _empty(rows: Rows, place: int) -> bool:
    return all(place >= len(row) or not row[place] for row in rows)


def _of_hetionet(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    if lower == ["source", "metaedge", "target"]:
        return Roles("Hetionet, edges", "edges", head=0, tail=2, relation=1)
    if lower == ["id", "name", "kind"]:
        return Roles("Hetionet, nodes", "nodes", id=0, labels=2, properties=[Column(1, "name")], lists_nodes=True)
    return None


def _of_edges(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    ends = next(((lower.index(a), lower.index(b)) for a, b in _ENDS if a in lower and b in lower), None)
    if ends is None:
        return None
    head, tail = ends
    relation = _first(lower, _RELATIONS, ends)
    roles = Roles("a table of edges", "edges", head=head, tail=tail, relation=relation)
    roles.relation_name = "" if relation is not None else "edge"
    roles.ends = {}
    for end, place in (("head", head), ("tail", tail)):
        side = lower[place].removesuffix("_id").removesuffix("id")
        kinds = (f"{side}_type", f"{side}_label", f"{side}_category", f"{side}_kind")
        found = _first(lower, kinds, [head, tail, relation])
        if found is not None:
            roles.ends[end] = (found, _first(lower, (f"{side}_name",)), "")
    roles.properties = [c for c in _others(header, [head, tail, relation]) if c.name.lower() != "id"]
    shown = f"{header[head]} as head, {header[tail]} as tail"
    roles.assumed = f"{shown}, {f'{header[relation]} as relation' if relation is not None else 'no relation'}"
    return roles


def _of_nodes(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    place = _first(lower, _IDS)
    if place is None:
        return None
    values = [row[place] for row in rows if place < len(row)]
    if len(set(values)) < 0.9 * len(values):
        return None
    labels = _first(lower, _LABELS, [place])
    if labels is not None:
        kinds = [row[labels] for row in rows if labels < len(row)]
        # What differs on nearly every row is a name, and no kind.
        labels = None if len(set(kinds)) > max(5, len(kinds) // 2) else labels
    roles = Roles("a table of nodes", "nodes", id=place, labels=labels, separators="|;", lists_nodes=True)
    roles.properties = _others(header, [place, labels])
    roles.assumed = f"{header[place]} as id, {f'{header[labels]} as label' if labels is not None else 'no label'}"
    return roles


def _of_kinds(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    """A table of pairs of things of two kinds, which the names of columns tell: GeneID, PathwayName."""
    best: dict[str, tuple[int, int]] = {}
    for place, name in enumerate(lower):
        for kind in _KINDS:
            if name.startswith(kind):
                rank = 0 if name.endswith(("id", "curie", "accession")) else 1 if name.endswith("symbol") or name == kind else 2
                best[kind] = min(best.get(kind, (9, 0)), (rank, place))
                break
    if len(best) < 2:
        return None
    (head_kind, (_, head)), (tail_kind, (_, tail)) = list(best.items())[:2]
    roles = Roles("a table of pairs", "edges", head=head, tail=tail, relation_name=f"{head_kind}_{tail_kind}")
    roles.ends = {"head": (None, None, head_kind), "tail": (None, None, tail_kind)}
    roles.properties = _others(header, [head, tail])
    roles.assumed = f"{header[head]} as head, {header[tail]} as tail, {roles.relation_name} as relation"
    return roles


def _of_curies(source: Source, header: Sequence[str], lower: Sequence[str], rows: Rows) -> Roles | None:
    """A table of which two columns hold CURIEs."""
    found = []
    for place in range(len(header)):
        values = [row[place] for row in rows if place < len(row) and row[place]]
        if values and sum(bool(_CURIE.fullmatch(value)) for value in values) >= 0.9 * len(values) >= 0.2 * len(rows):
            found.append(place)
    if len(found) < 2:
        return None
    head, tail = found[:2]
    roles = Roles("a table of pairs", "edges", head=head, tail=tail, relation_name="edge")
    roles.properties = _others(header, [head, tail])
    roles.assumed = f"{header[head]} as head, {header[tail]} as tail, no relation"
    return roles


def _of_annotations(rows: Rows) -> Roles | None:
    """GAF and phenotype.hpoa have no header, but columns that are known by number."""
    width = max((len(row) for row in rows), default=0)
    first = [row for row in rows if len(row) > 4][:50]
    if width in (15, 16, 17) and first and all(re.fullmatch(r"GO:\d{7}", row[4]) for row in first):
        named = {2: "symbol", 5: "reference", 6: "evidence_code", 7: "with_from", 8: "aspect", 12: "taxon", 14: "assigned_by"}
        roles = Roles("GO annotation file (GAF)", "edges", head=1, tail=4, relation=3, negation=3)
        roles.relation_name, roles.prefixes = "annotated_to", {"head": (0, ":")}
        roles.ends = {"head": (11, 2, ""), "tail": (None, None, "GOTerm")}
        roles.properties = [Column(place, name) for place, name in named.items() if place < width]
        return roles
    if width == 12 and first and all(re.fullmatch(r"HP:\d{7}", row[3]) for row in first):
        named = {4: "reference", 5: "evidence", 6: "onset", 7: "frequency", 8: "sex", 9: "modifier", 10: "aspect", 11: "biocuration"}
        roles = Roles("HPO annotation file", "edges", head=0, tail=3, negation=2, relation_name="has_phenotype")
        roles.ends = {"head": (None, 1, "Disease"), "tail": (None, None, "PhenotypicFeature")}
        roles.properties = [Column(place, name) for place, name in named.items()]
        return roles
    return None


def _of_admin_part(source: Source, rows: Rows) -> Roles | None:
    """Part files of BioCypher without their headers: nodes end in a list of labels, edges in their type."""
    if not _PART.search(source.stem) or not rows:
        return None
    stem = _PART.sub("", source.stem)
    width = max(map(len, rows))
    last = [row[-1] for row in rows if len(row) == width]
    if width >= 3 and len(set(last)) == 1 and last[0].lower() == stem:
        roles = Roles("neo4j-admin import, edges without their header", "edges", head=0, tail=width - 2, relation=width - 1)
        roles.properties = [Column(place, f"column_{place + 1}") for place in range(1, width - 2)]
        return roles
    if width >= 2 and any("|" in value for value in last) and len(set(last)) <= 50:
        roles = Roles("neo4j-admin import, nodes without their header", "nodes", id=0, labels=width - 1, separators="|;")
        roles.lists_nodes = True
        roles.properties = [Column(place, f"column_{place + 1}") for place in range(1, width - 1)]
        return roles
    return None


def _of_triples(rows: Rows) -> Roles | None:
    """Triples without a header, or pairs; in SIF, further ends may follow."""
    width = max((len(row) for row in rows), default=0)
    if width == 2:
        return Roles("pairs without a header", "edges", head=0, tail=1, relation_name="edge", assumed="column 1 as head, 2 as tail")
    if width == 3:
        # A relation stands on many rows.
        different = [len({row[place] for row in rows if place < len(row)}) for place in range(3)]
        relation = 1 if different[1] <= max(different[0], different[2]) else min(range(3), key=different.__getitem__)
        head, tail = (place for place in range(3) if place != relation)
        shown = f"column {head + 1} as head, {relation + 1} as relation, {tail + 1} as tail"
        return Roles("triples without a header", "edges", head=head, tail=tail, relation=relation, assumed=shown)
    return None


# --- reading --------------------------------------------------------------------------------------------


def _read_one(table: Table, tables: GraphTables) -> None:
    source, roles = table.source, table.roles
    if table.dialect is None:
        rows: TextRows | None = None
        columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"::VARCHAR' for name in table.header)
        at = literal(str(source.path))
        feed = f"(SELECT row_number() OVER () AS line, [{columns}] AS fields FROM read_parquet({at}))"
        _insert(table, tables, feed)
    else:
        width = len(table.header) or max(len(r) for r in _sample(table))
        rows = TextRows(source, table.dialect, width)
        batches = (batch for some in rows.batches() for batch in some.to_batches())
        reader = pa.RecordBatchReader.from_batches(TextRows.SCHEMA, batches)
        tables.db.register("text_rows", reader)
        try:
            tables.db.execute("CREATE OR REPLACE TEMP TABLE read_rows AS SELECT * FROM text_rows").fetchall()
        except duckdb.Error as error:
            raise InputFormat(f"{source.name} cannot be read: {error}", "see that the file is whole") from error
        finally:
            tables.db.unregister("text_rows")
        tables.reject(source, rows.rejected)
        if rows.short:
            tables.notes.append(
                f"{source.name}: {rows.short:,} rows have fewer fields than the {width} of the header; the rest is empty"
            )
        _insert(table, tables, "read_rows")
    tables.lists_nodes |= roles.lists_nodes


def _sample(table: Table) -> list[list[str]]:
    assert table.dialect
    lines = table.source.lines[table.dialect.first - 1 :][:500]
    return [fields_of(line, table.dialect.separator, table.dialect.quote) or [""] for line in lines] or [[""]]


def _insert(table: Table, tables: GraphTables, feed: str) -> None:
    source, roles = table.source, table.roles
    entries = ", ".join(f"{{k: {literal(c.name)}, v: {_cell(c.place)}}}" for c in roles.properties)
    texts = f"map_from_entries(list_filter([{entries}], lambda e: e.v <> ''))" if entries else "MAP {}"
    file = source.number
    if roles.kind == "nodes":
        assert roles.id is not None
        labels = _labels(roles) if roles.labels is not None else (f"[{literal(roles.label)}]" if roles.label else "[]")
        name = f"map_concat({texts}, MAP {{'name': {_cell(roles.name)}}})" if roles.name is not None else texts
        id_ = _cell(roles.id)
        tables.db.execute(
            f"INSERT INTO quarantine SELECT {literal(source.name)}, line, 'no_id', 'the id is empty', array_to_string(fields, ' | ')"
            f" FROM {feed} WHERE {id_} = ''"
        ).fetchall()
        tables.db.execute(
            f"INSERT INTO node SELECT {id_}, {labels}, {name}, {file}, line FROM {feed} WHERE {id_} <> ''"
        ).fetchall()
        return
    ends = {end: _end(roles, end) for end in ("head", "tail")}
    relation = _cell(roles.relation) if roles.relation is not None else literal(roles.relation_name)
    if roles.relation is not None and roles.relation_name:
        relation = f"coalesce(nullif({relation}, ''), {literal(roles.relation_name)})"
    negated = "false"
    if roles.negation is not None:
        negated = f"regexp_matches(lower({_cell(roles.negation)}), '(^|\\|)\\s*(not\\b|true$|1$|t$|yes$)')"
        if roles.relation == roles.negation:
            relation = f"trim(regexp_replace({relation}, '(?i)^\\s*not\\s*\\|?', ''), '| ')"
            relation = f"coalesce(nullif({relation}, ''), {literal(roles.relation_name or 'edge')})"
    empty = f"({ends['head']} = '' OR {ends['tail']} = '' OR {relation} = '')"
    tables.db.execute(
        f"INSERT INTO quarantine SELECT {literal(source.name)}, line, 'no_end', 'an end or the relation is empty', array_to_string(fields, ' | ')"
        f" FROM {feed} WHERE {empty}"
    ).fetchall()
    ((count,),) = tables.db.execute(f"SELECT count(*) FROM {feed} WHERE {negated}").fetchall()
    if count:
        tables.negated[source.name] = tables.negated.get(source.name, 0) + int(count)
    tables.db.execute(
        f"INSERT INTO edge SELECT {ends['head']}, {relation}, {ends['tail']}, {texts}, {file}, line"
        f" FROM {feed} WHERE NOT {negated} AND NOT {empty}"
    ).fetchall()
    for end, (labels_at, name_at, label) in roles.ends.items():
        kind = f"list_filter([{_cell(labels_at)}], lambda x: x <> '')" if labels_at is not None else f"[{literal(label)}]"
        kind = kind if labels_at is not None or label else "[]"
        name = f"CASE WHEN {_cell(name_at)} <> '' THEN MAP {{'name': {_cell(name_at)}}} ELSE MAP {{}} END" if name_at is not None else "MAP {}"
        tables.db.execute(
            f"INSERT INTO node SELECT {ends[end]}, any_value({kind}), any_value({name}), {file}, min(line) FROM {feed}"
            f" WHERE NOT {negated} AND NOT {empty} AND {ends[end]} NOT IN (SELECT id FROM node) GROUP BY 1"
        ).fetchall()


def _cell(place: int | None) -> str:
    return "''" if place is None else f"trim(coalesce(fields[{place + 1}], ''))"


def _end(roles: Roles, end: str) -> str:
    cell = _cell(roles.head if end == "head" else roles.tail)
    if end not in roles.prefixes:
        return cell
    before, sign = roles.prefixes[end]
    stated = _cell(before) if isinstance(before, int) else literal(before)
    return f"CASE WHEN {cell} = '' THEN '' ELSE {stated} || {literal(sign)} || {cell} END"


def _labels(roles: Roles) -> str:
    cell = _cell(roles.labels)
    parted = f"[{cell}]"
    if roles.separators:
        parted = f"regexp_split_to_array({cell}, {literal('[' + roles.separators + ']')})"
    return f"list_filter(list_transform({parted}, lambda x: trim(x)), lambda x: x <> '')"


def _parquet_columns(source: Source) -> tuple[str, ...]:
    from pyarrow import parquet

    try:
        return tuple(parquet.read_schema(source.path).names)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputFormat(f"{source.name} is no whole Parquet file: {error}", "fetch it again") from error


FORMS = (Form("delimited text", fits, read, together=True),)
