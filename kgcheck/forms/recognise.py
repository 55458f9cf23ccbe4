"""Recognise the form of a graph's file by its content."""

from importlib import import_module

from kgcheck.errors import InputFormat
from kgcheck.forms.form import GraphForm, RefusedForm
from kgcheck.forms.source import Source

_READ = ("databases", "ontologies", "rdf", "json_graphs", "xml_graphs", "delimited")
"""Modules of the forms that are read, in the order in which they are asked: what is plainest last."""


def form_of(source: Source) -> GraphForm:
    """The form of a file; one that is known and not read is refused by its name, as is what no form fits."""
    from kgcheck.forms import ontologies, refused

    if not source.head.strip():
        raise InputFormat(f"{source.name} is empty", "name the files of a graph")
    known: tuple[RefusedForm, ...] = (*refused.REFUSED, *ontologies.REFUSED)
    if found := next((form for form in known if form.fits(source)), None):
        raise InputFormat(f"{source.name} is {found.name}, which is not read", found.hint)
    for name in _READ:
        forms: tuple[GraphForm, ...] = import_module(f"kgcheck.forms.{name}").FORMS
        if form := next((form for form in forms if form.fits(source)), None):
            return form
    raise InputFormat(
        f"{source.name} is of no form that is known: it begins with {source.text[:60]!r}",
        "docs/forms.md lists the forms; any table with columns subject, predicate and object is one",
    )
