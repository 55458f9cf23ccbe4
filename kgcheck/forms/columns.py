"""Tell what the columns of a table of nodes or edges hold, by their names or, without a header, by their values."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgcheck.errors import InputFormat

_ENDS = (
    ("subject", "object"), ("subject_id", "object_id"), ("source", "target"), ("source_id", "target_id"),
    ("sourceid", "targetid"), ("head", "tail"), ("head_id", "tail_id"), ("from", "to"), ("from_id", "to_id"),
    ("start", "end"), ("start_id", "end_id"), ("start_node", "end_node"), ("src", "dst"), ("node1", "node2"),
    ("node_1", "node_2"), ("id1", "id2"), ("entity1", "entity2"), ("entity_1", "entity_2"), ("protein1", "protein2"),
    ("gene1", "gene2"), ("interactor_a", "interactor_b"), ("child", "parent"), ("h", "t"), ("s", "o"),
)  # fmt: skip
"""Names of the columns of both ends of an edge, in small letters; of several, the first that stand in a header."""

_RELATIONS = (
    "predicate", "predicate_id", "relation", "relation_type", "relationship", "relationship_type", "rel_type", "rel",
    "edge_type", "edgetype", "metaedge", "interaction", "interaction_type", "type", "label", "edge", "link", "r", "p",
)  # fmt: skip
_IDS = ("id", "node_id", "nodeid", "identifier", "curie", "node", "key", "name")
_LABELS = ("category", "categories", "label", "labels", "kind", "type", "node_type", "nodetype", "entity_type", "class")
_KINDS = (
    "gene", "protein", "disease", "drug", "chemical", "compound", "phenotype", "pathway", "variant", "tissue",
    "anatomy", "cell", "process", "function", "component", "term", "symptom", "target", "taxon", "organism",
    "metabolite", "mirna",
)  # fmt: skip
"""Kinds of things, as names of columns begin: GeneID, PathwayName."""

_GAF = {2: "symbol", 5: "reference", 6: "evidence_code", 7: "with_from", 8: "aspect", 12: "taxon", 14: "assigned_by"}
_HPOA = {
    4: "reference",
    5: "evidence",
    6: "onset",
    7: "frequency",
    8: "sex",
    9: "modifier",
    10: "aspect",
    11: "curator",
}
"""Columns that have no header, by number, after the documents of GO and HPO."""

_ADMIN = re.compile(r"([^:]*):(ID|START_ID|END_ID|LABEL|TYPE|IGNORE)(\([^)]*\))?(\{.*\})?", re.IGNORECASE)
_TYPED = re.compile(
    r"(.+?):(string|int|integer|long|float|double|boolean|bool|byte|short|char|date|point)(\[\])?", re.IGNORECASE
)
PART = re.compile(r"[-_.]?(header|part[-_]?\d+)$")
"""Endings of file names of neo4j-admin's users: the header apart, and parts of the rows."""

_CURIE = re.compile(r"[A-Za-z][\w.-]*:\S+")

Rows = Sequence[Sequence[str]]


class PropertyColumn(NamedTuple):
    """A column that is read as a property: its place, from 0, and the property's name."""

    place: int
    name: str


class End(NamedTuple):
    """An end of an edge: the column of its id, and what else a row says of it.

    Attributes:
        place: Column of the id.
        before: Column whose value stands before the id, joined by `sign`.
        label: Column of its label, or else `kind`, the label of all.
        name: Column of its name.
        described: A row describes the node, and is all that does.
        space: Space of ids that neo4j-admin tells apart, as in ``:START_ID(Gene)``.
    """

    place: int
    before: int | None = None
    sign: str = ":"
    label: int | None = None
    kind: str = ""
    name: int | None = None
    described: bool = False
    space: str = ""


@dataclass(frozen=True, kw_only=True)
class NodeColumns:
    """Columns of a table of nodes.

    ``kind`` is the label of all where no column has it, ``space`` that of the ids in neo4j-admin, ``:ID(Gene)``.
    """

    form: str
    id: int
    labels: int | None = None
    separators: str = "|;"
    kind: str = ""
    space: str = ""
    properties: tuple[PropertyColumn, ...] = ()
    assumed: str = ""


@dataclass(frozen=True, kw_only=True)
class EdgeColumns:
    """Columns of a table of edges. ``name`` is the relation of all where no column, or an empty one, has it."""

    form: str
    head: End
    tail: End
    relation: int | None = None
    name: str = ""
    negation: int | None = None
    properties: tuple[PropertyColumn, ...] = ()
    assumed: str = ""


Columns = NodeColumns | EdgeColumns


COLUMNS = ("subject", "predicate", "object", "id", "category", "name")
"""Columns of KGX, by which others may be called."""


class Header:
    """The names of columns, and the first rows below them."""

    def __init__(self, stem: str, names: Sequence[str], rows: Rows) -> None:
        self.stem = PART.sub("", stem)
        self.names = [name.strip().strip('"') for name in names]
        self.lower = [name.lower() for name in self.names]
        self.rows = rows

    def has(self, *names: str) -> bool:
        """Tell whether all these columns are there."""
        return set(names) <= set(self.lower)

    def find(self, names: Iterable[str], but: Iterable[int | None] = ()) -> int | None:
        """The first of these columns that is there."""
        used = set(but)
        return next((at for name in names if name in self.lower and (at := self.lower.index(name)) not in used), None)

    def at(self, name: str) -> int:
        """The place of a column that is there."""
        return self.lower.index(name)

    def values(self, place: int) -> list[str]:
        """The values of a column in the first rows, without empty ones."""
        return [row[place] for row in self.rows if place < len(row) and row[place].strip()]

    def others(self, *used: int | None, but: Iterable[str] = ()) -> tuple[PropertyColumn, ...]:
        """All other columns, as properties."""
        found: dict[str, PropertyColumn] = {}
        for place, name in enumerate(self.names):
            plain = (m[1] if (m := _TYPED.fullmatch(name)) else name).strip()
            if place not in used and plain and plain.lower() not in but:
                found.setdefault(plain, PropertyColumn(place, plain))
        return tuple(found.values())


def columns_of(file: str, stem: str, names: Sequence[str], rows: Rows) -> Columns:
    """Tell what the columns of a table hold."""
    header = Header(stem, names, rows)
    ways = _BY_NAME if names else _BY_VALUE
    if found := next((columns for way in ways if (columns := way(header))), None):
        return found
    shown = ", ".join(names[:8] or (rows[0] if rows else [])[:8])
    raise InputFormat(
        f"{file}: no two columns are known as the ends of an edge, and none as the id of a node: {shown[:200]}",
        "call them subject, predicate and object, or id and category (docs/forms.md lists what is known)",
    )


def admin_fields(fields: Sequence[str]) -> bool:
    """Tell whether fields are a header of neo4j-admin: ``:ID``, ``name:string``, ``:LABEL``."""
    return any(_ADMIN.fullmatch(field.strip()) for field in fields)


# --- by the names of the columns -------------------------------------------------------------------------


def _of_admin(header: Header) -> Columns | None:
    found: dict[str, tuple[int, str, str]] = {}
    for place, name in enumerate(header.names):
        if m := _ADMIN.fullmatch(name):
            found.setdefault(m[2].upper(), (place, m[1], (m[3] or "")[1:-1]))
    places = {kind: place for kind, (place, *_) in found.items()}
    properties = header.others(*places.values())
    if "START_ID" in places and "END_ID" in places:
        ends = [End(places[key], space=found[key][2]) for key in ("START_ID", "END_ID")]
        kind, name = places.get("TYPE"), "" if "TYPE" in places else header.stem
        form = "neo4j-admin import, edges"
        return EdgeColumns(form=form, head=ends[0], tail=ends[1], relation=kind, name=name, properties=properties)
    if "ID" in places:
        place, key, space = found["ID"]
        named = (*properties, PropertyColumn(place, key)) if key else properties
        label = "" if "LABEL" in places else header.stem
        form = "neo4j-admin import, nodes"
        labels = places.get("LABEL")
        return NodeColumns(form=form, id=place, labels=labels, kind=label, space=space, properties=named)
    return None


def _of_primekg(header: Header) -> Columns | None:
    if not header.has("x_id", "x_type", "y_id", "y_type"):
        return None
    relation = header.find(("relation", "relation_integrated", "display_relation"))
    head, tail = (
        End(
            header.at(f"{side}_id"), header.at(f"{side}_type"), "/", header.at(f"{side}_type"),
            name=header.find((f"{side}_name",)), described=True,
        )
        for side in "xy"
    )  # fmt: skip
    of_ends = [f"{side}_{what}" for side in "xy" for what in ("id", "type", "name", "index")]
    form = "PrimeKG" if header.has("x_index", "y_index") else "a table of edges like PrimeKG's"
    properties = header.others(relation, but=of_ends)
    name = "edge" if relation is None else ""
    return EdgeColumns(form=form, head=head, tail=tail, relation=relation, name=name, properties=properties)


def _of_sssom(header: Header) -> Columns | None:
    if not header.has("subject_id", "predicate_id", "object_id"):
        return None
    head, tail = (
        End(
            header.at(f"{side}_id"),
            label=header.find((f"{side}_category",)),
            name=header.find((f"{side}_label",)),
            described=True,
        )
        for side in ("subject", "object")
    )
    relation, negation = header.at("predicate_id"), header.find(("predicate_modifier",))
    properties = header.others(head.place, tail.place, relation)
    form = "SSSOM mapping set"
    return EdgeColumns(
        form=form, head=head, tail=tail, relation=relation, negation=negation, properties=properties
    )  # fmt: skip


def _of_mitab(header: Header) -> Columns | None:
    if len(header.names) < 15 or not header.lower[0].lstrip("#").startswith("id(s) interactor a"):
        return None
    negation, properties = header.find(("negative",)), header.others(0, 1, 11)
    return EdgeColumns(
        form="PSI-MITAB", head=End(0), tail=End(1), relation=11, negation=negation, properties=properties
    )  # fmt: skip


def _of_hpoa(header: Header) -> Columns | None:
    if not header.has("database_id", "hpo_id"):
        return None
    head = End(header.at("database_id"), kind="Disease", name=header.find(("disease_name",)), described=True)
    tail = End(header.at("hpo_id"), kind="PhenotypicFeature", described=True)
    negation, properties = header.find(("qualifier",)), header.others(head.place, head.name, tail.place)
    form, name = "HPO annotation file", "has_phenotype"
    return EdgeColumns(form=form, head=head, tail=tail, name=name, negation=negation, properties=properties)


def _of_kgx(header: Header) -> Columns | None:
    is_node = header.has("id", "category")
    # Files of nodes may have empty columns of edges, of a merge.
    if header.has("subject", "predicate", "object") and not (is_node and not header.values(header.at("subject"))):
        head, relation, tail = map(header.at, ("subject", "predicate", "object"))
        properties = header.others(head, relation, tail, but=("id",))
        negation = header.find(("negated",))
        ends = End(head), End(tail)
        form = "KGX, edges"
        return EdgeColumns(
            form=form, head=ends[0], tail=ends[1], relation=relation, negation=negation, properties=properties
        )  # fmt: skip
    if is_node:
        place, labels = header.at("id"), header.at("category")
        properties = header.others(place, labels)
        return NodeColumns(form="KGX, nodes", id=place, labels=labels, separators="|ǂ", properties=properties)
    return None


def _of_hetionet(header: Header) -> Columns | None:
    if header.lower == ["source", "metaedge", "target"]:
        return EdgeColumns(form="Hetionet, edges", head=End(0), tail=End(2), relation=1)
    if header.lower == ["id", "name", "kind"]:
        return NodeColumns(
            form="Hetionet, nodes", id=0, labels=2, separators="", properties=(PropertyColumn(1, "name"),)
        )
    return None


def _of_edges(header: Header) -> Columns | None:
    ends = next(((header.at(a), header.at(b)) for a, b in _ENDS if header.has(a, b)), None)
    # A table of genes has its start and end, too.
    is_stretch = ends is not None and header.has("start", "end") and header.find(("id", "name")) is not None
    if ends is None or is_stretch:
        return None
    relation = header.find(_RELATIONS, ends)
    head, tail = (_end(header, place, (*ends, relation)) for place in ends)
    described = (column for end in (head, tail) for column in (end.label, end.name))
    shown = f"{header.names[head.place]} as head, {header.names[tail.place]} as tail"
    return EdgeColumns(
        form="a table of edges",
        head=head,
        tail=tail,
        relation=relation,
        name="edge",
        properties=header.others(*ends, relation, *described, but=("id",)),
        assumed=f"{shown}, {'no' if relation is None else f'{header.names[relation]} as'} relation",
    )


def _end(header: Header, place: int, used: Iterable[int | None]) -> End:
    side = header.lower[place].removesuffix("_id").removesuffix("id")
    label = header.find([f"{side}_{kind}" for kind in ("type", "label", "category", "kind")], used)
    return End(place, label=label, name=header.find((f"{side}_name",)), described=label is not None)


def _of_nodes(header: Header) -> Columns | None:
    place = header.find(_IDS)
    if place is None or len(set(header.values(place))) < 0.9 * len(header.values(place)):
        return None
    labels = header.find(_LABELS, [place])
    if labels is not None and len(set(header.values(labels))) > max(5, len(header.rows) // 2):
        # What differs on nearly every row is a name, and no kind.
        labels = None
    shown = f"{header.names[place]} as id, {'no' if labels is None else f'{header.names[labels]} as'} label"
    return NodeColumns(
        form="a table of nodes", id=place, labels=labels, properties=header.others(place, labels), assumed=shown
    )


def _of_kinds(header: Header) -> Columns | None:
    """A table of pairs of things of two kinds, as the names of its columns tell: GeneID, PathwayName."""
    best: dict[str, tuple[int, int]] = {}
    for place, name in enumerate(header.lower):
        if kind := next((kind for kind in _KINDS if name.startswith(kind)), None):
            is_id = name.endswith(("id", "curie", "accession"))
            rank = 0 if is_id else 1 if name == kind or name.endswith("symbol") else 2
            best[kind] = min(best.get(kind, (9, 0)), (rank, place))
    if len(best) < 2:
        return None
    (a, (_, head)), (b, (_, tail)) = list(best.items())[:2]
    return _pairs(header, End(head, kind=a, described=True), End(tail, kind=b, described=True), f"{a}_{b}")


def _of_curies(header: Header) -> Columns | None:
    """A table of which two columns hold CURIEs."""
    found = []
    for place in range(len(header.names)):
        values = header.values(place)
        curies = sum(bool(_CURIE.fullmatch(value)) for value in values)
        if values and curies >= 0.9 * len(values) >= 0.2 * len(header.rows):
            found.append(place)
    return _pairs(header, End(found[0]), End(found[1]), "edge") if len(found) > 1 else None


def _pairs(header: Header, head: End, tail: End, name: str) -> EdgeColumns:
    shown = f"{header.names[head.place]} as head, {header.names[tail.place]} as tail, no relation"
    properties = header.others(head.place, tail.place)
    return EdgeColumns(form="a table of pairs", head=head, tail=tail, name=name, properties=properties, assumed=shown)


# --- by the values, where there is no header -------------------------------------------------------------


def _of_gaf(header: Header) -> Columns | None:
    rows = [row for row in header.rows if len(row) > 4]
    width = max(map(len, rows), default=0)
    if width not in (15, 16, 17) or not all(re.fullmatch(r"GO:\d{7}", row[4]) for row in rows):
        return None
    head, tail = End(1, 0, label=11, name=2, described=True), End(4, kind="GOTerm", described=True)
    properties = tuple(PropertyColumn(place, name) for place, name in _GAF.items())
    form, name = "GO annotation file (GAF)", "annotated_to"
    return EdgeColumns(form=form, head=head, tail=tail, relation=3, name=name, negation=3, properties=properties)


def _of_old_hpoa(header: Header) -> Columns | None:
    rows = [row for row in header.rows if len(row) > 3]
    if max(map(len, rows), default=0) != 12 or not all(re.fullmatch(r"HP:\d{7}", row[3]) for row in rows):
        return None
    head, tail = End(0, kind="Disease", name=1, described=True), End(3, kind="PhenotypicFeature", described=True)
    properties = tuple(PropertyColumn(place, name) for place, name in _HPOA.items())
    form, name = "HPO annotation file", "has_phenotype"
    return EdgeColumns(form=form, head=head, tail=tail, name=name, negation=2, properties=properties)


def _of_admin_part(header: Header) -> Columns | None:
    """Parts of BioCypher without their headers: nodes end in a list of labels, edges in their type."""
    width = max(map(len, header.rows), default=0)
    last = {row[-1] for row in header.rows if row and len(row) == width}
    between = tuple(PropertyColumn(place, f"column_{place + 1}") for place in range(1, width - 1))
    if width >= 3 and len(last) == 1 and next(iter(last)).lower() == header.stem:
        form, ends, kind = "neo4j-admin import, edges without their header", (End(0), End(width - 2)), width - 1
        return EdgeColumns(form=form, head=ends[0], tail=ends[1], relation=kind, properties=between[:-1])
    if width >= 2 and len(last) <= 50 and all("|" in labels for labels in last):
        form = "neo4j-admin import, nodes without their header"
        return NodeColumns(form=form, id=0, labels=width - 1, properties=between)
    return None


def _of_triples(header: Header) -> Columns | None:
    width = max(map(len, header.rows), default=0)
    if width == 2:
        shown = "column 1 as head, 2 as tail, no relation"
        return EdgeColumns(form="pairs without a header", head=End(0), tail=End(1), name="edge", assumed=shown)
    if width != 3:
        return None
    # A relation stands on many rows, and mostly in the middle.
    different = [len(set(header.values(place))) for place in range(3)]
    relation = 1 if different[1] <= 2 * min(different) else different.index(min(different))
    head, tail = (place for place in range(3) if place != relation)
    shown = f"column {head + 1} as head, {relation + 1} as relation, {tail + 1} as tail"
    form = "triples without a header"
    return EdgeColumns(form=form, head=End(head), tail=End(tail), relation=relation, assumed=shown)


_BY_NAME: tuple[Callable[[Header], Columns | None], ...] = (
    _of_admin, _of_primekg, _of_sssom, _of_mitab, _of_hpoa, _of_kgx, _of_hetionet, _of_edges, _of_nodes, _of_kinds,
    _of_curies,
)  # fmt: skip
_BY_VALUE = (_of_gaf, _of_old_hpoa, _of_admin_part, _of_triples)
