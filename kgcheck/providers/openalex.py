"""OpenAlex client: search with abstracts, references and citations; no full text.

Pages are asked for by number, up to the 10,000 works that OpenAlex shows so: marks for more need a key.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import Field, TypeAdapter

from kgcheck.errors import SourceAnswer, SourceUnanswerable
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
    family_first,
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
from kgcheck.providers.services import ProviderService, ServiceAnswer
from kgcheck.settings import Settings

PAGE = 100
"""Works of one page."""

LOT = 50
"""Works of one call by their ids."""

MOST = 10_000
"""Works of one search."""

_NAME = "OpenAlex"
_BEFORE = "https://openalex.org/"
_SELECT = (
    "id,doi,ids,display_name,publication_year,type,is_retracted,"
    "abstract_inverted_index,primary_location,referenced_works,cited_by_count"
)
_WorkId = Annotated[str, Field(pattern=r"^https://openalex\.org/W[0-9]+$")]


class _AlexSource(WireRecord):
    name: str | None = Field(alias="display_name", default="")


class _AlexLocation(WireRecord):
    licence: str | None = Field(alias="license", default="")
    source: _AlexSource | None = None


class _AlexAuthor(WireRecord):
    name: str | None = Field(alias="display_name", default="")


class _AlexAuthorship(WireRecord):
    author: _AlexAuthor = _AlexAuthor()


class _AlexPlace(WireRecord):
    volume: str | None = ""
    issue: str | None = ""
    first_page: str | None = ""
    last_page: str | None = ""


class _AlexWork(WireRecord):
    id: _WorkId
    doi: str | None = None
    ids: dict[str, Any] = {}
    title: str | None = Field(alias="display_name", default="")
    year: int | None = Field(alias="publication_year", default=None)
    type: str | None = ""
    retracted: bool | None = Field(alias="is_retracted", default=False)
    words: dict[str, list[Annotated[int, Field(ge=0, le=100_000)]]] | None = Field(
        alias="abstract_inverted_index", default=None
    )
    location: _AlexLocation | None = Field(alias="primary_location", default=None)
    references: list[_WorkId] = Field(alias="referenced_works", default=[])
    authors: list[_AlexAuthorship] = Field(alias="authorships", default=[])
    place: _AlexPlace | None = Field(alias="biblio", default=None)
    cited_by: Annotated[int, Field(ge=0, strict=True)] | None = Field(alias="cited_by_count", default=None)


class _AlexMeta(WireRecord):
    total: Annotated[int, Field(ge=0, strict=True)] = Field(alias="count")
    page: Annotated[int, Field(ge=1, strict=True)]
    size: Annotated[int, Field(ge=1, strict=True)] = Field(alias="per_page")


class _AlexPage(WireRecord):
    meta: _AlexMeta
    works: list[_AlexWork] = Field(alias="results")


_PAGES = TypeAdapter(_AlexPage)
_WORK = TypeAdapter(_AlexWork)


class OpenAlex(PaperService):
    """Asks OpenAlex."""

    name = _NAME
    kinds = frozenset(("openalex", "pmid", "doi"))

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._polite = {"mailto": settings.contact} if settings.contact else {}
        self._service = ProviderService.from_settings(_NAME, "openalex", settings, release=day)

    def page(self, query: str, after: str, size: int) -> RecordPage:
        return self._page({"search": query}, int(after or 1))

    def best(self, words: Sequence[str], size: int) -> RecordPage:
        page = self._page({"search": " OR ".join(words)}, 1)
        return page._replace(records=page.records[:size])

    def records(self, ids: Sequence[str]) -> dict[str, PaperRecord]:
        found: dict[str, PaperRecord] = {}
        for kind in sorted(self.kinds):
            own = [i for i in ids if i.startswith(f"{kind}:") and not set(i) & {"|", ","}]
            for lot in lots(own, LOT):
                values = "|".join(i.partition(":")[2] for i in lot)
                after = "1"
                while after:
                    page = self._page({"filter": f"{kind}:{values}"}, int(after))
                    found |= by_wanted_id(_NAME, lot, page.records)
                    after = page.after
        return found

    def _page(self, chosen: dict[str, str], number: int) -> RecordPage:
        if number > MOST // PAGE:
            raise SourceUnanswerable(
                f"{_NAME} shows {MOST:,} works of one search", "ask for less: --limit, or more words"
            )
        params = {**chosen, "select": _SELECT, "per-page": PAGE, "page": number, **self._polite}
        return self._http.ask(self._service, "/works", partial(_page, number=number), params=params)

    def work(self, name: str) -> WorkFields | None:
        params = {"select": f"{_SELECT},authorships,biblio", **self._polite}
        return self._http.ask(self._service, f"/works/{quote(name)}", partial(_one, name=name), params=params)

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        ids: list[str] = []
        after = "1"
        while after and (most is None or len(ids) < most):
            page = self._page({"filter": f"cites:{record.key}"}, int(after))
            ids += [r.ids[0] for r in page.records]
            after = page.after
        return tuple(dict.fromkeys(ids))


def _one(answer: ServiceAnswer, *, name: str) -> WorkFields | None:
    if answer.status == 404:
        return None
    fields = work_fields(parsed(_NAME, answer, TypeAdapter(dict[str, Any])))
    if name not in fields.ids:
        raise stray_answer(_NAME, f"another work than {name}")
    return fields._replace(retrieved_at=answer.retrieved_at)


def _page(answer: ServiceAnswer, *, number: int) -> RecordPage:
    if answer.status in (400, 403):
        raise SourceUnanswerable(f"{_NAME} does not take the question: {answer.body[:200]!r}", "see its search syntax")
    found = formed(_NAME, parsed(_NAME, answer, TypeAdapter(dict[str, Any])), _PAGES)
    keys = [work.id for work in found.works]
    if found.meta.page != number or found.meta.size != PAGE:
        raise stray_answer(_NAME, f"page {found.meta.page} of {found.meta.size}")
    if len(keys) > PAGE or len(set(keys)) < len(keys) or len(keys) > found.meta.total:
        raise SourceAnswer(f"{_NAME} sent {len(keys):,} works of {found.meta.total:,}, or some twice", LATER)
    seen = (number - 1) * PAGE + len(keys)
    if not keys and seen < found.meta.total:
        raise SourceAnswer(f"{_NAME} promised {found.meta.total:,} works and sent {seen:,}", LATER)
    after = str(number + 1) if seen < found.meta.total else ""
    return RecordPage(tuple(map(_record, found.works)), after, found.meta.total)


def work_record(work: dict[str, Any]) -> PaperRecord:
    """The record of a work as it stands in a line of OpenAlex's snapshot: the same object that the API gives."""
    return _record(formed(_NAME, work, _WORK))


def work_fields(work: dict[str, Any]) -> WorkFields:
    """Read a work of OpenAlex, as it stands in a line of its snapshot or in an answer."""
    found = formed(_NAME, work, _WORK)
    record, place = _record(found), found.place or _AlexPlace()
    author = next((a.author.name or "" for a in found.authors), "")
    return WorkFields(
        key=record.key,
        ids=record.ids,
        titles=(record.title,) if record.title else (),
        years=year_in(record.year),
        journal=record.journal,
        author=family_first(author),
        volume=place.volume or "",
        issue=place.issue or "",
        page=first_page(place.first_page),
        last_page=last_page(f"{place.first_page or ''}-{place.last_page or ''}"),
        retracted=record.retracted,
        cites=record.references,
        url=found.id,
    )


def _record(found: _AlexWork) -> PaperRecord:
    own = found.id.removeprefix(_BEFORE)
    named = {key: str(value) for key, value in found.ids.items()}
    location = found.location or _AlexLocation()
    return PaperRecord(
        key=own,
        ids=(*pmid_id(named.get("pmid")), *doi_id(found.doi), *pmc_id(named.get("pmcid")), f"openalex:{own}"),
        title=found.title or "",
        abstract=_text(found.words or {}),
        year=str(found.year or ""),
        journal=(location.source.name if location.source else "") or "",
        types=(found.type,) if found.type else (),
        retracted=bool(found.retracted),
        licence=location.licence or "",
        references=tuple(f"openalex:{work.removeprefix(_BEFORE)}" for work in found.references),
        cited_by=found.cited_by,
    )


def _text(words: dict[str, list[int]]) -> str:
    placed = sorted((at, word) for word, places in words.items() for at in places)
    return " ".join(word for _, word in placed)
