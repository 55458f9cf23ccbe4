"""Recognise the form of a graph's files by their content."""

from collections.abc import Iterable

from kgcheck.errors import InputFormat
from kgcheck.forms.form import Form, Refused
from kgcheck.forms.json_graphs import FORMS as JSON_FORMS
from kgcheck.forms.delimited import FORMS as DELIMITED
from kgcheck.forms.ontologies import FORMS as ONTOLOGIES
from kgcheck.forms.rdf import FORMS as RDF_FORMS
from kgcheck.forms.refused import REFUSED
from kgcheck.forms.source import Source
from kgcheck.forms.xml_graphs import FORMS as XML_FORMS
