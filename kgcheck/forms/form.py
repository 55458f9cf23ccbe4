"""Form: a file format of graphs, with how it is recognised and how it is read or why not."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables


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
