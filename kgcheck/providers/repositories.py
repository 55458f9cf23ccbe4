"""Data repository clients: BioStudies (ArrayExpress), GEO, PRIDE, BioProject and SRA.

GEO's E-utilities (database ``gds``) show what is public. What they do not have, GEO's own page tells apart: private
until a day, withdrawn, or never there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from pydantic import Field, TypeAdapter

from kgcheck import clock
from kgcheck.errors import SourceAnswer
from kgcheck.providers.data_sets import LATER_PUBLIC, DataSetRecord
from kgcheck.providers.eutils import LOT, Eutils, SummaryRecord
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import LATER, WireRecord, formed, lots, parsed, pmid_id, stray_answer
from kgcheck.providers.services import ProviderService, ServiceAnswer
from kgcheck.settings import Settings

_BIOSTUDIES = "BioStudies"
_STUDY_ID = re.compile(r"(?:E-[A-Z]{4}-|S-[A-Z]{3,8})[0-9]{1,9}")


class _StudyAttribute(WireRecord):
    name: str
    value: str | None = None


class _StudyPart(WireRecord):
    type: str = ""
    attributes: list[_StudyAttribute] = []
    # A part may be a list of parts: a table.
    subsections: list[Any] = []


class _WireStudy(WireRecord):
    accession: str = Field(alias="accno")
    attributes: list[_StudyAttribute] = []
    section: _StudyPart = _StudyPart()


class _NoStudy(WireRecord):
    message: str = Field(alias="errorMessage")


_STUDY = TypeAdapter(_WireStudy)
_PARTS = TypeAdapter(_StudyPart)
_NONE = TypeAdapter(_NoStudy)


class BioStudies:
    """Asks BioStudies."""

    name = _BIOSTUDIES

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._service = ProviderService.from_settings(_BIOSTUDIES, "biostudies", settings, release=day)

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        return {i: self._one(i) for i in ids if _STUDY_ID.fullmatch(i)}

    def _one(self, accession: str) -> DataSetRecord:
        return self._http.ask(self._service, f"/studies/{quote(accession)}", partial(_study, accession=accession))


def _study(answer: ServiceAnswer, *, accession: str) -> DataSetRecord:
    repository = "ArrayExpress" if accession.startswith("E-") else _BIOSTUDIES
    url = f"https://www.ebi.ac.uk/biostudies/studies/{accession}"
    made = DataSetRecord(accession, "not_shown", _BIOSTUDIES, answer.retrieved_at, repository=repository, url=url)
    if answer.status == 404:
        try:
            _NONE.validate_python(answer.json())
        except ValueError as error:
            raise SourceAnswer(
                f"{_BIOSTUDIES} has no such address: {answer.url[:160]}", "correct KGCHECK_BIOSTUDIES_URL"
            ) from error
        return made
    study = parsed(_BIOSTUDIES, answer, _STUDY)
    if study.accession != accession:
        raise stray_answer(_BIOSTUDIES, f"the study {study.accession[:30]} for {accession}")
    stated = [*study.attributes, *study.section.attributes]
    samples = [a for part in _study_parts(study.section) if part.type == "Samples" for a in part.attributes]
    counted = next((a.value for a in samples if a.name == "Sample count" and a.value), "")

    def values(name: str) -> list[str]:
        return list(dict.fromkeys(a.value for a in stated if a.name == name and a.value))

    return made._replace(
        state="found",
        title=next(iter(values("Title")), ""),
        description=" ".join(values("Description")),
        species=tuple(values("Organism")),
        assay=", ".join(values("Study type")),
        samples=int(counted) if re.fullmatch("[0-9]{1,12}", counted) else None,
    )


def _study_parts(section: _StudyPart) -> Iterator[_StudyPart]:
    for raw in section.subsections:
        if isinstance(raw, dict):
            yield formed(_BIOSTUDIES, raw, _PARTS)


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
        return made._replace(remark=f"{LATER_PUBLIC}{f' until {day[1]}' if day else ''}")
    if "is not yet approved" in plain:
        return made._replace(remark=f"{LATER_PUBLIC}: it is not approved yet")
    if "was deleted by" in plain:
        return made._replace(state="missing", remark="it was withdrawn")
    if "Could not find a public or private" in plain:
        return made._replace(state="missing")
    raise SourceAnswer(f"{_GEO} sent a page on {accession} that kgcheck cannot read", LATER)


_PRIDE = "PRIDE"
_PRIDE_ID = re.compile(r"P[XR]D[0-9]{6}")


class _PrideTerm(WireRecord):
    name: str = ""


class _PrideProject(WireRecord):
    accession: str
    title: str = ""
    description: str | None = Field(alias="projectDescription", default="")
    organisms: list[_PrideTerm] = []
    experiments: list[_PrideTerm] = Field(alias="experimentTypes", default=[])


_PRIDE_PROJECT = TypeAdapter(_PrideProject)


class Pride:
    """Asks PRIDE."""

    name = _PRIDE

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._service = ProviderService.from_settings(_PRIDE, "pride", settings, release=day)
        self._text = self._service._replace(accept="text/plain, application/json")

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        """See DataSetRepository: what PRIDE does not have may be at another member of ProteomeXchange."""
        found: dict[str, DataSetRecord] = {}
        for accession in ids:
            if not _PRIDE_ID.fullmatch(accession):
                continue
            known = self._http.ask(self._text, f"/status/{accession}", partial(_pride_status, accession=accession))
            if known.state == "found" and not known.remark:
                read = partial(_pride_project, made=known)
                known = self._http.ask(self._service, f"/projects/{accession}", read)
            # A PXD accession that PRIDE does not have was looked for at one place of several.
            if known.state == "found" or accession.startswith("PRD"):
                found[accession] = known
        return found


def _pride_status(answer: ServiceAnswer, *, accession: str) -> DataSetRecord:
    status = answer.body[:40].decode(errors="replace").strip().strip('"').upper()
    made = DataSetRecord(
        accession,
        "found",
        _PRIDE,
        answer.retrieved_at,
        repository=_PRIDE,
        url=f"https://www.ebi.ac.uk/pride/archive/projects/{accession}",
    )
    if answer.status in (200, 404) and status == "NOT_FOUND":
        return made._replace(state="missing")
    if answer.status == 200 and status == "PRIVATE":
        return made._replace(remark=LATER_PUBLIC)
    if answer.status == 200 and status == "PUBLIC":
        return made
    raise SourceAnswer(f"{_PRIDE} answered {answer.status} for the state of {accession}: {status!r}", LATER)


def _pride_project(answer: ServiceAnswer, *, made: DataSetRecord) -> DataSetRecord:
    project = parsed(_PRIDE, answer, _PRIDE_PROJECT)
    if project.accession != made.id:
        raise stray_answer(_PRIDE, f"the project {project.accession[:20]} for {made.id}")
    return made._replace(
        retrieved_at=answer.retrieved_at,
        title=project.title,
        description=project.description or "",
        species=tuple(dict.fromkeys(t.name for t in project.organisms if t.name)),
        assay=", ".join(dict.fromkeys(t.name for t in project.experiments if t.name)),
    )


_PROJECT = re.compile(r"PRJ[A-Z]{2}[1-9][0-9]{0,8}")
_ARCHIVED = re.compile(r"[SED]R[PXRS][0-9]{4,9}")
_OF_ARCHIVE = {"P": "Study", "X": "Experiment", "S": "Sample"}


class _ProjectSummary(SummaryRecord):
    project_acc: str
    project_title: str = ""
    project_name: str = ""
    project_description: str = ""
    project_data_type: str = ""
    organism_name: str = ""


class _RunSummary(SummaryRecord):
    expxml: str
    runs: str = ""


class BioProjects:
    """Asks BioProject."""

    name = "BioProject"

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._entrez = Eutils(http, settings, day, self.name)

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        found: dict[str, DataSetRecord] = {}
        for lot in lots([i for i in ids if _PROJECT.fullmatch(i)], LOT // 4):
            uids = self._entrez.search("bioproject", " OR ".join(f"{i}[PRJA]" for i in lot), LOT).ids
            # Of nothing there is no summary, and the time of the search is that of the answer.
            at = clock.now().astimezone()
            records: dict[str, _ProjectSummary] = {}
            if uids:
                check = partial(_are_projects, wanted=frozenset(lot))
                summaries = self._entrez.summaries("bioproject", uids, _ProjectSummary, check)
                at = summaries.retrieved_at
                records = {s.project_acc: s for s in summaries.records.values() if s}
            found |= {i: self._record(i, records.get(i), at) for i in lot}
        return found

    def _record(self, accession: str, summary: _ProjectSummary | None, at: datetime) -> DataSetRecord:
        url = f"https://www.ncbi.nlm.nih.gov/bioproject/{accession}"
        made = DataSetRecord(accession, "not_shown", self.name, at, repository=self.name, url=url)
        if summary is None:
            return made
        return made._replace(
            state="found",
            title=summary.project_title or summary.project_name,
            description=summary.project_description,
            species=tuple(filter(None, (summary.organism_name,))),
            assay=summary.project_data_type,
        )


class SequenceReads:
    """Asks the Sequence Read Archive."""

    name = "SRA"

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._entrez = Eutils(http, settings, day, self.name)

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        """See DataSetRepository: one after the other, for a study is many experiments."""
        return {i: self._one(i) for i in ids if _ARCHIVED.fullmatch(i)}

    def _one(self, accession: str) -> DataSetRecord:
        found = self._entrez.search("sra", f"{accession}[ACCN]", LOT)
        made = DataSetRecord(
            accession,
            "not_shown",
            self.name,
            clock.now().astimezone(),
            repository=self.name,
            url=f"https://www.ncbi.nlm.nih.gov/sra/?term={accession}",
        )
        if not found.ids:
            return made
        check = partial(_are_of, accession=accession)
        summaries = self._entrez.summaries("sra", found.ids, _RunSummary, check)
        fields = [_parts(s)[1] for s in summaries.records.values() if s]
        whole = found.total == len(fields)
        return made._replace(
            state="found",
            retrieved_at=summaries.retrieved_at,
            title=next((f["study"] for f in fields if f["study"]), ""),
            species=tuple(dict.fromkeys(f["species"] for f in fields if f["species"])),
            assay=", ".join(dict.fromkeys(f["strategy"] for f in fields if f["strategy"])),
            # A study that is too long for one answer has more samples than were seen.
            samples=len({f["sample"] for f in fields}) if whole else None,
        )


def _are_projects(found: Mapping[str, _ProjectSummary | None], *, wanted: frozenset[str]) -> None:
    if strays := sorted({s.project_acc for s in found.values() if s} - wanted):
        raise stray_answer("BioProject", f"the project {strays[0][:20]}")


def _are_of(found: Mapping[str, _RunSummary | None], *, accession: str) -> None:
    if not all(s and accession in _parts(s)[0] for s in found.values()):
        raise stray_answer("SRA", f"an experiment that is not of {accession}")


def _parts(summary: _RunSummary) -> tuple[frozenset[str], dict[str, str]]:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        # Two fragments without a root.
        root = fromstring(f"<experiment>{summary.expxml}{summary.runs}</experiment>", forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise SourceAnswer(f"SRA sent a summary that is no XML: {error!r}"[:200], LATER) from error

    def value(tag: str, field: str) -> str:
        element: Any = root.find(tag)
        return "" if element is None else str(element.get(field) or "")

    named = {value(tag, "acc") for tag in _OF_ARCHIVE.values()} | {str(run.get("acc")) for run in root.findall("Run")}
    fields = {
        "study": value("Study", "name"),
        "species": value("Organism", "ScientificName"),
        "sample": value("Sample", "acc"),
        "strategy": root.findtext("Library_descriptor/LIBRARY_STRATEGY") or "",
    }
    return frozenset(named), fields
