"""BioStudies, where the data sets of ArrayExpress are: studies by accession."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from pydantic import Field, TypeAdapter

from kgcheck.errors import SourceAnswer
from kgcheck.providers.answers import ProviderService, ServiceAnswer
from kgcheck.providers.data_sets import DataSetRecord
from kgcheck.providers.gathered import WireRecord, formed, parsed, stray_answer
from kgcheck.providers.http import Http
from kgcheck.settings import Settings

_NAME = "BioStudies"
_ACCESSION = re.compile(r"(?:E-[A-Z]{4}-|S-[A-Z]{3,8})[0-9]{1,9}")


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

    name = _NAME

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._service = ProviderService(
            _NAME, settings.biostudies_url, settings.biostudies_calls_per_s, "KGCHECK_BIOSTUDIES_URL", release=day
        )

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        """See DataSetRepository."""
        return {i: self._one(i) for i in ids if _ACCESSION.fullmatch(i)}

    def _one(self, accession: str) -> DataSetRecord:
        return self._http.ask(self._service, f"/studies/{quote(accession)}", partial(_study, accession=accession))


def _study(answer: ServiceAnswer, *, accession: str) -> DataSetRecord:
    repository = "ArrayExpress" if accession.startswith("E-") else _NAME
    url = f"https://www.ebi.ac.uk/biostudies/studies/{accession}"
    made = DataSetRecord(accession, "not_shown", _NAME, answer.retrieved_at, repository=repository, url=url)
    if answer.status == 404:
        try:
            _NONE.validate_python(answer.json())
        except ValueError as error:
            raise SourceAnswer(
                f"{_NAME} has no such address: {answer.url[:160]}", "correct KGCHECK_BIOSTUDIES_URL"
            ) from error
        return made
    study = parsed(_NAME, answer, _STUDY)
    if study.accession != accession:
        raise stray_answer(_NAME, f"the study {study.accession[:30]} for {accession}")
    stated = [*study.attributes, *study.section.attributes]
    samples = [a for part in _parts(study.section) if part.type == "Samples" for a in part.attributes]
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


def _parts(section: _StudyPart) -> Iterator[_StudyPart]:
    """The parts of a section that are no tables."""
    for raw in section.subsections:
        if isinstance(raw, dict):
            yield formed(_NAME, raw, _PARTS)
