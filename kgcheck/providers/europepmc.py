"""Europe PMC client: search with abstracts, open full text, references and citations."""

from collections.abc import Callable, Sequence
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
    T,
    WireRecord,
    by_wanted_id,
    doi_id,
    formed,
    lots,
    open_licence,
    parsed,
    pmc_id,
    pmid_id,
    stray_answer,
)
from kgcheck.providers.services import ProviderService, ServiceAnswer
from kgcheck.settings import Settings

PAGE = 1_000
"""Most records of one page."""

LOT = 50
"""Papers of one call by their ids: they must fit into a line."""

_NAME = "Europe PMC"


class _PubTypes(WireRecord):
    kinds: list[str] = Field(alias="pubType", default=[])


class _EuropeJournal(WireRecord):
    title: str = ""


class _EuropeIssue(WireRecord):
    journal: _EuropeJournal = _EuropeJournal()


class _EuropeRecord(WireRecord):
    id: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(pattern=r"^[A-Z]{2,5}$")]
    pmid: str = ""
    pmcid: str = ""
    doi: str = ""
    title: str = ""
    abstract: str = Field(alias="abstractText", default="")
    year: str = Field(alias="pubYear", default="")
    issue: _EuropeIssue = Field(alias="journalInfo", default=_EuropeIssue())
    types: _PubTypes = Field(alias="pubTypeList", default=_PubTypes())
    open_access: Literal["Y", "N"] = Field(alias="isOpenAccess", default="N")
    licence: str = Field(alias="license", default="")
    cited_by: Annotated[int, Field(ge=0, strict=True)] | None = Field(alias="citedByCount", default=None)


class _EuropeList(WireRecord):
    records: list[_EuropeRecord] = Field(alias="result")


class _EuropePage(WireRecord):
    total: Annotated[int, Field(ge=0, strict=True)] = Field(alias="hitCount")
    after: str = Field(alias="nextCursorMark", default="")
    request: dict[str, Any] = {}
    found: _EuropeList = Field(alias="resultList")


class _EuropeLink(WireRecord):
    id: str = ""
    source: str = ""
    doi: str = ""


class _EuropeLinks(WireRecord):
    total: Annotated[int, Field(ge=0, strict=True)] = Field(alias="hitCount")
    request: dict[str, Any] = {}
    references: dict[Literal["reference"], list[_EuropeLink]] = Field(alias="referenceList", default={})
    citations: dict[Literal["citation"], list[_EuropeLink]] = Field(alias="citationList", default={})


_PAGES = TypeAdapter(_EuropePage)
_LINKED = TypeAdapter(_EuropeLinks)


class EuropePmc(PaperService):
    """Asks Europe PMC."""

    name = _NAME
    kinds = frozenset(("pmid", "doi"))

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._service = ProviderService.from_settings(_NAME, "europepmc", settings, release=day)
        self._texts = self._service._replace(accept="application/xml")

    def page(self, query: str, after: str, size: int) -> RecordPage:
        wanted, mark = min(size, PAGE), after or "*"
        params = {"query": query, "resultType": "core", "format": "json", "pageSize": wanted, "cursorMark": mark}
        return self._http.ask(
            self._service, "/search", partial(_page, query=query, size=wanted, mark=mark), params=params
        )

    def best(self, words: Sequence[str], size: int) -> RecordPage:
        return self.page(f"({' OR '.join(words)})", "", size)

    def records(self, ids: Sequence[str]) -> dict[str, PaperRecord]:
        found: dict[str, PaperRecord] = {}
        for lot in lots([i for i in ids if not set(i) & {'"', "\\"}], LOT):
            named = [i.partition(":") for i in lot]
            pmids = " OR ".join(f"EXT_ID:{value}" for kind, _, value in named if kind == "pmid")
            dois = [f'DOI:"{value}"' for kind, _, value in named if kind == "doi"]
            query = " OR ".join(([f"(SRC:MED AND ({pmids}))"] if pmids else []) + dois)
            after, more = "", True
            while more:
                page = self.page(query, after, PAGE)
                found |= by_wanted_id(_NAME, lot, page.records)
                after, more = page.after, bool(page.after)
        return found

    def whole(self, record: PaperRecord, read: Callable[[bytes], T]) -> T | None:
        return self._http.ask(self._texts, f"/{record.full_text}/fullTextXML", partial(_whole, read=read))

    def references(self, record: PaperRecord) -> tuple[str, ...]:
        return self._links(record, "references", lambda found: found.references.get("reference", []))

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        return self._links(record, "citations", lambda found: found.citations.get("citation", []), most)

    def _links(
        self,
        record: PaperRecord,
        kind: str,
        listed: Callable[[_EuropeLinks], list[_EuropeLink]],
        most: int | None = None,
    ) -> tuple[str, ...]:
        ids: list[str] = []
        page, came = 1, 0
        while True:
            read = partial(_linked, key=record.key)
            params = {"format": "json", "page": page, "pageSize": PAGE}
            found = self._http.ask(self._service, f"/{record.key}/{kind}", read, params=params)
            links = listed(found)
            came, page = came + len(links), page + 1
            ids += [i for link in links for i in _ids_of_link(link)]
            if came >= found.total or (most is not None and came >= most):
                return tuple(dict.fromkeys(ids))
            if not links:
                raise SourceAnswer(f"{_NAME} promised {found.total:,} {kind} and sent {came:,}", LATER)


def _page(answer: ServiceAnswer, *, query: str, size: int, mark: str) -> RecordPage:
    found = formed(_NAME, _body(answer), _PAGES)
    named = str(found.request.get("queryString") or found.request.get("query") or query)
    if named.split() != query.split() or str(found.request.get("cursorMark") or mark) != mark:
        raise stray_answer(_NAME, f"what it found for {named[:60]!r}")
    keys = [f"{r.source}/{r.id}" for r in found.found.records]
    if len(keys) > size or len(set(keys)) < len(keys) or len(keys) > found.total:
        raise SourceAnswer(f"{_NAME} sent {len(keys):,} records, some twice, and {size:,} were asked for", LATER)
    # The last page has no mark, or that of itself.
    after = found.after if keys and found.after != mark else ""
    return RecordPage(tuple(map(_record, found.found.records)), after, found.total)


def _record(found: _EuropeRecord) -> PaperRecord:
    ids = (*pmid_id(found.pmid), *doi_id(found.doi), *pmc_id(found.pmcid))
    may = found.open_access == "Y" and open_licence(found.licence)
    return PaperRecord(
        key=f"{found.source}/{found.id}",
        ids=ids or (f"{found.source.lower()}:{found.id}",),
        title=found.title,
        abstract=found.abstract,
        year=found.year,
        journal=found.issue.journal.title,
        types=tuple(found.types.kinds),
        licence=found.licence,
        full_text="".join(pmc_id(found.pmcid)).removeprefix("pmc:") if may else "",
        cited_by=found.cited_by,
    )


def _whole(answer: ServiceAnswer, *, read: Callable[[bytes], T]) -> T | None:
    if answer.status == 404:
        return None
    if answer.status != 200 or b"<article" not in answer.body:
        raise SourceAnswer(f"{_NAME} answered {answer.status} with no article: {answer.url[:160]}", LATER)
    return read(answer.body)


def _linked(answer: ServiceAnswer, *, key: str) -> _EuropeLinks:
    found = formed(_NAME, _body(answer), _LINKED)
    named = f"{found.request.get('source')}/{found.request.get('id')}"
    if found.request and named != key:
        raise stray_answer(_NAME, f"the links of {named[:40]}")
    return found


def _body(answer: ServiceAnswer) -> Any:
    """The body; an error may come with the status of success."""
    body = parsed(_NAME, answer, TypeAdapter(dict[str, Any])) if answer.status == 200 else answer.json()
    if answer.status == 400:
        raise SourceUnanswerable(f"{_NAME} does not take the question: {str(body)[:200]}", "see its search syntax")
    if answer.status != 200 or "errCode" in body or "errMsg" in body:
        raise SourceAnswer(f"{_NAME} answered {answer.status}: {str(body)[:200]}", LATER)
    return body


def _ids_of_link(link: _EuropeLink) -> tuple[str, ...]:
    return ((pmid_id(link.id) if link.source == "MED" else ()) or doi_id(link.doi))[:1]
