"""Graphs of several forms, taken apart into rows or stanzas that can be drawn, changed and written again."""

import csv
import gzip
import io
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

SHARED = Path(__file__).parents[2] / "shared/data/foreign"
SAMPLED = 20_000
WELL_KNOWN = frozenset(
    "HGNC GO MONDO HP UBERON CHEBI NCBITaxon NCBIGene CL PATO BFO DOID DRUGBANK DrugBank RHEA ENVO".split()
)
"""Prefixes whose local ids are digits, or DB and digits."""


class NotHere(Exception):
    """The graph has no place for this kind of error."""


@dataclass(eq=False)
class Row:
    """A row of a table. ``raw`` is written in place of its cells, where it is there."""

    cells: list[str]
    raw: bytes | None = None


@dataclass
class Sheet:
    """A table, with its delimiter."""

    name: str
    delimiter: str
    header: list[str]
    rows: list[Row]
    line_end: str = "\n"

    @classmethod
    def of(cls, path: Path, delimiter: str) -> Self:
        """Read a file, packed or not."""
        packed = path.name.endswith(".gz")
        text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
        quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        header, *rows = csv.reader(io.StringIO(text), delimiter=delimiter, quoting=quoting)
        return cls(path.name.removesuffix(".gz"), delimiter, header, [Row(cells) for cells in rows])

    def written(self, cells: Sequence[str]) -> bytes:
        """A row as the file has it."""
        if self.delimiter == "\t":
            return ("\t".join(cells) + self.line_end).encode()
        out = io.StringIO()
        csv.writer(out, delimiter=self.delimiter, lineterminator=self.line_end).writerow(cells)
        return out.getvalue().encode()

    def line(self, row: Row) -> int:
        """The line of a row, none of which holds a line end."""
        return next(n for n, one in enumerate(self.rows, 2) if one is row)

    def column(self, name: str) -> int:
        """The place of a column."""
        return self.header.index(name)

    def write(self, folder: Path) -> None:
        """Write the file."""
        lines = (self.written(row.cells) if row.raw is None else row.raw for row in self.rows)
        (folder / self.name).write_bytes(b"".join([self.written(self.header), *lines]))


class Node(NamedTuple):
    """Where a table names a node."""

    sheet: Sheet
    row: Row
    id_at: int
    name_at: int
    kind_at: int

    @property
    def id(self) -> str:
        return self.row.cells[self.id_at]

    @property
    def kind(self) -> str:
        return self.row.cells[self.kind_at]

    @property
    def name(self) -> str:
        cells = self.row.cells
        return cells[self.name_at] if len(cells) > self.name_at else ""

    def put(self, at: int, value: str) -> None:
        """Change a cell."""
        self.row.cells += [""] * (at + 1 - len(self.row.cells))
        self.row.cells[at] = value


class Edge(NamedTuple):
    """Where a table names an edge."""

    sheet: Sheet
    row: Row
    head_at: int
    relation_at: int
    tail_at: int

    @property
    def head(self) -> str:
        return self.row.cells[self.head_at]

    @property
    def relation(self) -> str:
        return self.row.cells[self.relation_at]

    @property
    def tail(self) -> str:
        return self.row.cells[self.tail_at]


@dataclass
class Tables:
    """A graph of tables. Where nodes have no table, the rows of edges hold them (``sides``).

    Places are drawn once: two errors never stand at one row, or at one id.
    """

    name: str
    form: str
    draw: random.Random
    edge_sheets: list[Sheet]
    edge_columns: tuple[str, str, str]
    node_sheet: Sheet | None = None
    node_columns: tuple[str, str, str] = ("", "", "")
    sides: tuple[tuple[str, str, str], ...] = ()
    taken: set[str] = field(default_factory=set)
    drawn: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.edges = [
            Edge(sheet, row, *map(sheet.column, self.edge_columns)) for sheet in self.edge_sheets for row in sheet.rows
        ]
        if self.node_sheet:
            at = [*map(self.node_sheet.column, self.node_columns)]
            self.nodes = [Node(self.node_sheet, row, *at) for row in self.node_sheet.rows]
        else:
            self.nodes = [
                Node(sheet, row, *map(sheet.column, side))
                for sheet in self.edge_sheets
                for row in sheet.rows
                for side in self.sides
            ]
        self.ids = {node.id for node in self.nodes}
        self.users: dict[str, list[tuple[Row, int]]] = {}
        for edge in self.edges:
            for at in (edge.head_at, edge.tail_at):
                self.users.setdefault(edge.row.cells[at], []).append((edge.row, at))
        self.kinds = {node.id: node.kind for node in self.nodes}

    @property
    def sheets(self) -> list[Sheet]:
        """All tables."""
        return [*self.edge_sheets, *([self.node_sheet] if self.node_sheet else [])]

    def write(self, folder: Path) -> Path:
        """Write its files, and give what is to be audited."""
        for sheet in self.sheets:
            sheet.write(folder)
        return folder

    def was_drawn(self, row: Row) -> bool:
        """Tell whether an error stands at a row."""
        return any(one is row for one in self.drawn)

    def node(self, fits: Callable[[Node], bool] = lambda _: True) -> Node:
        """Draw a node that was not drawn before and that the graph names once, or in an edge's row."""
        for _ in range(5_000):
            node = self.draw.choice(self.nodes)
            free = not self.was_drawn(node.row) and node.id and node.id not in self.taken
            if free and len(node.row.cells) > node.name_at and fits(node):
                self.taken.add(node.id)
                self.drawn.append(node.row)
                return node
        raise NotHere

    def edge(self, fits: Callable[[Edge], bool] = lambda _: True) -> Edge:
        """Draw an edge that was not drawn before, not between two ends of others."""
        for _ in range(5_000):
            edge = self.draw.choice(self.edges)
            free = not self.was_drawn(edge.row) and not {edge.head, edge.tail} <= self.taken
            if free and edge.head != edge.tail and fits(edge):
                self.taken |= {edge.head, edge.tail}
                self.drawn.append(edge.row)
                return edge
        raise NotHere

    def rename(self, node: Node, new: str) -> None:
        """Give a node another id, also where edges name it."""
        old = node.id
        node.row.cells[node.id_at] = new
        if self.node_sheet:
            for row, at in self.users.pop(old, []):
                row.cells[at] = new
        self.ids.add(new)

    def free(self, like: str) -> str:
        """An id of the same form that the graph has not."""
        for _ in range(1_000):
            last = re.search(r"\d+(?=\D*$)", like)
            if not last:
                break
            digits = "".join(self.draw.choice("123456789") for _ in last[0])
            if (new := like[: last.start()] + digits + like[last.end() :]) not in self.ids:
                self.ids.add(new)
                return new
        raise NotHere

    def add(self, sheet: Sheet, cells: list[str], at: int | None = None) -> Row:
        """Add a row at the end, where it moves no other, or at a place."""
        row = Row(cells)
        sheet.rows.insert(len(sheet.rows) if at is None else at, row)
        return row


def is_well_known(node_id: str) -> bool:
    """Tell whether an id is a CURIE of a prefix whose local ids everyone knows, maybe with the node's kind before."""
    return bool(
        re.fullmatch(rf"(\w+::)?({'|'.join(sorted(WELL_KNOWN))}):(DB)?\d+|Compound::DB\d{{5}}|DB\d{{5}}", node_id)
    )


class Stanza(NamedTuple):
    """A term of an ontology in OBO, by its lines."""

    lines: list[bytes]

    @property
    def id(self) -> str:
        return self.value("id")

    @property
    def name(self) -> str:
        return self.value("name")

    def value(self, tag: str) -> str:
        """The first value of a tag, or nothing."""
        start = f"{tag}: ".encode()
        return next((one.removeprefix(start).decode() for one in self.lines if one.startswith(start)), "")

    def put(self, tag: str, value: bytes) -> int:
        """Change the first value of a tag; give its place."""
        start = f"{tag}: ".encode()
        at = next(n for n, one in enumerate(self.lines) if one.startswith(start))
        self.lines[at] = start + value
        return at


@dataclass
class Ontology:
    """An ontology in OBO."""

    name: str
    form: str
    draw: random.Random
    file: str
    head: list[bytes]
    stanzas: list[Stanza]
    taken: set[str] = field(default_factory=set)
    line_end: bytes = b"\n"

    @classmethod
    def of(cls, path: Path, draw: random.Random) -> Self:
        """Read a file."""
        head, *stanzas = path.read_bytes().rstrip().split(b"\n\n")
        return cls(path.stem, "obo", draw, path.name, head.split(b"\n"), [Stanza(s.split(b"\n")) for s in stanzas])

    @property
    def ids(self) -> set[str]:
        """Ids of all stanzas."""
        return {stanza.id for stanza in self.stanzas}

    def term(self, fits: Callable[[Stanza], bool] = lambda _: True) -> Stanza:
        """Draw a term that was not drawn before."""
        for _ in range(5_000):
            one = self.draw.choice(self.stanzas)
            ok = one.lines[0] == b"[Term]" and one.id not in self.taken and is_well_known(one.id) and one.name
            if ok and fits(one):
                self.taken.add(one.id)
                return one
        raise NotHere

    def parents(self, stanza: Stanza) -> list[str]:
        """Ids of what a term is a kind of."""
        return [one.split()[1].decode() for one in stanza.lines if one.startswith(b"is_a: ")]

    def rename(self, stanza: Stanza, new: str) -> None:
        """Give a term another id, also where others name it."""
        pattern = re.compile(rb"(?<![\w:])" + re.escape(stanza.id.encode()) + rb"(?!\w)")
        for one in self.stanzas:
            one.lines[:] = [pattern.sub(new.encode(), line) for line in one.lines]

    def free(self, like: str) -> str:
        """An id of the same form that the ontology has not."""
        prefix, _, local = like.partition(":")
        for _ in range(1_000):
            new = f"{prefix}:{''.join(self.draw.choice('123456789') for _ in local)}"
            if new not in self.ids:
                return new
        raise NotHere

    def line(self, stanza: Stanza, at: int) -> int:
        """The line of a stanza's line."""
        before = next(n for n, one in enumerate(self.stanzas) if one is stanza)
        return len(self.head) + 1 + sum(len(one.lines) + 1 for one in self.stanzas[:before]) + at + 1

    def write(self, folder: Path) -> Path:
        """Write its file."""
        blocks = [self.head, *(one.lines for one in self.stanzas)]
        text = b"\n\n".join(b"\n".join(block) for block in blocks) + b"\n"
        (folder / self.file).write_bytes(text.replace(b"\n", self.line_end))
        return folder / self.file


Graph = Tables | Ontology

KGX = ("subject", "predicate", "object")


def _kgx(draw: random.Random) -> Graph:
    folder = SHARED / "kgx"
    nodes, edges = (Sheet.of(folder / f"graph_{part}.tsv", "\t") for part in ("nodes", "edges"))
    return Tables("kgx", "kgx", draw, [edges], KGX, nodes, ("id", "name", "category"))


def _kg_microbe(draw: random.Random) -> Graph:
    stem = SHARED / "kg-microbe/corynebacterium_glutamicum_2hop_subgraph"
    nodes, edges = (Sheet.of(Path(f"{stem}_{part}.csv"), ",") for part in ("nodes", "edges"))
    return Tables("kg-microbe", "kgx", draw, [edges], KGX, nodes, ("id", "name", "category"))


def _sample(draw: random.Random, number: int) -> tuple[Sheet, Sheet]:
    nodes, edges = (Sheet.of(SHARED / f"hetionet/{part}.tsv.gz", "\t") for part in ("nodes", "edges"))
    edges.rows = draw.sample(edges.rows, number)
    used = {row.cells[at] for row in edges.rows for at in (0, 2)}
    nodes.rows = [row for row in nodes.rows if row.cells[0] in used]
    return nodes, edges


def _hetionet(draw: random.Random) -> Graph:
    nodes, edges = _sample(draw, SAMPLED)
    return Tables(
        "hetionet", "hetionet", draw, [edges], ("source", "metaedge", "target"), nodes, ("id", "name", "kind")
    )


def _neo4j_admin(draw: random.Random) -> Graph:
    """The same facts as neo4j-admin import reads them, with CURIEs and whole words."""
    nodes, edges = _sample(draw, SAMPLED // 4)
    with (SHARED / "hetionet/metaedges.tsv").open(encoding="utf-8") as file:
        words = {row["abbreviation"]: row["metaedge"] for row in csv.DictReader(file, delimiter="\t")}
    relations = {short: re.split(" [->] ", word)[1].upper() for short, word in words.items()}

    def curie(node_id: str) -> str:
        kind, _, local = node_id.partition("::")
        return {"Gene": "NCBIGene:", "Compound": "DRUGBANK:"}.get(kind, "") + local

    node_rows = [Row([curie(row.cells[0]), *row.cells[1:]]) for row in nodes.rows]
    edge_rows = [Row([curie(a), curie(b), relations[short]]) for a, short, b in (row.cells for row in edges.rows)]
    nodes = Sheet("nodes.csv", ",", [":ID", "name", ":LABEL"], node_rows)
    edges = Sheet("relationships.csv", ",", [":START_ID", ":END_ID", ":TYPE"], edge_rows)
    columns = (":START_ID", ":TYPE", ":END_ID")
    return Tables("neo4j-admin", "neo4j", draw, [edges], columns, nodes, (":ID", "name", ":LABEL"))


def _primekg(draw: random.Random) -> Graph:
    files = sorted((SHARED / "forms/primekg_split/files").glob("*.csv"))
    sides = tuple((f"{end}_id", f"{end}_name", f"{end}_type") for end in "xy")
    sheets = [Sheet.of(path, ",") for path in files]
    return Tables("primekg", "primekg", draw, sheets, ("x_id", "relation", "y_id"), sides=sides)


def _obo(draw: random.Random) -> Graph:
    return Ontology.of(SHARED / "forms/go_nucleus/files/go-nucleus.obo", draw)


GRAPHS: dict[str, Callable[[random.Random], Graph]] = {
    "kgx": _kgx,
    "kg-microbe": _kg_microbe,
    "hetionet": _hetionet,
    "neo4j-admin": _neo4j_admin,
    "primekg": _primekg,
    "go-nucleus": _obo,
}
