"""BioProject and the Sequence Read Archive over the E-utilities: projects, studies, experiments and runs."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from kgcheck import clock
from kgcheck.errors import SourceAnswer
from kgcheck.providers.data_sets import DataSetRecord
from kgcheck.providers.eutils import LOT, Eutils, SummaryRecord
from kgcheck.providers.gathered import LATER, lots, stray_answer
from kgcheck.providers.http import Http
from kgcheck.settings import Settings

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
        """See DataSetRepository."""
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
    """The accessions of an experiment, and what it states of its study."""
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
