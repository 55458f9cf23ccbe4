"""Semantic Scholar: search in bulk with abstracts, references and citations. It has no whole papers."""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.providers.answers import ProviderService, ServiceAnswer
from kgcheck.providers.gathered import (
    LATER,
    PaperRecord,
    RecordPage,
    WireRecord,
    doi_id,
    formed,
    parsed,
    pmc_id,
    pmid_id,
)
from kgcheck.providers.http import Http
from kgcheck.settings import Settings

PAGE = 1_000
"""Records of one page of a search in bulk, and links of one page."""

_NAME = "Semantic Scholar"
_FIELDS = "title,abstract,year,venue,externalIds,publicationTypes"

_PaperId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class _ScholarPaper(WireRecord):
    key: _PaperId = Field(alias="paperId")
    title: str | None = ""
    abstract: str | None = ""
    year: int | None = None
    venue: str | None = ""
    others: dict[str, Any] | None = Field(alias="externalIds", default=None)
    types: list[str] | None = Field(alias="publicationTypes", default=None)


class _ScholarPage(WireRecord):
    total: Annotated[int, Field(ge=0, strict=True)]
    token: str | None = None
    data: list[_ScholarPaper]


class _ScholarEnd(WireRecord):
    key: _PaperId | None = Field(alias="paperId", default=None)
    others: dict[str, Any] | None = Field(alias="externalIds", default=None)


class _ScholarLink(WireRecord):
    cited: _ScholarEnd | None = Field(alias="citedPaper", default=None)
    citing: _ScholarEnd | None = Field(alias="citingPaper", default=None)


class _ScholarLinks(WireRecord):
    offset: Annotated[int, Field(ge=0, strict=True)]
    following: Annotated[int, Field(ge=0, strict=True)] | None = Field(alias="next", default=None)
    data: list[_ScholarLink] | None = None


_PAGES = TypeAdapter(_ScholarPage)
_LINKED = TypeAdapter(_ScholarLinks)


class SemanticScholar:
    """Asks Semantic Scholar.

    Args:
        http: What asks.
        settings: The address, the pace, and perhaps a key.
        day: The day that answers are kept under.
    """

    name = _NAME

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        key = settings.semantic_scholar_key
        self._http = http
        self._service = ProviderService(
            _NAME,
            settings.semantic_scholar_url,
            settings.semantic_scholar_calls_per_s,
            "KGCHECK_SEMANTIC_SCHOLAR_URL",
            release=day,
            headers={"x-api-key": key.get_secret_value()} if key else {},
        )

    def page(self, query: str, after: str, size: int) -> RecordPage:
        """See PaperService; a page has as many records as the service gives."""
        params = {"query": query, "fields": _FIELDS, **({"token": after} if after else {})}
        return self._http.ask(self._service, "/paper/search/bulk", partial(_page, after=after), params=params)

    def whole(self, record: PaperRecord) -> bytes | None:
        """See PaperService: it has none."""
        return None

    def references(self, record: PaperRecord) -> tuple[str, ...]:
        """See PaperService."""
        return self._links(record, "references", "cited")

    def citations(self, record: PaperRecord) -> tuple[str, ...]:
        """See PaperService."""
        return self._links(record, "citations", "citing")

    def _links(self, record: PaperRecord, what: str, end: Literal["cited", "citing"]) -> tuple[str, ...]:
        ids: list[str] = []
        offset: int | None = 0
        while offset is not None:
            params = {"fields": "externalIds", "offset": offset, "limit": PAGE}
            read = partial(_linked, offset=offset, end=end)
            path = f"/paper/{record.key}/{what}"
            some, offset = self._http.ask(self._service, path, read, params=params)
            ids += some
        return tuple(dict.fromkeys(ids))


def _page(answer: ServiceAnswer, *, after: str) -> RecordPage:
    found = formed(_NAME, _body(answer), _PAGES)
    keys = [paper.key for paper in found.data]
    if len(keys) > PAGE or len(set(keys)) < len(keys) or len(keys) > found.total or (found.token and not keys):
        raise SourceAnswer(f"{_NAME} sent {len(keys):,} records of {found.total:,}, or some twice", LATER)
    token = found.token or ""
    if token and token == after:
        raise SourceAnswer(f"{_NAME} sent the same page again", LATER)
    return RecordPage(tuple(map(_record, found.data)), token, found.total)


def _record(found: _ScholarPaper) -> PaperRecord:
    return PaperRecord(
        key=found.key,
        ids=(*_known(found.others), f"s2:{(found.others or {}).get('CorpusId') or found.key}"),
        title=found.title or "",
        abstract=found.abstract or "",
        year=str(found.year or ""),
        journal=found.venue or "",
        types=tuple(found.types or ()),
    )


def _known(others: dict[str, Any] | None) -> tuple[str, ...]:
    """The ids that others gave it, as far as they are such."""
    named = {key: str(value) for key, value in (others or {}).items()}
    return (*pmid_id(named.get("PubMed")), *doi_id(named.get("DOI")), *pmc_id(named.get("PubMedCentral")))


def _linked(answer: ServiceAnswer, *, offset: int, end: Literal["cited", "citing"]) -> tuple[list[str], int | None]:
    found = formed(_NAME, _body(answer), _LINKED)
    links = found.data or []
    if found.offset != offset or len(links) > PAGE or (found.following is not None and found.following <= offset):
        raise SourceAnswer(f"{_NAME} sent links from {found.offset:,} on, not from {offset:,}", LATER)
    if found.following is not None and not links:
        raise SourceAnswer(f"{_NAME} promised more links from {offset:,} on and sent none", LATER)
    ends: list[_ScholarEnd | None] = [getattr(link, end) for link in links]
    if None in ends:
        raise SourceAnswer(f"{_NAME} sent links of another kind than were asked for", LATER)
    ids = [(*_known(e.others), *((f"s2:{e.key}",) if e.key else ())) for e in ends if e]
    return [i[0] for i in ids if i], found.following


def _body(answer: ServiceAnswer) -> Any:
    if answer.status == 400:
        raise SourceUnanswerable(f"{_NAME} does not take the question: {answer.body[:200]!r}", "see its search syntax")
    return parsed(_NAME, answer, TypeAdapter(dict[str, Any]))
