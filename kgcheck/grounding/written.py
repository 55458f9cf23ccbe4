"""What a reader of one format takes out of a file."""

from typing import NamedTuple

from kgcheck.grounding.manuscript import Table
from kgcheck.grounding.markers import Draft
from kgcheck.literature.papers import CitedWork


class Written(NamedTuple):
    """The parts of a manuscript, before its citations are looked for."""

    title: str
    drafts: tuple[Draft, ...]
    references: tuple[CitedWork, ...] = ()
    tables: tuple[Table, ...] = ()
    ids: tuple[str, ...] = ()
