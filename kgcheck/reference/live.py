"""LiveReference: fetch UniProt and STRING answers for a few tasks, as rows over a snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from kgcheck import clock
from kgcheck.errors import SourceError, SourceUnanswerable
from kgcheck.model import Reason
from kgcheck.profile.catalogue import EdgeCheck, State
from kgcheck.profile.reference_files import NETWORKS, UNIPROT, NetworkType, load_reference_recipes
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.providers.http import Http
from kgcheck.providers.stringdb import LOWEST, Link, Network, StringDb, StringNames, batches, pair
from kgcheck.providers.uniprot import UniProt
from kgcheck.providers.uniprot_entry import (
    COVERED,
    MODIFICATION,
    Record,
    Rows,
    Terms,
    UniProtEntry,
    add_record,
    empty_rows,
    rename_links,
    terms_of,
)
from kgcheck.reference.ids_sql import STRING_ID, unmapped_topic
from kgcheck.reference.overlay import FIRST_LIVE_RELEASE, attach_overlay
from kgcheck.reference.retractions import mark_retracted, retracted_among
from kgcheck.reference.writer import SnapshotWriter


class LiveRelease(NamedTuple):
    """A live release and its rows."""

    source: str
    release: str
    at: datetime
    url_template: str
    rows: Rows
    topics: tuple[str, ...] = ()
    """Topics of the release, even where it has no row of them."""


def attach_live_rows(db: duckdb.DuckDBPyConnection, schema: Schema, releases: Sequence[LiveRelease]) -> None:
    """Put rows into a snapshot of their own, in memory, and attach it as ``live`` in place of the one before."""
    # Another connection, as what it uses and what it begins are its own.
    with db.cursor() as live:
        live.execute("DETACH live; ATTACH ':memory:' AS live; USE live").fetchall()
        # Few rows, and many statements: what is written at each end of a transaction is most of the work.
        live.begin()
        writer = SnapshotWriter(live, schema, FIRST_LIVE_RELEASE)
        for one in releases:
            _write(writer, one)
        writer.finish({})
        cited = {paper for one in releases for row in one.rows["link"] for paper in row.get("citations") or ()}
        if cited:
            mark_retracted(live, retracted_among(db, cited, "base"))
        live.commit()


def _write(writer: SnapshotWriter, release: LiveRelease) -> None:
    at = release.at.astimezone(UTC).replace(tzinfo=None, microsecond=0)
    named = {"source": release.source, "name": f"{release.source}, live", "release": release.release, "licence": ""}
    named |= {"released": release.at.date().isoformat(), "url_template": release.url_template, "file": ""}
    number = writer.add_release(named | {"sha256": "", "retrieved_at": at, "built_at": None})
    spoken = {*(row["relation"] for row in release.rows["link"]), *(row["topic"] for row in release.rows["covered"])}
    writer.add_topics(number, release.source, dict.fromkeys(sorted({*release.topics, *spoken}), False))
    for table, filled in release.rows.items():
        if filled:
            writer.add_rows(table, release.source, number, filled)


class _Task(NamedTuple):
    number: int
    head: str
    tail: str | None


class LiveReference:
    """UniProt and STRING, over a snapshot or alone.

    Before each join, `fetch` brings what the tasks need; after it, `causes` tells of which tasks a service could not be
    looked at.
    """

    def __init__(self, http: Http, uniprot: UniProt, string: StringDb, schema: Schema) -> None:
        self.http = http
        self._uniprot = uniprot
        self._string = string
        self._schema = schema
        recipes = [r for r in load_reference_recipes(schema) if r.source == UNIPROT]
        self._modifications = {note: m for r in recipes for f in r.files for note, m in f.modifications.items()}
        self._links_by_kind = {kind: link for r in recipes for kind, link in r.links.items()}
        self._records: dict[str, Record] = {}
        self._terms: Terms | None = None
        self._string_ids: dict[str, str | None] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self.causes: dict[str, dict[int, Reason]] = {}
        """By source and number of the task, why a service could not be looked at for what was fetched last."""
        self.failures: dict[str, str] = {}
        self.refusals: dict[str, str] = {}

    def attach(self, db: duckdb.DuckDBPyConnection, snapshot: Path | None) -> None:
        """Make the catalog ``ref`` of a working database: live answers over a snapshot."""
        attach_overlay(db, snapshot, self._schema)
        self._terms = None

    def fetch(
        self, db: duckdb.DuckDBPyConnection, rows: Sequence[tuple[int, str, str | None]], part: Label | Pattern
    ) -> None:
        tasks = [_Task(*row) for row in rows]
        self.causes = {}
        releases = self._ask_uniprot(db, tasks, part)
        if isinstance(part, Pattern):
            for check in part.checks:
                if check.source in NETWORKS:
                    releases += self._ask_string(tasks, part, check)
        attach_live_rows(db, self._schema, releases)

    @property
    def releases(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(named) for name, named in self.http.releases.items()}

    def entry_of(self, accession: str) -> UniProtEntry | None:
        record = self._records.get(accession) or self._records.get(accession.split("-")[0])
        return record.entry if record else None

    def channels(self, record: str, network: NetworkType) -> dict[str, float]:
        link = self._links.get((network, record))
        return link.channels if link else {}

    def _ask_uniprot(
        self, db: duckdb.DuckDBPyConnection, tasks: list[_Task], part: Label | Pattern
    ) -> list[LiveRelease]:
        accessions_of = {task: self._accessions(task, part) for task in tasks}
        wanted = [a for accessions in accessions_of.values() for a in accessions]
        errors = self._fetch_records(wanted)
        # An edge is judged again with the replacement of an end, and a node that was merged names it.
        errors |= self._fetch_records(s for a in wanted if a in self._records for s in self._merged_into(a))
        for task, accessions in accessions_of.items():
            for accession in accessions:
                needed = [accession, *(self._merged_into(accession) if accession in self._records else [])]
                self._note(UNIPROT, task, *(errors[a] for a in needed if a in errors))
        if self._terms is None:
            self._terms = terms_of(db, "base.")
        known = list(dict.fromkeys(a for w in wanted if w in self._records for a in (w, *self._merged_into(w))))
        groups: dict[tuple[str, datetime], Rows] = {}
        for record in (self._records[a] for a in known if a in self._records):
            rows = groups.setdefault((record.release, record.retrieved_at), empty_rows())
            add_record(rows, record, self._modifications, self._terms)
        url = f"{self._uniprot.service.url}/uniprotkb/{{record}}.json"
        return [
            LiveRelease(UNIPROT, release, at, url, rename_links(rows, self._links_by_kind), self._topics)
            for (release, at), rows in groups.items()
        ]

    @property
    def _topics(self) -> tuple[str, ...]:
        return ("entity", "value", *(self._links_by_kind.get(kind, kind) for kind in (MODIFICATION, *COVERED)))

    def _accessions(self, task: _Task, part: Label | Pattern) -> list[str]:
        names = (part.head, part.tail) if isinstance(part, Pattern) else (part.name,)
        ends = [(self._schema.label(name), id_ or "") for name, id_ in zip(names, task[1:], strict=False)]
        return [label.base_id(id_) for label, id_ in ends if label.authority.source == UNIPROT and label.matches(id_)]

    def _merged_into(self, accession: str) -> tuple[str, ...]:
        record = self._records[accession]
        return record.successors if record.state is State.MERGED else ()

    def _fetch_records(self, accessions: Iterable[str]) -> dict[str, SourceError]:
        missing = [a for a in dict.fromkeys(accessions) if a not in self._records]
        found, errors = self._uniprot.records(missing) if missing else ({}, {})
        self._records |= found
        return errors

    def _ask_string(self, tasks: list[_Task], pattern: Pattern, check: EdgeCheck) -> list[LiveRelease]:
        """Ids and links, kept all or none: an id that belongs to another name makes every link a wrong one."""
        try:
            return self.http.whole(lambda: self._string_links(tasks, pattern, check))
        except StringNames as error:
            for task in tasks:
                self._note(check.source, task, error)
            return []

    def _string_links(self, tasks: list[_Task], pattern: Pattern, check: EdgeCheck) -> list[LiveRelease]:
        ends = {task: (self._now(pattern.head, task.head), self._now(pattern.tail, task.tail or "")) for task in tasks}
        errors = self._map(a for both in ends.values() for a in both)
        for task, both in ends.items():
            self._note(check.source, task, *(errors[a] for a in both if a in errors))
        ends = {task: both for task, both in ends.items() if not errors.keys() & set(both)}
        accessions: dict[str, list[str]] = {}
        for accession in dict.fromkeys(a for both in ends.values() for a in both):
            if known := self._string_ids[accession]:
                accessions.setdefault(known, []).append(accession)
        by_pair: dict[tuple[str, str], list[_Task]] = {}
        apart: list[str] = []
        for task, (head, tail) in ends.items():
            a, b = self._string_ids[head], self._string_ids[tail]
            if a and b and self._string.species_of(a) != self._string.species_of(b):
                apart += (head, tail)
            elif a and b and a != b:
                by_pair.setdefault(pair(a, b), []).append(task)
        unknown = sorted({a for both in ends.values() for a in both if self._string_ids[a] is None})
        unmapped = [{"topic": unmapped_topic(check.link), "id": a} for a in unknown]
        # No network links proteins of two species, whose ids begin with it.
        of_two_species = [
            {"id": a, "attribute": STRING_ID, "value": p, "status": "current", "record": p}
            for a in dict.fromkeys(apart)
            if (p := self._string_ids[a])
        ]
        releases = [*self._of_ids(check, "covered", unmapped), *self._of_ids(check, "value", of_two_species)]
        for some in batches(by_pair):
            try:
                network = self._string.network(sorted({p for both in some for p in both}), NETWORKS[check.source])
            except StringNames:
                self._string_ids.clear()
                raise
            except SourceError as error:
                for both in some:
                    for task in by_pair[both]:
                        self._note(check.source, task, error)
                continue
            releases.append(self._network_rows(network, accessions, check))
        return releases

    def _now(self, label: str, identifier: str) -> str:
        """The accession under which an end is known today."""
        accession = self._schema.label(label).base_id(identifier)
        if accession not in self._records:
            return accession
        return next(iter(self._merged_into(accession)), accession)

    def _map(self, accessions: Iterable[str]) -> dict[str, SourceError]:
        """Learn STRING's ids of accessions, those of one species together."""
        errors: dict[str, SourceError] = {}
        by_species: dict[int | None, list[str]] = {}
        for accession in sorted(a for a in set(accessions) if a not in self._string_ids):
            by_species.setdefault(self._species(accession), []).append(accession)
        for species, missing in by_species.items():
            try:
                found = self._string.ids(missing, species)
            except SourceError as error:
                errors |= dict.fromkeys(missing, error)
            else:
                self._check_ids(found)
                self._string_ids |= {a: found.get(a) for a in missing}
        return errors

    def _check_ids(self, string_ids: Mapping[str, str]) -> None:
        """Refuse an id of STRING that UniProt files under another protein, to which STRING gave none of its own."""
        entries = {accession: self.entry_of(accession) for accession in string_ids}
        filed = {a: {x.id for x in entry.references_to("STRING")} for a, entry in entries.items() if entry}
        astray = {a: string_id for a, string_id in string_ids.items() if filed.get(a) and string_id not in filed[a]}
        for accession, string_id in astray.items():
            if owner := next((other for other in astray if string_id in filed[other]), None):
                raise StringNames(
                    f"STRING gave {string_id[:40]} for {accession}, and UniProt has it for {owner}", "try again later"
                )

    def _species(self, accession: str) -> int | None:
        """The species under which STRING files an accession, which may be another than that of a strain, or None."""
        entry = self.entry_of(accession)
        if entry is None:
            return None
        filed = (reference.id.split(".")[0] for reference in entry.references_to("STRING"))
        of_entry = entry.organism.taxon_id if entry.organism else None
        return next((int(species) for species in filed if species.isdecimal()), of_entry)

    def _of_ids(self, check: EdgeCheck, table: str, rows: list[dict[str, Any]]) -> list[LiveRelease]:
        """Facts that the answers about ids alone state; none where STRING does not tell its version."""
        if not rows:
            return []
        try:
            release = self._string.version()
        except SourceError:
            return []
        url = f"{self._string.service.url}/api/json/get_string_ids?identifiers={{pair}}"
        return [LiveRelease(check.source, release, clock.now(), url, empty_rows() | {table: rows})]

    def _network_rows(self, network: Network, accessions: Mapping[str, list[str]], check: EdgeCheck) -> LiveRelease:
        rows = empty_rows()
        for protein in sorted(network.proteins):
            rows["covered"] += [{"topic": check.link, "id": a} for a in accessions[protein]]
        for (a, b), link in sorted(network.links.items()):
            self._links[NETWORKS[check.source], f"{a} {b}"] = link
            stated = {"relation": check.link, "score": link.score, "negated": False, "record": f"{a} {b}"}
            rows["link"] += [{"head": h, "tail": t, **stated} for h in accessions[a] for t in accessions[b]]
        kind = "" if NETWORKS[check.source] == "functional" else f"&network_type={NETWORKS[check.source]}"
        species = self._string.species_of(min(network.proteins))
        template = f"{network.url}?identifiers={{pair}}&species={species}&required_score={LOWEST}{kind}"
        return LiveRelease(check.source, network.release, network.retrieved_at, template, rows)

    def _note(self, source: str, task: _Task, *errors: SourceError) -> None:
        """Remember why a task could not be looked at; what may be gone later comes before what never will be."""
        for error in sorted(errors, key=lambda e: not isinstance(e, SourceUnanswerable)):
            never = isinstance(error, SourceUnanswerable)
            cause = Reason.SOURCE_REFUSED if never else Reason.SOURCE_UNAVAILABLE
            (self.refusals if never else self.failures)[source] = error.message
            self.causes.setdefault(source, {})[task.number] = cause
