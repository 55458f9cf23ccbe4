"""GEO client: search for series, and records by accession.

The E-utilities (database ``gds``) show what is public. What they do not have, GEO's own page tells apart: private until
a day, withdrawn, or never there.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from kgcheck.errors import SourceAnswer
from kgcheck.providers.eutils import LOT, Eutils, SummaryRecord
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import LATER, lots, pmid_id, stray_answer
from kgcheck.providers.services import ProviderService, ServiceAnswer
from kgcheck.settings import Settings

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
        summaries = self._entrez.summaries("gds", found.ids, _GeoSummary, _are_series)
        records = [self._record(s, summaries.retrieved_at) for i in found.ids if (s := summaries.records[i])]
        return GeoPage(tuple(records), found.total, found.unknown)

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        found: dict[str, DataSetRecord] = {}
        for lot in lots([i for i in ids if _GEO_ID.fullmatch(i)], LOT):
            uids = {str(_FIRST[i[:3]] + int(i[3:])): i for i in lot}
            summaries = self._entrez.summaries("gds", list(uids), _GeoSummary, partial(_are_wanted, uids=uids))
            for uid, accession in uids.items():
                summary = summaries.records[uid]
                found[accession] = (
                    self._record(summary, summaries.retrieved_at) if summary else self._by_page(accession)
                )
        return found

    def _by_page(self, accession: str) -> DataSetRecord:
        params = {"acc": accession, "targ": "self", "form": "text", "view": "brief"}
        return self._http.ask(self._page, "/query/acc.cgi", partial(_page_record, accession=accession), params=params)

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


def _are_series(found: Mapping[str, _GeoSummary | None]) -> None:
    if strays := [s.accession for s in found.values() if s and not s.accession.startswith("GSE")]:
        raise stray_answer(_GEO, f"{strays[0]}, which is no series")


def _are_wanted(found: Mapping[str, _GeoSummary | None], *, uids: Mapping[str, str]) -> None:
    if strays := [(s.accession, uids[uid]) for uid, s in found.items() if s and s.accession != uids[uid]]:
        raise stray_answer(_GEO, "the record {} for {}".format(*strays[0]))


def geo_page_url(accession: str) -> str:
    """Return the address of GEO's page of an accession."""
    return f"https://www.ncbi.nlm.nih.gov/geo/query/acc.cgi?acc={accession}"


def _page_record(answer: ServiceAnswer, *, accession: str) -> DataSetRecord:
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
