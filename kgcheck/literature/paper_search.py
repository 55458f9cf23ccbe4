"""Search an index for papers, and return hits with their best passage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kgcheck.literature.documents import Document
from kgcheck.literature.search import LiteratureIndex, rank_passages


@dataclass(frozen=True)
class PaperHit:
    """A paper that a search found, with its best passage: ``document.abstract[start:end]``."""

    document: Document
    score: float
    start: int
    end: int

    @property
    def passage(self) -> str:
        return self.document.abstract[self.start : self.end]

    def as_row(self) -> dict[str, Any]:
        """The hit in the flat form that `kgcheck search --format json` prints."""
        document = self.document
        return {
            "id": document.id,
            "also": list(document.ids[1:]),
            "score": round(self.score, 4),
            "year": document.year,
            "retracted": document.retracted,
            "title": document.title,
            "paper": document.paper_id,
            "section": document.section,
            "heading": document.heading,
            "passage": {"start": self.start, "end": self.end, "text": self.passage},
        }


def find_papers(
    index: LiteratureIndex,
    query: str,
    *,
    limit: int = 10,
    documents: Sequence[str] = (),
    sections: Sequence[str] = (),
) -> tuple[PaperHit, ...]:
    """Papers of an index, or of some of its documents, that fit words or a sentence, the best first."""
    hits = []
    for hit in index.search(query, limit=limit, within=documents or None, sections=sections):
        best = hit.nearest
        if best is None:
            best = rank_passages(query, hit.document.passages)[0][0]
        hits.append(PaperHit(hit.document, hit.score, *hit.document.spans[best]))
    return tuple(hits)
