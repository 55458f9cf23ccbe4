"""Semantic Scholar client: bulk search with abstracts, references, citations; no full text."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import (
    LATER,
    PaperRecord,
    PaperService,
    RecordPage,
    WireRecord,
    doi_id,
    formed,
    lots,
    parsed,
    pmc_id,
    pmid_id,
)
from kgcheck.providers.services import ProviderService, ServiceAnswer
from kgcheck.settings import Settings

PAGE = 1_000
"""Records of one page of a search in bulk, and links of one page."""

LOT = 500
"""Papers of one call by their ids."""

_NAME = "Semantic Scholar"
_FIELDS = "title,abstract,year,venue,externalIds,publicationTypes,citationCount"
_PREFIXES = {"pmid": "PMID:", "doi": "DOI:", "pmc": "PMCID:"}

_PaperId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class _ScholarPaper(WireRecord):
    key: _PaperId = Field(alias="paperId")
    title: str | None = ""
    abstract: str | None = ""
    year: int | None = None
    venue: str | None = ""
    others: dict[str, Any] | None = Field(alias="externalIds", default=None)
    types: list[str] | None = Field(alias="publicationTypes", default=None)
    cited_by: Annotated[int, Field(ge=0, strict=True)] | None = Field(alias="citationCount", default=None)


class _ScholarPage(WireRecord):
    total: Annotated[int, Field(ge=0, strict=True)]
    token: str | None = None
    data: list[_ScholarPaper]


class _ScholarRanked(WireRecord):
    total: Annotated[int, Field(ge=0, strict=True)]
    offset: Annotated[int, Field(ge=0, strict=True)]
    data: list[_ScholarPaper] = []


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
_RANKED = TypeAdapter(_ScholarRanked)
_LOT = TypeAdapter(list[_ScholarPaper | None])
_LINKED = TypeAdapter(_ScholarLinks)


class SemanticScholar(PaperService):
    """Asks Semantic Scholar."""

    name = _NAME
    kinds = frozenset(("pmid", "doi", "pmc", "s2"))

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        key = settings.semantic_scholar_key
        self._http = http
        headers = {"x-api-key": key.get_secret_value()} if key else {}
        carried = {"headers": headers, "has_key": bool(key)}
        self._service = ProviderService.from_settings(_NAME, "semantic_scholar", settings, release=day, **carried)

    def page(self, query: str, after: str, size: int) -> RecordPage:
        """See PaperService; a page has as many records as the service gives."""
        params = {"query": query, "fields": _FIELDS, **({"token": after} if after else {})}
        return self._http.ask(self._service, "/paper/search/bulk", partial(_page, after=after), params=params)

    def best(self, words: Sequence[str], size: int) -> RecordPage:
        params = {"query": " ".join(words), "fields": _FIELDS, "offset": 0, "limit": size}
        return self._http.ask(self._service, "/paper/search", partial(_best, size=size), params=params)

    def records(self, ids: Sequence[str]) -> dict[str, PaperRecord]:
        found: dict[str, PaperRecord] = {}
        for lot in lots(ids, LOT):
            read = partial(_by_id, wanted=tuple(lot))
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
            params = {"fields": "externalIds", "offset": offset, "limit": PAGE}
            read = partial(_linked, offset=offset, end=end)
            path = f"/paper/{record.key}/{kind}"
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


def _best(answer: ServiceAnswer, *, size: int) -> RecordPage:
    found = formed(_NAME, _body(answer), _RANKED)
    keys = [paper.key for paper in found.data]
    if found.offset or len(keys) > size or len(set(keys)) < len(keys) or (found.total and not keys):
        raise SourceAnswer(f"{_NAME} sent {len(keys):,} records of {found.total:,}, or some twice", LATER)
    return RecordPage(tuple(map(_record, found.data)), "", found.total)


def _by_id(answer: ServiceAnswer, *, wanted: tuple[str, ...]) -> dict[str, PaperRecord]:
    if answer.status != 200:
        _body(answer)
    found = formed(_NAME, answer.json(), _LOT)
    if len(found) != len(wanted):
        raise SourceAnswer(f"{_NAME} sent {len(found):,} records; {len(wanted):,} were asked for", LATER)
    records = {name: _record(paper) for name, paper in zip(wanted, found, strict=True) if paper}
    # Answers stand in the order of the questions, and one about another paper is none.
    return {name: r for name, r in records.items() if name in r.ids or name == f"s2:{r.key}"}


def _own_name(name: str) -> str:
    kind, _, value = name.partition(":")
    if kind == "s2":
        return f"CorpusId:{value}" if value.isdigit() else value
    return _PREFIXES[kind] + (value.removeprefix("PMC") if kind == "pmc" else value)


def _record(found: _ScholarPaper) -> PaperRecord:
    return PaperRecord(
        key=found.key,
        ids=(*_known(found.others), f"s2:{(found.others or {}).get('CorpusId') or found.key}"),
        title=found.title or "",
        abstract=found.abstract or "",
        year=str(found.year or ""),
        journal=found.venue or "",
        types=tuple(found.types or ()),
        cited_by=found.cited_by,
    )


def _known(others: dict[str, Any] | None) -> tuple[str, ...]:
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
