"""Graphs as JSON: KGX, node-link, Cytoscape, CX, TRAPI, APOC, OBO Graph and Hetionet JSON, documents and lines."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kgcheck.forms.curies import obo_curie
from kgcheck.forms.form import GraphForm
from kgcheck.forms.json_files import document, items, json_lines, sketch, whole_sketch
from kgcheck.forms.rows import (
    NO_RELATION,
    RowBuffer,
    buffered,
    call_by_stated_ids,
    id_text,
    local_prefix,
    node_ids_differ,
    separate_local_ids,
    text,
    text_list,
    without,
)
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables

_LINES = " lines"
_EDGE_LISTS = ("edges", "links", "rels", "relationships")
_RELATIONS = ("relation", "predicate", "interaction", "shared_interaction", "shared interaction", "label", "type")
_KINDS = ("categories", "category", "labels", "node_type", "kind", "type")
_Item = dict[str, Any]
_Adder = Callable[[RowBuffer, _Item, int | str], None]


def kind_of(source: Source) -> str:
    """The form of a JSON file, with ``lines`` where it has one object a line; empty for any other file."""
    begun = sketch(source)
    found = _document_kind(begun.document, whole=begun.ends) or _lines_kind(begun.lines)
    if not found and begun.document is not None and not begun.ends and len(begun.lines) < 2:
        found = _document_kind(whole_sketch(source), whole=True) or _document_kind(begun.document, whole=True)
    return found


def _document_kind(value: Any, *, whole: bool) -> str:
    if isinstance(value, list):
        return _list_kind([v for v in value if isinstance(v, dict)])
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("graphs"), list):
        return "OBO Graph JSON" if any(_is_obo_graph(g) for g in value["graphs"]) else ""
    if "metanode_kinds" in value:
        return "Hetionet JSON"
    if _knowledge_graph(value) is not None:
        return "TRAPI"
    elements = value.get("elements")
    if isinstance(elements, list | dict):
        inner = elements if isinstance(elements, list) else [v for part in elements.values() for v in _dicts(part)]
        return "Cytoscape JSON" if _has(inner, "data") else ""
    if _is_obo_graph(value):
        return "OBO Graph JSON"
    return _node_and_edge_kind(value, whole=whole)


def _list_kind(found: list[_Item]) -> str:
    if _has(found, "CXVersion"):
        return "CX2"
    if _has(found, "numberVerification") or any(_has(_dicts(f.get(k)), "@id") for f in found for k in _EDGE_NODES):
        return "CX"
    if any(isinstance(f.get("data"), dict) and {"id", "source"} & f["data"].keys() for f in found):
        return "Cytoscape JSON"
    return "APOC JSON" if any(_is_apoc(f) for f in found) else ""


_EDGE_NODES = ("nodes", "edges")


def _node_and_edge_kind(value: _Item, *, whole: bool) -> str:
    nodes = _dicts(value.get("nodes"))
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
    if any(isinstance(n.get("data"), dict) for n in nodes):
        return "Cytoscape JSON"
    if any("id" in n and "category" in n for n in nodes):
        return "KGX JSON"
    if any(_is_apoc(n) for n in nodes):
        return "APOC JSON"
    return "node-link JSON" if _has(nodes, "id") and any(name in value for name in (*_EDGE_LISTS, "directed")) else ""


def _lines_kind(lines: Sequence[_Item]) -> str:
    kgx = sum(_is_kgx(line) for line in lines)
    if kgx and kgx * 2 >= len(lines):
        return "KGX JSON" + _LINES
    apoc = sum(_is_apoc(line) for line in lines)
    return "APOC JSON" + _LINES if apoc and apoc * 2 >= len(lines) else ""


def _is_kgx(line: _Item) -> bool:
    return {"id", "category"} <= line.keys() or (
        {"subject", "object"} <= line.keys() and bool({"predicate", "edge_label", "relation"} & line.keys())
    )


def _is_apoc(item: _Item) -> bool:
    match item.get("type"):
        case "node":
            return "id" in item and bool({"labels", "properties"} & item.keys())
        case "relationship":
            return isinstance(item.get("start"), dict) and isinstance(item.get("end"), dict)
        case _:
            return False


def _is_obo_graph(graph: Any) -> bool:
    if not isinstance(graph, dict):
        return False
    nodes, edges = _dicts(graph.get("nodes")), _dicts(graph.get("edges"))
    return any("pred" in e and "obj" in e for e in edges) or any(
        "id" in n and ("lbl" in n or n.get("type") in ("CLASS", "PROPERTY", "INDIVIDUAL")) for n in nodes
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
    if isinstance(nodes, dict) and isinstance(edges, dict) and any(_is_trapi_edge(e) for e in edges.values()):
        return value
    return None


def _is_trapi_edge(edge: Any) -> bool:
    return isinstance(edge, dict) and {"subject", "object", "predicate"} <= edge.keys()


def _dicts(value: Any) -> list[_Item]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _has(found: Iterable[Any], name: str) -> bool:
    return any(isinstance(item, dict) and name in item for item in found)


def _fits(name: str, source: Source) -> bool:
    return kind_of(source).removesuffix(_LINES) == name


def _nodes_and_edges(buffer: RowBuffer, value: _Item, node: _Adder, edge: _Adder) -> None:
    for name, add in (("nodes", node), ("edges", edge)):
        for place, item in _by_id(buffer, value.get(name), name):
            add(buffer, item, place)


def _note_others(buffer: RowBuffer, value: Mapping[str, Any], read: Sequence[str]) -> None:
    """Say which fields of a document are passed over, and how many items they hold."""
    passed = [
        f"{name[:60]} ({len(inner):,})" if isinstance(inner, list | dict) else name[:60]
        for name, inner in value.items()
        if name not in read and inner not in (None, [], {}, "")
    ]
    if passed:
        buffer.note(f"read without {', '.join(passed[:12])}{' …' if len(passed) > 12 else ''}: no nodes or edges")


# KGX


def _read_kgx(buffer: RowBuffer, value: _Item) -> None:
    _nodes_and_edges(buffer, value, _kgx_node, _kgx_edge)
    _note_others(buffer, value, ("nodes", "edges"))


def _kgx_line(buffer: RowBuffer, item: _Item, at: int | str) -> None:
    (_kgx_edge if {"subject", "object"} & item.keys() else _kgx_node)(buffer, item, at)


def _kgx_node(buffer: RowBuffer, item: _Item, at: int | str) -> None:
    buffer.node(item.get("id"), text_list(item.get("category")), without(item, "id", "category"), at)


def _kgx_edge(buffer: RowBuffer, item: _Item, at: int | str) -> None:
    if text(item.get("negated")).lower() == "true":
        buffer.negated()
        return
    name = next((n for n in ("predicate", "edge_label", "relation") if item.get(n)), "predicate")
    buffer.edge(
        item.get("subject"), item.get(name), item.get("object"), without(item, "subject", name, "object", "negated"), at
    )


# Node-link


def _read_node_link(buffer: RowBuffer, value: _Item) -> None:
    links = next((name for name in ("links", "edges") if isinstance(value.get(name), list)), "links")
    ids = _node_link_nodes(buffer, value.get("nodes"))
    end = _link_end(ids, _dicts(value.get(links)))
    for place, item in items(buffer, value.get(links), links):
        relation, name = _relation(item)
        if isinstance(item.get("key"), str) and relation == NO_RELATION:
            relation, name = item["key"], "key"
        rest = without(item, "source", "target", name)
        buffer.edge(end(item.get("source")), relation, end(item.get("target")), rest, place)
    _note_others(buffer, value, ("nodes", links, "directed", "multigraph"))


def _node_link_nodes(buffer: RowBuffer, nodes: Any) -> list[Any]:
    ids = [n.get("id") if isinstance(n, dict) else None for n in nodes] if isinstance(nodes, list) else []
    for place, item in items(buffer, nodes, "nodes"):
        if "bel" in item:
            # Proteins, their RNA and their variants share a concept, whose name is no name of theirs.
            properties = {**without(item, "id", "bel", "function"), "name": item["bel"]}
            buffer.node(item.get("id"), text_list(item.get("function")), properties, place)
        else:
            labels, properties = _named_and_typed(without(item, "id"))
            buffer.node(item.get("id"), labels, properties, place)
    return ids


def _link_end(ids: list[Any], links: list[_Item]) -> Callable[[Any], Any]:
    """The node at a link's end: it is named by its id or, as in PyBEL's files, by its place in the list of nodes."""
    ends = [link.get(name) for link in links for name in ("source", "target")]
    places = {place for place in ends if isinstance(place, int) and not isinstance(place, bool)}
    by_place = not any(isinstance(i, int) for i in ids) and all(0 <= p < len(ids) for p in places)
    known = {id_text(i) for i in ids}
    if by_place and places and not {id_text(p) for p in places} <= known:
        return lambda end: ids[end] if id_text(end) and isinstance(end, int) else end
    return lambda end: end


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


# Cytoscape


def _read_cytoscape(buffer: RowBuffer, value: Any) -> None:
    elements = value.get("elements", value) if isinstance(value, dict) else value
    if isinstance(elements, list):
        for place, item in items(buffer, elements, "elements"):
            is_edge = item.get("group") == "edges" or "source" in _data(item)
            (_cytoscape_edge if is_edge else _cytoscape_node)(buffer, item, place)
    elif isinstance(elements, dict):
        _nodes_and_edges(buffer, elements, _cytoscape_node, _cytoscape_edge)
    if isinstance(value, dict):
        _note_others(buffer, value, ("elements", "nodes", "edges"))


def _data(item: _Item) -> _Item:
    data = item.get("data")
    return data if isinstance(data, dict) else {}


def _cytoscape_node(buffer: RowBuffer, item: _Item, place: int | str) -> None:
    labels, properties = _named_and_typed(without(_data(item), "id"))
    buffer.node(_data(item).get("id"), labels, properties, place)


def _cytoscape_edge(buffer: RowBuffer, item: _Item, place: int | str) -> None:
    data = _data(item)
    relation, name = _relation({n: data.get(n) for n in ("interaction", *_RELATIONS)})
    buffer.edge(data.get("source"), relation, data.get("target"), without(data, "source", "target", name), place)


# CX and CX2


def _aspects(value: Any) -> dict[str, list[Any]]:
    """The aspects of a CX file; each may come in parts."""
    found = defaultdict[str, list[Any]](list)
    for part in _dicts(value):
        for name, content in part.items():
            found[name] += content if isinstance(content, list) else [content]
    return dict(found)


def _read_cx(buffer: RowBuffer, value: Any) -> None:
    aspects = _aspects(value)
    of_nodes = _cx_attributes(buffer, aspects, "nodeAttributes")
    of_edges = _cx_attributes(buffer, aspects, "edgeAttributes")
    _cite(aspects, of_edges)
    nodes = list(items(buffer, aspects.get("nodes"), "nodes"))
    ids = _cx_ids(((n.get("@id"), n.get("r")) for _, n in nodes), buffer.prefix)
    for place, item in nodes:
        rest = of_nodes.get(id_text(item.get("@id")), {})
        _cx_node(buffer, ids, item.get("@id"), {"name": item.get("n"), "represents": item.get("r"), **rest}, place)
    for place, item in items(buffer, aspects.get("edges"), "edges"):
        rest = of_edges.get(id_text(item.get("@id")), {})
        _cx_edge(buffer, ids, item, {"interaction": item.get("i"), **rest}, place)
    _note_others(buffer, aspects, _CX_READ)


_CX_READ = (
    *("numberVerification", "metaData", "status", "@context", "CXVersion", "attributeDeclarations"),
    *("nodes", "edges", "nodeAttributes", "edgeAttributes", "citations", "edgeCitations"),
)


def _cx_attributes(buffer: RowBuffer, aspects: Mapping[str, list[Any]], aspect: str) -> dict[str, _Item]:
    """Attributes by the id of their node or edge."""
    found = defaultdict[str, _Item](dict)
    for place, item in items(buffer, aspects.get(aspect), aspect):
        owners = item.get("po")
        names = [id_text(o) for o in (owners if isinstance(owners, list) else [owners])]
        if not any(names):
            buffer.reject("bad_id", "an attribute of no node or edge", item, place)
        for name in filter(None, names):
            found[name][text(item.get("n"))] = item.get("v")
    return found


def _cite(aspects: Mapping[str, list[Any]], of_edges: dict[str, _Item]) -> None:
    """Give edges the citations that stand in an aspect of their own."""
    cited = {
        id_text(c.get("@id")): c.get("dc:identifier") or c.get("dc:title") for c in _dicts(aspects.get("citations"))
    }
    for item in _dicts(aspects.get("edgeCitations")):
        owners, numbers = item.get("po"), item.get("citations")
        if isinstance(owners, list) and isinstance(numbers, list):
            found = [shown for n in numbers if (shown := text(cited.get(id_text(n))))]
            for owner in filter(None, map(id_text, owners)):
                of_edge = of_edges.setdefault(owner, {})
                of_edge["citation"] = [*text_list(of_edge.get("citation")), *found]


def _cx_ids(pairs: Iterable[tuple[Any, Any]], prefix: str) -> dict[str, str]:
    """Ids of nodes: what each alone represents, if that is a CURIE, else its number in the file."""
    represented = {id_text(number): text(meant).strip() for number, meant in pairs}
    represented.pop("", None)
    times = Counter(represented.values())
    return {
        number: meant if times[meant] == 1 and re.fullmatch(r"[^:]+:\S+", meant) else prefix + number
        for number, meant in represented.items()
    }


def _cx_node(buffer: RowBuffer, ids: Mapping[str, str], number: Any, known: _Item, place: str) -> None:
    labels, properties = _named_and_typed({n.lower() if n in ("TYPE", "Type") else n: v for n, v in known.items()})
    id_ = ids.get(id_text(number))
    buffer.node(id_, labels, without(properties, "represents") if id_ == known["represents"] else properties, place)


def _cx_edge(buffer: RowBuffer, ids: Mapping[str, str], item: _Item, known: _Item, place: str) -> None:
    relation, name = _relation({n: known.get(n) for n in ("interaction", *_RELATIONS)})
    head, tail = (ids.get(id_text(item.get(end)), item.get(end)) for end in ("s", "t"))
    buffer.edge(head, relation, tail, without(known, name), place)


def _read_cx2(buffer: RowBuffer, value: Any) -> None:
    aspects = _aspects(value)
    nodes = [
        (place, item, {"represents": None, **_declared(aspects, "nodes", item)})
        for place, item in items(buffer, aspects.get("nodes"), "nodes")
    ]
    ids = _cx_ids(((item.get("id"), known["represents"]) for _, item, known in nodes), buffer.prefix)
    for place, item, known in nodes:
        _cx_node(buffer, ids, item.get("id"), known, place)
    for place, item in items(buffer, aspects.get("edges"), "edges"):
        _cx_edge(buffer, ids, item, _declared(aspects, "edges", item), place)
    _note_others(buffer, without(aspects, "hasFragments"), _CX_READ)


def _declared(aspects: Mapping[str, list[Any]], aspect: str, item: _Item) -> _Item:
    """An item's attributes by their full names, with the values that are declared for those it lacks."""
    names: dict[str, str] = {}
    found: _Item = {}
    for declaration in _dicts(aspects.get("attributeDeclarations")):
        declared = declaration.get(aspect)
        for name, how in declared.items() if isinstance(declared, dict) else ():
            if isinstance(how, dict):
                names[text(how.get("a")) or str(name)] = str(name)
                found[name] = how.get("v")
    values = item.get("v")
    stated: _Item = values if isinstance(values, dict) else {}
    return found | {names.get(n, n): v for n, v in stated.items()}


# TRAPI


def _read_trapi(buffer: RowBuffer, value: _Item) -> None:
    graph = _knowledge_graph(value) or (value if isinstance(value.get("nodes"), list) else {})
    _nodes_and_edges(buffer, graph, _trapi_node, _trapi_edge)
    if not graph.get("nodes") and not graph.get("edges"):
        buffer.note("its message has an empty knowledge graph")
    if graph is not value:
        message = value.get("message")
        _note_others(buffer, message if isinstance(message, dict) else value, ("knowledge_graph",))


def _by_id(buffer: RowBuffer, value: Any, name: str) -> Iterator[tuple[str, _Item]]:
    """The items of a list, or of an object whose keys are their ids."""
    if not isinstance(value, dict):
        yield from items(buffer, value, name)
        return
    for key, item in value.items():
        if isinstance(item, dict):
            yield f"{name}[{key[:80]!r}]", {**item, "id": key}
        else:
            buffer.reject("malformed", "no JSON object", item, f"{name}[{key[:80]!r}]")


def _trapi_node(buffer: RowBuffer, item: _Item, place: int | str) -> None:
    kind = next((n for n in ("categories", "category", "type") if item.get(n)), "category")
    properties = {**without(item, "id", kind, "attributes"), **_attributes(item)}
    buffer.node(item.get("id"), text_list(item.get(kind)), properties, place)


def _trapi_edge(buffer: RowBuffer, item: _Item, place: int | str) -> None:
    head, tail = (next((item[n] for n in names if item.get(n)), None) for names in _TRAPI_ENDS)
    predicate = next((n for n in ("predicate", "type") if item.get(n)), "predicate")
    attributes = _attributes(item)
    if text(attributes.get("negated", item.get("negated"))).lower() == "true":
        buffer.negated()
        return
    rest = without(item, "subject", "source_id", "object", "target_id", predicate, *_TRAPI_LISTS, "negated")
    for relation in text_list(item.get(predicate)) or [""]:
        buffer.edge(head, relation, tail, {**rest, **without(attributes, "negated")}, place)


_TRAPI_ENDS = (("subject", "source_id"), ("object", "target_id"))
_TRAPI_LISTS = ("attributes", "qualifiers", "sources")


def _attributes(item: _Item) -> _Item:
    """Attributes, qualifiers and sources of a node or edge as properties, named as KGX names them."""
    found = defaultdict[str, list[str]](list)
    for attribute in _dicts(item.get("attributes")):
        names = ("attribute_type_id", "original_attribute_name", "type", "name")
        name = next((text(attribute[n]) for n in names if attribute.get(n)), "attribute")
        found[name.removeprefix("biolink:")].append(text(attribute.get("value")))
    for qualifier in _dicts(item.get("qualifiers")):
        found[text(qualifier.get("qualifier_type_id")).removeprefix("biolink:")].append(
            text(qualifier.get("qualifier_value"))
        )
    for origin in _dicts(item.get("sources")):
        found[text(origin.get("resource_role")) or "source"].append(text(origin.get("resource_id")))
    return dict(found)


# APOC


def _read_apoc(buffer: RowBuffer, value: Any) -> None:
    parts = value if isinstance(value, dict) else {"items": value}
    for name in ("nodes", *_EDGE_LISTS, "items"):
        for place, item in items(buffer, parts.get(name), name):
            _apoc_row(buffer, {"type": "node" if name == "nodes" else "relationship", **item}, place)


def _call_apoc_nodes(sources: Sequence[Source], tables: GraphTables) -> None:
    if not call_by_stated_ids(sources, tables) and not node_ids_differ(sources, tables):
        separate_local_ids(sources, tables)


def _apoc_row(buffer: RowBuffer, item: _Item, at: int | str) -> None:
    given = item.get("properties")
    properties = given if isinstance(given, dict) else {}
    start, end = item.get("start"), item.get("end")
    if item.get("type") == "node":
        buffer.node(item.get("id"), text_list(item.get("labels")), properties, at)
    elif isinstance(start, dict) or isinstance(end, dict):
        head, tail = (e.get("id") if isinstance(e, dict) else None for e in (start, end))
        relation = item.get("label") if item.get("type") == "relationship" else item.get("type")
        buffer.edge(head, relation, tail, properties, at)
    else:
        buffer.reject("malformed", "neither a node nor a relationship", item, at)


# OBO Graph JSON


def _read_obo_graphs(buffer: RowBuffer, value: _Item) -> None:
    graphs = value["graphs"] if isinstance(value.get("graphs"), list) else [value]
    for number, (place, graph) in enumerate(items(buffer, graphs, "graphs")):
        for at, item in items(buffer, graph.get("nodes"), f"{place}.nodes"):
            labels = [kind.capitalize() for kind in text_list(item.get("type"))]
            buffer.node(_contracted(item.get("id")), labels, _obo_properties(item), at)
        for at, item in items(buffer, graph.get("edges"), f"{place}.edges"):
            head = item.get("sub", item.get("subj"))
            rest = without(item, "sub", "subj", "pred", "obj")
            buffer.edge(_contracted(head), _contracted(item.get("pred")), _contracted(item.get("obj")), rest, at)
        if number < _NOTED_GRAPHS:
            _note_others(buffer, graph, ("nodes", "edges", "id", "lbl", "meta", "graphs"))


_NOTED_GRAPHS = 5


def _contracted(iri: Any) -> Any:
    """The CURIE of an IRI of the OBO Foundry; anything else as it is."""
    return (obo_curie(iri) if isinstance(iri, str) else None) or iri


def _obo_properties(item: _Item) -> _Item:
    given = item.get("meta")
    meta = given if isinstance(given, dict) else {}
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
        name = text(_contracted(pair.get("pred")))
        stated[re.split(r"[#/]", name)[-1]].append(pair.get("val"))
    rest = without(meta, *found, "basicPropertyValues")
    return {**without(item, "id", "lbl", "type", "meta"), **rest, **stated, **found}


# Hetionet


def _read_hetionet(buffer: RowBuffer, value: _Item) -> None:
    _nodes_and_edges(buffer, value, _hetionet_node, _hetionet_edge)
    _note_others(buffer, value, ("nodes", "edges", "metanode_kinds", "metaedge_tuples", "kind_to_abbrev"))


def _hetionet_node(buffer: RowBuffer, item: _Item, at: int | str) -> None:
    rest = {**without(item, "kind", "identifier", "data"), **_data(item)}
    id_ = _hetionet_id([item.get("kind"), item.get("identifier")])
    buffer.node(id_, text_list(item.get("kind")), rest, at)


def _hetionet_edge(buffer: RowBuffer, item: _Item, at: int | str) -> None:
    head, tail = _hetionet_id(item.get("source_id")), _hetionet_id(item.get("target_id"))
    rest = {**without(item, "source_id", "target_id", "kind", "data"), **_data(item)}
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
    "KGX JSON": _JsonForm(_read_kgx, _kgx_line),
    "node-link JSON": _JsonForm(_read_node_link, end=separate_local_ids),
    "Cytoscape JSON": _JsonForm(_read_cytoscape, end=separate_local_ids, may_be_list=True),
    "CX": _JsonForm(_read_cx, may_be_list=True),
    "CX2": _JsonForm(_read_cx2, may_be_list=True),
    "TRAPI": _JsonForm(_read_trapi),
    "APOC JSON": _JsonForm(_read_apoc, _apoc_row, _call_apoc_nodes, may_be_list=True),
    "OBO Graph JSON": _JsonForm(_read_obo_graphs, open_world=True),
    "Hetionet JSON": _JsonForm(_read_hetionet),
}


def _read(form: _JsonForm, sources: Sequence[Source], tables: GraphTables) -> None:
    for source in sources:
        with buffered(source, tables, local_prefix(source, sources), open_world=form.open_world) as buffer:
            if form.line and kind_of(source).endswith(_LINES):
                for number, item in json_lines(buffer):
                    form.line(buffer, item, number)
            else:
                value = document(source)
                form.read(buffer, value if form.may_be_list or isinstance(value, dict) else {})
    form.end(sources, tables)


FORMS = tuple(GraphForm(name, partial(_fits, name), partial(_read, form)) for name, form in _READERS.items())
"""Forms of JSON that are read."""
