"""Where papers are searched: PubMed, PMC, Europe PMC, and the local literature index."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kgcheck.literature.documents import Document, Rejected
from kgcheck.literature.papers import Paragraph, Section, WholePaper
from kgcheck.literature.records import paper_of_record
from kgcheck.literature.search import LiteratureIndex
from kgcheck.protocols.search.found import SearchPlace
from kgcheck.protocols.search.queries import SearchQuery
from kgcheck.providers.europepmc import EuropePmc
from kgcheck.providers.gathered import PaperRecord
from kgcheck.providers.http import Http
from kgcheck.providers.pmc import Pmc
from kgcheck.providers.pubmed import PubMed


class PapersFound(NamedTuple):
    """What a place found for a query: papers, those that are none, and what of the query it does not know."""

    papers: tuple[WholePaper, ...]
    total: int
    rejected: tuple[Rejected, ...] = ()
    unknown: tuple[str, ...] = ()


class PaperPlace(Protocol):
    """Where papers are searched."""

    place: SearchPlace

    def papers(self, query: SearchQuery, most: int) -> PapersFound:
        """The papers that fit a query best, best first."""


class PubMedPlace:
    """PubMed."""

    place: SearchPlace = "pubmed"

    def __init__(self, http: Http, day: str) -> None:
        self._service = PubMed(http, http.settings, day)

    def papers(self, query: SearchQuery, most: int) -> PapersFound:
        """See PaperPlace."""
        page = self._service.relevant(query.pubmed, most)
        return _found(page.records, page.total, self.place, page.unknown)


class EuropePmcPlace:
    """Europe PMC."""

    place: SearchPlace = "europepmc"

    def __init__(self, http: Http, day: str) -> None:
        self._service = EuropePmc(http, http.settings, day)

    def papers(self, query: SearchQuery, most: int) -> PapersFound:
        """See PaperPlace."""
        page = self._service.page(query.europepmc, "", most)
        return _found(page.records, page.total, self.place)


class PmcPlace:
    """PMC, with the abstracts that PubMed has of its papers."""

    place: SearchPlace = "pmc"

    def __init__(self, http: Http, day: str) -> None:
        self._service = Pmc(http, http.settings, day)
        self._abstracts = PubMed(http, http.settings, day)

    def papers(self, query: SearchQuery, most: int) -> PapersFound:
        """See PaperPlace."""
        page = self._service.relevant(query.pmc, most)
        pmids = [i for record in page.records for i in record.ids if i.startswith("pmid:")]
        known = self._abstracts.records(pmids) if pmids else {}
        records = [_with_abstract(record, known) for record in page.records]
        return _found(records, page.total, self.place, page.unknown)


class IndexPlace:
    """The local literature index, which no service is asked for."""

    place: SearchPlace = "index"

    def __init__(self, index: LiteratureIndex) -> None:
        self._index = index

    def papers(self, query: SearchQuery, most: int) -> PapersFound:
        """See PaperPlace."""
        hits = self._index.search(query.words, limit=most)
        papers = tuple(self._paper(hit.document) for hit in hits)
        return PapersFound(papers, len(papers))

    def _paper(self, document: Document) -> WholePaper:
        whole = self._index.store.paper(document.paper_id)
        if whole is not None:
            return whole.model_copy(update={"retracted": whole.retracted or document.retracted})
        return WholePaper(
            ids=document.ids,
            title=document.title,
            type=", ".join(document.types)[:500],
            year=document.year,
            journal=document.journal,
            retracted=document.retracted,
            sections=(Section(kind="abstract", path=("",), paragraphs=(Paragraph(text=document.abstract),)),),
            recipe=document.recipe,
        )


def _with_abstract(record: PaperRecord, known: dict[str, PaperRecord]) -> PaperRecord:
    """A record of PMC with what PubMed has of the same paper."""
    other = next((known[i] for i in record.ids if i in known), None)
    if other is None:
        return record
    ids = tuple(dict.fromkeys((*other.ids, *record.ids)))
    return other._replace(key=record.key, ids=ids, full_text=record.full_text)


def _found(
    records: Sequence[PaperRecord], total: int, place: SearchPlace, unknown: tuple[str, ...] = ()
) -> PapersFound:
    made = [paper_of_record(record, place) for record in records]
    papers = tuple(paper for paper in made if isinstance(paper, WholePaper))
    return PapersFound(papers, total, tuple(p for p in made if isinstance(p, Rejected)), unknown)
