"""NCBI E-utilities client: search for ids, and summaries of records, in any NCBI database."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import Field, TypeAdapter

from kgcheck.errors import SourceAnswer
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import LATER, WireRecord, formed, parsed, stray_answer
from kgcheck.providers.services import ProviderService, ServiceAnswer
from kgcheck.settings import Settings

LOT = 200
"""Records of one call; NCBI takes 500 at most for summaries as JSON."""

_Uid = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,11}$")]
_Count = Annotated[str, Field(pattern=r"^[0-9]{1,12}$")]


class _UnknownParts(WireRecord):
    phrases: list[str] = Field(alias="phrasesnotfound", default=[])
    fields: list[str] = Field(alias="fieldsnotfound", default=[])


class _SearchWarnings(WireRecord):
    quoted: list[str] = Field(alias="quotedphrasesnotfound", default=[])
    ignored: list[str] = Field(alias="phrasesignored", default=[])


class _UidSearch(WireRecord):
    total: _Count = Field(alias="count")
    start: _Count = Field(alias="retstart")
    ids: list[_Uid] = Field(alias="idlist")
    unknown: _UnknownParts = Field(alias="errorlist", default=_UnknownParts())
    warnings: _SearchWarnings = Field(alias="warninglist", default=_SearchWarnings())


class _SearchResult(WireRecord):
    found: _UidSearch = Field(alias="esearchresult")


_SEARCHED = TypeAdapter(_SearchResult)

S = TypeVar("S", bound="SummaryRecord")


class SummaryRecord(WireRecord):
    """Fields of every summary."""

    uid: str


class UidsFound(NamedTuple):
    """Result of a search."""

    ids: tuple[str, ...]
    total: int
    unknown: tuple[str, ...] = ()
    """Parts of the query that the database does not know and searched without."""


class Summaries(NamedTuple, Generic[S]):
    """Summaries by uid; None where the database has no such record."""

    records: dict[str, S | None]
    retrieved_at: datetime


class Eutils:
    """Asks the E-utilities."""

    def __init__(self, http: Http, settings: Settings, day: str, name: str) -> None:
        self._http = http
        self._name = name
        key = settings.pubmed_key.get_secret_value() if settings.pubmed_key else ""
        named = {"tool": settings.caller_identity, "email": settings.contact, "api_key": key}
        self.own = {field: value for field, value in named.items() if value}
        """Fields of every call. They are posted, so that no message shows the key; nor is it kept with an answer."""
        self.json = ProviderService.from_settings(name, "pubmed", settings, release=day, has_key=bool(key))
        self.xml = self.json._replace(accept="application/xml")

    def search(self, database: str, term: str, most: int, *, start: int = 0, sort: str = "") -> UidsFound:
        form = {"db": database, "term": term, **({"sort": sort} if sort else {})}
        form |= {"retmode": "json", "retstart": str(start), "retmax": str(most), **self.own}
        read = partial(_searched, name=self._name, start=start, most=most)
        return self._http.ask(self.json, "/esearch.fcgi", read, form=form)

    def summaries(
        self,
        database: str,
        uids: Sequence[str],
        kind: type[S],
        check: Callable[[Mapping[str, S | None]], None] = lambda found: None,
    ) -> Summaries[S]:
        form = {"db": database, "id": ",".join(uids), "retmode": "json", **self.own}
        read = partial(_summarised, name=self._name, uids=tuple(uids), kind=TypeAdapter(kind), check=check)
        return self._http.ask(self.json, "/esummary.fcgi", read, form=form)


def _searched(answer: ServiceAnswer, *, name: str, start: int, most: int) -> UidsFound:
    body = parsed(name, answer, TypeAdapter(dict[str, Any]))
    result = body.get("esearchresult")
    if "error" in body or (isinstance(result, dict) and "ERROR" in result):
        wrong = str(body.get("error") or (result or {}).get("ERROR"))[:200]
        # NCBI says in the same way that a question is wrong and that its own search is down.
        raise SourceAnswer(f"{name} could not search: {wrong}", LATER)
    found = formed(name, body, _SEARCHED).found
    if int(found.start) != start:
        raise stray_answer(name, f"ids from {found.start} on")
    if len(found.ids) > most or len(set(found.ids)) < len(found.ids) or start + len(found.ids) > int(found.total):
        raise SourceAnswer(f"{name} sent {len(found.ids):,} ids, or some twice; {most:,} were asked for", LATER)
    if not found.ids and most and start < int(found.total):
        raise SourceAnswer(f"{name} promised {found.total} ids and sent {start:,}", LATER)
    lost = (*found.unknown.phrases, *found.unknown.fields, *found.warnings.quoted, *found.warnings.ignored)
    return UidsFound(tuple(found.ids), int(found.total), tuple(part[:100] for part in lost[:20]))


def _summarised(
    answer: ServiceAnswer,
    *,
    name: str,
    uids: tuple[str, ...],
    kind: "TypeAdapter[S]",
    check: Callable[[Mapping[str, S | None]], None],
) -> Summaries[S]:
    body = parsed(name, answer, TypeAdapter(dict[str, Any]))
    result = body.get("result")
    if not isinstance(result, dict):
        raise SourceAnswer(f"{name} sent no summaries: {str(body)[:200]}", LATER)
    named = result.get("uids")
    if not isinstance(named, list) or set(map(str, named)) != set(uids) or set(result) != {"uids", *uids}:
        raise stray_answer(name, "other summaries, or fewer")
    records: dict[str, S | None] = {}
    for uid in uids:
        raw = result[uid]
        wrong = raw.get("error") if isinstance(raw, dict) else None
        if wrong is not None and "cannot get document summary" not in str(wrong):
            raise SourceAnswer(f"{name} could not look up {uid}: {str(wrong)[:200]}", LATER)
        records[uid] = None if wrong is not None else formed(name, raw, kind)
        if (record := records[uid]) is not None and record.uid != uid:
            raise stray_answer(name, f"the summary {record.uid[:20]}")
    check(records)
    return Summaries(records, answer.retrieved_at)
