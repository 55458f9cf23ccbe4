"""Look up data sets by accession at the repository that issues it."""

import re
from collections.abc import Callable, Iterable, Sequence

from kgcheck import clock
from kgcheck.errors import SourceError
from kgcheck.literature.documents import clean
from kgcheck.protocols.protocol import StudyDataSet
from kgcheck.providers.data_sets import DataSetRecord, DataSetRepository
from kgcheck.providers.http import Http
from kgcheck.providers.repositories import BioProjects, BioStudies, Geo, Pride, SequenceReads
from kgcheck.settings import Settings

REPOSITORIES: tuple[tuple[re.Pattern[str], str, Callable[[Http, Settings, str], DataSetRepository]], ...] = (
    (re.compile(r"G(?:SE|SM|DS)[1-9]\d{0,8}"), "GEO", Geo),
    (re.compile(r"PRJ[A-Z]{2}[1-9]\d{0,8}"), "BioProject", BioProjects),
    (re.compile(r"[SED]R[PXRS]\d{4,9}"), "SRA", SequenceReads),
    (re.compile(r"E-[A-Z]{4}-\d{1,9}|S-[A-Z]{3,8}\d{1,9}"), "ArrayExpress", BioStudies),
    (re.compile(r"P[XR]D\d{6}"), "PRIDE", Pride),
)
"""Forms of accessions, the repository that is shown where it could not be looked at, and what asks it."""

_LONGEST_TITLE = 500
_LONGEST_ID = 100


def look_up(ids: Iterable[str], http: Http, day: str = "") -> tuple[StudyDataSet, ...]:
    """Look data sets up."""
    day = day or clock.today().isoformat()
    wanted = [i for i in dict.fromkeys(part.strip() for part in ids) if i and len(i) <= _LONGEST_ID]
    looked: dict[str, StudyDataSet] = {}
    for form, repository, service in REPOSITORIES:
        own = [i for i in wanted if i not in looked and form.fullmatch(i)]
        if own:
            looked |= _at(repository, own, service(http, http.settings, day))
    return tuple(looked.get(i) or StudyDataSet(id=i, remark="no repository of it is known") for i in wanted)


def _at(repository: str, ids: Sequence[str], service: DataSetRepository) -> dict[str, StudyDataSet]:
    found = {i: StudyDataSet(id=i, repository=repository) for i in ids}
    try:
        answers = service.data_sets(ids)
    except SourceError as error:
        if len(ids) > 1:
            # What is wrong may be about one of them; a service that is down is not asked again for a while.
            return {key: value for i in ids for key, value in _at(repository, [i], service).items()}
        reason = f"{service.name} could not be looked at: {error.message}"
        return {ids[0]: found[ids[0]].model_copy(update={"remark": clean(reason)[:300]})}
    for i in ids:
        found[i] = (
            study_data_set(answers[i])
            if i in answers
            else found[i].model_copy(update={"remark": f"not at {service.name}, and others were not asked"})
        )
    return found


def study_data_set(record: DataSetRecord) -> StudyDataSet:
    """A record as a protocol has it."""
    return StudyDataSet(
        id=record.id,
        repository=record.repository,
        title=clean(record.title)[:_LONGEST_TITLE],
        species=tuple(clean(s)[:_LONGEST_ID] for s in record.species[:20]),
        assay=clean(record.assay)[:_LONGEST_TITLE],
        samples=record.samples,
        url=record.url,
        state=record.state,
        source=record.source,
        at=record.retrieved_at,
        remark=record.remark,
    )
