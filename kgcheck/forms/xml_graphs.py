"""GraphML graphs, streamed element by element without entities."""

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from kgcheck.errors import InputFormat
from kgcheck.forms.form import GraphForm
from kgcheck.forms.rows import NO_RELATION, RowBuffer, call_by_stated_ids, text_list, without
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.inputs import DEEPEST, LARGEST_DOCUMENT, MIB, Bounded

_ROOT = re.compile(r"(?>(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)*)<(?:[\w.-]+:)?([\w.-]+)([^>]*)", re.DOTALL)
_RELATIONS = (
    *("relation", "predicate", "interaction", "shared interaction", "label", "labels", "edge_type", "type", "kind"),
)
_KINDS = ("category", "labels", "node_type", "kind", "type")
_READ = ("node", "edge", "key")
_DRAWN = ("NodeLabel", "EdgeLabel")
"""Elements in which yEd keeps labels among what it draws."""


def xml_root(source: Source) -> tuple[str, str]:
    """Name and attributes of the element that an XML file begins with, without its namespace; of others, nothing."""
    found = _ROOT.match(source.text)
    return (found[1], found[2]) if found else ("", "")


def _elements(source: Source) -> Iterator[tuple[Any, list[Any]]]:
    """A file's elements as they end, tags without namespace, with the elements around each; none has entities."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, iterparse

    around: list[Any] = []
    try:
        with closing(Bounded(source.path, lines=False, most=LARGEST_DOCUMENT)) as raw:
            for event, element in iterparse(io.BufferedReader(raw, MIB), events=("start", "end")):
                if event == "start":
                    element.tag = element.tag.rpartition("}")[2]
                    if len(around) >= DEEPEST:
                        raise InputFormat(
                            f"{source.name} nests elements deeper than {DEEPEST}", "no graph does: fetch it again"
                        )
                    around.append(element)
                else:
                    around.pop()
                    yield element, around
                    raw.mark()
    except (ParseError, DefusedXmlException, OSError, EOFError, LookupError, ValueError) as error:
        raise InputFormat(
            f"{source.name} cannot be read as XML: {error!s}"[:300], "it may be cut off: fetch it again, or correct it"
        ) from error


def _read_graphml(sources: Sequence[Source], tables: GraphTables) -> None:
    for source in sources:
        with RowBuffer(source, tables) as buffer:
            keys: dict[str, str] = {}
            defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
            passed = Counter[str]()
            for element, around in _elements(source):
                if element.tag == "key":
                    name = keys[element.get("id", "")] = element.get("attr.name") or element.get("id", "")
                    default = next((child.text for child in element if child.tag == "default"), None)
                    for tag, values in defaults.items():
                        if default and element.get("for", "all") in (tag, "all"):
                            values[name] = default
                elif element.tag in ("node", "edge"):
                    found = {**defaults[element.tag], **_graphml_data(element, keys)}
                    (_graphml_node if element.tag == "node" else _graphml_edge)(buffer, element, found)
                elif element.tag in ("hyperedge", "port"):
                    passed[element.tag] += 1
                if element.tag in _READ or not any(a.tag in _READ for a in around):
                    # It is read, and nothing around it still is.
                    element.clear()
                    if around and element.tag in _READ:
                        around[-1].remove(element)
            for name, count in passed.items():
                buffer.note(f"read without {name} elements ({count:,})")
    call_by_stated_ids(sources, tables)


def _graphml_data(element: Any, keys: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for child in element:
        if child.tag != "data":
            continue
        drawn = [inner.text.strip() for inner in child.iter() if inner.tag in _DRAWN and inner.text]
        name = "label" if drawn else keys.get(child.get("key", ""), child.get("key", ""))
        value = "|".join(filter(None, drawn)) or (child.text or "").strip()
        if value:
            found[name] = f"{found[name]}|{value}" if name in found else value
    return found


def _graphml_node(buffer: RowBuffer, element: Any, found: dict[str, str]) -> None:
    # Neo4j's export says labels in an attribute of the element, as :Gene:Protein.
    labels = [part for part in element.get("labels", "").split(":") if part]
    kind = next((name for name in _KINDS if found.get(name)), "")
    labels = labels or [part for text in text_list(found.get(kind)) for part in text.strip(":").split("|:")]
    title = next((name for name in ("name", "label", "shared name") if found.get(name)), "")
    if title == "name" and not labels and found.get("label"):
        kind, labels = "label", [found["label"]]
    name = {"name": found[title]} if title else {}
    buffer.node(element.get("id"), labels, {**without(found, kind, title), **name})


def _graphml_edge(buffer: RowBuffer, element: Any, found: dict[str, str]) -> None:
    name = next((n for n in _RELATIONS if found.get(n)), "")
    relation = found.get(name) or element.get("label") or NO_RELATION
    rest = without(found, name)
    if element.get("id"):
        rest.setdefault("id", element.get("id"))
    buffer.edge(element.get("source"), relation, element.get("target"), rest)


FORMS = (GraphForm("GraphML", lambda source: xml_root(source)[0] == "graphml", _read_graphml),)
"""Forms of XML that are read."""
