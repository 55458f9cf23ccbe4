"""UniProt REST client: entries and lifecycles of accessions in bulk, search, id mapping.

The life of an accession is read from JSON and never from where a redirect leads: UniProt answers a merged accession
with 303 to its replacement, and one that was demerged or deleted with 200.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import ValidationError
from requests.utils import parse_header_links

from kgcheck import clock
from kgcheck.errors import SourceAnswer, SourceError, SourceRefused, SourceTimeout, SourceUnanswerable
from kgcheck.inputs import wrong_parts
from kgcheck.profile.catalogue import State
from kgcheck.providers.http import Http, ProviderService
from kgcheck.providers.services import ServiceAnswer
from kgcheck.providers.uniprot_entry import NoState, Record, UniProtEntry, record_of_entry
from kgcheck.settings import Settings

T = TypeVar("T")

PAGE = 500
"""Most entries of a page."""


class Page(NamedTuple, Generic[T]):
    """A page, and what it says of the others: how many results there are, and where the next one is.

    ``items`` are by what tells one from another. ``failed`` and ``obsolete`` are those of an id mapping: ids that it
    does not know, and how many lead to nothing.
    """

    items: dict[Hashable, T]
    failed: tuple[str, ...]
    obsolete: int
    total: int
    cursor: str | None
    answer: ServiceAnswer


def read_page(answer: ServiceAnswer, item: Callable[[Any], tuple[Hashable, T]]) -> Page[T]:
    """Read a page."""
    if answer.status == 400:
        raise SourceUnanswerable(f"UniProt does not take the query: {'; '.join(messages(answer))}", "correct it")
    page = answer.json() if answer.status == 200 else None
    if not isinstance(page, dict) or not isinstance(page.get("results"), list):
        raise SourceAnswer(*wrong(answer, "no page of results"))
    total = answer.headers.get("X-Total-Results", "")
    if not total.isdecimal() or len(total) > 12:
        raise SourceAnswer(*wrong(answer, "a page that does not say how many results there are"))
    failed, obsolete = page.get("failedIds", []), page.get("obsoleteCount", 0)
    if not _are_texts(failed) or not isinstance(obsolete, int) or obsolete < 0:
        raise SourceAnswer(*wrong(answer, "ids that are none"))
    items = dict(item(one) for one in page["results"])
    if len(items) < len(page["results"]) or len(items) > PAGE:
        raise SourceAnswer(*wrong(answer, "a result twice, or more than a page holds"))
    return Page(items, tuple(failed), obsolete, int(total), _cursor(answer), answer)


def check_next(before: Sequence[Page[T]], page: Page[T], least: int | None = None) -> None:
    """Refuse a page that does not go with those before it."""
    pages = [*before, page]
    count = sum(len(one.items) for one in pages)
    if any((one.total, one.answer.release) != (page.total, page.answer.release) for one in before):
        raise SourceAnswer(*wrong(page.answer, "another number of results, or another release, than the page before"))
    if page.cursor is not None and page.cursor in [one.cursor for one in before]:
        raise SourceAnswer(*wrong(page.answer, "the same cursor twice"))
    if count > page.total or any(key in one.items for one in before for key in page.items):
        raise SourceAnswer(*wrong(page.answer, "results that it had given, or more than it counts"))
    if page.cursor is not None and (not page.items or len(pages) * PAGE >= page.total):
        raise SourceAnswer(*wrong(page.answer, "a page that leads on without end"))
    fewest = page.total - max(one.obsolete for one in pages) if least is None else min(least, page.total)
    if page.cursor is None and count < fewest:
        raise SourceAnswer(*wrong(page.answer, f"{count:,} of {page.total:,} results"))


def messages(answer: ServiceAnswer) -> list[str]:
    """The messages of a refusal; a missing route answers 404 too, with a page."""
    body = answer.json()
    if not isinstance(body, dict) or not body.get("messages") or not _are_texts(body["messages"]):
        raise SourceAnswer(*wrong(answer, "no messages"))
    return list(body["messages"])


def wrong(answer: ServiceAnswer, sent: str) -> tuple[str, str]:
    """Message and hint of the error for an answer that is not what was asked for."""
    return f"{answer.url[:160]} answered {answer.status} with {sent}", "try again later"


def _are_texts(body: Any) -> bool:
    return isinstance(body, list) and all(isinstance(one, str) for one in body)


def _cursor(answer: ServiceAnswer) -> str | None:
    """The cursor of the next page. Only the cursor is taken, so that a mirror is not left for where it points."""
    for link in parse_header_links(answer.headers.get("Link", "")):
        if link.get("rel") == "next":
            return dict(parse_qsl(urlsplit(link["url"]).query)).get("cursor") or ""
    return None


ACCESSION = re.compile(r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}")
"""https://www.uniprot.org/help/accession_numbers"""

FIELDS = (
    "accession,id,gene_names,protein_name,organism_id,organism_name,sequence,length,go,xref_pdb,xref_reactome,"
    "xref_string,cc_interaction,cc_disease,cc_tissue_specificity,cc_alternative_products,ft_mod_res,lit_pubmed_id"
)
"""Fields of an entry that are asked for: a whole one may have megabytes."""

BATCH = PAGE
"""Accessions of one call: the service takes 1,000, but no more than 500 of them fit on a page, and into an address."""

_JOB_WAIT_S = 3.0
_JOB_POLLS = 200


class IdMapping(NamedTuple):
    """Result of an id mapping job: the ids that it found, and those that it did not."""

    found: dict[str, list[str]]
    failed: tuple[str, ...]


class UniProt:
    """Asks UniProt."""

    def __init__(self, http: Http, settings: Settings) -> None:
        self._http = http
        released = {"release_header": "X-UniProt-Release"}
        self.service = ProviderService.from_settings("UniProt", "uniprot", settings, **released)

    def record(self, accession: str) -> Record:
        """The life of one accession, and its entry. An isoform is asked for under its entry."""
        entry_id, _, isoform = accession.partition("-")
        if not ACCESSION.fullmatch(entry_id) or (isoform and not isoform.isdecimal()):
            # Nothing was asked, so no release and no record says so.
            return Record(accession, NoState.MALFORMED, "", "", clock.now().astimezone())
        found = self._http.ask(
            self.service, f"/uniprotkb/{entry_id}.json", lambda a: _record(entry_id, a), params={"fields": FIELDS}
        )
        return _of_isoform(accession, found)

    def records(self, accessions: Iterable[str]) -> tuple[dict[str, Record], dict[str, SourceError]]:
        """The records of many accessions, 500 a call; what the batch does not tell is asked for one by one."""
        found: dict[str, Record] = {}
        failed: dict[str, SourceError] = {}
        wanted = list(dict.fromkeys(accessions))
        entries = list(dict.fromkeys(e for a in wanted if ACCESSION.fullmatch(e := a.split("-")[0])))
        records: dict[str, Record] = {}
        for start in range(0, len(entries), BATCH):
            requested = entries[start : start + BATCH]
            try:
                records |= self._batch(requested)
            except SourceError as error:
                failed |= dict.fromkeys(requested, error)
        for accession in wanted:
            entry_id = accession.split("-")[0]
            try:
                if entry_id in records:
                    found[accession] = _of_isoform(accession, records[entry_id])
                elif entry_id in failed:
                    failed[accession] = failed[entry_id]
                else:
                    found[accession] = self.record(accession)
            except SourceError as error:
                failed[accession] = error
        return found, {a: e for a, e in failed.items() if a in wanted}

    def search(self, query: str, fields: str = FIELDS) -> Iterator[UniProtEntry]:
        params = {"query": query, "fields": fields, "format": "json", "size": BATCH}

        def found(item: Any, answer: ServiceAnswer) -> tuple[str, UniProtEntry]:
            entry = _entry(item, answer)
            return entry.primary_accession, entry

        for page in self._pages("/uniprotkb/search", params, found):
            yield from page.items.values()

    def map_ids(self, source: str, target: str, ids: Iterable[str]) -> IdMapping:
        # In one order, so that who asks for the same ids finds what is kept.
        requested = sorted(set(ids))
        form = {"from": source, "to": target, "ids": ",".join(requested)}
        job, known = self._http.ask(self.service, "/idmapping/run", _job, form=form)
        if known:
            # A service forgets its jobs; what is kept of one is whole, or the job is begun again.
            with suppress(SourceAnswer, SourceRefused):
                return self._results_of(job, target, requested)
            job, _ = self._http.ask(self.service, "/idmapping/run", _job, form=form, fresh=True, keep=_always)
        return self._results_of(job, target, requested)

    def _results_of(self, job: str, target: str, requested: list[str]) -> IdMapping:
        for _ in range(_JOB_POLLS):
            if self._http.ask(self.service, f"/idmapping/status/{job}", _is_finished, keep=bool):
                break
            self._http.rest(self.service, _JOB_WAIT_S)
        else:
            raise SourceTimeout(f"UniProt does not finish the mapping job {job}", "try again later")
        wanted = set(requested)

        def pair(item: Any, answer: ServiceAnswer) -> tuple[Hashable, tuple[str, str]]:
            origin, to = (item.get("from"), item.get("to")) if isinstance(item, dict) else (None, None)
            if origin not in wanted:
                raise SourceAnswer(*wrong(answer, f"a mapping of {str(origin)[:40]!r}, which was not asked for"))
            mapped = str(origin), to if isinstance(to, str) and to else _entry(to, answer).primary_accession
            return mapped, mapped

        kind = "uniprotkb/" if target.startswith("UniProtKB") else ""
        pages = self._pages(f"/idmapping/{kind}results/{job}", {"format": "json", "size": BATCH}, pair)
        found: dict[str, list[str]] = {}
        for origin, to in (mapped for page in pages for mapped in page.items.values()):
            found.setdefault(origin, []).append(to)
        failed = dict.fromkeys(one for page in pages for one in page.failed)
        if not failed.keys() <= wanted - found.keys():
            raise SourceAnswer(*wrong(pages[0].answer, "ids that failed, and were mapped or not asked for"))
        return IdMapping(found, tuple(failed))

    def _batch(self, accessions: list[str]) -> dict[str, Record]:
        wanted = set(accessions)

        def read(item: Any, answer: ServiceAnswer) -> tuple[str, Record]:
            entry = _entry(item, answer)
            if not wanted & {entry.primary_accession, *entry.secondary_accessions}:
                raise SourceAnswer(*wrong(answer, f"an entry that was not asked for, {entry.primary_accession}"))
            return entry.primary_accession, _life(entry.primary_accession, entry, answer)

        params = {"accessions": ",".join(accessions), "fields": FIELDS, "format": "json", "size": BATCH}
        # UniProt counts the accessions that were asked for here, and not those that it knows.
        pages = self._pages("/uniprotkb/accessions", params, read, least=0)
        records = (record for page in pages for record in page.items.values())
        return {record.accession: record for record in records if record.accession in wanted}

    def _pages(
        self,
        path: str,
        params: Mapping[str, object],
        item: Callable[[Any, ServiceAnswer], tuple[Hashable, T]],
        least: int | None = None,
    ) -> list[Page[T]]:
        """All pages, each after the cursor of the one before; kept together, or not at all."""

        def gather() -> list[Page[T]]:
            requested, pages = dict(params), list[Page[T]]()

            def read(answer: ServiceAnswer) -> Page[T]:
                page = read_page(answer, lambda one: item(one, answer))
                check_next(pages, page, least)
                return page

            while not pages or pages[-1].cursor is not None:
                pages.append(self._http.ask(self.service, path, read, params=requested))
                requested["cursor"] = pages[-1].cursor
            return pages

        return self._http.whole(gather)


def _record(accession: str, answer: ServiceAnswer) -> Record:
    match answer.status:
        case 200:
            return _life(accession, _entry(answer.json(), answer), answer)
        case 303:
            _refuse_other_host(answer)
            found = _life(accession, _entry(answer.json(), answer), answer)
            if found.state is not State.MERGED or found.successors != (_place(answer),):
                raise SourceAnswer(*wrong(answer, f"a redirect to {_place(answer)!r}, and the life {found.state}"))
            return found
        case 404 | 400:
            messages(answer)
            state = NoState.UNKNOWN if answer.status == 404 else NoState.MALFORMED
            return Record(accession, state, answer.release, answer.url, answer.retrieved_at)
        case _:
            raise SourceAnswer(f"{answer.url} answered {answer.status}")


def _life(accession: str, entry: UniProtEntry, answer: ServiceAnswer) -> Record:
    if accession != entry.primary_accession and (entry.inactive_reason or accession not in entry.secondary_accessions):
        raise SourceAnswer(f"{answer.url} answered with another entry: {entry.primary_accession}")
    record = record_of_entry(entry, answer.release, answer.url, answer.retrieved_at)
    if not all(ACCESSION.fullmatch(new) and new != accession for new in record.successors):
        raise SourceAnswer(
            *wrong(answer, f"no accessions in place of {accession}: {', '.join(record.successors)[:80]}")
        )
    if accession == entry.primary_accession:
        return record
    # A secondary id: its entry is known by another one.
    return record._replace(accession=accession, state=State.MERGED, successors=(entry.primary_accession,), entry=None)


def _of_isoform(requested: str, found: Record) -> Record:
    """The record of an isoform: that of its entry, unless the entry lists isoforms and not this one."""
    if requested == found.accession:
        return found
    named = found._replace(accession=requested)
    listed = found.entry.isoforms if found.entry else []
    return named._replace(state=NoState.UNKNOWN, entry=None) if listed and requested not in listed else named


def _entry(item: Any, answer: ServiceAnswer) -> UniProtEntry:
    try:
        return UniProtEntry.model_validate(item)
    except ValidationError as error:
        raise SourceAnswer(
            f"{answer.url[:160]} answered {answer.status} with no UniProt entry: {wrong_parts(error, 1)}",
            "try again later",
        ) from error


def _place(answer: ServiceAnswer) -> str:
    return urlsplit(answer.headers.get("Location", "")).path.rpartition("/")[2].removesuffix(".json")


def _refuse_other_host(answer: ServiceAnswer) -> None:
    place = urlsplit(answer.headers.get("Location", ""))
    if place.netloc and place.netloc != urlsplit(answer.url).netloc:
        raise SourceAnswer(f"{answer.url} redirects to another host, {place.netloc}", "try again later")


def _job(answer: ServiceAnswer) -> tuple[str, bool]:
    """The id of a job, and whether it is one that was asked for before."""
    body = answer.json()
    if answer.status == 400:
        raise SourceUnanswerable(f"UniProt does not take the mapping: {'; '.join(messages(answer))}")
    if not isinstance(body, dict) or not isinstance(body.get("jobId"), str) or not body["jobId"].isalnum():
        raise SourceAnswer(f"{answer.url} answered {answer.status} without a job", "try again later")
    return str(body["jobId"]), answer.cached


def _always(made: object) -> bool:
    return True


def _is_finished(answer: ServiceAnswer) -> bool:
    """Return whether a job is done: its status then redirects to the results, or gives them."""
    if answer.status == 303:
        _refuse_other_host(answer)
        return True
    if answer.status == 404:
        raise SourceRefused(f"UniProt knows no such job: {'; '.join(messages(answer))}", "ask again")
    body = answer.json()
    status = body.get("jobStatus") if isinstance(body, dict) else None
    if status in ("NEW", "RUNNING"):
        return False
    if status == "FINISHED" or (isinstance(body, dict) and ("results" in body or "failedIds" in body)):
        return True
    raise SourceAnswer(f"{answer.url} says of the job: {status or answer.status}", "ask for fewer ids, or later")
