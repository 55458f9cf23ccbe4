"""``python -m benchmarks.form_faults``: errors put into graphs of several forms at places drawn by seed, and audited.

Each graph is audited as it is, and once more for each kind of error, in a copy that holds a few of that kind alone. An
error is found where a new finding, a row in quarantine or a note names it: its row, or all that one of its ``marks``
lists. A new finding is explained where it names a row, an id or a mark of an error; a refuted one that is not is wrong.
"""

import argparse
import pickle
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from benchmarks.form_graphs import GRAPHS, SHARED, Edge, Graph, NotHere, Ontology, Row, Tables, is_well_known
from benchmarks.forms import texts_of
from kgcheck import Workspace
from kgcheck.errors import KgcheckError
from kgcheck.forms.draft import MISSING_NODE
from kgcheck.forms.store import FileStore
from kgcheck.model import Outcome
from kgcheck.settings import Settings
from kgcheck.standards.biolink import PREFIX, model

NUMBER = 6
"""Errors of a kind in a copy."""

PLACEHOLDERS = ("nan", "NULL", "N/A", "none", "undefined")

Marks = tuple[str, ...]
LOST: Marks = ("(all)", MISSING_NODE)
"""Edges whose end is no node, as a finding of their type names them."""


@dataclass
class Damage:
    """An error: what a text must name for it to be found, and what else it explains."""

    marks: list[Marks]
    row: Row | None = None
    places: list[tuple[str, int]] = field(default_factory=list)
    explains: list[Marks] = field(default_factory=list)


TABLE_KINDS: dict[str, Callable[[Tables], Damage]] = {}
OBO_KINDS: dict[str, Callable[[Ontology], Damage]] = {}
HARMLESS = {"negated_edge", "lines_end_crlf", "rows_in_another_order"}
"""Changes that are no errors: nothing refuted may come of them."""


def _tables(make: Callable[[Tables], Damage]) -> Callable[[Tables], Damage]:
    TABLE_KINDS[make.__name__.removeprefix("_")] = make
    return make


def _obo(make: Callable[[Ontology], Damage]) -> Callable[[Ontology], Damage]:
    OBO_KINDS[make.__name__.removeprefix("_obo_")] = make
    return make


def _only(graph: Graph, *forms: str) -> None:
    if graph.form not in forms:
        raise NotHere


def _pattern(graph: Tables, head: str, relation: str, tail: str) -> list[Marks]:
    """What tells a type of edges, beside the two ids."""
    return [(graph.kinds.get(head, ""), relation, graph.kinds.get(tail, "")), *_singles(head, tail)]


def _singles(*ids: str) -> list[Marks]:
    return [(one,) for one in ids if one]


# --- ids -----------------------------------------------------------------------------------------------------------


def _renamed(
    graph: Graph, change: Callable[[str], str], fits: Callable[[str], bool] = is_well_known, by_prefix: bool = False
) -> Damage:
    """A node under another id, also where edges name it; told by its id, or also by its prefix."""

    def marks(new: str) -> list[Marks]:
        prefix = _prefix_and_local(new)[0].rpartition("::")[2].rstrip(":")
        return [*_singles(new), *(_singles(prefix) if by_prefix else [])]

    if isinstance(graph, Ontology):
        term = graph.term(lambda one: fits(one.id))
        old, new = term.id, change(term.id)
        graph.rename(term, new)
        at = term.put("id", new.encode())
        # In OBO an id that is named ends at a space.
        return Damage(marks(new), None, [(graph.file, graph.line(term, at))], _singles(old, new.split(" ")[0]))
    node = graph.node(lambda one: fits(one.id) and change(one.id) not in graph.ids)
    old, new = node.id, change(node.id)
    used = [row.cells[at] for row, _ in graph.users.get(old, []) for at in range(3) if len(row.cells) > at]
    graph.rename(node, new)
    return Damage(marks(new), node.row, [], _singles(old, *used))


def _prefix_and_local(node_id: str) -> tuple[str, str]:
    """``Kind::PREFIX:`` or ``PREFIX:``, and the local id."""
    prefix, colon, local = node_id.rpartition(":")
    return prefix + colon, local


def _has_prefix(node_id: str) -> bool:
    return is_well_known(node_id) and bool(re.search("(?<!:):(?!:)", node_id))


def _without_prefix(node_id: str) -> str:
    return _prefix_and_local(node_id)[1]


def _other_case(node_id: str) -> str:
    prefix, local = _prefix_and_local(node_id)
    kind, colons, rest = prefix.rpartition("::")
    turned = rest.lower() if rest != rest.lower() else rest.upper()
    return f"{kind}{colons}{turned}{local}"


def _strange_prefix(draw: Random) -> Callable[[str], str]:
    letters = "".join(draw.choice("QXZWJ") for _ in range(5))

    def change(node_id: str) -> str:
        prefix, local = _prefix_and_local(node_id)
        kind, colons, _ = prefix.rpartition("::")
        return f"{kind}{colons}{letters}:{local}"

    return change


def _spaced(draw: Random) -> Callable[[str], str]:
    middle = draw.random() < 0.5

    def change(node_id: str) -> str:
        prefix, local = _prefix_and_local(node_id)
        return f"{prefix}{local[:2]} {local[2:]}" if middle else f"{prefix} {local}"

    return change


@_tables
def _id_with_doubled_colon(graph: Tables) -> Damage:
    _only(graph, "kgx", "neo4j")
    return _renamed(graph, lambda one: one.replace(":", "::", 1), _has_prefix)


@_tables
def _id_without_prefix(graph: Tables) -> Damage:
    _only(graph, "kgx", "neo4j")
    return _renamed(graph, _without_prefix, _has_prefix)


@_tables
def _id_with_space(graph: Tables) -> Damage:
    return _renamed(graph, _spaced(graph.draw))


@_tables
def _local_id_not_of_pattern(graph: Tables) -> Damage:
    return _renamed(graph, lambda one: one + "x")


@_tables
def _prefix_in_another_case(graph: Tables) -> Damage:
    if graph.form == "primekg":
        return _source(graph, str.lower)
    return _renamed(graph, _other_case, _has_prefix, by_prefix=True)


@_tables
def _unknown_prefix(graph: Tables) -> Damage:
    change = _strange_prefix(graph.draw)
    if graph.form == "primekg":
        return _source(graph, lambda _: change(":").rstrip(":"))
    return _renamed(graph, change, _has_prefix)


def _source(graph: Tables, change: Callable[[str], str]) -> Damage:
    """PrimeKG names the source of an id in a column of its own."""
    node = graph.node()
    at = node.name_at + 1
    new = change(node.row.cells[at])
    node.row.cells[at] = new
    return Damage([(new,)], node.row, [], _singles(node.id))


def _placeholder(graph: Graph) -> Callable[[str], str]:
    """Another placeholder than those that the graph has already."""
    left = sorted({*PLACEHOLDERS, "None:0"} - graph.ids)
    if not left:
        raise NotHere
    new = graph.draw.choice(left)
    return lambda _: new


@_tables
def _placeholder_id(graph: Tables) -> Damage:
    return _renamed(graph, _placeholder(graph), bool)


@_tables
def _empty_id(graph: Tables) -> Damage:
    node = graph.node()
    if not graph.node_sheet:
        old = node.id
        node.row.cells[node.id_at] = ""
        return Damage([(old,)], node.row)
    cells = [*node.row.cells]
    cells[node.id_at] = ""
    return Damage([], graph.add(graph.node_sheet, cells), [], _singles(node.id))


@_tables
def _node_twice(graph: Tables) -> Damage:
    """One id in two rows, with another name."""
    if not graph.node_sheet:
        raise NotHere
    node = graph.node(lambda one: bool(one.name))
    cells = [*node.row.cells]
    cells[node.name_at] = f"{node.name} variant {graph.draw.randrange(100)}"
    return Damage([(node.id,)], graph.add(graph.node_sheet, cells))


@_tables
def _id_under_two_categories(graph: Tables) -> Damage:
    node = graph.node()
    other = graph.draw.choice(sorted({one.kind for one in graph.nodes} - {node.kind}))
    if graph.node_sheet:
        cells = [*node.row.cells]
        cells[node.kind_at] = other
        used: list[Marks] = [(other, edge.relation) for edge in graph.edges if node.id in (edge.head, edge.tail)]
        return Damage([(node.id,)], graph.add(graph.node_sheet, cells), [], used)
    twice = Counter(one.id for one in graph.nodes)
    node = graph.node(lambda one: twice[one.id] > 1)
    other = graph.draw.choice(sorted({one.kind for one in graph.nodes} - {node.kind}))
    node.row.cells[node.kind_at] = other
    return Damage([(node.id,)], node.row)


# --- names and categories ----------------------------------------------------------------------------------------


@_tables
def _placeholder_name(graph: Tables) -> Damage:
    node = graph.node(lambda one: bool(one.name))
    node.put(node.name_at, graph.draw.choice(PLACEHOLDERS[:4]))
    return Damage([(node.id,)], node.row)


@_tables
def _shared_name(graph: Tables) -> Damage:
    """The name of another node of its category."""
    if not graph.node_sheet:
        raise NotHere
    node = graph.node(lambda one: bool(one.name))
    other = graph.node(lambda one: bool(one.name) and one.kind == node.kind and one.name != node.name)
    node.put(node.name_at, other.name)
    return Damage([(node.id,), (other.id,)], node.row)


def _category(graph: Tables, change: Callable[[str], str]) -> Damage:
    node = graph.node(lambda one: "|" not in one.kind and change(one.kind) != one.kind)
    old, new = node.kind, change(node.kind)
    node.row.cells[node.kind_at] = new
    used: list[Marks] = [(old, edge.relation) for edge in graph.edges if node.id in (edge.head, edge.tail)]
    return Damage([(new,), (node.id,)], node.row, [], used)


@_tables
def _category_not_in_biolink(graph: Tables) -> Damage:
    _only(graph, "kgx")
    word = "".join(graph.draw.choice("qxzwj") for _ in range(6)).capitalize()
    return _category(graph, lambda _: PREFIX + word)


@_tables
def _category_in_another_case(graph: Tables) -> Damage:
    _only(graph, "kgx")
    how = graph.draw.choice((str.lower, str.upper))
    return _category(graph, lambda one: PREFIX + how(one.removeprefix(PREFIX)))


@_tables
def _type_in_two_spellings(graph: Tables) -> Damage:
    _only(graph, "hetionet", "neo4j", "primekg")
    how = graph.draw.choice((str.swapcase, str.upper, str.lower, lambda one: one.replace("/", " ") + " "))
    return _category(graph, how)


# --- edges -------------------------------------------------------------------------------------------------------


def _at(edge: Edge, at: int, value: str) -> None:
    edge.row.cells[at] = value


def _dangling(graph: Tables, end: str) -> Damage:
    if not graph.node_sheet:
        raise NotHere
    edge = graph.edge(lambda one: any(c.isdigit() for c in one.head) and any(c.isdigit() for c in one.tail))
    head, tail = edge.head, edge.tail
    new = graph.free(head if end == "head" else tail)
    _at(edge, edge.head_at if end == "head" else edge.tail_at, new)
    return Damage([(new,)], edge.row, [], [LOST, *_singles(head, tail)])


@_tables
def _dangling_head(graph: Tables) -> Damage:
    return _dangling(graph, "head")


@_tables
def _dangling_tail(graph: Tables) -> Damage:
    return _dangling(graph, "tail")


@_tables
def _edge_twice(graph: Tables) -> Damage:
    edge = graph.edge()
    sheet = graph.draw.choice(graph.edge_sheets)
    return Damage([(edge.head, edge.tail)], graph.add(sheet, [*edge.row.cells]))


@_tables
def _self_loop(graph: Tables) -> Damage:
    """An edge between two categories, turned to its own head."""
    edge = graph.edge(lambda one: graph.kinds.get(one.head) != graph.kinds.get(one.tail))
    cells = [*edge.row.cells]
    # Where edges describe their ends, the tail is described as the head.
    for n in range(-1, 4) if graph.sides else (0,):
        cells[edge.tail_at + n] = cells[edge.head_at + n]
    row = graph.add(edge.sheet, cells)
    explains = _pattern(graph, edge.head, edge.relation, edge.head)
    return Damage([(edge.head, edge.relation, edge.head)], row, [], explains)


@_tables
def _both_directions(graph: Tables) -> Damage:
    """A relation of parts or kinds that holds in both directions."""
    edge = graph.edge(lambda one: one.relation.removeprefix(PREFIX) in ("subclass_of", "part_of"))
    cells = [*edge.row.cells]
    cells[edge.head_at], cells[edge.tail_at] = edge.tail, edge.head
    row = graph.add(edge.sheet, cells)
    return Damage([(edge.head, edge.tail)], row, [], _pattern(graph, edge.tail, edge.relation, edge.head))


def _relation(graph: Tables, new: Callable[[Edge], str], fits: Callable[[Edge], bool] = lambda _: True) -> Damage:
    edge = graph.edge(fits)
    _at(edge, edge.relation_at, new(edge))
    explains = _singles(edge.head, edge.tail, edge.relation.replace(" ", "_") if " " in edge.relation.strip() else "")
    return Damage([(edge.relation,), (edge.head, edge.tail)], edge.row, [], explains)


@_tables
def _predicate_not_in_biolink(graph: Tables) -> Damage:
    _only(graph, "kgx")
    word = "".join(graph.draw.choice("qxzwj") for _ in range(6))
    return _relation(graph, lambda _: f"{PREFIX}{word}_of")


@_tables
def _predicate_deprecated(graph: Tables) -> Damage:
    _only(graph, "kgx")
    names = sorted(one.name for one in model().slots.values() if one.deprecated and one.is_predicate)
    held = {edge.relation for edge in graph.edges}
    name = graph.draw.choice([PREFIX + name for name in names if PREFIX + name not in held])
    return _relation(graph, lambda _: name)


def _turned(relation: str) -> str:
    """The inverse of a predicate, where the model asks for the predicate itself."""
    known = model().predicate(relation)
    inverse = model().inverse(known) if known else None
    return PREFIX + inverse.name if inverse and model().canonical(inverse) else ""


@_tables
def _inverse_of_canonical(graph: Tables) -> Damage:
    """An edge turned round, with its predicate."""
    _only(graph, "kgx")
    damage_edge = graph.edge(lambda one: bool(_turned(one.relation)))
    head, tail = damage_edge.head, damage_edge.tail
    _at(damage_edge, damage_edge.relation_at, _turned(damage_edge.relation))
    _at(damage_edge, damage_edge.head_at, tail)
    _at(damage_edge, damage_edge.tail_at, head)
    return Damage([(damage_edge.relation,)], damage_edge.row, [], _singles(head, tail))


@_tables
def _relation_in_two_spellings(graph: Tables) -> Damage:
    held = Counter(edge.relation for edge in graph.edges)
    how = graph.draw.choice((str.upper, str.lower, lambda one: one.replace("_", " "), lambda one: one + " "))

    def new(edge: Edge) -> str:
        local = edge.relation.removeprefix(PREFIX)
        return edge.relation[: len(edge.relation) - len(local)] + how(local)

    return _relation(graph, new, lambda one: held[one.relation] > 5 and new(one) not in held)


@_tables
def _domain_or_range_violated(graph: Tables) -> Damage:
    """An edge turned round, where neither end may be the other."""
    _only(graph, "kgx")

    def is_wrong(edge: Edge) -> bool:
        known = model().predicate(edge.relation)
        ends = [model().category(graph.kinds.get(one, "").split("|")[0]) for one in (edge.tail, edge.head)]
        asked = [model().end(known, role) if known else None for role in ("domain", "range")]
        return any(a and b and not model().may_be(a, b) for a, b in zip(ends, asked, strict=True))

    edge = graph.edge(is_wrong)
    cells = [*edge.row.cells]
    cells[edge.head_at], cells[edge.tail_at] = edge.tail, edge.head
    # A type of edges has one of the categories of a node.
    heads, tails = (graph.kinds[one].split("|") for one in (edge.tail, edge.head))
    marks: list[Marks] = [(edge.tail, edge.relation, edge.head)]
    marks += [(head, edge.relation, tail) for head in heads for tail in tails]
    return Damage(marks, graph.add(edge.sheet, cells), [], _singles(edge.head, edge.tail))


@_tables
def _knowledge_source_missing(graph: Tables) -> Damage:
    if "primary_knowledge_source" not in graph.edge_sheets[0].header:
        raise NotHere
    at = graph.edge_sheets[0].column("primary_knowledge_source")
    edge = graph.edge(lambda one: bool(one.row.cells[at]))
    _at(edge, at, "")
    return Damage([(edge.head, edge.relation, edge.tail)], edge.row, [], _singles(edge.head, edge.tail))


@_tables
def _negated_edge(graph: Tables) -> Damage:
    """The denial of an edge beside it: no duplicate."""
    _only(graph, "kgx")
    sheet = graph.edge_sheets[0]
    if "negated" not in sheet.header:
        sheet.header.append("negated")
        for row in sheet.rows:
            row.cells += [""] * (len(sheet.header) - 1 - len(row.cells)) + ["false"]
    edge = graph.edge()
    graph.add(sheet, [*edge.row.cells[:-1], "true"])
    return Damage([])


# --- rows --------------------------------------------------------------------------------------------------------


@_tables
def _empty_end(graph: Tables) -> Damage:
    edge = graph.edge()
    cells = [*edge.row.cells]
    cells[graph.draw.choice((edge.head_at, edge.tail_at))] = ""
    return Damage([], graph.add(edge.sheet, cells), [], _singles(edge.head, edge.tail))


@_tables
def _empty_relation(graph: Tables) -> Damage:
    edge = graph.edge()
    cells = [*edge.row.cells]
    cells[edge.relation_at] = ""
    return Damage([(edge.head, edge.tail)], graph.add(edge.sheet, cells))


@_tables
def _too_many_fields(graph: Tables) -> Damage:
    edge = graph.edge()
    ends = _singles(edge.head, edge.tail, "text")
    edge.row.cells.insert(graph.draw.randrange(1, len(edge.row.cells) + 1), "text")
    return Damage([], edge.row, [], ends)


@_tables
def _row_cut_off(graph: Tables) -> Damage:
    """A row that ends before its last needed field."""
    edge = graph.edge()
    ends = _singles(edge.head, edge.tail)
    del edge.row.cells[graph.draw.randrange(1, max(edge.head_at, edge.relation_at, edge.tail_at) + 1) :]
    return Damage([], edge.row, [], ends)


@_tables
def _not_utf8(graph: Tables) -> Damage:
    node = graph.node(lambda one: bool(one.name))
    cells = [*node.row.cells]
    cells[node.name_at] += " caf\u00e9"
    node.row.raw = node.sheet.written(cells).replace("\u00e9".encode(), b"\xe9")
    return Damage([(node.id,)], node.row, [], [LOST])


@_tables
def _header_as_data(graph: Tables) -> Damage:
    edge = graph.edge()
    sheet = edge.sheet
    at = graph.draw.randrange(1, len(sheet.rows))
    row = graph.add(sheet, [*sheet.header], at)
    names = [sheet.header[n] for n in (edge.head_at, edge.tail_at)]
    return Damage([tuple(names)], row, [], _singles(*names))


@_tables
def _quote_not_closed(graph: Tables) -> Damage:
    """A name that begins with a quote, in a table whose quotes mean something."""
    node = graph.node(lambda one: bool(one.name) and one.sheet.delimiter == ",")
    marked = "quotehere"
    cells = [*node.row.cells]
    cells[node.name_at] = marked
    node.row.raw = node.sheet.written(cells).replace(marked.encode(), b'"' + node.name.replace('"', "").encode())
    following = node.sheet.rows[node.sheet.rows.index(node.row) :][:400]
    lost = [cell for row in following for cell in row.cells if is_well_known(cell)]
    return Damage([(node.id,)], node.row, [], [LOST, *_singles(*lost)])


@_tables
def _deprecated_with_edges(graph: Tables) -> Damage:
    if not graph.node_sheet or "deprecated" not in graph.node_sheet.header:
        raise NotHere
    node = graph.node(lambda one: one.id in graph.users)
    node.put(graph.node_sheet.column("deprecated"), graph.draw.choice(("true", "True")))
    return Damage([(node.id,)], node.row)


@_tables
def _lines_end_crlf(graph: Tables) -> Damage:
    for sheet in graph.sheets:
        sheet.line_end = "\r\n"
    return Damage([])


@_tables
def _rows_in_another_order(graph: Tables) -> Damage:
    for sheet in graph.sheets:
        graph.draw.shuffle(sheet.rows)
    return Damage([])


# --- OBO ---------------------------------------------------------------------------------------------------------

OBO_KINDS |= {
    "id_with_doubled_colon": lambda graph: _renamed(graph, lambda one: one.replace(":", "::", 1)),
    "id_without_prefix": lambda graph: _renamed(graph, _without_prefix),
    "id_with_space": lambda graph: _renamed(graph, _spaced(graph.draw)),
    "local_id_not_of_pattern": lambda graph: _renamed(graph, lambda one: one + "x"),
    "prefix_in_another_case": lambda graph: _renamed(graph, _other_case, by_prefix=True),
    "unknown_prefix": lambda graph: _renamed(graph, _strange_prefix(graph.draw)),
}


@_obo
def _obo_placeholder_id(graph: Ontology) -> Damage:
    return _renamed(graph, _placeholder(graph))


@_obo
def _obo_empty_id(graph: Ontology) -> Damage:
    term = graph.term()
    old, at = term.id, term.put("id", b"")
    return Damage([(old,)], None, [(graph.file, graph.line(term, n)) for n in (0, at)])


@_obo
def _obo_node_twice(graph: Ontology) -> Damage:
    term = graph.term()
    copy = type(term)([*term.lines])
    copy.put("name", f"{term.name} variant {graph.draw.randrange(100)}".encode())
    graph.stanzas.append(copy)
    return Damage([(term.id,)], None, [(graph.file, graph.line(copy, n)) for n in (0, 1)])


@_obo
def _obo_placeholder_name(graph: Ontology) -> Damage:
    term = graph.term()
    at = term.put("name", graph.draw.choice(PLACEHOLDERS[:4]).encode())
    return Damage([(term.id,)], None, [(graph.file, graph.line(term, at))])


@_obo
def _obo_shared_name(graph: Ontology) -> Damage:
    term, other = graph.term(), graph.term()
    term.put("name", other.name.encode())
    return Damage([(term.id,), (other.id,)])


def _line(graph: Ontology, line: Callable[[str, str], bytes], marks: Callable[[str, str], list[Marks]]) -> Damage:
    """A line in place of the first ``is_a`` of a term, by the ids of term and parent."""
    term = graph.term(lambda one: bool(graph.parents(one)))
    parent = graph.parents(term)[0]
    at = next(n for n, one in enumerate(term.lines) if one.startswith(b"is_a: "))
    term.lines[at] = line(term.id, parent)
    return Damage(marks(term.id, parent), None, [(graph.file, graph.line(term, at))], _singles(term.id, parent))


@_obo
def _obo_dangling_tail(graph: Ontology) -> Damage:
    new = graph.free("GO:0000000")
    return _line(graph, lambda *_: f"is_a: {new}".encode(), lambda *_: [(new,)])


@_obo
def _obo_empty_end(graph: Ontology) -> Damage:
    return _line(graph, lambda *_: b"is_a: ", lambda *_: [])


@_obo
def _obo_row_cut_off(graph: Ontology) -> Damage:
    return _line(graph, lambda *_: b"is_", lambda *_: [])


@_obo
def _obo_self_loop(graph: Ontology) -> Damage:
    return _line(graph, lambda term, _: f"is_a: {term}".encode(), lambda term, _: [(term, "is_a")])


@_obo
def _obo_relation_in_two_spellings(graph: Ontology) -> Damage:
    spelling = graph.draw.choice(("Part_of", "PART_OF", "part-of"))
    return _line(graph, lambda _, parent: f"relationship: {spelling} {parent}".encode(), lambda *_: [(spelling,)])


@_obo
def _obo_relation_not_declared(graph: Ontology) -> Damage:
    word = "".join(graph.draw.choice("qxzwj") for _ in range(6)) + "_of"
    return _line(graph, lambda _, parent: f"relationship: {word} {parent}".encode(), lambda *_: [(word,)])


@_obo
def _obo_edge_twice(graph: Ontology) -> Damage:
    term = graph.term(lambda one: bool(graph.parents(one)))
    at = next(n for n, one in enumerate(term.lines) if one.startswith(b"is_a: "))
    term.lines.insert(at, term.lines[at])
    return Damage([(term.id, "is_a", graph.parents(term)[0])])


@_obo
def _obo_both_directions(graph: Ontology) -> Damage:
    by_id = {one.id: one for one in graph.stanzas}
    term = graph.term(lambda one: any(p in by_id and by_id[p].lines[0] == b"[Term]" for p in graph.parents(one)))
    parent = next(p for p in graph.parents(term) if p in by_id)
    by_id[parent].lines.append(f"is_a: {term.id}".encode())
    # A cycle is told of one that is in it.
    return Damage([(term.id, "is_a"), (parent, "is_a"), (term.id, parent)], None, [], _singles(term.id, parent))


@_obo
def _obo_obsolete_with_edges(graph: Ontology) -> Damage:
    term = graph.term(lambda one: bool(graph.parents(one)))
    term.lines.append(b"is_obsolete: true")
    return Damage([(term.id,)])


@_obo
def _obo_alternative_id_in_use(graph: Ontology) -> Damage:
    term, other = graph.term(), graph.term()
    term.lines.insert(2, f"alt_id: {other.id}".encode())
    return Damage([(term.id,), (other.id,)])


@_obo
def _obo_not_utf8(graph: Ontology) -> Damage:
    term = graph.term()
    at = term.put("name", term.name.encode() + b" caf\xe9")
    return Damage([(term.id,)], None, [(graph.file, graph.line(term, at))])


@_obo
def _obo_lines_end_crlf(graph: Ontology) -> Damage:
    graph.line_end = b"\r\n"
    return Damage([])


@_obo
def _obo_rows_in_another_order(graph: Ontology) -> Damage:
    graph.draw.shuffle(graph.stanzas)
    return Damage([])


# --- audits ------------------------------------------------------------------------------------------------------


class Said(NamedTuple):
    """What an audit says: its findings by what tells them apart, whether each is refuted, and all other texts."""

    findings: dict[tuple[str | None, ...], tuple[str, bool, str]]
    notes: list[str]
    refused: str = ""


def audited(path: Path, work: Path) -> Said:
    """Audit a graph as a stranger would."""
    notes: list[str] = []
    findings: dict[tuple[str | None, ...], tuple[str, bool, str]] = {}
    refused = ""
    try:
        with Workspace(store=f"files:{path}", ledger=work / "ledger.sqlite", settings=Settings(home=work)) as workspace:
            notes += workspace.recognised()
            graph = cast(FileStore, workspace.graph)
            rejected = graph.files.tables.db.execute("FROM quarantine").fetchall()
            notes += [f"{file}:{line} {' '.join(map(str, rest))}" for file, line, *rest in rejected]
            for one in workspace.audit(unfold=True).findings:
                reason = one.verdict.reason.value
                is_refuted = one.verdict.outcome is Outcome.REFUTED
                # The same finding of a label or a type of edges may stand at another label, and count others.
                task, value = one.task, re.sub(r"\b[\d,]+\b", "", one.task.value or "")
                tail = task.object.id if task.object else None
                ids = (reason, task.subject.id, task.relation, tail, task.attribute, value)
                text = f"{texts_of(one)}\x1f{one.task.object.label if one.task.object else ''}"
                findings[ids] = (text, is_refuted, reason)
    except KgcheckError as error:
        refused = f"{error.message}; {error.hint}"
        notes.append(refused)
    return Said(findings, notes, refused)


class Result(NamedTuple):
    """What came of a kind in a graph."""

    found: int
    injected: int
    wrong: list[str]
    unexplained: list[str]
    new: int
    reasons: Counter[str]
    silent: list[str]
    refused: str


def _names(text: str, marks: Marks) -> bool:
    # Names that come to one are told apart by a number after two underscores.
    return all(re.search(rf"(?<!\w){re.escape(mark)}(?!(?!__\d)\w)", text) for mark in marks)


def _stands_at(text: str, places: list[tuple[str, int]]) -> bool:
    return any(re.search(rf"{re.escape(file)}\b.*?(:|\blines? ){line}\b", text) for file, line in places)


def compared(said: Said, base: Said, damages: list[Damage]) -> Result:
    """What of an audit is new, and which errors that tells."""
    new = {key: one for key, one in said.findings.items() if key not in base.findings}
    old_notes = {re.sub(r":\d+ ", " ", note) for note in base.notes}
    notes = [note for note in said.notes if re.sub(r":\d+ ", " ", note) not in old_notes]
    reasons: Counter[str] = Counter()
    silent = []
    found = 0
    for one in damages:
        by_reason = {
            reason
            for text, _, reason in new.values()
            if any(_names(text, m) for m in one.marks) or _stands_at(text, one.places)
        }
        by_reason |= {
            f"({note.split(' ', 2)[1] if _stands_at(note, one.places) else 'note'})"
            for note in notes
            if any(_names(note, m) for m in one.marks) or _stands_at(note, one.places)
        }
        reasons.update(by_reason)
        found += bool(by_reason)
        if not by_reason:
            silent.append(f"{one.marks or one.places}")
    explained = [m for one in damages for m in (*one.marks, *one.explains)]
    places = [place for one in damages for place in one.places]
    unexplained = [
        (f"{reason}: {text}".replace("\x1f", " "), is_refuted)
        for text, is_refuted, reason in new.values()
        if not any(_names(text, m) for m in explained) and not _stands_at(text, places)
    ]
    wrong = [text for text, is_refuted in unexplained if is_refuted]
    return Result(found, len(damages), wrong, [t for t, _ in unexplained], len(new), reasons, silent, said.refused)


def measured(name: str, seed: int, kind: str) -> Result | None:
    """Put errors of a kind into a graph, and audit it beside the graph as it is; None where it has no place."""
    graph = pickle.loads(_graph(name, seed))  # noqa: S301
    # The same graph for all kinds of a seed; other places for each kind.
    graph.draw = Random(f"{seed} {name} {kind}")  # noqa: S311
    with TemporaryDirectory() as work:
        before, after = Path(work) / "before", Path(work) / "after"
        before.mkdir()
        after.mkdir()
        whole = graph.write(before)
        damages: list[Damage] = []
        make = (OBO_KINDS if isinstance(graph, Ontology) else TABLE_KINDS).get(kind)
        with suppress(NotHere):
            while make and len(damages) < (1 if kind in HARMLESS - {"negated_edge"} else NUMBER):
                damages.append(make(graph))
        if not damages:
            return None
        if isinstance(graph, Tables):
            for one in damages:
                one.places += [
                    (s.name, s.line(one.row)) for s in graph.sheets if one.row and any(r is one.row for r in s.rows)
                ]
        damaged = graph.write(after)
        base = _base(name, seed, whole)
        (Path(work) / "home").mkdir()
        return compared(audited(damaged, Path(work) / "home"), base, damages)


@cache
def _graph(name: str, seed: int) -> bytes:
    return pickle.dumps(GRAPHS[name](Random(f"{seed} {name}")))  # noqa: S311


_BASES: dict[tuple[str, int], Said] = {}


def _base(name: str, seed: int, path: Path) -> Said:
    if (name, seed) not in _BASES:
        with TemporaryDirectory() as work:
            _BASES[name, seed] = audited(path, Path(work))
    return _BASES[name, seed]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, action="append", default=[])
    parser.add_argument("--graph", action="append", choices=sorted(GRAPHS), default=[])
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="so many of what is silent or not explained, by kind")
    options = parser.parse_args()
    if not SHARED.is_dir():
        sys.exit(f"there is no folder {SHARED}")
    names, seeds = options.graph or [*GRAPHS], options.seed or [1]
    kinds = options.kind or [*dict.fromkeys([*TABLE_KINDS, *OBO_KINDS])]
    tasks = [(name, seed, kind) for name in names for seed in seeds for kind in kinds]
    results: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    with ProcessPoolExecutor(options.jobs) as pool:
        for (name, _, kind), one in zip(tasks, pool.map(measured, *zip(*tasks, strict=True)), strict=True):
            if one:
                results[kind][name].append(one)
    sys.stdout.write(f"| kind | {' | '.join(names)} | WRONG |\n|{' --- |' * (len(names) + 2)}\n")
    decidable: list[Result] = []
    every: list[Result] = []
    notes: list[str] = []
    for kind in kinds:
        cells = []
        for name in names:
            held = results[kind][name]
            total = sum(one.injected for one in held)
            cells.append(
                ("none wanted" if kind in HARMLESS else f"{sum(r.found for r in held)}/{total}") if held else ""
            )
        here = [one for name in names for one in results[kind][name]]
        every += here
        decidable += [] if kind in HARMLESS else here
        sys.stdout.write(f"| {kind} | {' | '.join(cells)} | {sum(len(one.wrong) for one in here) or ''} |\n")
        for name in names:
            for one in results[kind][name]:
                says = ", ".join(f"{reason} {n}" for reason, n in one.reasons.most_common())
                notes.append(f"{kind}, {name}: {one.found}/{one.injected} by {says or 'nothing'} {one.refused[:150]}")
                notes += [f"    silent {text[:200]}" for text in one.silent[: options.show]]
                notes += [f"    WRONG {text[:300]}" for text in one.wrong[: options.show]]
                notes += [
                    f"    not explained {text[:300]}"
                    for text in one.unexplained[: options.show]
                    if text not in one.wrong
                ]
    found, injected = sum(one.found for one in decidable), sum(one.injected for one in decidable)
    new, unexplained = sum(one.new for one in every), sum(len(one.unexplained) for one in every)
    wrong = sum(len(one.wrong) for one in every)
    number = len({kind for kind in kinds if results[kind]} - HARMLESS)
    recall, precision = found / max(injected, 1), (new - unexplained) / max(new, 1)
    sys.stdout.write(
        f"\n{number} kinds; recall {found:,} of {injected:,} = {recall:.3f}; precision {new - unexplained:,} of "
        f"{new:,} new findings = {precision:.3f}; {wrong:,} WRONG\n"
    )
    if options.show:
        sys.stdout.write("\n".join(notes) + "\n")


if __name__ == "__main__":
    main()
