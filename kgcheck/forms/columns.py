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
_HPOA = dict(
    enumerate(("reference", "evidence", "onset", "frequency", "sex", "modifier", "aspect", "curator"), start=4)
)
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


@dataclass(frozen=True)
class NodeColumns:
    """Columns of a table of nodes.

    ``kind`` is the label of all where no column has it, ``space`` that of the ids in neo4j-admin, ``:ID(Gene)``.
    """

    form: str
    id: int
    labels: int | None = None
    properties: tuple[PropertyColumn, ...] = ()
    separators: str = "|;"
    kind: str = ""
    space: str = ""
    assumed: str = ""


@dataclass(frozen=True)
class EdgeColumns:
    """Columns of a table of edges. ``name`` is the relation of all where no column, or an empty one, has it."""

    form: str
    head: End
    tail: End
    relation: int | None = None
    properties: tuple[PropertyColumn, ...] = ()
    name: str = ""
    negation: int | None = None
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
        self.width = max(map(len, rows), default=0)

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
        head, tail = (End(places[key], space=found[key][2]) for key in ("START_ID", "END_ID"))
        name = "" if "TYPE" in places else header.stem
        return EdgeColumns("neo4j-admin import, edges", head, tail, places.get("TYPE"), properties, name)
    if "ID" in places:
        place, key, space = found["ID"]
        properties += (PropertyColumn(place, key),) if key else ()
        label, labels = "" if "LABEL" in places else header.stem, places.get("LABEL")
        return NodeColumns("neo4j-admin import, nodes", place, labels, properties, kind=label, space=space)
    return None


def _of_primekg(header: Header) -> Columns | None:
    if not header.has("x_id", "x_type", "y_id", "y_type"):
        return None
    relation = header.find(("relation", "relation_integrated", "display_relation"))
    ends = []
    for side in "xy":
        kind, name = header.at(f"{side}_type"), header.find((f"{side}_name",))
        ends.append(End(header.at(f"{side}_id"), kind, "/", kind, name=name, described=True))
    of_ends = [f"{side}_{what}" for side in "xy" for what in ("id", "type", "name", "index")]
    form = "PrimeKG" if header.has("x_index", "y_index") else "a table of edges like PrimeKG's"
    return EdgeColumns(
        form, ends[0], ends[1], relation, header.others(relation, but=of_ends), "edge" if relation is None else ""
    )


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
    return EdgeColumns("SSSOM mapping set", head, tail, relation, properties, negation=negation)


def _of_mitab(header: Header) -> Columns | None:
    if len(header.names) < 15 or not header.lower[0].lstrip("#").startswith("id(s) interactor a"):
        return None
    negation, properties = header.find(("negative",)), header.others(0, 1, 11)
    return EdgeColumns("PSI-MITAB", End(0), End(1), 11, properties, negation=negation)


def _of_hpoa(header: Header) -> Columns | None:
    if not header.has("database_id", "hpo_id"):
        return None
    name, negation = header.find(("disease_name",)), header.find(("qualifier",))
    head, tail = header.at("database_id"), header.at("hpo_id")
    return _hpo_annotations(head, name, tail, negation, header.others(head, name, tail))


def _hpo_annotations(
    head: int, name: int | None, tail: int, negation: int | None, properties: tuple[PropertyColumn, ...]
) -> EdgeColumns:
    ends = End(head, kind="Disease", name=name, described=True), End(tail, kind="PhenotypicFeature", described=True)
    return EdgeColumns("HPO annotation file", *ends, None, properties, "has_phenotype", negation)


def _of_kgx(header: Header) -> Columns | None:
    is_node = header.has("id", "category")
    # Files of nodes may have empty columns of edges, of a merge.
    if header.has("subject", "predicate", "object") and not (is_node and not header.values(header.at("subject"))):
        head, relation, tail = map(header.at, ("subject", "predicate", "object"))
        properties, negation = header.others(head, relation, tail, but=("id",)), header.find(("negated",))
        return EdgeColumns("KGX, edges", End(head), End(tail), relation, properties, negation=negation)
    if is_node:
        place, labels = header.at("id"), header.at("category")
        return NodeColumns("KGX, nodes", place, labels, header.others(place, labels), "|ǂ")
    return None


def _of_hetionet(header: Header) -> Columns | None:
    if header.lower == ["source", "metaedge", "target"]:
        return EdgeColumns("Hetionet, edges", End(0), End(2), 1)
    if header.lower == ["id", "name", "kind"]:
        return NodeColumns("Hetionet, nodes", 0, 2, (PropertyColumn(1, "name"),), separators="")
    return None


def _of_edges(header: Header) -> Columns | None:
    ends = next(((header.at(a), header.at(b)) for a, b in _ENDS if header.has(a, b)), None)
    # A table of genes has its start and end, too.
    is_stretch = ends is not None and header.has("start", "end") and header.find(("id", "name")) is not None
    if ends is None or is_stretch:
        return None
    relation = header.find(_RELATIONS, ends)
    described = []
    for place in ends:
        side = header.lower[place].removesuffix("_id").removesuffix("id")
        kinds = [f"{side}_{kind}" for kind in ("type", "label", "category", "kind")]
        label, name = header.find(kinds, (*ends, relation)), header.find((f"{side}_name",))
        described.append(End(place, label=label, name=name, described=label is not None))
    used = [column for end in described for column in (end.place, end.label, end.name)]
    properties = header.others(*used, relation, but=("id",))
    shown = f"{_as(header, ends)}, {'no' if relation is None else f'{header.names[relation]} as'} relation"
    head, tail = described
    return EdgeColumns("a table of edges", head, tail, relation, properties, "edge", assumed=shown)


def _as(header: Header, ends: tuple[int, int]) -> str:
    return f"{header.names[ends[0]]} as head, {header.names[ends[1]]} as tail"


def _of_nodes(header: Header) -> Columns | None:
    place = header.find(_IDS)
    if place is None or len(set(header.values(place))) < 0.9 * len(header.values(place)):
        return None
    labels = header.find(_LABELS, [place])
    if labels is not None and len(set(header.values(labels))) > max(5, len(header.rows) // 2):
        # What differs on nearly every row is a name, and no kind.
        labels = None
    shown = f"{header.names[place]} as id, {'no' if labels is None else f'{header.names[labels]} as'} label"
    return NodeColumns("a table of nodes", place, labels, header.others(place, labels), assumed=shown)


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
    places = head.place, tail.place
    shown, properties = f"{_as(header, places)}, no relation", header.others(*places)
    return EdgeColumns("a table of pairs", head, tail, None, properties, name, assumed=shown)


# --- by the values, where there is no header -------------------------------------------------------------


def _of_gaf(header: Header) -> Columns | None:
    rows = [row for row in header.rows if len(row) > 4]
    if header.width not in (15, 16, 17) or not all(re.fullmatch(r"GO:\d{7}", row[4]) for row in rows):
        return None
    head, tail = End(1, 0, label=11, name=2, described=True), End(4, kind="GOTerm", described=True)
    properties = tuple(map(PropertyColumn, _GAF.keys(), _GAF.values()))
    return EdgeColumns("GO annotation file (GAF)", head, tail, 3, properties, "annotated_to", negation=3)


def _of_old_hpoa(header: Header) -> Columns | None:
    rows = [row for row in header.rows if len(row) > 3]
    if header.width != 12 or not all(re.fullmatch(r"HP:\d{7}", row[3]) for row in rows):
        return None
    return _hpo_annotations(0, 1, 3, 2, tuple(map(PropertyColumn, _HPOA.keys(), _HPOA.values())))


def _of_admin_part(header: Header) -> Columns | None:
    """Parts of BioCypher without their headers: nodes end in a list of labels, edges in their type."""
    width = header.width
    last = {row[-1] for row in header.rows if row and len(row) == width}
    between = tuple(PropertyColumn(place, f"column_{place + 1}") for place in range(1, width - 1))
    if width >= 3 and len(last) == 1 and next(iter(last)).lower() == header.stem:
        form = "neo4j-admin import, edges without their header"
        return EdgeColumns(form, End(0), End(width - 2), width - 1, between[:-1])
    if width >= 2 and len(last) <= 50 and all("|" in labels for labels in last):
        return NodeColumns("neo4j-admin import, nodes without their header", 0, width - 1, between)
    return None


def _of_triples(header: Header) -> Columns | None:
    if header.width == 2:
        shown = "column 1 as head, 2 as tail, no relation"
        return EdgeColumns("pairs without a header", End(0), End(1), name="edge", assumed=shown)
    if header.width != 3:
        return None
    # A relation stands on many rows, and mostly in the middle.
    different = [len(set(header.values(place))) for place in range(3)]
    relation = 1 if different[1] <= 2 * min(different) else different.index(min(different))
    head, tail = (place for place in range(3) if place != relation)
    shown = f"column {head + 1} as head, {relation + 1} as relation, {tail + 1} as tail"
    return EdgeColumns("triples without a header", End(head), End(tail), relation, assumed=shown)


_BY_NAME: tuple[Callable[[Header], Columns | None], ...] = (
    _of_admin, _of_primekg, _of_sssom, _of_mitab, _of_hpoa, _of_kgx, _of_hetionet, _of_edges, _of_nodes, _of_kinds,
    _of_curies,
)  # fmt: skip
_BY_VALUE = (_of_gaf, _of_old_hpoa, _of_admin_part, _of_triples)
