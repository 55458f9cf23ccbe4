"""UniProt over its REST service: an accession's life and entry, many at a time, searches and id mapping.

The life of an accession is read from JSON and never from where a redirect leads: UniProt answers a merged accession
with 303 to its replacement, and one that was demerged or deleted with 200.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from pydantic import ValidationError
from requests.utils import parse_header_links

from kgcheck.errors import SourceAnswer, SourceError, SourceRefused, SourceTimeout
from kgcheck.settings import Settings
from kgcheck.sources.http import Answer, Http, Service
from kgcheck.sources.uniprot_entry import UniProtEntry
from kgcheck.sources.uniprot_record import Life, Record, record_of_entry

ACCESSION = re.compile(r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}")
"""https://www.uniprot.org/help/accession_numbers"""

_ENTRY_NAME = re.compile(r"[A-Z0-9]{1,10}_[A-Z0-9]{1,5}")

FIELDS = (
    "accession,id,gene_names,protein_name,organism_id,organism_name,sequence,length,go,xref_pdb,xref_reactome,"
    "xref_string,cc_interaction,cc_disease,cc_tissue_specificity,cc_alternative_products,ft_mod_res,lit_pubmed_id"
)
"""What is asked of an entry: a whole one may have megabytes."""

BATCH = 500
"""Accessions of one call: the service takes 1,000, but no more than 500 of them fit on a page, and into an address."""

MAPPED_AT_ONCE = 100_000
"""Most ids of one mapping job."""

_JOB_WAIT_S = 3.0
_JOB_POLLS = 200


class IdMapping(NamedTuple):
    """What an id mapping job found, and the ids that it did not."""

    found: dict[str, list[str]]
    failed: tuple[str, ...]


class UniProt:
    """Asks UniProt.

    Args:
        http: What asks.
        settings: The address and the pace.
    """

    def __init__(self, http: Http, settings: Settings) -> None:
        self._http = http
        self.service = Service(
            "UniProt",
            settings.uniprot_url,
            settings.uniprot_calls_per_s,
            "KGCHECK_UNIPROT_URL",
            release_header="X-UniProt-Release",
        )

    def record(self, accession: str) -> Record:
        """The life of one accession, and its entry. An isoform is asked for under its entry.

        Args:
            accession: As given; one that cannot be an accession is not asked for.

        Returns:
            The record.

        Raises:
            SourceError: UniProt could not be looked at.
        """
        entry_id, _, isoform = accession.partition("-")
        if not ACCESSION.fullmatch(entry_id) or (isoform and not isoform.isdecimal()):
            # Nothing was asked, so no release and no record says so.
            return Record(accession, Life.MALFORMED, "", "", datetime.now().astimezone().replace(microsecond=0))
        found = self._http.ask(
            self.service, f"/uniprotkb/{entry_id}.json", lambda a: _record(entry_id, a), params={"fields": FIELDS}
        )
        return _of_isoform(accession, found)

    def accession_of(self, name: str) -> str | None:
        """The accession of an entry name; UniProt redirects from the one to the other.

        Args:
            name: For example ``BRAF_HUMAN``.

        Returns:
            The accession, or None where no one entry has the name: it is unknown, obsolete or no name.

        Raises:
            SourceError: UniProt could not be looked at.
        """
        if not _ENTRY_NAME.fullmatch(name):
            return None
        return self._http.ask(self.service, f"/uniprotkb/{name}.json", _accession, params={"fields": "accession,id"})

    def records(self, accessions: Iterable[str]) -> tuple[dict[str, Record], dict[str, SourceError]]:
        """The records of many accessions, 500 a call; what the batch does not tell is asked for one by one.

        Args:
            accessions: Any number.

        Returns:
            The records, and for each of the other accessions why it could not be looked at.
        """
        found: dict[str, Record] = {}
        failed: dict[str, SourceError] = {}
        wanted = list(dict.fromkeys(accessions))
        entries = list(dict.fromkeys(e for a in wanted if ACCESSION.fullmatch(e := a.split("-")[0])))
        told: dict[str, Record] = {}
        for start in range(0, len(entries), BATCH):
            asked = entries[start : start + BATCH]
            try:
                told |= self._batch(asked)
            except SourceError as error:
                failed |= dict.fromkeys(asked, error)
        for accession in wanted:
            entry_id = accession.split("-")[0]
            try:
                if entry_id in told:
                    found[accession] = _of_isoform(accession, told[entry_id])
                elif entry_id in failed:
                    failed[accession] = failed[entry_id]
                else:
                    found[accession] = self.record(accession)
            except SourceError as error:
                failed[accession] = error
        return found, {a: e for a, e in failed.items() if a in wanted}

    def search(self, query: str, fields: str = FIELDS) -> Iterator[UniProtEntry]:
        """Entries that a query finds.

        Args:
            query: In UniProt's language, e.g. ``sec_acc:B4DFC2``.
            fields: What is wanted of each.

        Yields:
            An entry.
        """
        params = {"query": query, "fields": fields, "format": "json", "size": BATCH}
        for page, answer in self._pages("/uniprotkb/search", params):
            for item in page.get("results", []):
                yield _entry(item, answer)

    def map_ids(self, source: str, target: str, ids: Iterable[str]) -> IdMapping:
        """Map ids of one database to those of another.

        Args:
            source: UniProt's name of the database that they are from, e.g. ``STRING``.
            target: The database to map to, e.g. ``UniProtKB``.
            ids: At most 100,000.

        Returns:
            What they are mapped to, each to one or several.

        Raises:
            SourceAnswer: The job failed.
            SourceTimeout: It does not end.
        """
        # In one order, so that who asks for the same ids finds what is kept.
        form = {"from": source, "to": target, "ids": ",".join(sorted(set(ids)))}
        job, known = self._http.ask(self.service, "/idmapping/run", _job, form=form)
        if known:
            # A service forgets its jobs; what is kept of one is whole, or the job is begun again.
            with suppress(SourceAnswer, SourceRefused):
                return self._results_of(job, target)
            job, _ = self._http.ask(self.service, "/idmapping/run", _job, form=form, fresh=True, keep=_always)
        return self._results_of(job, target)

    def _results_of(self, job: str, target: str) -> IdMapping:
        for _ in range(_JOB_POLLS):
            if self._http.ask(self.service, f"/idmapping/status/{job}", _is_finished, keep=bool):
                break
            self._http.sleep(_JOB_WAIT_S)
        else:
            raise SourceTimeout(f"UniProt does not finish the mapping job {job}", "try again later")
        kind = "uniprotkb/" if target.startswith("UniProtKB") else ""
        found: dict[str, list[str]] = {}
        failed: list[str] = []
        for page, answer in self._pages(f"/idmapping/{kind}results/{job}", {"format": "json", "size": BATCH}):
            for item in page.get("results", []):
                to = item["to"]
                found.setdefault(item["from"], []).append(
                    to if isinstance(to, str) else _entry(to, answer).primary_accession
                )
            failed += page.get("failedIds", [])
        return IdMapping(found, tuple(failed))

    def _batch(self, accessions: list[str]) -> dict[str, Record]:
        wanted = set(accessions)
        params = {"accessions": ",".join(accessions), "fields": FIELDS, "format": "json", "size": BATCH}
        found: dict[str, Record] = {}
        for page, answer in self._pages("/uniprotkb/accessions", params):
            for item in page["results"]:
                entry = _entry(item, answer)
                if entry.primary_accession in wanted:
                    found[entry.primary_accession] = _life(entry.primary_accession, entry, answer)
        return found

    def _pages(self, path: str, params: Mapping[str, object]) -> Iterator[tuple[dict[str, Any], Answer]]:
        """Pages, each after the cursor of the one before."""
        asked = dict(params)
        seen: set[str] = set()
        while True:
            page, answer = self._http.ask(self.service, path, _page, params=asked)
            yield page, answer
            cursor = _cursor(answer)
            if cursor is None:
                return
            if cursor in seen:
                raise SourceAnswer(f"UniProt gave a cursor twice: {answer.url[:160]}", "try again later")
            seen.add(cursor)
            asked["cursor"] = cursor


def _record(accession: str, answer: Answer) -> Record:
    """What the answer to one accession means.

    Returns:
        The record.

    Raises:
        SourceAnswer: It is none that UniProt promises.
    """
    match answer.status:
        case 200:
            return _life(accession, _entry(answer.json(), answer), answer)
        case 303:
            _refuse_other_host(answer)
            found = _life(accession, _entry(answer.json(), answer), answer)
            if found.life is not Life.MERGED:
                raise SourceAnswer(f"{answer.url} redirects, but the accession is {found.life}")
            return found
        case 404 | 400:
            _messages(answer)
            life = Life.UNKNOWN if answer.status == 404 else Life.MALFORMED
            return Record(accession, life, answer.release, answer.url, answer.retrieved_at)
        case _:
            raise SourceAnswer(f"{answer.url} answered {answer.status}")


def _accession(answer: Answer) -> str | None:
    match answer.status:
        case 200:
            return _entry(answer.json(), answer).primary_accession
        case 303:
            _refuse_other_host(answer)
            place = urlsplit(answer.headers.get("Location", "")).path.rpartition("/")[2].removesuffix(".json")
            if not ACCESSION.fullmatch(place):
                raise SourceAnswer(f"{answer.url} redirects to no entry: {answer.headers.get('Location')}")
            return place
        case 404 | 400:
            _messages(answer)
            return None
        case _:
            raise SourceAnswer(f"{answer.url} answered {answer.status}")


def _life(accession: str, entry: UniProtEntry, answer: Answer) -> Record:
    if accession != entry.primary_accession and (entry.inactive_reason or accession not in entry.secondary_accessions):
        raise SourceAnswer(f"{answer.url} answered with another entry: {entry.primary_accession}")
    told = record_of_entry(entry, answer.release, answer.url, answer.retrieved_at)
    if accession == entry.primary_accession:
        return told
    # A secondary id: its entry is known by another one.
    return told._replace(accession=accession, life=Life.MERGED, successors=(entry.primary_accession,), entry=None)


def _of_isoform(asked: str, found: Record) -> Record:
    """The record of an isoform: that of its entry, unless the entry lists isoforms and not this one."""
    if asked == found.accession:
        return found
    named = found._replace(accession=asked)
    listed = found.entry.isoforms if found.entry else []
    return named._replace(life=Life.UNKNOWN, entry=None) if listed and asked not in listed else named


def _entry(item: Any, answer: Answer) -> UniProtEntry:
    try:
        return UniProtEntry.model_validate(item)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise SourceAnswer(
            f"{answer.url[:160]} answered {answer.status} with no UniProt entry: {where}: {error.errors()[0]['msg']}",
            "try again later",
        ) from error


def _page(answer: Answer) -> tuple[dict[str, Any], Answer]:
    if answer.status == 400:
        raise SourceRefused(f"UniProt does not take the query: {'; '.join(_messages(answer))}", "correct it")
    page = answer.json() if answer.status == 200 else None
    if not isinstance(page, dict) or not isinstance(page.get("results"), list):
        raise SourceAnswer(f"{answer.url[:160]} answered {answer.status} with no page of results", "try again later")
    return page, answer


def _messages(answer: Answer) -> list[str]:
    """The messages of a refusal; a missing route answers 404 too, with a page."""
    said = answer.json()
    if not isinstance(said, dict) or not isinstance(said.get("messages"), list):
        raise SourceAnswer(f"{answer.url[:160]} answered {answer.status} without messages", "try again later")
    return [str(message) for message in said["messages"]]


def _cursor(answer: Answer) -> str | None:
    """The cursor of the next page. Only the cursor is taken, so that a mirror is not left for where it points."""
    for link in parse_header_links(answer.headers.get("Link", "")):
        if link.get("rel") == "next":
            return dict(parse_qsl(urlsplit(link["url"]).query)).get("cursor")
    return None


def _refuse_other_host(answer: Answer) -> None:
    place = urlsplit(answer.headers.get("Location", ""))
    if place.netloc and place.netloc != urlsplit(answer.url).netloc:
        raise SourceAnswer(f"{answer.url} redirects to another host, {place.netloc}", "try again later")


def _job(answer: Answer) -> tuple[str, bool]:
    """The id of a job, and whether it is one that was asked for before."""
    said = answer.json()
    if answer.status == 400:
        raise SourceRefused(f"UniProt does not take the mapping: {'; '.join(_messages(answer))}")
    if not isinstance(said, dict) or not isinstance(said.get("jobId"), str) or not said["jobId"].isalnum():
        raise SourceAnswer(f"{answer.url} answered {answer.status} without a job", "try again later")
    return str(said["jobId"]), answer.cached


def _always(made: object) -> bool:
    return True


def _is_finished(answer: Answer) -> bool:
    """Whether a job is done: its status then redirects to the results, or gives them."""
    if answer.status == 303:
        _refuse_other_host(answer)
        return True
    if answer.status == 404:
        raise SourceRefused(f"UniProt knows no such job: {'; '.join(_messages(answer))}", "ask again")
    said = answer.json()
    status = said.get("jobStatus") if isinstance(said, dict) else None
    if status in ("NEW", "RUNNING"):
        return False
    if status == "FINISHED" or (isinstance(said, dict) and ("results" in said or "failedIds" in said)):
        return True
    raise SourceAnswer(f"{answer.url} says of the job: {status or answer.status}", "ask for fewer ids, or later")
