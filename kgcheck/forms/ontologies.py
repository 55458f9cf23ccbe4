"""Ontologies: OBO, and OWL as RDF/XML or Turtle, recognised by content."""

import re

from kgcheck.forms.form import GraphForm, RefusedForm
from kgcheck.forms.obo import is_obo, read_obo
from kgcheck.forms.rdf import is_ontology, is_rdf_xml, is_trig, is_turtle
from kgcheck.forms.rdf_parsing import RDF_XML, TRIG
from kgcheck.forms.rdf_tables import reader
from kgcheck.forms.source import Source

_FUNCTIONAL = re.compile(r"(?>(?:\s|#[^\n]*\n)*)(?:Prefix\s*\(\s*[\w.-]*:\s*=|Ontology\s*\()")

_OWL_XML = re.compile(r"<Ontology\s[^<>]*\"http://www\.w3\.org/2002/07/owl#\"")
_MANCHESTER = re.compile(r"\s*(?:Prefix:\s+[\w.-]*:\s*<|Ontology:)")


def is_functional(source: Source) -> bool:
    """Tell OWL in functional syntax."""
    return bool(_FUNCTIONAL.match(source.text)) and bool(re.search(r"\bOntology\s*\(", source.text))


def is_owl_xml(source: Source) -> bool:
    """Tell OWL/XML, which is no RDF/XML."""
    return bool(_OWL_XML.search(source.text)) and not is_rdf_xml(source)


def is_manchester(source: Source) -> bool:
    """Tell OWL in Manchester syntax."""
    return bool(_MANCHESTER.match(source.text)) and bool(re.search(r"^Ontology:", source.text, re.MULTILINE))


FORMS: tuple[GraphForm, ...] = (
    GraphForm("OBO", is_obo, read_obo),
    GraphForm("OWL, RDF/XML", lambda s: is_rdf_xml(s) and is_ontology(s), reader(RDF_XML)),
    GraphForm("OWL, Turtle", lambda s: is_turtle(s) and not is_trig(s) and is_ontology(s), reader(TRIG)),
)

REFUSED: tuple[RefusedForm, ...] = (
    RefusedForm("OWL in functional syntax", is_functional, "convert it: robot convert -i x.ofn -o x.owl"),
    RefusedForm("OWL/XML", is_owl_xml, "convert it: robot convert -i x.owx -o x.owl"),
    RefusedForm("OWL in Manchester syntax", is_manchester, "convert it: robot convert -i x.omn -o x.owl"),
)
