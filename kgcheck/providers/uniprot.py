"""UniProt REST client: entries and lifecycles of accessions in bulk.

The life of an accession is read from JSON and never from where a redirect leads: UniProt answers a merged accession
with 303 to its replacement, and one that was demerged or deleted with 200.
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from kgcheck import clock
from kgcheck.errors import SourceAnswer, SourceError, SourceUnanswerable
from kgcheck.inputs import wrong_parts
from kgcheck.profile.catalogue import State
from kgcheck.providers.http import Http, ProviderService, ServiceAnswer
from kgcheck.providers.uniprot_entry import NoState, Record, UniProtEntry, record_of_entry
from kgcheck.settings import Settings


def _messages(answer: ServiceAnswer) -> list[str]:
    """The messages of a refusal; a missing route answers 404 too, with a page."""
    body = answer.json()
    texts = body.get("messages") if isinstance(body, dict) else None
    if not texts or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SourceAnswer(*wrong(answer, "no messages"))
    return texts


def wrong(answer: ServiceAnswer, sent: str) -> tuple[str, str]:
    """Message and hint of the error for an answer that is not what was asked for."""
    return f"{answer.url[:160]} answered {answer.status} with {sent}", "try again later"


ACCESSION = re.compile(r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}")
"""https://www.uniprot.org/help/accession_numbers"""

FIELDS = (
    "accession,id,gene_names,protein_name,organism_id,organism_name,sequence,length,go,xref_pdb,xref_reactome,"
    "xref_string,cc_interaction,cc_disease,cc_tissue_specificity,cc_alternative_products,ft_mod_res,lit_pubmed_id"
)
"""Fields of an entry that are asked for: a whole one may have megabytes."""

BATCH = 500
"""Accessions of one call: the service takes 1,000, but no more than 500 of them fit on a page, and into an address."""


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
            params = {"accessions": ",".join(requested), "fields": FIELDS, "format": "json", "size": BATCH}
            read = partial(_records, wanted=frozenset(requested))
            try:
                records |= self._http.ask(self.service, "/uniprotkb/accessions", read, params=params)
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


def _records(answer: ServiceAnswer, *, wanted: frozenset[str]) -> dict[str, Record]:
    """Read the entries of a batch, each of which must have been asked for; a batch is one page."""
    if answer.status == 400:
        raise SourceUnanswerable(f"UniProt does not take the query: {'; '.join(_messages(answer))}", "correct it")
    page = answer.json() if answer.status == 200 else None
    if not isinstance(page, dict) or not isinstance(page.get("results"), list):
        raise SourceAnswer(*wrong(answer, "no page of results"))
    found: dict[str, Record] = {}
    for item in page["results"]:
        entry = _entry(item, answer)
        if not wanted & {entry.primary_accession, *entry.secondary_accessions}:
            raise SourceAnswer(*wrong(answer, f"an entry that was not asked for, {entry.primary_accession}"))
        if entry.primary_accession in found:
            raise SourceAnswer(*wrong(answer, f"an entry twice, {entry.primary_accession}"))
        found[entry.primary_accession] = _life(entry.primary_accession, entry, answer)
    return {accession: record for accession, record in found.items() if accession in wanted}


def _record(accession: str, answer: ServiceAnswer) -> Record:
    match answer.status:
        case 200:
            return _life(accession, _entry(answer.json(), answer), answer)
        case 303:
            place = urlsplit(answer.headers.get("Location", ""))
            if place.netloc and place.netloc != urlsplit(answer.url).netloc:
                raise SourceAnswer(f"{answer.url} redirects to another host, {place.netloc}", "try again later")
            target = place.path.rpartition("/")[2].removesuffix(".json")
            found = _life(accession, _entry(answer.json(), answer), answer)
            if found.state is not State.MERGED or found.successors != (target,):
                raise SourceAnswer(*wrong(answer, f"a redirect to {target!r}, and the life {found.state}"))
            return found
        case 404 | 400:
            _messages(answer)
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
        raise SourceAnswer(*wrong(answer, f"no UniProt entry: {wrong_parts(error, 1)}")) from error
