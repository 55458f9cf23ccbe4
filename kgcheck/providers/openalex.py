"""OpenAlex client: search with abstracts, references and citations; no full text.

Pages are asked for by number, up to the 10,000 works that OpenAlex shows so: marks for more need a key.
"""

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import AliasPath, Field

from kgcheck.errors import SourceUnanswerable
from kgcheck.providers.http import Http, ProviderService, ServiceAnswer
from kgcheck.providers.paper_service import (
    Number,
    PaperRecord,
    PaperService,
    RecordPage,
    WireRecord,
    WorkFields,
    by_wanted_id,
    check_page,
    check_promised,
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
    licence: str | None = Field(validation_alias=AliasPath("primary_location", "license"), default="")
    journal: str | None = Field(validation_alias=AliasPath("primary_location", "source", "display_name"), default="")
    references: list[_WorkId] = Field(alias="referenced_works", default=[])
    author: str | None = Field(validation_alias=AliasPath("authorships", 0, "author", "display_name"), default="")
    volume: str | None = Field(validation_alias=AliasPath("biblio", "volume"), default="")
    issue: str | None = Field(validation_alias=AliasPath("biblio", "issue"), default="")
    first_page: str | None = Field(validation_alias=AliasPath("biblio", "first_page"), default="")
    last_page: str | None = Field(validation_alias=AliasPath("biblio", "last_page"), default="")
    cited_by: Number | None = Field(alias="cited_by_count", default=None)


class _AlexPage(WireRecord):
    total: Number = Field(validation_alias=AliasPath("meta", "count"))
    page: Number = Field(validation_alias=AliasPath("meta", "page"))
    size: Number = Field(validation_alias=AliasPath("meta", "per_page"))
    works: list[_AlexWork] = Field(alias="results")


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

        def read(answer: ServiceAnswer) -> RecordPage:
            found = parsed(_NAME, answer, _AlexPage, refusals=(400, 403))
            if found.page != number or found.size != PAGE:
                raise stray_answer(_NAME, f"page {found.page} of {found.size}")
            check_page(_NAME, [work.id for work in found.works], PAGE, found.total)
            seen = (number - 1) * PAGE + len(found.works)
            check_promised(_NAME, seen, found.total, empty=not found.works)
            after = str(number + 1) if seen < found.total else ""
            return RecordPage(tuple(map(_record, found.works)), after, found.total)

        params = {**chosen, "select": _SELECT, "per-page": PAGE, "page": number, **self._polite}
        return self._http.ask(self._service, "/works", read, params=params)

    def work(self, name: str) -> WorkFields | None:
        def read(answer: ServiceAnswer) -> WorkFields | None:
            if answer.status == 404:
                return None
            fields = work_fields(parsed(_NAME, answer, dict[str, Any]))
            if name not in fields.ids:
                raise stray_answer(_NAME, f"another work than {name}")
            return fields._replace(retrieved_at=answer.retrieved_at)

        params = {"select": f"{_SELECT},authorships,biblio", **self._polite}
        return self._http.ask(self._service, f"/works/{quote(name)}", read, params=params)

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        ids: list[str] = []
        after = "1"
        while after and (most is None or len(ids) < most):
            page = self._page({"filter": f"cites:{record.key}"}, int(after))
            ids += [r.ids[0] for r in page.records]
            after = page.after
        return tuple(dict.fromkeys(ids))


def work_record(work: dict[str, Any]) -> PaperRecord:
    """The record of a work as it stands in a line of OpenAlex's snapshot: the same object that the API gives."""
    return _record(formed(_NAME, work, _AlexWork))


def work_fields(work: dict[str, Any]) -> WorkFields:
    """Read a work of OpenAlex, as it stands in a line of its snapshot or in an answer."""
    found = formed(_NAME, work, _AlexWork)
    record = _record(found)
    return WorkFields(
        key=record.key,
        ids=record.ids,
        titles=(record.title,) if record.title else (),
        years=year_in(record.year),
        journal=record.journal,
        author=family_first(found.author or ""),
        volume=found.volume or "",
        issue=found.issue or "",
        page=first_page(found.first_page),
        last_page=last_page(f"{found.first_page or ''}-{found.last_page or ''}"),
        retracted=record.retracted,
        cites=record.references,
        url=found.id,
    )


def _record(found: _AlexWork) -> PaperRecord:
    own = found.id.removeprefix(_BEFORE)
    named = {key: str(value) for key, value in found.ids.items()}
    placed = sorted((at, word) for word, places in (found.words or {}).items() for at in places)
    return PaperRecord(
        key=own,
        ids=(*pmid_id(named.get("pmid")), *doi_id(found.doi), *pmc_id(named.get("pmcid")), f"openalex:{own}"),
        title=found.title or "",
        abstract=" ".join(word for _, word in placed),
        year=str(found.year or ""),
        journal=found.journal or "",
        types=(found.type,) if found.type else (),
        retracted=bool(found.retracted),
        licence=found.licence or "",
        references=tuple(f"openalex:{work.removeprefix(_BEFORE)}" for work in found.references),
        cited_by=found.cited_by,
    )
