"""RDF graphs and OWL: Turtle, TriG, N-Triples, N-Quads, JSON-LD and RDF/XML, recognised by content."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

from kgcheck.forms.curies import OWL, RDF
from kgcheck.forms.form import GraphForm
from kgcheck.forms.rdf_parsing import JSON_LD, N_QUADS, RDF_XML, TRIG, Syntax
from kgcheck.forms.rdf_tables import read_rdf
from kgcheck.forms.source import Source

_IRI = r"<(?:[A-Za-z][\w+.-]*://|urn:)[^<>\s]*>"
_TERM = rf"(?:{_IRI}|_:\S+)"
_STATEMENT = re.compile(rf"\s*{_TERM}\s+<[^<>]*>\s+\S.*\.\s*(?:#.*)?$")
_IN_GRAPH = re.compile(rf"\s*{_TERM}\s+<[^<>]*>\s+(?:<[^<>]*>|_:\S+|\"[^\"]*\"\S*)\s+{_TERM}\s*\.\s*$")
_DIRECTIVE = re.compile(r"^\s*@?(?:prefix\s+[\w.-]*:\s*<[^<>\s]*>|base\s+<[^<>\s]*>)", re.IGNORECASE)
_TURTLE_LINE = re.compile(rf"\s*{_IRI}(?:\s+(?:<[^<>\s]*>|a\s|\{{)|\s*$)")
_GRAPH = re.compile(
    r"^[ \t]*+(?:GRAPH\s++)?(?:(?:<[^<>\s]*+>|[\w.-]*:[\w.-]*+|_:[^\s{]++)\s*+)?\{[ \t\r]*+(?:$|[<_\[#]|[\w.-]*:)",
    re.MULTILINE,
)
_ROOT = re.compile(
    r"(?>(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*)<(?:[\w.-]+:)?RDF[\s>]", re.DOTALL
)
_LINKED = re.compile(r'"@context"\s*:\s*["{\[]|"@id"\s*:\s*"')
_OTHER_JSON = re.compile(r'"(?:numberVerification|CXVersion|knowledge_graph|graphs)"\s*:|"@id"\s*:\s*\d')
_LOOKED_AT = 200
"""Lines that must look alike."""


def _first_lines(source: Source) -> list[str]:
    lines = (line for line in source.lines if line.strip() and not line.lstrip().startswith("#"))
    return list(islice(lines, _LOOKED_AT))


def is_n_triples(source: Source) -> bool:
    """Tell N-Triples and N-Quads: a statement a line."""
    lines = _first_lines(source)
    whole = sum(1 for line in lines if _STATEMENT.match(line))
    # A statement that goes on in the next line is Turtle.
    return 2 * whole > len(lines) and not any(line.rstrip().endswith((";", ",")) for line in lines)


def is_n_quads(source: Source) -> bool:
    """Tell N-Triples that stand in graphs."""
    return is_n_triples(source) and any(_IN_GRAPH.match(line) for line in _first_lines(source)[:20])


def is_turtle(source: Source) -> bool:
    """Tell Turtle, TriG included."""
    lines = _first_lines(source)
    if not lines or is_n_triples(source):
        return False
    return bool(_DIRECTIVE.match(lines[0]) or _TURTLE_LINE.match(lines[0]))


def is_trig(source: Source) -> bool:
    """Tell Turtle with named graphs."""
    return is_turtle(source) and bool(_GRAPH.search(source.text))


def is_json_ld(source: Source) -> bool:
    """Tell JSON-LD from other JSON."""
    text = source.text.lstrip()
    return text.startswith(("{", "[")) and bool(_LINKED.search(text)) and not _OTHER_JSON.search(text)


def is_rdf_xml(source: Source) -> bool:
    """Tell RDF/XML; BioPAX is another form, although it is written so."""
    return bool(_ROOT.match(source.text)) and RDF in source.text and "biopax.org/release/biopax" not in source.text


def is_ontology(source: Source) -> bool:
    """Tell by its header that RDF is an OWL ontology."""
    return OWL in source.text and bool(
        re.search(r"<(?:\w+:)?Ontology\b|\bowl:Ontology\b|owl#Ontology[>\"']", source.text)
    )


def _form(
    name: str, syntax: Syntax, *fits: Callable[[Source], bool], but: Sequence[Callable[[Source], bool]] = ()
) -> GraphForm:
    def fits_all(source: Source) -> bool:
        return all(test(source) for test in fits) and not any(test(source) for test in but)

    return GraphForm(name, fits_all, partial(read_rdf, syntax=syntax))


FORMS = (
    _form("OWL, RDF/XML", RDF_XML, is_rdf_xml, is_ontology),
    _form("OWL, Turtle", TRIG, is_turtle, is_ontology, but=[is_trig]),
    _form("RDF, N-Triples", N_QUADS, is_n_triples, but=[is_n_quads]),
    _form("RDF, N-Quads", N_QUADS, is_n_quads),
    _form("RDF, Turtle", TRIG, is_turtle, but=[is_trig, is_ontology]),
    _form("RDF, TriG", TRIG, is_trig),
    _form("RDF, JSON-LD", JSON_LD, is_json_ld),
    _form("RDF/XML", RDF_XML, is_rdf_xml, but=[is_ontology]),
)
