"""Graphs as JSON: KGX, node-link, Cytoscape, CX, TRAPI, APOC, OBO Graph and Hetionet JSON, documents and lines."""

import codecs
import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import jiter

from kgcheck.errors import LET_READ, InputFormat
from kgcheck.forms.curies import obo_curie
from kgcheck.forms.form import GraphForm
from kgcheck.forms.rows import (
    NO_RELATION,
    RowBuffer,
    call_by_stated_ids,
    id_text,
    local_prefix,
    separate_local_ids,
    text,
    text_list,
    without,
)
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.inputs import LARGEST_GRAPH, LONGEST_LINE, MIB, Bounded

_FEW = 50
"""Items of a list, and lines, that are looked at to recognise a form."""

_SKETCHED_DEPTH = 4
_SPACE = b" \t\r\n"
_LINES = " lines"
_EDGE_LISTS = ("edges", "links", "rels", "relationships")
_RELATIONS = ("relation", "predicate", "interaction", "shared_interaction", "shared interaction", "label", "type")
_KINDS = ("categories", "category", "labels", "node_type", "kind", "type")
_Item = dict[str, Any]
_Place = int | str
_Adder = Callable[[RowBuffer, _Item, _Place], None]


# What a file is


class Sketch(NamedTuple):
    """A JSON file's beginning.

    Attributes:
        document: The value that it begins with, lists shortened; None where it begins with none.
        lines: The objects of the first lines that are one each.
        ends: Nothing follows that was not looked at.
    """

    document: Any
    lines: tuple[_Item, ...]
    ends: bool


def sketch(source: Source) -> Sketch:
    """Sketch the beginning of a JSON file; of other files, nothing."""
    head = source.head.removeprefix(codecs.BOM_UTF8).lstrip(_SPACE)
    if not head.startswith((b"{", b"[")):
        return Sketch(None, (), True)
    begun = (_parsed(line) for line in islice(head.split(b"\n"), _FEW) if line.lstrip(_SPACE).startswith(b"{"))
    lines = tuple(filter(None, begun))
    if (whole := _parsed(head)) is not None:
        return Sketch(whole, lines, True)
    sound = head
    for _ in range(2):
        try:
            return Sketch(jiter.from_json(sound, partial_mode=True), lines, False)
        except ValueError as error:
            # What stands before a mistake tells the form, whose reader will tell of the mistake.
            sound = head[: _offset(head, error)]
    return Sketch(None, lines, False)


def _parsed(data: bytes) -> Any:
    try:
        return jiter.from_json(data)
    except ValueError:
        return None


def _offset(text: bytes, error: ValueError) -> int:
    found = re.search(r"at line (\d+) column (\d+)", str(error))
    if not found:
        return 0
    before = text.split(b"\n", int(found[1]) - 1)[:-1]
    return max(0, sum(len(line) + 1 for line in before) + int(found[2]) - 2)


def _shortened(value: Any, depth: int = _SKETCHED_DEPTH) -> Any:
    if not isinstance(value, dict | list):
        return value
    if not depth:
        return type(value)()
    if isinstance(value, list):
        return [_shortened(v, depth - 1) for v in value[:_FEW]]
    return {k: _shortened(v, depth - 1) for k, v in islice(value.items(), _FEW)}


def kind_of(source: Source) -> str:
    """The form of a JSON file, with ``lines`` where it has one object a line; empty for any other file."""
    begun = source.known(sketch)
    found = _document_kind(begun.document, whole=begun.ends) or _lines_kind(begun.lines)
    if found or begun.document is None or begun.ends or len(begun.lines) > 1:
        return found
    try:
        found = _document_kind(_shortened(_document(source)), whole=True)
    except InputFormat:
        # Its reader will say why.
        pass
    return found or _document_kind(begun.document, whole=True)


def _document_kind(value: Any, *, whole: bool) -> str:
    if isinstance(value, list):
        return _list_kind(_dicts(value))
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("graphs"), list):
        return "OBO Graph JSON" if any(map(_is_obo_graph, value["graphs"])) else ""
    if "metanode_kinds" in value:
        return "Hetionet JSON"
    if _knowledge_graph(value) is not None:
        return "TRAPI"
    elements = value.get("elements")
    if isinstance(elements, list | dict):
        inner = _dicts(elements if isinstance(elements, list) else [v for e in elements.values() for v in _dicts(e)])
        return "Cytoscape JSON" if any("data" in item for item in inner) else ""
    if _is_obo_graph(value):
        return "OBO Graph JSON"
    return _node_and_edge_kind(value, whole=whole)


def _list_kind(found: list[_Item]) -> str:
    if any("CXVersion" in f for f in found):
        return "CX2"
    elements = (item for f in found for name in ("nodes", "edges") for item in _dicts(f.get(name)))
    if any("numberVerification" in f for f in found) or any("@id" in item for item in elements):
        return "CX"
    if any({"id", "source"} & _dict(f.get("data")).keys() for f in found):
        return "Cytoscape JSON"
    return "APOC JSON" if any(map(_is_apoc, found)) else ""


def _node_and_edge_kind(value: _Item, *, whole: bool) -> str:
    for edge in (e for name in _EDGE_LISTS for e in _dicts(value.get(name))):
        if isinstance(edge.get("data"), dict):
            return "Cytoscape JSON"
        if "subject" in edge and "object" in edge:
            # An object of nodes is a summary by category, such as a TRAPI meta knowledge graph.
            return "" if isinstance(value.get("nodes"), dict) else "KGX JSON"
        if "source" in edge and "target" in edge:
            return "node-link JSON"
        if "source_id" in edge and "target_id" in edge:
            return "TRAPI"
        if isinstance(edge.get("start"), dict) and "end" in edge:
            return "APOC JSON"
    if not whole or not isinstance(value.get("nodes"), list):
        return ""
    nodes = _dicts(value["nodes"])
    if any(isinstance(n.get("data"), dict) for n in nodes):
        return "Cytoscape JSON"
    if any("id" in n and "category" in n for n in nodes):
        return "KGX JSON"
    if any(map(_is_apoc, nodes)):
        return "APOC JSON"
    is_linked = any("id" in n for n in nodes) and any(name in value for name in (*_EDGE_LISTS, "directed"))
    return "node-link JSON" if is_linked else ""


def _lines_kind(lines: Sequence[_Item]) -> str:
    for name, fits in (("KGX JSON", _is_kgx), ("APOC JSON", _is_apoc)):
        fitting = sum(map(fits, lines))
        if fitting and fitting * 2 >= len(lines):
            return name + _LINES
    return ""


def _is_kgx(line: _Item) -> bool:
    is_edge = {"subject", "object"} <= line.keys() and bool({"predicate", "edge_label", "relation"} & line.keys())
    return is_edge or {"id", "category"} <= line.keys()


def _is_apoc(item: _Item) -> bool:
    match item.get("type"):
        case "node":
            return "id" in item and bool({"labels", "properties"} & item.keys())
        case "relationship":
            return isinstance(item.get("start"), dict) and isinstance(item.get("end"), dict)
        case _:
            return False


def _is_obo_graph(graph: Any) -> bool:
    parts = _dict(graph)
    return any("pred" in e and "obj" in e for e in _dicts(parts.get("edges"))) or any(
        "id" in n and ("lbl" in n or n.get("type") in ("CLASS", "PROPERTY", "INDIVIDUAL"))
        for n in _dicts(parts.get("nodes"))
    )


def _knowledge_graph(value: _Item) -> _Item | None:
    """The graph of a TRAPI response, or of a message or knowledge graph alone."""
    message = value.get("message")
    inner = message if isinstance(message, dict) else value
    graph = inner.get("knowledge_graph", inner.get("knowledge_map") if inner is not value else None)
    if isinstance(graph, dict):
        return graph
    if inner is not value and {"query_graph", "results"} & inner.keys():
        return {}
    nodes, edges = value.get("nodes"), value.get("edges")
    if isinstance(nodes, dict) and isinstance(edges, dict):
        if any({"subject", "object", "predicate"} <= edge.keys() for edge in _dicts(list(edges.values()))):
            return value
    return None


def _dicts(value: Any) -> list[_Item]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _dict(value: Any) -> _Item:
    return value if isinstance(value, dict) else {}


# What it holds


def _document(source: Source) -> Any:
    """The value of a file that is one JSON document, not too large nor too deep, each key once in an object."""
    try:
        size = source.path.stat().st_size
        if size > LARGEST_GRAPH:
            raise InputFormat(
                f"{source.name} is one JSON document of {size // MIB} MiB, and more than {LARGEST_GRAPH // MIB} MiB"
                " are not held in memory",
                "convert it to JSON lines or to KGX TSV (kgx transform), which are read line by line",
            )
        return jiter.from_json(source.path.read_bytes().removeprefix(codecs.BOM_UTF8), catch_duplicate_keys=True)
    except OSError as error:
        raise InputFormat(f"cannot read {source.name}: {error.strerror or error}", LET_READ) from error
    except ValueError as error:
        raise InputFormat(
            f"{source.name} cannot be read as JSON: {error}", "it may be cut off: fetch it again, or correct it"
        ) from error


def _json_lines(buffer: RowBuffer) -> Iterator[tuple[int, _Item]]:
    """The objects of a file of JSON lines with their line numbers; other lines are rejected."""
    source = buffer.source
    try:
        with closing(Bounded(source.path, most=LONGEST_LINE)) as raw:
            for number, line in enumerate(io.BufferedReader(raw, MIB), 1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if not line.strip(_SPACE):
                    continue
                try:
                    item = jiter.from_json(line, catch_duplicate_keys=True)
                except ValueError as error:
                    buffer.reject("malformed", f"no JSON: {error}", line[:500].decode(errors="replace"), number)
                    continue
                if isinstance(item, dict):
                    yield number, item
                else:
                    buffer.reject("malformed", "a line that is no JSON object", item, number)
    except (OSError, EOFError) as error:
        raise InputFormat(f"cannot read {source.name}: {error}", LET_READ) from error


def _items(buffer: RowBuffer, value: Any, name: str) -> Iterator[tuple[str, _Item]]:
    """The objects of a list, or of an object whose keys are their ids, with their places; other things are rejected."""
    if isinstance(value, dict):
        listed = [(f"{name}[{key[:80]!r}]", {**v, "id": key} if isinstance(v, dict) else v) for key, v in value.items()]
    elif isinstance(value, list):
        listed = [(f"{name}[{number}]", v) for number, v in enumerate(value)]
    else:
        listed = []
        if value is not None:
            buffer.reject("malformed", "no list", value, name)
    for place, item in listed:
        if isinstance(item, dict):
            yield place, item
        else:
            buffer.reject("malformed", "no JSON object", item, place)


def _nodes_and_edges(
    buffer: RowBuffer, value: _Item, node: _Adder, edge: _Adder, others: Sequence[str] | None = None
) -> None:
    for name, add in (("nodes", node), ("edges", edge)):
        for place, item in _items(buffer, value.get(name), name):
            add(buffer, item, place)
    if others is not None:
        _note_others(buffer, value, ("nodes", "edges", *others))


def _note_others(buffer: RowBuffer, value: Mapping[str, Any], read: Sequence[str]) -> None:
    """Say which fields of a document are passed over, and how many items they hold."""
    passed = [
        f"{name[:60]} ({len(inner):,})" if isinstance(inner, list | dict) else name[:60]
        for name, inner in value.items()
        if name not in read and inner not in (None, [], {}, "")
    ]
    if passed:
        buffer.note(f"read without {', '.join(passed[:12])}{' …' if len(passed) > 12 else ''}: no nodes or edges")


def _relation(item: Mapping[str, Any]) -> tuple[Any, str]:
    """An edge's relation, and the field that says it."""
    return next(((item[name], name) for name in _RELATIONS if text(item.get(name)).strip()), (NO_RELATION, ""))


def _named_and_typed(item: _Item) -> tuple[list[str], _Item]:
    """Labels and properties of a node whose fields are its writer's choice."""
    kind = next((name for name in _KINDS if text_list(item.get(name))), "")
    title = next((name for name in ("name", "shared_name", "shared name", "label", "title") if item.get(name)), "")
    if not kind and title and title != "label" and text(item.get("label")):
        kind = "label"
    rest = without(item, kind, *([title] if title in ("label", "title") else []))
    return text_list(item.get(kind)) if kind else [], {**rest, **({"name": item[title]} if title else {})}


# KGX


def _kgx_line(buffer: RowBuffer, item: _Item, at: _Place) -> None:
    (_kgx_edge if {"subject", "object"} & item.keys() else _kgx_node)(buffer, item, at)


def _kgx_node(buffer: RowBuffer, item: _Item, at: _Place) -> None:
    buffer.node(item.get("id"), text_list(item.get("category")), without(item, "id", "category"), at)


def _kgx_edge(buffer: RowBuffer, item: _Item, at: _Place) -> None:
    if text(item.get("negated")).lower() == "true":
        buffer.negated()
        return
    name = next((n for n in ("predicate", "edge_label", "relation") if item.get(n)), "predicate")
    rest = without(item, "subject", name, "object", "negated")
    buffer.edge(item.get("subject"), item.get(name), item.get("object"), rest, at)


# Node-link


def _read_node_link(buffer: RowBuffer, value: _Item) -> None:
    links = next((name for name in ("links", "edges") if isinstance(value.get(name), list)), "links")
    nodes = value.get("nodes")
    for place, item in _items(buffer, nodes, "nodes"):
        labels, properties = _named_and_typed(without(item, "id"))
        if "bel" in item:
            # Proteins, their RNA and their variants share a concept, whose name is no name of theirs.
            labels = text_list(item.get("function"))
            properties = {**without(item, "id", "bel", "function"), "name": item["bel"]}
        buffer.node(item.get("id"), labels, properties, place)
    ids = [_dict(n).get("id") for n in nodes] if isinstance(nodes, list) else []
    end = _link_end(ids, _dicts(value.get(links)))
    for place, item in _items(buffer, value.get(links), links):
        relation, name = _relation(item)
        if isinstance(item.get("key"), str) and relation == NO_RELATION:
            relation, name = item["key"], "key"
        rest = without(item, "source", "target", name)
        buffer.edge(end(item.get("source")), relation, end(item.get("target")), rest, place)
    _note_others(buffer, value, ("nodes", links, "directed", "multigraph"))


def _link_end(ids: list[Any], links: list[_Item]) -> Callable[[Any], Any]:
    """The node at a link's end: it is named by its id or, as in PyBEL's files, by its place in the list of nodes."""
    ends = [link.get(name) for link in links for name in ("source", "target")]
    places = {place for place in ends if isinstance(place, int) and not isinstance(place, bool)}
    by_place = not any(isinstance(i, int) for i in ids) and all(0 <= p < len(ids) for p in places)
    if by_place and places and not {id_text(p) for p in places} <= {id_text(i) for i in ids}:
        return lambda end: ids[end] if id_text(end) and isinstance(end, int) else end
    return lambda end: end


# Cytoscape


def _read_cytoscape(buffer: RowBuffer, value: Any) -> None:
    elements = value.get("elements", value) if isinstance(value, dict) else value
    if isinstance(elements, list):
        for place, item in _items(buffer, elements, "elements"):
            is_edge = item.get("group") == "edges" or "source" in _dict(item.get("data"))
            (_cytoscape_edge if is_edge else _cytoscape_node)(buffer, item, place)
    elif isinstance(elements, dict):
        _nodes_and_edges(buffer, elements, _cytoscape_node, _cytoscape_edge)
    if isinstance(value, dict):
        _note_others(buffer, value, ("elements", "nodes", "edges"))


def _cytoscape_node(buffer: RowBuffer, item: _Item, place: _Place) -> None:
    data = _dict(item.get("data"))
    labels, properties = _named_and_typed(without(data, "id"))
    buffer.node(data.get("id"), labels, properties, place)


def _cytoscape_edge(buffer: RowBuffer, item: _Item, place: _Place) -> None:
    data = _dict(item.get("data"))
    relation, name = _relation(data)
    buffer.edge(data.get("source"), relation, data.get("target"), without(data, "source", "target", name), place)


# CX and CX2

_CX_READ = (
    *("numberVerification", "metaData", "status", "@context", "CXVersion", "hasFragments", "attributeDeclarations"),
    *("nodes", "edges", "nodeAttributes", "edgeAttributes", "citations", "edgeCitations"),
)


def _read_cx(buffer: RowBuffer, value: Any, key: str = "@id") -> None:
    aspects = defaultdict[str, list[Any]](list)
    for part in _dicts(value):
        # Each aspect may come in parts.
        for name, content in part.items():
            aspects[name] += content if isinstance(content, list) else [content]
    known = partial(_declared, aspects) if key == "id" else _cx_attributes(buffer, aspects)
    nodes = [(p, id_text(n.get(key)), known("nodes", n)) for p, n in _items(buffer, aspects.get("nodes"), "nodes")]
    ids = _cx_ids(((number, stated.get("represents")) for _, number, stated in nodes), buffer.prefix)
    for place, number, stated in nodes:
        lower = {n.lower() if n in ("TYPE", "Type") else n: v for n, v in stated.items()}
        labels, properties = _named_and_typed(lower)
        id_ = ids.get(number)
        is_id = id_ == stated.get("represents")
        buffer.node(id_, labels, without(properties, "represents") if is_id else properties, place)
    for place, item in _items(buffer, aspects.get("edges"), "edges"):
        stated = known("edges", item)
        relation, name = _relation(stated)
        head, tail = (ids.get(id_text(item.get(end)), item.get(end)) for end in ("s", "t"))
        buffer.edge(head, relation, tail, without(stated, name), place)
    _note_others(buffer, aspects, _CX_READ)


def _cx_attributes(buffer: RowBuffer, aspects: Mapping[str, list[Any]]) -> Callable[[str, _Item], _Item]:
    """All that a CX file states of a node or an edge, whose attributes stand by its id in an aspect of their own."""
    found: dict[str, defaultdict[str, _Item]] = {"nodes": defaultdict(dict), "edges": defaultdict(dict)}
    for kind, of in found.items():
        aspect = f"{kind[:-1]}Attributes"
        for place, item in _items(buffer, aspects.get(aspect), aspect):
            owners = item.get("po")
            names = [id_text(o) for o in (owners if isinstance(owners, list) else [owners])]
            if not any(names):
                buffer.reject("bad_id", "an attribute of no node or edge", item, place)
            for name in filter(None, names):
                of[name][text(item.get("n"))] = item.get("v")
    cited = {
        id_text(c.get("@id")): c.get("dc:identifier") or c.get("dc:title") for c in _dicts(aspects.get("citations"))
    }
    for item in _dicts(aspects.get("edgeCitations")):
        owners, numbers = item.get("po"), item.get("citations")
        if isinstance(owners, list) and isinstance(numbers, list):
            papers = [shown for n in numbers if (shown := text(cited.get(id_text(n))))]
            for owner in filter(None, map(id_text, owners)):
                of_edge = found["edges"][owner]
                of_edge["citation"] = [*text_list(of_edge.get("citation")), *papers]
    own = {"nodes": {"name": "n", "represents": "r"}, "edges": {"interaction": "i"}}

    def known(kind: str, item: _Item) -> _Item:
        return {n: item.get(short) for n, short in own[kind].items()} | found[kind].get(id_text(item.get("@id")), {})

    return known


def _cx_ids(pairs: Iterable[tuple[str, Any]], prefix: str) -> dict[str, str]:
    """Ids of nodes: what each alone represents, if that is a CURIE, else its number in the file."""
    represented = {number: text(meant).strip() for number, meant in pairs if number}
    times = Counter(represented.values())
    return {
        number: meant if times[meant] == 1 and re.fullmatch(r"[^:]+:\S+", meant) else prefix + number
        for number, meant in represented.items()
    }


def _declared(aspects: Mapping[str, list[Any]], aspect: str, item: _Item) -> _Item:
    """An item's attributes by their full names, with the values that are declared for those it lacks."""
    names: dict[str, str] = {}
    found: _Item = {}
    for declaration in _dicts(aspects.get("attributeDeclarations")):
        for name, how in _dict(declaration.get(aspect)).items():
            if isinstance(how, dict):
                names[text(how.get("a")) or str(name)] = str(name)
                found[name] = how.get("v")
    return found | {names.get(n, n): v for n, v in _dict(item.get("v")).items()}


# TRAPI

_TRAPI_ENDS = (("subject", "source_id"), ("object", "target_id"))
_TRAPI_LISTS = {
    "attributes": (("attribute_type_id", "original_attribute_name", "type", "name"), "value", "attribute"),
    "qualifiers": (("qualifier_type_id",), "qualifier_value", ""),
    "sources": (("resource_role",), "resource_id", "source"),
}
"""Lists of a node or edge: the keys of a name, of which the first counts, that of the value, and a name."""


def _read_trapi(buffer: RowBuffer, value: _Item) -> None:
    graph = _knowledge_graph(value) or (value if isinstance(value.get("nodes"), list) else {})
    _nodes_and_edges(buffer, graph, _trapi_node, _trapi_edge)
    if not graph.get("nodes") and not graph.get("edges"):
        buffer.note("its message has an empty knowledge graph")
    if graph is not value:
        message = value.get("message")
        _note_others(buffer, message if isinstance(message, dict) else value, ("knowledge_graph",))


def _trapi_node(buffer: RowBuffer, item: _Item, place: _Place) -> None:
    kind = next((n for n in ("categories", "category", "type") if item.get(n)), "category")
    properties = {**without(item, "id", kind, "attributes"), **_attributes(item)}
    buffer.node(item.get("id"), text_list(item.get(kind)), properties, place)


def _trapi_edge(buffer: RowBuffer, item: _Item, place: _Place) -> None:
    head, tail = (next((item[n] for n in names if item.get(n)), None) for names in _TRAPI_ENDS)
    predicate = next((n for n in ("predicate", "type") if item.get(n)), "predicate")
    attributes = _attributes(item)
    if text(attributes.get("negated", item.get("negated"))).lower() == "true":
        buffer.negated()
        return
    rest = without(item, "subject", "source_id", "object", "target_id", predicate, *_TRAPI_LISTS, "negated")
    for relation in text_list(item.get(predicate)) or [""]:
        buffer.edge(head, relation, tail, {**rest, **without(attributes, "negated")}, place)


def _attributes(item: _Item) -> _Item:
    """Attributes, qualifiers and sources of a node or edge as properties, named as KGX names them."""
    found = defaultdict[str, list[str]](list)
    for part, (names, value, otherwise) in _TRAPI_LISTS.items():
        for stated in _dicts(item.get(part)):
            name = next((text(stated[n]) for n in names if stated.get(n)), otherwise)
            found[name.removeprefix("biolink:")].append(text(stated.get(value)))
    return dict(found)


# APOC


def _read_apoc(buffer: RowBuffer, value: Any) -> None:
    parts = value if isinstance(value, dict) else {"items": value}
    for name in ("nodes", *_EDGE_LISTS, "items"):
        for place, item in _items(buffer, parts.get(name), name):
            _apoc_row(buffer, {"type": "node" if name == "nodes" else "relationship", **item}, place)


def _apoc_row(buffer: RowBuffer, item: _Item, at: _Place) -> None:
    properties = _dict(item.get("properties"))
    start, end = item.get("start"), item.get("end")
    if item.get("type") == "node":
        buffer.node(item.get("id"), text_list(item.get("labels")), properties, at)
    elif isinstance(start, dict) or isinstance(end, dict):
        relation = item.get("label") if item.get("type") == "relationship" else item.get("type")
        buffer.edge(_dict(start).get("id"), relation, _dict(end).get("id"), properties, at)
    else:
        buffer.reject("malformed", "neither a node nor a relationship", item, at)


# OBO Graph JSON

_NOTED_GRAPHS = 5


def _read_obo_graphs(buffer: RowBuffer, value: _Item) -> None:
    graphs = value["graphs"] if isinstance(value.get("graphs"), list) else [value]
    for number, (place, graph) in enumerate(_items(buffer, graphs, "graphs")):
        for at, item in _items(buffer, graph.get("nodes"), f"{place}.nodes"):
            labels = [kind.capitalize() for kind in text_list(item.get("type"))]
            buffer.node(_contracted(item.get("id")), labels, _obo_properties(item), at)
        for at, item in _items(buffer, graph.get("edges"), f"{place}.edges"):
            head = item.get("sub", item.get("subj"))
            rest = without(item, "sub", "subj", "pred", "obj")
            buffer.edge(_contracted(head), _contracted(item.get("pred")), _contracted(item.get("obj")), rest, at)
        if number < _NOTED_GRAPHS:
            _note_others(buffer, graph, ("nodes", "edges", "id", "lbl", "meta", "graphs"))


def _contracted(iri: Any) -> Any:
    """The CURIE of an IRI of the OBO Foundry; anything else as it is."""
    return (obo_curie(iri) if isinstance(iri, str) else None) or iri


def _obo_properties(item: _Item) -> _Item:
    meta = _dict(item.get("meta"))
    definition = meta.get("definition")
    found = {
        "name": item.get("lbl"),
        "deprecated": meta.get("deprecated") or None,
        "definition": definition.get("val") if isinstance(definition, dict) else definition,
        "synonyms": [s.get("val") for s in _dicts(meta.get("synonyms"))],
        "xrefs": [x.get("val") for x in _dicts(meta.get("xrefs"))],
    }
    stated = defaultdict[str, list[Any]](list)
    for pair in _dicts(meta.get("basicPropertyValues")):
        stated[re.split(r"[#/]", text(_contracted(pair.get("pred"))))[-1]].append(pair.get("val"))
    rest = without(meta, *found, "basicPropertyValues")
    return {**without(item, "id", "lbl", "type", "meta"), **rest, **stated, **found}


# Hetionet


def _hetionet_node(buffer: RowBuffer, item: _Item, at: _Place) -> None:
    rest = {**without(item, "kind", "identifier", "data"), **_dict(item.get("data"))}
    id_ = _hetionet_id([item.get("kind"), item.get("identifier")])
    buffer.node(id_, text_list(item.get("kind")), rest, at)


def _hetionet_edge(buffer: RowBuffer, item: _Item, at: _Place) -> None:
    head, tail = _hetionet_id(item.get("source_id")), _hetionet_id(item.get("target_id"))
    rest = {**without(item, "source_id", "target_id", "kind", "data"), **_dict(item.get("data"))}
    buffer.edge(head, item.get("kind"), tail, rest, at)


def _hetionet_id(pair: Any) -> str:
    """An id as Hetionet's tables write it: kind and identifier."""
    if not isinstance(pair, list) or len(pair) != 2:
        return ""
    kind, identifier = map(id_text, pair)
    return f"{kind}::{identifier}" if kind and identifier else ""


class _JsonForm(NamedTuple):
    """Reader of a document, and of a line where there may be one object a line; what is done when all are read."""

    read: Callable[[RowBuffer, Any], None]
    line: _Adder | None = None
    end: Callable[[Sequence[Source], GraphTables], object] = lambda sources, tables: None
    open_world: bool = False
    may_be_list: bool = False


_READERS = {
    "KGX JSON": _JsonForm(partial(_nodes_and_edges, node=_kgx_node, edge=_kgx_edge, others=()), _kgx_line),
    "node-link JSON": _JsonForm(_read_node_link, end=separate_local_ids),
    "Cytoscape JSON": _JsonForm(_read_cytoscape, end=separate_local_ids, may_be_list=True),
    "CX": _JsonForm(_read_cx, may_be_list=True),
    "CX2": _JsonForm(partial(_read_cx, key="id"), may_be_list=True),
    "TRAPI": _JsonForm(_read_trapi),
    "APOC JSON": _JsonForm(_read_apoc, _apoc_row, partial(call_by_stated_ids, local=False), may_be_list=True),
    "OBO Graph JSON": _JsonForm(_read_obo_graphs, open_world=True),
    "Hetionet JSON": _JsonForm(
        partial(
            _nodes_and_edges,
            node=_hetionet_node,
            edge=_hetionet_edge,
            others=("metanode_kinds", "metaedge_tuples", "kind_to_abbrev"),
        )
    ),
}


def _fits(source: Source, name: str) -> bool:
    return source.known(kind_of).removesuffix(_LINES) == name


def _read(sources: Sequence[Source], tables: GraphTables, form: _JsonForm) -> None:
    for source in sources:
        with RowBuffer(source, tables, local_prefix(source, sources), open_world=form.open_world) as buffer:
            if form.line and source.known(kind_of).endswith(_LINES):
                for number, item in _json_lines(buffer):
                    form.line(buffer, item, number)
            else:
                value = _document(source)
                form.read(buffer, value if form.may_be_list or isinstance(value, dict) else {})
    form.end(sources, tables)


FORMS = tuple(GraphForm(name, partial(_fits, name=name), partial(_read, form=form)) for name, form in _READERS.items())
"""Forms of JSON that are read."""
