"""Semantic Scholar client: bulk search with abstracts, references, citations; no full text."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from kgcheck.errors import SourceAnswer
from kgcheck.providers.http import Http, ProviderService, ServiceAnswer
from kgcheck.providers.paper_service import (
    LATER,
    Number,
    PaperRecord,
    PaperService,
    RecordPage,
    WireRecord,
    check_page,
    doi_id,
    lots,
    parsed,
    pmc_id,
    pmid_id,
)
from kgcheck.settings import Settings

PAGE = 1_000
"""Records of one page of a search in bulk, and links of one page."""

LOT = 500
"""Papers of one call by their ids."""

_NAME = "Semantic Scholar"
_FIELDS = "title,abstract,year,venue,externalIds,publicationTypes,citationCount"
_PREFIXES = {"pmid": "PMID:", "doi": "DOI:", "pmc": "PMCID:"}
_PaperId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class _ScholarEnd(WireRecord):
    key: _PaperId | None = Field(alias="paperId", default=None)
    others: dict[str, Any] | None = Field(alias="externalIds", default=None)

    @property
    def known(self) -> tuple[str, ...]:
        """Ids elsewhere."""
        named = {key: str(value) for key, value in (self.others or {}).items()}
        return (*pmid_id(named.get("PubMed")), *doi_id(named.get("DOI")), *pmc_id(named.get("PubMedCentral")))


class _ScholarPaper(_ScholarEnd):
    key: _PaperId = Field(alias="paperId")
    title: str | None = ""
    abstract: str | None = ""
    year: int | None = None
    venue: str | None = ""
    types: list[str] | None = Field(alias="publicationTypes", default=None)
    cited_by: Number | None = Field(alias="citationCount", default=None)

    @property
    def record(self) -> PaperRecord:
        """The paper's record."""
        return PaperRecord(
            key=self.key,
            ids=(*self.known, f"s2:{(self.others or {}).get('CorpusId') or self.key}"),
            title=self.title or "",
            abstract=self.abstract or "",
            year=str(self.year or ""),
            journal=self.venue or "",
            types=tuple(self.types or ()),
            cited_by=self.cited_by,
        )


class _ScholarPage(WireRecord):
    total: Number
    token: str | None = None
    data: list[_ScholarPaper]


class _ScholarRanked(WireRecord):
    total: Number
    offset: Number
    data: list[_ScholarPaper] = []


class _ScholarLink(WireRecord):
    cited: _ScholarEnd | None = Field(alias="citedPaper", default=None)
    citing: _ScholarEnd | None = Field(alias="citingPaper", default=None)


class _ScholarLinks(WireRecord):
    offset: Number
    following: Number | None = Field(alias="next", default=None)
    data: list[_ScholarLink] | None = None


class SemanticScholar(PaperService):
    """Asks Semantic Scholar."""

    name = _NAME
    kinds = frozenset(("pmid", "doi", "pmc", "s2"))

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        key = settings.semantic_scholar_key
        self._http = http
        carried = {"headers": {"x-api-key": key.get_secret_value()} if key else {}, "has_key": bool(key)}
        self._service = ProviderService.from_settings(_NAME, "semantic_scholar", settings, release=day, **carried)

    def page(self, query: str, after: str, size: int) -> RecordPage:
        """See PaperService; a page has as many records as the service gives."""

        def read(answer: ServiceAnswer) -> RecordPage:
            found = parsed(_NAME, answer, _ScholarPage, refusals=(400,))
            check_page(_NAME, [paper.key for paper in found.data], PAGE, found.total)
            token = found.token or ""
            if token and (token == after or not found.data):
                raise SourceAnswer(f"{_NAME} sent the same page again, or an empty one", LATER)
            return RecordPage(tuple(paper.record for paper in found.data), token, found.total)

        params = {"query": query, "fields": _FIELDS, **({"token": after} if after else {})}
        return self._http.ask(self._service, "/paper/search/bulk", read, params=params)

    def best(self, words: Sequence[str], size: int) -> RecordPage:
        def read(answer: ServiceAnswer) -> RecordPage:
            found = parsed(_NAME, answer, _ScholarRanked, refusals=(400,))
            check_page(_NAME, [paper.key for paper in found.data], size, found.total)
            if found.offset or (found.total and not found.data):
                raise SourceAnswer(f"{_NAME} sent none of {found.total:,} records, or not the first", LATER)
            return RecordPage(tuple(paper.record for paper in found.data), "", found.total)

        params = {"query": " ".join(words), "fields": _FIELDS, "offset": 0, "limit": size}
        return self._http.ask(self._service, "/paper/search", read, params=params)

    def records(self, ids: Sequence[str]) -> dict[str, PaperRecord]:
        found: dict[str, PaperRecord] = {}
        for lot in lots(ids, LOT):

            def read(answer: ServiceAnswer, wanted: Sequence[str] = lot) -> dict[str, PaperRecord]:
                papers = parsed(_NAME, answer, list[_ScholarPaper | None], refusals=(400,))
                if len(papers) != len(wanted):
                    raise SourceAnswer(f"{_NAME} sent {len(papers):,} records; {len(wanted):,} were asked for", LATER)
                records = {name: paper.record for name, paper in zip(wanted, papers, strict=True) if paper}
                # Answers stand in the order of the questions, and one about another paper is none.
                return {name: r for name, r in records.items() if name in r.ids or name == f"s2:{r.key}"}

            body = {"ids": [_own_name(i) for i in lot]}
            found |= self._http.ask(self._service, "/paper/batch", read, params={"fields": _FIELDS}, body=body)
        return found

    def references(self, record: PaperRecord) -> tuple[str, ...]:
        return self._links(record, "references", "cited")

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        return self._links(record, "citations", "citing", most)

    def _links(
        self, record: PaperRecord, kind: str, end: Literal["cited", "citing"], most: int | None = None
    ) -> tuple[str, ...]:
        ids: list[str] = []
        offset: int | None = 0
        while offset is not None and (most is None or len(ids) < most):

            def read(answer: ServiceAnswer, start: int = offset) -> tuple[list[str], int | None]:
                found = parsed(_NAME, answer, _ScholarLinks, refusals=(400,))
                links, following = found.data or [], found.following
                if found.offset != start or len(links) > PAGE or (following is not None and following <= start):
                    raise SourceAnswer(f"{_NAME} sent links from {found.offset:,} on, not from {start:,}", LATER)
                if following is not None and not links:
                    raise SourceAnswer(f"{_NAME} promised more links from {start:,} on and sent none", LATER)
                ends: list[_ScholarEnd | None] = [getattr(link, end) for link in links]
                if None in ends:
                    raise SourceAnswer(f"{_NAME} sent links of another kind than were asked for", LATER)
                named = [(*e.known, *((f"s2:{e.key}",) if e.key else ())) for e in ends if e]
                return [own[0] for own in named if own], following

            params = {"fields": "externalIds", "offset": offset, "limit": PAGE}
            some, offset = self._http.ask(self._service, f"/paper/{record.key}/{kind}", read, params=params)
            ids += some
        return tuple(dict.fromkeys(ids))


def _own_name(name: str) -> str:
    kind, _, value = name.partition(":")
    if kind == "s2":
        return f"CorpusId:{value}" if value.isdigit() else value
    return _PREFIXES[kind] + value.removeprefix("PMC")
