"""Reports of the papers of a file or of an index."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kgcheck.errors import InputFormat, UnknownName
from kgcheck.literature.documents import Rejected
from kgcheck.literature.edge_reader import address
from kgcheck.literature.formats import choose_recipe, read_documents
from kgcheck.literature.manifest import DOCUMENTS
from kgcheck.literature.papers import WholePaper, parts_of
from kgcheck.literature.store import DocumentStore

_HINT = "name a file of whole papers, in JATS XML or PDF, or the folder of an index"


class PaperFound(NamedTuple):
    """A whole paper, whether it is retracted, and where people read it."""

    paper: WholePaper
    retracted: bool
    url: str


def whole_papers(place: Path, wanted: Sequence[str], notes: list[str]) -> Iterator[PaperFound]:
    """The whole papers of a file or an index."""
    yield from _of_index(place, wanted) if place.is_dir() else _of_file(place, wanted, notes)


def _of_file(path: Path, wanted: Sequence[str], notes: list[str]) -> Iterator[PaperFound]:
    left, any_found = set(wanted), False
    try:
        recipe = choose_recipe(path)
    except InputFormat as error:
        raise InputFormat(error.message, _HINT) from None
    for record in read_documents(path, recipe):
        if isinstance(record, Rejected):
            notes.append(f"{record.place or path}: {record.detail}")
        elif isinstance(record, WholePaper):
            any_found = True
            if not wanted or left.intersection(record.ids):
                left -= set(record.ids)
                yield PaperFound(record, record.retracted, address(parts_of(record).head))
    if not any_found:
        raise InputFormat(f"{path} has no whole paper", _HINT)
    if left:
        raise UnknownName("paper", min(left), [])


def _of_index(folder: Path, wanted: Sequence[str]) -> Iterator[PaperFound]:
    with DocumentStore(folder / DOCUMENTS) as store:
        for name in wanted or [row[0] for row in store.ids()]:
            paper = store.paper(name)
            number = store.number_of(paper.id) if paper else None
            if paper is None or number is None:
                if wanted:
                    raise UnknownName(
                        "whole paper", name, [], f"kgcheck corpus list --ids --index {folder} shows what is there"
                    )
                continue
            head = store.documents([number])[number]
            yield PaperFound(paper, head.retracted, address(head))
