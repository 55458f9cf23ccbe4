"""PRIDE: proteomics data sets by their ProteomeXchange accession."""

import re
from collections.abc import Sequence
from functools import partial

from pydantic import Field, TypeAdapter

from kgcheck.errors import SourceAnswer
from kgcheck.providers.answers import ProviderService, ServiceAnswer
from kgcheck.providers.data_sets import LATER_PUBLIC, DataSetRecord
from kgcheck.providers.gathered import LATER, WireRecord, parsed, stray_answer
from kgcheck.providers.http import Http
from kgcheck.settings import Settings

_NAME = "PRIDE"
_ACCESSION = re.compile(r"P[XR]D[0-9]{6}")


class _PrideTerm(WireRecord):
    name: str = ""


class _PrideProject(WireRecord):
    accession: str
    title: str = ""
    description: str | None = Field(alias="projectDescription", default="")
    organisms: list[_PrideTerm] = []
    experiments: list[_PrideTerm] = Field(alias="experimentTypes", default=[])


_PROJECT = TypeAdapter(_PrideProject)


class Pride:
    """Asks PRIDE."""

    name = _NAME

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._service = ProviderService(
            _NAME, settings.pride_url, settings.pride_calls_per_s, "KGCHECK_PRIDE_URL", release=day
        )
        self._text = self._service._replace(accept="text/plain, application/json")

    def data_sets(self, ids: Sequence[str]) -> dict[str, DataSetRecord]:
        """See DataSetRepository: what PRIDE does not have may be at another member of ProteomeXchange."""
        found: dict[str, DataSetRecord] = {}
        for accession in ids:
            if not _ACCESSION.fullmatch(accession):
                continue
            known = self._http.ask(self._text, f"/status/{accession}", partial(_status, accession=accession))
            if known.state == "found" and not known.remark:
                read = partial(_project, made=known)
                known = self._http.ask(self._service, f"/projects/{accession}", read)
            # A PXD accession that PRIDE does not have was looked for at one place of several.
            if known.state == "found" or accession.startswith("PRD"):
                found[accession] = known
        return found


def _status(answer: ServiceAnswer, *, accession: str) -> DataSetRecord:
    status = answer.body[:40].decode(errors="replace").strip().strip('"').upper()
    made = DataSetRecord(
        accession,
        "found",
        _NAME,
        answer.retrieved_at,
        repository=_NAME,
        url=f"https://www.ebi.ac.uk/pride/archive/projects/{accession}",
    )
    if answer.status in (200, 404) and status == "NOT_FOUND":
        return made._replace(state="missing")
    if answer.status == 200 and status == "PRIVATE":
        return made._replace(remark=LATER_PUBLIC)
    if answer.status == 200 and status == "PUBLIC":
        return made
    raise SourceAnswer(f"{_NAME} answered {answer.status} for the state of {accession}: {status!r}", LATER)


def _project(answer: ServiceAnswer, *, made: DataSetRecord) -> DataSetRecord:
    project = parsed(_NAME, answer, _PROJECT)
    if project.accession != made.id:
        raise stray_answer(_NAME, f"the project {project.accession[:20]} for {made.id}")
    return made._replace(
        retrieved_at=answer.retrieved_at,
        title=project.title,
        description=project.description or "",
        species=tuple(dict.fromkeys(t.name for t in project.organisms if t.name)),
        assay=", ".join(dict.fromkeys(t.name for t in project.experiments if t.name)),
    )
