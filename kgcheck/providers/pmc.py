"""PubMed Central over E-utilities: paper records by search, and full text as JATS."""

from collections.abc import Callable, Sequence
from functools import partial

from kgcheck.errors import SourceAnswer
from kgcheck.providers.eutils import LOT, Eutils, SummaryRecord
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import (
    LATER,
    PaperRecord,
    RecordPage,
    T,
    WireRecord,
    doi_id,
    lots,
    pmc_id,
    pmid_id,
    stray_answer,
)
from kgcheck.providers.services import ServiceAnswer
from kgcheck.settings import Settings

_NAME = "PMC"


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

    name = _NAME

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._entrez = Eutils(http, settings, day, _NAME)

    def relevant(self, query: str, size: int) -> RecordPage:
        found = self._entrez.search("pmc", query, min(size, LOT), sort="relevance")
        return RecordPage(self._records(found.ids), "", found.total, found.unknown)

    def _records(self, uids: Sequence[str]) -> tuple[PaperRecord, ...]:
        records: list[PaperRecord] = []
        for lot in lots(uids, LOT):
            found = self._entrez.summaries("pmc", lot, _PmcSummary).records
            records += [_record(summary) for uid in lot if (summary := found[uid])]
        return tuple(records)

    def whole(self, record: PaperRecord, read: Callable[[bytes], T]) -> T | None:
        # With its prefix, PMC may give another paper without a word.
        number = record.full_text.removeprefix("PMC")
        form = {"db": "pmc", "id": number, "retmode": "xml", **self._entrez.own}
        return self._http.ask(self._entrez.xml, "/efetch.fcgi", partial(_whole, number=number, read=read), form=form)


def _record(found: _PmcSummary) -> PaperRecord:
    named = {i.idtype: i.value for i in found.articleids}
    own = pmc_id(found.uid)
    if "pmcid" in named and pmc_id(named["pmcid"].partition(".")[0]) != own:
        raise stray_answer(_NAME, f"the summary of {named['pmcid'][:20]}")
    pmid = named.get("pmid", "0")
    return PaperRecord(
        key=found.uid,
        ids=(*(() if pmid == "0" else pmid_id(pmid)), *doi_id(named.get("doi")), *own),
        title=found.title,
        year=found.pubdate[:4],
        journal=found.fulljournalname,
        full_text="".join(own).removeprefix("pmc:"),
    )


def _whole(answer: ServiceAnswer, *, number: str, read: Callable[[bytes], T]) -> T | None:
    if answer.status != 200:
        raise SourceAnswer(f"{_NAME} answered {answer.status} for PMC{number}", LATER)
    if b"<article" in answer.body.replace(b"<article-", b"").replace(b"<articleset", b""):
        return read(answer.body)
    if b"<pmc-articleset" in answer.body and (b"not available" in answer.body or b"<Reply" in answer.body):
        return None
    raise SourceAnswer(f"{_NAME} sent no article for PMC{number}", LATER)
