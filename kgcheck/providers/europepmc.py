"""Europe PMC client: search with abstracts, open full text, references and citations."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import AliasPath, Field

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.providers.http import Http, ProviderService, ServiceAnswer
from kgcheck.providers.paper_service import (
    LATER,
    Number,
    PaperRecord,
    PaperService,
    RecordPage,
    T,
    WireRecord,
    by_wanted_id,
    check_page,
    doi_id,
    formed,
    lots,
    open_licence,
    parsed,
    pmc_id,
    pmid_id,
    stray_answer,
)
from kgcheck.settings import Settings

PAGE = 1_000
"""Most records of one page."""

LOT = 50
"""Papers of one call by their ids: they must fit into a line."""

_NAME = "Europe PMC"


class _EuropeRecord(WireRecord):
    id: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(pattern=r"^[A-Z]{2,5}$")]
    pmid: str = ""
    pmcid: str = ""
    doi: str = ""
    title: str = ""
    abstract: str = Field(alias="abstractText", default="")
    year: str = Field(alias="pubYear", default="")
    journal: str = Field(validation_alias=AliasPath("journalInfo", "journal", "title"), default="")
    types: tuple[str, ...] = Field(validation_alias=AliasPath("pubTypeList", "pubType"), default=())
    open_access: Literal["Y", "N"] = Field(alias="isOpenAccess", default="N")
    licence: str = Field(alias="license", default="")
    cited_by: Number | None = Field(alias="citedByCount", default=None)

    @property
    def key(self) -> str:
        return f"{self.source}/{self.id}"


class _EuropePage(WireRecord):
    total: Number = Field(alias="hitCount")
    after: str = Field(alias="nextCursorMark", default="")
    request: dict[str, Any] = {}
    found: list[_EuropeRecord] = Field(validation_alias=AliasPath("resultList", "result"))


class _EuropeLink(WireRecord):
    id: str = ""
    source: str = ""
    doi: str = ""


class _EuropeLinks(WireRecord):
    total: Number = Field(alias="hitCount")
    request: dict[str, Any] = {}
    references: list[_EuropeLink] = Field(validation_alias=AliasPath("referenceList", "reference"), default=[])
    citations: list[_EuropeLink] = Field(validation_alias=AliasPath("citationList", "citation"), default=[])


class EuropePmc(PaperService):
    """Asks Europe PMC."""

    name = _NAME
    kinds = frozenset(("pmid", "doi"))

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._service = ProviderService.from_settings(_NAME, "europepmc", settings, release=day)

    def page(self, query: str, after: str, size: int) -> RecordPage:
        most, mark = min(size, PAGE), after or "*"

        def read(answer: ServiceAnswer) -> RecordPage:
            found = formed(_NAME, _body(answer), _EuropePage)
            named = str(found.request.get("queryString") or found.request.get("query") or query)
            if named.split() != query.split() or str(found.request.get("cursorMark") or mark) != mark:
                raise stray_answer(_NAME, f"what it found for {named[:60]!r}")
            check_page(_NAME, [record.key for record in found.found], most, found.total)
            # The last page has no mark, or that of itself.
            following = found.after if found.found and found.after != mark else ""
            return RecordPage(tuple(map(_record, found.found)), following, found.total)

        params = {"query": query, "resultType": "core", "format": "json", "pageSize": most, "cursorMark": mark}
        return self._http.ask(self._service, "/search", read, params=params)

    def best(self, words: Sequence[str], size: int) -> RecordPage:
        return self.page(f"({' OR '.join(words)})", "", size)

    def records(self, ids: Sequence[str]) -> dict[str, PaperRecord]:
        found: dict[str, PaperRecord] = {}
        for lot in lots([i for i in ids if not set(i) & {'"', "\\"}], LOT):
            named = [i.partition(":") for i in lot]
            pmids = " OR ".join(f"EXT_ID:{value}" for kind, _, value in named if kind == "pmid")
            dois = [f'DOI:"{value}"' for kind, _, value in named if kind == "doi"]
            query = " OR ".join(([f"(SRC:MED AND ({pmids}))"] if pmids else []) + dois)
            after = "*"
            while after:
                page = self.page(query, after, PAGE)
                found |= by_wanted_id(_NAME, lot, page.records)
                after = page.after
        return found

    def whole(self, record: PaperRecord, read: Callable[[bytes], T]) -> T | None:
        def read_article(answer: ServiceAnswer) -> T | None:
            if answer.status == 404:
                return None
            if answer.status != 200 or b"<article" not in answer.body:
                raise SourceAnswer(f"{_NAME} answered {answer.status} with no article: {answer.url[:160]}", LATER)
            return read(answer.body)

        texts = self._service._replace(accept="application/xml")
        return self._http.ask(texts, f"/{record.full_text}/fullTextXML", read_article)

    def references(self, record: PaperRecord) -> tuple[str, ...]:
        return self._links(record, "references", None)

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        return self._links(record, "citations", most)

    def _links(
        self, record: PaperRecord, kind: Literal["references", "citations"], most: int | None
    ) -> tuple[str, ...]:
        def read(answer: ServiceAnswer) -> _EuropeLinks:
            found = formed(_NAME, _body(answer), _EuropeLinks)
            named = f"{found.request.get('source')}/{found.request.get('id')}"
            if found.request and named != record.key:
                raise stray_answer(_NAME, f"the links of {named[:40]}")
            return found

        links: list[_EuropeLink] = []
        page = 1
        while True:
            params = {"format": "json", "page": page, "pageSize": PAGE}
            found = self._http.ask(self._service, f"/{record.key}/{kind}", read, params=params)
            more: list[_EuropeLink] = getattr(found, kind)
            links, page = links + more, page + 1
            if len(links) >= found.total or (most is not None and len(links) >= most):
                ids = [(pmid_id(link.id) if link.source == "MED" else ()) or doi_id(link.doi) for link in links]
                return tuple(dict.fromkeys(own[0] for own in ids if own))
            if not more:
                raise SourceAnswer(f"{_NAME} promised {found.total:,} {kind} and sent {len(links):,}", LATER)


def _record(found: _EuropeRecord) -> PaperRecord:
    ids = (*pmid_id(found.pmid), *doi_id(found.doi), *pmc_id(found.pmcid))
    is_open = found.open_access == "Y" and open_licence(found.licence)
    return PaperRecord(
        key=found.key,
        ids=ids or (f"{found.source.lower()}:{found.id}",),
        title=found.title,
        abstract=found.abstract,
        year=found.year,
        journal=found.journal,
        types=found.types,
        licence=found.licence,
        full_text="".join(pmc_id(found.pmcid)).removeprefix("pmc:") if is_open else "",
        cited_by=found.cited_by,
    )


def _body(answer: ServiceAnswer) -> Any:
    """The body; an error may come with the status of success."""
    body = parsed(_NAME, answer, dict[str, Any]) if answer.status == 200 else answer.json()
    if answer.status == 400:
        raise SourceUnanswerable(f"{_NAME} does not take the question: {str(body)[:200]}", "see its search syntax")
    if answer.status != 200 or "errCode" in body or "errMsg" in body:
        raise SourceAnswer(f"{_NAME} answered {answer.status}: {str(body)[:200]}", LATER)
    return body
