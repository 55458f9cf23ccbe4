"""NCBI clients over the E-utilities: search and summaries in any database, PubMed, PubMed Central and GEO.

What the E-utilities do not have of GEO (database ``gds``, which shows what is public), its own page tells apart:
private until a day, withdrawn, or never there.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import AliasPath, Field

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.providers.http import Http, ProviderService, ServiceAnswer
from kgcheck.providers.paper_service import (
    LATER,
    PaperRecord,
    PaperService,
    RecordPage,
    T,
    WireRecord,
    WorkFields,
    by_wanted_id,
    check_page,
    check_promised,
    doi_id,
    first_page,
    formed,
    last_page,
    lots,
    parsed,
    pmc_id,
    pmid_id,
    stray_answer,
    year_in,
)
from kgcheck.settings import Settings

LOT = 200
"""Records of one call; NCBI takes 500 at most for summaries as JSON."""

_Uid = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,11}$")]
_Count = Annotated[str, Field(pattern=r"^[0-9]{1,12}$")]


def _parts(kind: str, name: str) -> Any:
    return Field(validation_alias=AliasPath("esearchresult", kind, name), default=[])


class _SearchResult(WireRecord):
    total: _Count = Field(validation_alias=AliasPath("esearchresult", "count"))
    start: _Count = Field(validation_alias=AliasPath("esearchresult", "retstart"))
    ids: list[_Uid] = Field(validation_alias=AliasPath("esearchresult", "idlist"))
    unknown_phrases: list[str] = _parts("errorlist", "phrasesnotfound")
    unknown_fields: list[str] = _parts("errorlist", "fieldsnotfound")
    unknown_quotes: list[str] = _parts("warninglist", "quotedphrasesnotfound")
    ignored: list[str] = _parts("warninglist", "phrasesignored")


S = TypeVar("S", bound="SummaryRecord")


class SummaryRecord(WireRecord):
    """Fields of every summary."""

    uid: str


class UidsFound(NamedTuple):
    """Result of a search."""

    ids: tuple[str, ...]
    total: int
    unknown: tuple[str, ...] = ()
    """Parts of the query that the database does not know and searched without."""


class Summaries(NamedTuple, Generic[S]):
    """Summaries by uid; None where the database has no such record."""

    records: dict[str, S | None]
    retrieved_at: datetime


class Eutils:
    """Asks the E-utilities."""

    def __init__(self, http: Http, settings: Settings, day: str, name: str) -> None:
        self._http = http
        self._name = name
        key = settings.pubmed_key.get_secret_value() if settings.pubmed_key else ""
        named = {"tool": settings.caller_identity, "email": settings.contact, "api_key": key}
        self.own = {field: value for field, value in named.items() if value}
        """Fields of every call. They are posted, so that no message shows the key; nor is it kept with an answer."""
        self.json = ProviderService.from_settings(name, "pubmed", settings, release=day, has_key=bool(key))
        self.xml = self.json._replace(accept="application/xml")

    def search(self, database: str, term: str, most: int, *, start: int = 0, sort: str = "") -> UidsFound:
        def read(answer: ServiceAnswer) -> UidsFound:
            body = parsed(self._name, answer, dict[str, Any])
            result = body.get("esearchresult")
            if "error" in body or (isinstance(result, dict) and "ERROR" in result):
                wrong = str(body.get("error") or (result or {}).get("ERROR"))[:200]
                # NCBI says in the same way that a question is wrong and that its own search is down.
                raise SourceAnswer(f"{self._name} could not search: {wrong}", LATER)
            found = formed(self._name, body, _SearchResult)
            total = int(found.total)
            if int(found.start) != start:
                raise stray_answer(self._name, f"ids from {found.start} on")
            check_page(self._name, found.ids, most, max(total - start, 0))
            check_promised(self._name, start, total, empty=not found.ids and most > 0)
            lost = (*found.unknown_phrases, *found.unknown_fields, *found.unknown_quotes, *found.ignored)
            return UidsFound(tuple(found.ids), total, tuple(part[:100] for part in lost[:20]))

        form = {"db": database, "term": term, **({"sort": sort} if sort else {})}
        form |= {"retmode": "json", "retstart": str(start), "retmax": str(most), **self.own}
        return self._http.ask(self.json, "/esearch.fcgi", read, form=form)

    def summaries(
        self,
        database: str,
        uids: Sequence[str],
        kind: type[S],
        check: Callable[[Mapping[str, S | None]], None] = lambda found: None,
    ) -> Summaries[S]:
        def read(answer: ServiceAnswer) -> Summaries[S]:
            body = parsed(self._name, answer, dict[str, Any])
            result = body.get("result")
            if not isinstance(result, dict):
                raise SourceAnswer(f"{self._name} sent no summaries: {str(body)[:200]}", LATER)
            named = result.get("uids")
            if not isinstance(named, list) or set(map(str, named)) != set(uids) or set(result) != {"uids", *uids}:
                raise stray_answer(self._name, "other summaries, or fewer")
            records = {uid: self._summary(uid, result[uid], kind) for uid in uids}
            check(records)
            return Summaries(records, answer.retrieved_at)

        form = {"db": database, "id": ",".join(uids), "retmode": "json", **self.own}
        return self._http.ask(self.json, "/esummary.fcgi", read, form=form)

    def _summary(self, uid: str, raw: Any, kind: type[S]) -> S | None:
        wrong = raw.get("error") if isinstance(raw, dict) else None
        if wrong is None:
            record = formed(self._name, raw, kind)
            if record.uid != uid:
                raise stray_answer(self._name, f"the summary {record.uid[:20]}")
            return record
        if "cannot get document summary" not in str(wrong):
            raise SourceAnswer(f"{self._name} could not look up {uid}: {str(wrong)[:200]}", LATER)
        return None


# --- PubMed

PAGE = 200
"""Records of one call."""

MOST = 9_999
"""Records of one search that PubMed gives by ESearch."""

_NAME = "PubMed"
_Pmid = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}$")]


class _LinkSetDb(WireRecord):
    links: list[_Pmid] = []


class _LinkSet(WireRecord):
    ids: list[str]
    linked: list[_LinkSetDb] = Field(alias="linksetdbs", default=[])


class _LinkSets(WireRecord):
    sets: list[_LinkSet] = Field(alias="linksets")


class PubMed(PaperService):
    """Asks the E-utilities."""

    name = _NAME
    kinds = frozenset(("pmid",))

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._entrez = Eutils(http, settings, day, _NAME)

    def page(self, query: str, after: str, size: int) -> RecordPage:
        return self._page(query, "", int(after or 0), size)

    def best(self, words: Sequence[str], size: int) -> RecordPage:
        return self.relevant(" OR ".join(words), size)

    def relevant(self, query: str, size: int) -> RecordPage:
        return self._page(query, "relevance", 0, size)

    def records(self, ids: Sequence[str]) -> dict[str, PaperRecord]:
        found: dict[str, PaperRecord] = {}
        for lot in lots(ids, PAGE):
            found |= by_wanted_id(_NAME, lot, self._each([i.removeprefix("pmid:") for i in lot], _records))
        return found

    def _page(self, query: str, sort: str, start: int, size: int) -> RecordPage:
        if start >= MOST:
            raise SourceUnanswerable(
                f"{_NAME} shows {MOST:,} records of one search", "ask for less: --limit, or a span of dates"
            )
        wanted = min(size, PAGE, MOST - start)
        ids, total, unknown = self._entrez.search("pubmed", query, wanted, start=start, sort=sort)
        records = self._each(ids, _records) if ids else ()
        seen = start + len(ids)
        return RecordPage(records, str(seen) if seen < total and ids else "", total, unknown)

    def _each(self, ids: Sequence[str], read: Callable[[ServiceAnswer, Sequence[str]], T]) -> T:
        form = {"db": "pubmed", "id": ",".join(ids), "retmode": "xml", **self._entrez.own}
        return self._http.ask(self._entrez.xml, "/efetch.fcgi", lambda answer: read(answer, ids), form=form)

    def works(self, pmids: Sequence[str]) -> dict[str, WorkFields | None]:
        found: dict[str, WorkFields | None] = {}
        for lot in lots(pmids, PAGE):
            found |= self._each(lot, _works)
        return found

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        """See PaperService: those that PubMed knows of, from PMC, all in one answer."""

        def read(answer: ServiceAnswer) -> tuple[str, ...]:
            body = parsed(_NAME, answer, dict[str, Any])
            if "ERROR" in body or "error" in body:
                raise SourceAnswer(f"{_NAME} could not look: {str(body)[:200]}", LATER)
            found = formed(_NAME, body, _LinkSets)
            if [s.ids for s in found.sets] != [[record.key]]:
                raise stray_answer(_NAME, "the citations of another paper")
            return tuple(f"pmid:{i}" for s in found.sets for db in s.linked for i in db.links)

        form = {"dbfrom": "pubmed", "db": "pubmed", "linkname": "pubmed_pubmed_citedin", "id": record.key}
        return self._http.ask(
            self._entrez.json, "/elink.fcgi", read, form=form | {"retmode": "json"} | self._entrez.own
        )


def _records(answer: ServiceAnswer, requested: Sequence[str]) -> tuple[PaperRecord, ...]:
    """Records by the XML of EFetch, in the order of the ids; one that is missing there is a book, or gone."""
    root = _record_set(answer)
    found: dict[str, PaperRecord] = {}
    for element in root.findall("PubmedArticle"):
        record = article_record(element)
        if record is None or record.key not in requested or record.key in found:
            raise stray_answer(_NAME, f"the record {record.key if record else 'without an id'!s}")
        found[record.key] = record
    return tuple(found[i] for i in requested if i in found)


def _record_set(answer: ServiceAnswer) -> Any:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, parse

    if answer.status != 200:
        raise SourceAnswer(f"{_NAME} answered {answer.status}: {answer.url[:160]}", LATER)
    try:
        root = parse(io.BytesIO(answer.body), forbid_dtd=False).getroot()
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise SourceAnswer(f"{_NAME} sent no XML: {error!r}"[:200], LATER) from error
    if root.tag != "PubmedArticleSet":
        raise SourceAnswer(f"{_NAME} sent <{root.tag}> and no records", LATER)
    return root


def _works(answer: ServiceAnswer, requested: Sequence[str]) -> dict[str, WorkFields | None]:
    found: dict[str, WorkFields | None] = {}
    for element in _record_set(answer):
        if element.tag == "PubmedBookArticle":
            pmid, fields = "".join(element.findtext("BookDocument/PMID") or ""), None
        elif element.tag == "PubmedArticle":
            fields = work_of_article(element)
            pmid = fields.key if fields else ""
        else:
            continue
        if pmid not in requested or pmid in found:
            raise stray_answer(_NAME, f"the record {pmid or 'without an id'}")
        found[pmid] = fields and fields._replace(retrieved_at=answer.retrieved_at)
    return found


def work_of_article(element: Any) -> WorkFields | None:
    """Read an element ``PubmedArticle`` as a work, without abstract; None where it has no record."""
    fields = article_record(element)
    if fields is None:
        return None
    article = element.find("MedlineCitation/Article")
    online = [date.findtext("Year") for date in article.findall("ArticleDate")]
    first = article.find("AuthorList/Author")
    own = "" if first is None else " ".join(filter(None, (first.findtext("LastName"), first.findtext("Initials"))))
    linked: dict[str, list[str]] = {}
    for link in element.findall("MedlineCitation/CommentsCorrectionsList/CommentsCorrections"):
        linked.setdefault(str(link.get("RefType")), []).extend(pmid_id(link.findtext("PMID")))
    pages = article.findtext("Pagination/MedlinePgn") or article.findtext("Pagination/StartPage")
    return WorkFields(
        key=fields.key,
        ids=fields.ids,
        titles=tuple(filter(None, (fields.title, article.findtext("VernacularTitle") or ""))),
        years=tuple(dict.fromkeys(y for text in (fields.year, *online) for y in year_in(text))),
        journal=fields.journal,
        author=own or (first.findtext("CollectiveName") or "" if first is not None else ""),
        volume=article.findtext("Journal/JournalIssue/Volume") or "",
        issue=article.findtext("Journal/JournalIssue/Issue") or "",
        page=first_page(pages),
        last_page=last_page(pages),
        retracted=fields.retracted or "Retracted Publication" in fields.types,
        notices=tuple(linked.get("RetractionIn", ())),
        retracts=tuple(linked.get("RetractionOf", ())),
        cites=fields.references,
        url=f"https://pubmed.ncbi.nlm.nih.gov/{fields.key}/",
    )


def article_record(element: Any) -> PaperRecord | None:
    """Read an element ``PubmedArticle`` as a paper; None where it has no record."""
    citation = element.find("MedlineCitation")
    article = element.find("MedlineCitation/Article")
    if citation is None or article is None:
        return None

    def text(path: str) -> str:
        found = article.find(path)
        return "".join(found.itertext()) if found is not None else ""

    pmid = "".join(citation.find("PMID").itertext()) if citation.find("PMID") is not None else ""
    own = {str(i.get("IdType")): i.text or "" for i in element.findall("PubmedData/ArticleIdList/ArticleId")}
    cited = [
        {str(i.get("IdType")): i.text or "" for i in ids.findall("ArticleId")}
        for ids in element.findall("PubmedData/ReferenceList//Reference/ArticleIdList")
    ]
    references = [i for known in cited for i in (*pmid_id(known.get("pubmed")), *doi_id(known.get("doi")))[:1]]
    return PaperRecord(
        key=pmid.strip(),
        title=text("ArticleTitle"),
        abstract=["".join(part.itertext()) for part in article.findall("Abstract/AbstractText")],
        year=text("Journal/JournalIssue/PubDate/Year") or text("Journal/JournalIssue/PubDate/MedlineDate"),
        journal=text("Journal/Title"),
        types=tuple("".join(t.itertext()) for t in article.findall("PublicationTypeList/PublicationType")),
        retracted=any(
            c.get("RefType") == "RetractionIn" for c in citation.findall("CommentsCorrectionsList/CommentsCorrections")
        ),
        ids=(*pmid_id(pmid), *doi_id(own.get("doi")), *pmc_id(own.get("pmc"))),
        references=tuple(dict.fromkeys(references)),
    )


# --- PubMed Central


class _PmcId(WireRecord):
    kind: str = ""
    idtype: str
    value: str


class _PmcSummary(SummaryRecord):
    title: str = ""
    pubdate: str = ""
    fulljournalname: str = ""
    articleids: list[_PmcId] = []


class Pmc:
    """Asks PubMed Central. Records have no abstract: PubMed has it."""

    name = "PMC"

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._entrez = Eutils(http, settings, day, self.name)

    def relevant(self, query: str, size: int) -> RecordPage:
        found = self._entrez.search("pmc", query, min(size, LOT), sort="relevance")
        summaries = self._entrez.summaries("pmc", found.ids, _PmcSummary).records if found.ids else {}
        records = [_pmc_record(summary) for uid in found.ids if (summary := summaries[uid])]
        return RecordPage(tuple(records), "", found.total, found.unknown)

    def whole(self, record: PaperRecord, read: Callable[[bytes], T]) -> T | None:
        # With its prefix, PMC may give another paper without a word.
        number = record.full_text.removeprefix("PMC")

        def read_article(answer: ServiceAnswer) -> T | None:
            if answer.status != 200:
                raise SourceAnswer(f"PMC answered {answer.status} for PMC{number}", LATER)
            if b"<article" in answer.body.replace(b"<article-", b"").replace(b"<articleset", b""):
                return read(answer.body)
            if b"<pmc-articleset" in answer.body and (b"not available" in answer.body or b"<Reply" in answer.body):
                return None
            raise SourceAnswer(f"PMC sent no article for PMC{number}", LATER)

        form = {"db": "pmc", "id": number, "retmode": "xml", **self._entrez.own}
        return self._http.ask(self._entrez.xml, "/efetch.fcgi", read_article, form=form)


def _pmc_record(found: _PmcSummary) -> PaperRecord:
    named = {i.idtype: i.value for i in found.articleids}
    own = pmc_id(found.uid)
    if "pmcid" in named and pmc_id(named["pmcid"].partition(".")[0]) != own:
        raise stray_answer("PMC", f"the summary of {named['pmcid'][:20]}")
    pmid = named.get("pmid", "0")
    return PaperRecord(
        key=found.uid,
        ids=(*(() if pmid == "0" else pmid_id(pmid)), *doi_id(named.get("doi")), *own),
        title=found.title,
        year=found.pubdate[:4],
        journal=found.fulljournalname,
        full_text="".join(own).removeprefix("pmc:"),
    )


RecordState = Literal["found", "missing"]

_LATER_PUBLIC = "it exists and is not public"
"""Beside ``found`` of a data set of which nothing else is shown."""


class DataSetRecord(NamedTuple):
    """Record of a data set in a repository.

    ``remark`` is what is odd about it: that it is private, until when, that it was withdrawn.
    """

    id: str
    state: RecordState
    source: str
    retrieved_at: datetime
    repository: str = ""
    title: str = ""
    description: str = ""
    species: tuple[str, ...] = ()
    assay: str = ""
    samples: int | None = None
    papers: tuple[str, ...] = ()
    url: str = ""
    remark: str = ""


_GEO = "GEO"
_GEO_ID = re.compile(r"G(?:SE|SM|PL|DS)[1-9][0-9]{0,8}")
_FIRST = {"GSE": 200_000_000, "GSM": 300_000_000, "GPL": 100_000_000, "GDS": 0}
"""Number that NCBI adds to that of an accession to have its uid."""

_LONGEST_PAGE = 20_000
"""Characters of GEO's page that are read: what it says of an accession stands at the beginning."""

_RELEASED = re.compile(r"released on ([A-Z][a-z]{2} \d{1,2}, \d{4})")
_SOFT = re.compile(r"\^(?:SERIES|SAMPLE|PLATFORM|DATASET) = (\w+)")
_SOFT_TITLE = re.compile(r"^!(?:Series|Sample|Platform|dataset)_title = (.*)$", re.MULTILINE)


class _GeoSummary(SummaryRecord):
    accession: Annotated[str, Field(pattern=r"^G(SE|SM|PL|DS)[1-9][0-9]{0,8}$")]
    title: str = ""
    summary: str = ""
    taxon: str = ""
    gdstype: str = ""
    n_samples: int | None = None
    pubmedids: list[str] = []


class GeoPage(NamedTuple):
    """Result of a search: ``total`` in all, and what of the query GEO does not know."""

    records: tuple[DataSetRecord, ...]
    total: int
    unknown: tuple[str, ...] = ()


class Geo:
    """Asks GEO."""

    name = _GEO

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._entrez = Eutils(http, settings, day, _GEO)
        self._page = ProviderService(
            _GEO, settings.geo_url, settings.pubmed_calls_per_s, "KGCHECK_GEO_URL", release=day, accept="text/plain"
        )

    def relevant(self, query: str, size: int) -> GeoPage:
        found = self._entrez.search("gds", f"({query}) AND gse[ETYP]", min(size, LOT))
        if not found.ids:
            return GeoPage((), found.total, found.unknown)

        def check(found: Mapping[str, _GeoSummary | None]) -> None:
            if strays := [s.accession for s in found.values() if s and not s.accession.startswith("GSE")]:
                raise stray_answer(_GEO, f"{strays[0]}, which is no series")

        summaries = self._entrez.summaries("gds", found.ids, _GeoSummary, check)
        records = [self._record(s, summaries.retrieved_at) for i in found.ids if (s := summaries.records[i])]
        return GeoPage(tuple(records), found.total, found.unknown)

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        found: dict[str, DataSetRecord] = {}
        for lot in lots([i for i in ids if _GEO_ID.fullmatch(i)], LOT):
            uids = {str(_FIRST[i[:3]] + int(i[3:])): i for i in lot}

            def check(found: Mapping[str, _GeoSummary | None], uids: Mapping[str, str] = uids) -> None:
                if strays := [(s.accession, uids[i]) for i, s in found.items() if s and s.accession != uids[i]]:
                    raise stray_answer(_GEO, "the record {} for {}".format(*strays[0]))

            summaries = self._entrez.summaries("gds", list(uids), _GeoSummary, check)
            for uid, accession in uids.items():
                summary = summaries.records[uid]
                found[accession] = (
                    self._record(summary, summaries.retrieved_at) if summary else self._by_page(accession)
                )
        return found

    def _by_page(self, accession: str) -> DataSetRecord:
        params = {"acc": accession, "targ": "self", "form": "text", "view": "brief"}
        return self._http.ask(
            self._page, "/query/acc.cgi", lambda answer: _page_record(answer, accession), params=params
        )

    def _record(self, found: _GeoSummary, at: datetime) -> DataSetRecord:
        return DataSetRecord(
            found.accession,
            "found",
            _GEO,
            at,
            repository=_GEO,
            title=found.title,
            description=found.summary,
            species=tuple(dict.fromkeys(filter(None, (part.strip() for part in found.taxon.split(";"))))),
            assay=found.gdstype,
            samples=found.n_samples,
            papers=tuple(i for pmid in found.pubmedids for i in pmid_id(pmid)),
            url=geo_page_url(found.accession),
        )


def geo_page_url(accession: str) -> str:
    """Return the address of GEO's page of an accession."""
    return f"https://www.ncbi.nlm.nih.gov/geo/query/acc.cgi?acc={accession}"


def _page_record(answer: ServiceAnswer, accession: str) -> DataSetRecord:
    text = answer.body[:_LONGEST_PAGE].decode(errors="replace")
    made = DataSetRecord(accession, "found", _GEO, answer.retrieved_at, repository=_GEO, url=geo_page_url(accession))
    if answer.status != 200:
        raise SourceAnswer(f"{_GEO} answered {answer.status} for {accession}", LATER)
    if soft := _SOFT.match(text.lstrip()):
        if soft[1] != accession:
            raise stray_answer(_GEO, f"the record {soft[1][:20]} for {accession}")
        title = _SOFT_TITLE.search(text)
        return made._replace(title=title[1].strip() if title else "")
    plain = text.replace("&quot;", '"')
    if f'accession "{accession}"' not in plain.replace("Accession", "accession"):
        raise SourceAnswer(f"{_GEO} sent a page that does not speak of {accession}", LATER)
    if "is currently private" in plain:
        day = _RELEASED.search(plain)
        return made._replace(remark=f"{_LATER_PUBLIC}{f' until {day[1]}' if day else ''}")
    if "is not yet approved" in plain:
        return made._replace(remark=f"{_LATER_PUBLIC}: it is not approved yet")
    if "was deleted by" in plain:
        return made._replace(state="missing", remark="it was withdrawn")
    if "Could not find a public or private" in plain:
        return made._replace(state="missing")
    raise SourceAnswer(f"{_GEO} sent a page on {accession} that kgcheck cannot read", LATER)
