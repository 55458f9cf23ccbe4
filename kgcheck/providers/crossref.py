"""Crossref client: works by DOI or title, their reference lists, and registration agencies."""

from typing import Annotated, Any
from urllib.parse import quote

from pydantic import AliasPath, Field

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.providers.http import Http, ProviderService, ServiceAnswer
from kgcheck.providers.paper_service import (
    LATER,
    WireRecord,
    WorkFields,
    doi_id,
    first_page,
    formed,
    last_page,
    parsed,
    pmid_id,
    stray_answer,
    year_in,
)
from kgcheck.settings import Settings

NAME = "Crossref"
FOUND = 5
"""Works of one search: the right one is among the first, or not there."""

LONGEST_QUERY = 400
"""Characters of a reference that are looked for."""

_Doi = Annotated[str, Field(pattern=r"^10\.\d{4,9}/\S+$")]
_DATES = ("published", "published-print", "published-online", "issued")


class _CrossrefName(WireRecord):
    family: str | None = ""
    given: str | None = ""
    name: str | None = ""


class _CrossrefDate(WireRecord):
    parts: list[list[int | None]] = Field(alias="date-parts", default=[])


class _CrossrefUpdate(WireRecord):
    doi: str | None = Field(alias="DOI", default=None)
    type: str | None = ""


class _CrossrefCited(WireRecord):
    key: str | None = ""
    doi: str | None = Field(alias="DOI", default=None)
    title: str | None = Field(alias="article-title", default="")
    volume: str | None = ""
    page: str | None = Field(alias="first-page", default="")
    author: str | None = ""
    year: str | None = ""
    journal: str | None = Field(alias="journal-title", default="")


class _CrossrefWork(WireRecord):
    doi: _Doi = Field(alias="DOI")
    titles: list[str] = Field(alias="title", default=[])
    originals: list[str] = Field(alias="original-title", default=[])
    subtitles: list[str] = Field(alias="subtitle", default=[])
    journals: list[str] = Field(alias="container-title", default=[])
    authors: list[_CrossrefName] = Field(alias="author", default=[])
    volume: str | None = ""
    issue: str | None = ""
    page: str | None = ""
    number: str | None = Field(alias="article-number", default="")
    pmid: str | None = Field(alias="PMID", default=None)
    cited: list[_CrossrefCited] = Field(alias="reference", default=[])
    updates: list[_CrossrefUpdate] = Field(alias="update-to", default=[])
    updated: list[_CrossrefUpdate] = Field(alias="updated-by", default=[])


class _CrossrefAgency(WireRecord):
    doi: _Doi = Field(alias="DOI")
    agency: str = Field(validation_alias=AliasPath("agency", "id"))


class Crossref:
    """Asks Crossref, as a polite caller where the settings have a mail address."""

    def __init__(self, http: Http, settings: Settings, day: str) -> None:
        self._http = http
        self._polite = {"mailto": settings.contact} if settings.contact else {}
        self._service = ProviderService.from_settings(NAME, "crossref", settings, release=day)

    def work(self, doi: str) -> WorkFields | None:
        def read(answer: ServiceAnswer) -> WorkFields | None:
            if _missing(answer):
                return None
            fields = work_of(_message(answer, "work"))
            if fields.key != doi.casefold():
                raise stray_answer(NAME, f"the work {fields.key}")
            return fields._replace(retrieved_at=answer.retrieved_at)

        return self._http.ask(self._service, f"/works/{quote(doi, safe='')}", read, params=self._polite)

    def agency(self, doi: str) -> str:
        def read(answer: ServiceAnswer) -> str:
            if _missing(answer):
                return ""
            found = formed(NAME, _message(answer, "work-agency"), _CrossrefAgency)
            if found.doi.casefold() != doi.casefold():
                raise stray_answer(NAME, f"the agency of {found.doi}")
            return found.agency

        return self._http.ask(self._service, f"/works/{quote(doi, safe='')}/agency", read, params=self._polite)

    def search(self, text: str) -> tuple[WorkFields, ...]:
        params = {"query.bibliographic": text[:LONGEST_QUERY], "rows": FOUND, **self._polite}
        return self._http.ask(self._service, "/works", _found, params=params)


def _found(answer: ServiceAnswer) -> tuple[WorkFields, ...]:
    if answer.status == 400:
        raise SourceUnanswerable(f"{NAME} does not take the question: {answer.body[:200]!r}", "see its documentation")
    listed = formed(NAME, _message(answer, "work-list").get("items"), list[dict[str, Any]])
    if len(listed) > FOUND:
        raise SourceAnswer(f"{NAME} sent {len(listed):,} works; {FOUND} were asked for", LATER)
    return tuple(work_of(item)._replace(retrieved_at=answer.retrieved_at) for item in listed)


def _missing(answer: ServiceAnswer) -> bool:
    """Return whether Crossref itself says that there is no such thing.

    A page of a server in between does not count.
    """
    if answer.status == 404 and answer.body.strip() != b"Resource not found.":
        raise SourceAnswer(f"{NAME} answered 404 in words that are not its own: {answer.url[:160]}", LATER)
    return answer.status == 404


def _message(answer: ServiceAnswer, kind: str) -> dict[str, Any]:
    body = parsed(NAME, answer, dict[str, Any])
    message = body.get("message")
    if body.get("status") != "ok" or body.get("message-type") != kind or not isinstance(message, dict):
        raise SourceAnswer(f"{NAME} sent {str(body.get('message-type'))[:40]!r} and no {kind}", LATER)
    return message


def work_of(work: dict[str, Any]) -> WorkFields:
    """Read a work of Crossref, as it stands in an answer or in a line of its dump."""
    found = formed(NAME, work, _CrossrefWork)
    dates = [formed(NAME, work[kind], _CrossrefDate) for kind in _DATES if work.get(kind)]
    first = found.authors[0] if found.authors else _CrossrefName()
    gone = [u.doi for u in found.updated if u.type == "retraction"]
    whole = [f"{title}: {subtitle}" for title in found.titles for subtitle in found.subtitles[:1]]
    return WorkFields(
        key=found.doi.casefold(),
        ids=(*doi_id(found.doi), *pmid_id(found.pmid)),
        titles=tuple(dict.fromkeys(filter(None, (*whole, *found.titles, *found.originals)))),
        years=tuple(sorted({y for d in dates for part in d.parts[:1] for y in year_in(part[0] if part else None)})),
        journal=next(iter(found.journals), ""),
        author=" ".join(filter(None, (first.family, first.given))) or first.name or "",
        volume=found.volume or "",
        issue=found.issue or "",
        page=first_page(found.page or found.number),
        last_page=last_page(found.page),
        retracted=bool(gone),
        notices=tuple(i for doi in gone for i in doi_id(doi)),
        retracts=tuple(i for u in found.updates if u.type == "retraction" for i in doi_id(u.doi)),
        cites=tuple(dict.fromkeys(i for c in found.cited for i in doi_id(c.doi))),
        url=f"https://doi.org/{found.doi}",
    )


def cited_in(work: dict[str, Any]) -> tuple[WorkFields, ...]:
    """Read the reference list of a work of Crossref, as far as it names other works."""
    found = formed(NAME, work, _CrossrefWork)
    return tuple(
        WorkFields(
            key=f"{found.doi.casefold()}#{cited.key or number}",
            ids=doi_id(cited.doi),
            titles=(cited.title,) if cited.title else (),
            years=year_in(cited.year),
            journal=cited.journal or "",
            author=cited.author or "",
            volume=cited.volume or "",
            page=first_page(cited.page),
            listed=True,
            url=f"https://doi.org/{found.doi}",
        )
        for number, cited in enumerate(found.cited, 1)
        if cited.title
    )
