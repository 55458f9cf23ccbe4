"""What a reader of one format takes out of a file."""

from typing import NamedTuple

from kgcheck.errors import InputFormat
from kgcheck.grounding.manuscript import Table
from kgcheck.grounding.manuscripts.markers import BlockDraft
from kgcheck.literature.papers import CitedWork

LONGEST_BLOCK = 200_000
"""Characters of a paragraph. A paper has fewer in all."""


def check_length(characters: int) -> None:
    """Refuse a paragraph that is none."""
    if characters > LONGEST_BLOCK:
        raise InputFormat(
            f"the manuscript has a paragraph of more than {LONGEST_BLOCK:,} characters",
            "put empty lines between paragraphs",
        )


class Written(NamedTuple):
    """The parts of a manuscript, before its citations are looked for."""

    title: str
    drafts: tuple[BlockDraft, ...]
    references: tuple[CitedWork, ...] = ()
    tables: tuple[Table, ...] = ()
    ids: tuple[str, ...] = ()
