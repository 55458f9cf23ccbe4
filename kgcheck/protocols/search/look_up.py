"""Look up data sets by accession at GEO."""

from collections.abc import Iterable, Sequence

from kgcheck import clock
from kgcheck.errors import SourceError
from kgcheck.literature.documents import clean
from kgcheck.protocols.protocol import StudyDataSet
from kgcheck.providers.http import Http
from kgcheck.providers.ncbi import DataSetRecord, Geo

_LONGEST_TITLE = 500
_LONGEST_ID = 100


def look_up(ids: Iterable[str], http: Http, day: str = "") -> tuple[StudyDataSet, ...]:
    """Look data sets up."""
    geo = Geo(http, http.settings, day or clock.today().isoformat())
    wanted = [i for i in dict.fromkeys(part.strip() for part in ids) if i and len(i) <= _LONGEST_ID]
    looked = _at(geo, wanted)
    return tuple(looked.get(i) or StudyDataSet(id=i, remark="its repository is not asked: only GEO is") for i in wanted)


def _at(geo: Geo, ids: Sequence[str]) -> dict[str, StudyDataSet]:
    try:
        return {i: study_data_set(record) for i, record in geo.data_sets(ids).items()}
    except SourceError as error:
        if len(ids) > 1:
            # What is wrong may be about one of them; a service that is down is not asked again for a while.
            return {key: value for i in ids for key, value in _at(geo, [i]).items()}
        reason = f"{geo.name} could not be looked at: {error.message}"
        return {ids[0]: StudyDataSet(id=ids[0], repository=geo.name, remark=clean(reason)[:300])}


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
