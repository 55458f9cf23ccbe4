"""Ontologies: OBO, and OWL as RDF/XML or Turtle, recognised by content."""

import io
import re
from collections.abc import Iterator, Sequence
from typing import cast

from kgcheck.errors import AS_UTF8, InputFormat
from kgcheck.forms.form import Form, Refused
from kgcheck.forms.rdf import is_ontology, is_rdf_xml, is_trig, is_turtle
from kgcheck.forms.rdf_parsing import RDF_XML, TRIG
from kgcheck.forms.rdf_tables import reader
from kgcheck.forms.source import Source
from kgcheck.forms.tables import EdgeRow, GraphTables, NodeRow, Rejected
from kgcheck.inputs import Bounded
from kgcheck.providers.files import unescaped

_STANZAS = {"[Term]": "Class", "[Typedef]": "Typedef", "[Instance]": "NamedIndividual"}
_OBO = re.compile(r"^(?:format-version:|\[(?:Term|Typedef)\]\s*$)", re.MULTILINE)
_FUNCTIONAL = re.compile(r"(?>(?:\s|#[^\n]*\n)*)(?:Prefix\s*\(|Ontology\s*\()")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_TEXTS = ("name", "namespace", "comment", "is_obsolete", "replaced_by", "consider", "alt_id", "xref", "subset")
_SYNONYMS = ("synonym", "exact_synonym", "narrow_synonym", "broad_synonym", "related_synonym")
_TOGETHER = 20_000
_SHOWN = 160


class _Stanza:
    """The lines of a term, a typedef or an instance."""

    def __init__(self, label: str, line: int) -> None:
        self.label = label
        self.line = line
        self.id = ""
        self.properties: dict[str, list[str]] = {}
        self.links: list[tuple[str, str, int]] = []

    def take(self, tag: str, value: str, line: int) -> str:
        """Take a line; return what is wrong with it."""
        if tag == "id":
            self.id, wrong = value, self.id and "a second id"
            return wrong
        if tag in ("is_a", "instance_of", "relationship"):
            relation, tail = (tag, value) if tag != "relationship" else (value.split(maxsplit=1) + ["", ""])[:2]
            if not (relation and tail):
                return f"{tag} without a term"
            self.links.append((relation, tail.split()[0], line))
        elif tag == "def" or tag in _SYNONYMS:
            quoted = _QUOTED.match(value)
            if not quoted:
                return f"{tag} without a text in quotes"
            self._add("def" if tag == "def" else "synonym", quoted[1])
        elif tag in _TEXTS:
            self._add(tag, value.split(maxsplit=1)[0] if tag == "xref" and value else value)
        return ""

    def _add(self, name: str, text: str) -> None:
        if text := unescaped(text):
            self.properties.setdefault(name, []).append(text)

    @property
    def node(self) -> NodeRow:
        """The term as a node."""
        return NodeRow(self.id, (self.label,), {name: "|".join(v) for name, v in self.properties.items()}, self.line)

    @property
    def edges(self) -> list[EdgeRow]:
        """Its links as edges; those of a typedef lead to others, and are no edges of the graph."""
        return (
            []
            if self.label == "Typedef"
            else [EdgeRow(self.id, relation, tail, {}, line) for relation, tail, line in self.links]
        )


def is_obo(source: Source) -> bool:
    """Tell OBO."""
    first = next((line.strip() for line in source.lines if line.strip() and not line.startswith("!")), "")
    return bool(re.match(r"[\w-]+:|\[(?:Term|Typedef)\]", first)) and bool(_OBO.search(source.text))


def is_functional(source: Source) -> bool:
    """Tell OWL in functional syntax."""
    return bool(_FUNCTIONAL.match(source.text)) and "Ontology(" in source.text.replace(" ", "")


def read_obo(sources: Sequence[Source], tables: GraphTables) -> None:
    """Read OBO files, stanza by stanza: terms, typedefs and instances, ``is_a`` and ``relationship``."""
    for source in sources:
        rejected: list[Rejected] = []
        stanzas: list[_Stanza] = []
        count = 0
        for stanza in _stanzas(source, rejected):
            stanzas.append(stanza)
            count += 1
            if len(stanzas) == _TOGETHER:
                _add(source, tables, stanzas)
                stanzas = []
        _add(source, tables, stanzas)
        tables.reject(source, rejected)
        if not count:
            raise InputFormat(f"{source.name} holds no OBO term", "it may be empty or cut off")


def _add(source: Source, tables: GraphTables, stanzas: list[_Stanza]) -> None:
    tables.add_nodes(source, (stanza.node for stanza in stanzas))
    tables.add_edges(source, (edge for stanza in stanzas for edge in stanza.edges))


def _stanzas(source: Source, rejected: list[Rejected]) -> Iterator[_Stanza]:
    from obonet.read import parse_tag_line

    stanza: _Stanza | None = None
    for number, line in _lines(source):
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            yield from _ended(stanza, rejected)
            label = _STANZAS.get(text)
            stanza = _Stanza(label, number) if label else None
        elif text and not text.startswith("!") and stanza:
            try:
                parsed = parse_tag_line(text)
                wrong = stanza.take(parsed.tag, (parsed.value or "").strip(), number)
            except ValueError:
                wrong = "no tag and value"
            if wrong:
                rejected.append(Rejected(number, "syntax", wrong, text[:_SHOWN]))
    yield from _ended(stanza, rejected)


def _ended(stanza: _Stanza | None, rejected: list[Rejected]) -> list[_Stanza]:
    if stanza and not stanza.id:
        rejected.append(Rejected(stanza.line, "no_id", "a stanza without id"))
        return []
    return [stanza] if stanza else []


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    raw = cast("io.RawIOBase", Bounded(source.path))
    number = 0
    with io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8-sig") as stream:
        try:
            for number, line in enumerate(stream, 1):
                yield number, line
        except UnicodeDecodeError as error:
            raise InputFormat(
                f"{source.name} is not UTF-8 text, after line {number}: {error.reason}", AS_UTF8
            ) from error


FORMS: tuple[Form, ...] = (
    Form("OBO", is_obo, read_obo),
    Form("OWL, RDF/XML", lambda s: is_rdf_xml(s) and is_ontology(s), reader(RDF_XML)),
    Form("OWL, Turtle", lambda s: is_turtle(s) and not is_trig(s) and is_ontology(s), reader(TRIG)),
)

REFUSED: tuple[Refused, ...] = (
    Refused("OWL in functional syntax", is_functional, "convert it: robot convert --input x.ofn --output x.owl"),
)
