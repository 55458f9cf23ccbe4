"""PubMed client (E-utilities): search, records with abstracts, references and citations."""

import io
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.providers.eutils import Eutils
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import (
    LATER,
    PaperRecord,
    PaperService,
    RecordPage,
    WireRecord,
    WorkFields,
    by_wanted_id,
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
from kgcheck.providers.services import ServiceAnswer
from kgcheck.settings import Settings

PAGE = 200
"""Records of one call."""

MOST = 9_999
"""Records of one search that PubMed gives by ESearch."""

T = TypeVar("T")

_NAME = "PubMed"
_Pmid = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}$")]


class _LinkSetDb(WireRecord):
    name: str = Field(alias="linkname")
    links: list[_Pmid] = []


class _LinkSet(WireRecord):
    ids: list[str]
    linked: list[_LinkSetDb] = Field(alias="linksetdbs", default=[])


class _LinkSets(WireRecord):
    sets: list[_LinkSet] = Field(alias="linksets")


_LINKED = TypeAdapter(_LinkSets)


class PubMed(PaperService):
    """Asks the E-utilities."""

    name = _NAME
    kinds = frozenset(("pmid",))

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._entrez = Eutils(http, settings, day, _NAME)
        self._own = self._entrez.own

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

    def _each(self, ids: Sequence[str], read: Callable[..., T]) -> T:
        form = {"db": "pubmed", "id": ",".join(ids), "retmode": "xml", **self._own}
        return self._http.ask(self._entrez.xml, "/efetch.fcgi", partial(read, requested=tuple(ids)), form=form)

    def works(self, pmids: Sequence[str]) -> dict[str, WorkFields | None]:
        found: dict[str, WorkFields | None] = {}
        for lot in lots(pmids, PAGE):
            found |= self._each(lot, _works)
        return found

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        """See PaperService: those that PubMed knows of, from PMC, all in one answer."""
        form = {"dbfrom": "pubmed", "db": "pubmed", "linkname": "pubmed_pubmed_citedin", "id": record.key}
        form |= {"retmode": "json", **self._own}
        return self._http.ask(self._entrez.json, "/elink.fcgi", partial(_citing, key=record.key), form=form)


def _records(answer: ServiceAnswer, *, requested: tuple[str, ...]) -> tuple[PaperRecord, ...]:
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


def _works(answer: ServiceAnswer, *, requested: tuple[str, ...]) -> dict[str, WorkFields | None]:
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


def _citing(answer: ServiceAnswer, *, key: str) -> tuple[str, ...]:
    body = parsed(_NAME, answer, TypeAdapter(dict[str, Any]))
    if "ERROR" in body or "error" in body:
        raise SourceAnswer(f"{_NAME} could not look: {str(body)[:200]}", LATER)
    found = formed(_NAME, body, _LINKED)
    if [s.ids for s in found.sets] != [[key]]:
        raise stray_answer(_NAME, "the citations of another paper")
    return tuple(f"pmid:{i}" for s in found.sets for db in s.linked for i in db.links)
