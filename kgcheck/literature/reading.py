"""What is read of papers for a claim: one text of each, its abstract or a paragraph."""

from collections.abc import Sequence

from kgcheck.literature.arguments import missing
from kgcheck.literature.documents import Document
from kgcheck.literature.search import LiteratureIndex

_LOOKED = 20
"""Paragraphs of a paper that are looked at for one that names all that the claim does."""


def to_read(claim: str, index: LiteratureIndex, *, top: int, ids: Sequence[str] = ()) -> list[Document]:
    """Of each paper the text that fits a claim best, of those that name all it is about where there is one."""
    found = index.best_of(claim, ids) if ids else [hit.document for hit in index.search(claim, limit=top)]
    if not index.holds_whole_papers:
        return found
    return [d if d.id in ids and d.paper else _naming(claim, d, index) for d in found]


def _naming(claim: str, document: Document, index: LiteratureIndex) -> Document:
    """The best paragraph of the same paper that names all; the text itself where it does, or none does."""
    if not missing(claim, [document.abstract], document.abstract):
        return document
    hits = index.search(claim, limit=_LOOKED, within=[document.paper_id], every=True)
    others = (hit.document for hit in hits)
    return next((d for d in others if not missing(claim, [d.abstract], d.abstract)), document)
