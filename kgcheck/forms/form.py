"""Forms: file formats of graphs, how each is recognised, and how it is read or why not."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

from kgcheck.errors import InputFormat
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables

_READ = ("databases", "obo", "rdf", "json_graphs", "xml_graphs", "delimited")
"""Modules of the forms that are read, in the order in which they are asked: what is plainest last."""


class GraphForm(NamedTuple):
    """A form that is read. Files of one form are read together.

    Attributes:
        name: As its owners call it.
        fits: Tell by its beginning whether a file has the form.
        read: Put the files' nodes and edges into the tables. What a file as a whole has wrong is an InputFormat; single
            rows are rejected.
    """

    name: str
    fits: Callable[[Source], bool]
    read: Callable[[Sequence[Source], GraphTables], None]


class RefusedForm(NamedTuple):
    """A form that is known and not read, and what to do with such a file."""

    name: str
    fits: Callable[[Source], bool]
    hint: str


def form_of(source: Source) -> GraphForm:
    """The form of a file; one that is known and not read is refused by its name, as is what no form fits."""
    from kgcheck.forms.refused import REFUSED

    if not source.head.strip():
        raise InputFormat(f"{source.name} is empty", "name the files of a graph")
    if found := next((form for form in REFUSED if form.fits(source)), None):
        raise InputFormat(f"{source.name} is {found.name}, which is not read", found.hint)
    for name in _READ:
        forms: tuple[GraphForm, ...] = import_module(f"kgcheck.forms.{name}").FORMS
        if form := next((form for form in forms if form.fits(source)), None):
            return form
    raise InputFormat(
        f"{source.name} is of no form that is known: it begins with {source.text[:60]!r}",
        "docs/forms.md lists the forms; any table with columns subject, predicate and object is one",
    )
