"""Bibliography snapshots: works of pinned files, merged by DOI and PMID in DuckDB, and looked up by id, title or place.

Records of one work are those that share a DOI or a PMID, in a chain of records; a reference list joins none, for it may
be wrong: what it states is kept beside the work whose id it names, or, without one, of the same title, author and year.

* ``release``: one row a file: source, release, date, hash, and whether it claims to have every work of its kind;
* ``work``, ``name``, ``statement``: works, the ids of each, and what each source states of it;
* ``lookup``: numbers under which a work is found by its title or its place in print (kgcheck.literature.titles);
* ``notice``: what retracts a work, where that is known; ``cites``: what it cites.

Like a reference snapshot it may come from anybody, is attached and never opened, and holds these tables alone.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from pydantic import ValidationError

from kgcheck import __version__, clock
from kgcheck.closing import Closing
from kgcheck.duck import confine, connected, insert_arrow, limits
from kgcheck.errors import InputFormat, InputMissing, KgcheckError, SnapshotError, SourceAnswer, UnknownName
from kgcheck.inputs import refuse_outside, sha256_of
from kgcheck.literature.documents import Rejected, clean
from kgcheck.literature.formats import json_lines, json_of, numbered, read_retractions
from kgcheck.literature.jats import (
    article_meta,
    ids_of,
    journal_of,
    notices_of,
    person_of,
    reference_of,
    text_of,
    xml_records,
    years_of,
)
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.titles import content_words, key_of, names_a_work, surnames, title_keys
from kgcheck.literature.works import Work, WorksFound, WorkStatement, ids_of_reference, place_in_print, silent
from kgcheck.model import Evidence
from kgcheck.outputs import replacing, write_hint
from kgcheck.progress import NoProgress, Progress
from kgcheck.providers import crossref, openalex
from kgcheck.providers.ncbi import work_of_article
from kgcheck.providers.paper_service import WorkFields, doi_id, first_page, last_page, pmid_id
from kgcheck.quoting import literal
from kgcheck.reference.build import file_date, refuse_out, undated_release
from kgcheck.reference.snapshot import SourceRelease, attaching, catalog_of, damage_named, refuse_place
from kgcheck.reference.writer import recency
from kgcheck.settings import Settings

_XML = (".xml", ".nxml")
_LINES = (".jsonl", ".ndjson", "")  # suffixes of files with one object a line; OpenAlex calls its own ``part_000.gz``
_OF_WORKS = "name a file of works of OpenAlex or Crossref"
_LONGEST = 2_000  # characters of a title or a name; what is longer is none


class ReadWork(NamedTuple):
    """A record of a file: where it stands, whose form it has, and what it states, or why it is none."""

    place: str
    source: str
    fields: WorkFields | Rejected


def read_works(path: Path) -> Iterator[ReadWork]:
    """The works of a file, and those that their reference lists name."""
    for found in _of_xml(path) if _suffix(path) in _XML else _of_json(path):
        fields = _cleaned(found.fields) if isinstance(found.fields, WorkFields) else found.fields
        if fields is not None:
            yield found._replace(fields=fields)


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _cleaned(fields: WorkFields) -> WorkFields | Rejected | None:
    """A record that can be found again; None for an entry of a list that names nothing."""
    stated = (fields.key, fields.journal, fields.author, fields.volume, fields.issue, fields.page, fields.last_page)
    if any(len(text) > _LONGEST for text in (*fields.titles, *fields.ids, *stated)):
        detail = f"a title, name or id has over {_LONGEST:,} characters"
        return Rejected(reason="too_long", detail=detail, record=fields.key[:200])
    if not fields.ids and not fields.listed:
        return Rejected(reason="no_id", detail="the record has no DOI, PMID or PMCID", record=fields.key)
    if not (fields.ids or fields.titles or (fields.author and fields.volume and fields.page)):
        return None
    return fields._replace(
        titles=tuple(dict.fromkeys(filter(None, map(clean, fields.titles)))),
        journal=clean(fields.journal),
        author=clean(fields.author),
        volume=clean(fields.volume),
    )


def _of_xml(path: Path) -> Iterator[ReadWork]:
    number = 0
    for number, element in enumerate(xml_records(path, "XML of PubMed or JATS", {"PubmedArticle", "article"}), 1):
        if element.tag == "article":
            source, found = "jats", _works_of_article(element)
        else:
            nothing = Rejected(reason="malformed", detail="the record has no MedlineCitation with an Article")
            source, found = "pubmed", [work_of_article(element) or nothing]
        for fields in found:
            yield ReadWork(f"{path}, record {number}", source, fields)
    if not number:
        raise InputFormat(f"{path} has no record of PubMed and no article of JATS", "name a file of PubMed or JATS")


def _works_of_article(article: Any) -> list[WorkFields | Rejected]:
    meta = article_meta(article)
    if isinstance(meta, Rejected):
        return [meta]
    ids = ids_of(meta)
    notices = [n for n in notices_of(article, ids) if n.kind == "retraction"]
    listed = [_listed(ids[0], element) for element in article.iter("ref") if element.get("id")]
    doi = next((i for i in ids if i.startswith("doi:")), "")
    subtitle = text_of(meta.find("title-group/subtitle"))
    title = text_of(meta.find("title-group/article-title"))
    own = WorkFields(
        key=ids[0],
        ids=ids,
        titles=tuple(filter(None, (f"{title}: {subtitle}" if subtitle else "", title))),
        years=years_of(meta),
        journal=journal_of(article),
        author=_first_author(meta),
        volume=text_of(meta.find("volume")),
        issue=text_of(meta.find("issue")),
        page=first_page(text_of(meta.find("fpage")) or text_of(meta.find("elocation-id"))),
        last_page=last_page(f"{text_of(meta.find('fpage'))}-{text_of(meta.find('lpage'))}"),
        retracted=any(n.of in ids for n in notices),
        notices=tuple(n.notice for n in notices if n.of in ids and n.notice),
        retracts=tuple(n.of for n in notices if n.of not in ids),
        cites=tuple(dict.fromkeys(i for fields in listed for i in fields.ids[:1])),
        url=f"https://doi.org/{doi.removeprefix('doi:')}" if doi else "",
    )
    return [own, *(fields._replace(url=own.url) for fields in listed)]


def _first_author(meta: Any) -> str:
    for author in (c for c in meta.iter("contrib") if c.get("contrib-type") in (None, "author")):
        if (name := author.find(".//name")) is not None:
            return person_of(name)
        if (group := author.find("collab")) is not None:
            return text_of(group)
    return ""


def _listed(citing: str, element: Any) -> WorkFields:
    entry = reference_of(str(element.get("id")), element)
    return WorkFields(
        key=f"{citing}#{entry.key}",
        ids=tuple(i for name in ids_of_reference(entry) for i in (*doi_id(name[4:]), *pmid_id(name[5:])) if i == name),
        titles=(entry.title,) if entry.title else (),
        years=(entry.year,) if entry.year else (),
        journal=entry.journal,
        author=entry.authors[0] if entry.authors else "",
        volume=entry.volume,
        issue=entry.issue,
        page=entry.page,
        last_page=entry.last_page,
        listed=True,
    )


def _of_json(path: Path) -> Iterator[ReadWork]:
    number = 0
    for place, raw in json_lines(path) if _suffix(path) in _LINES else _items(path):
        if isinstance(raw, Rejected):
            yield ReadWork(place, "", raw)
            continue
        number += 1
        openalex_work = str(raw.get("id")).startswith("https://openalex.org/W")
        source = "openalex" if openalex_work else "crossref" if isinstance(raw.get("DOI"), str) else ""
        if not source and number == 1:
            detail = f"{path} holds no works: its first record has neither an OpenAlex id nor a DOI"
            raise InputFormat(detail, _OF_WORKS)
        detail = "it is no work of OpenAlex or Crossref"
        made: list[WorkFields | Rejected] = [Rejected(reason="malformed", detail=detail, record=str(raw)[:200])]
        try:
            if source == "openalex":
                made = [openalex.work_fields(raw)]
            elif source == "crossref":
                made = [crossref.work_of(raw), *crossref.cited_in(raw)]
        except SourceAnswer as error:
            named = str(raw.get("id") or raw.get("DOI"))[:200]
            made = [Rejected(reason="malformed", detail=error.message, record=named)]
        yield from (ReadWork(place, source, fields) for fields in made)


def _items(path: Path) -> Iterator[tuple[str, dict[str, Any] | Rejected]]:
    """The works of a file that is one JSON value: a list, or an object with ``items`` as in the dump of Crossref."""
    whole = json_of(path)
    items = whole.get("items", [whole]) if isinstance(whole, dict) else whole
    if not isinstance(items, list):
        raise InputFormat(f"{path} holds no works", _OF_WORKS)
    return numbered(path, items)


FORMAT = "2"
KIND = "bibliography"
SOURCES = ("pubmed", "jats", "openalex", "crossref", "retractions")

_BATCH = 20_000

TABLES = """
CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR);
CREATE TABLE release (
    id INTEGER PRIMARY KEY, source VARCHAR, release VARCHAR, released VARCHAR, file VARCHAR, sha256 VARCHAR,
    retrieved_at TIMESTAMP, built_at TIMESTAMP, recency BIGINT, complete BOOLEAN);
CREATE TABLE work (number BIGINT, retracted BOOLEAN);
CREATE TABLE name (id VARCHAR, work BIGINT);
CREATE TABLE statement (
    work BIGINT, release_id INTEGER, stated_by VARCHAR, record VARCHAR, url VARCHAR, titles VARCHAR[], years INTEGER[],
    journal VARCHAR, author VARCHAR, volume VARCHAR, issue VARCHAR, page VARCHAR, last_page VARCHAR);
CREATE TABLE lookup (key UBIGINT, work BIGINT);
CREATE TABLE notice (work BIGINT, notice VARCHAR, release_id INTEGER);
CREATE TABLE cites (work BIGINT, cited VARCHAR);
"""

_WORKING = """
CREATE TEMP TABLE entry AS
    SELECT 0::BIGINT AS entry, * EXCLUDE (work), false AS retracted, 0::UBIGINT AS alike, []::UBIGINT[] AS keys,
        []::VARCHAR[] AS ids, []::VARCHAR[] AS cites
    FROM statement LIMIT 0;
CREATE TEMP TABLE gone (id VARCHAR, notice VARCHAR, release_id INTEGER);
"""


class BuiltBibliography(NamedTuple):
    """Summary of a build: works, statements by source, and what went to the quarantine."""

    works: int
    statements: dict[str, int]
    rejected: int
    quarantine: Path


def build_bibliography(
    folder: Path,
    out: Path,
    settings: Settings,
    *,
    releases: Mapping[str, str] | None = None,
    complete: Collection[str] = (),
    retractions: Sequence[Path] = (),
    progress: Progress | None = None,
) -> BuiltBibliography:
    """Build a bibliography snapshot from every file of works under a folder.

    The snapshot appears under its name only when it is whole. What cannot be read goes to a quarantine file beside it.
    """
    for source in (*(releases or {}), *complete):
        if source not in SOURCES:
            raise UnknownName("source", source, list(SOURCES))
    files = _files(folder)
    refuse_out(out)
    quarantine = out.with_name(f"{out.name}.quarantine.jsonl")
    try:
        with replacing(out) as partial, replacing(quarantine) as rejects:
            with connected(str(partial), config=limits(settings)) as db, rejects.open("w", encoding="utf-8") as lines:
                builder = _BibliographyBuilder(db, releases or {}, frozenset(complete), lines)
                with (progress or NoProgress()).step("reading works", len(files)) as step:
                    for path in files:
                        builder.add(path, folder)
                        step.advance()
                for path in retractions:
                    builder.add_retractions(path)
                built = builder.finish()
    except duckdb.OutOfMemoryException as error:
        raise KgcheckError(f"the work does not fit in memory: {error}", "raise KGCHECK_DUCKDB_MEMORY_LIMIT") from error
    except (OSError, duckdb.OperationalError, duckdb.FatalException, duckdb.InternalException) as error:
        raise SnapshotError(
            f"cannot write the snapshot {out}: {str(error).splitlines()[0]}", write_hint(error, "another --out")
        ) from error
    if not built.rejected:
        quarantine.unlink(missing_ok=True)
    return built._replace(quarantine=quarantine)


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", "give the folder with the files of works")
    forms = (*_XML, *_LINES[:2], ".json")
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (_suffix(path) in forms or (path.name.lower().endswith(".gz") and not _suffix(path)))
    ]
    if not files:
        raise InputMissing(
            f"the folder {folder} has no file of works",
            "PubMed XML, JATS, or works of OpenAlex or Crossref as JSON lines: see docs/bibliography.md",
        )
    for path in files:
        refuse_outside(folder, path)
    return files


class _BibliographyBuilder:
    def __init__(
        self, db: duckdb.DuckDBPyConnection, releases: Mapping[str, str], complete: frozenset[str], rejects: Any
    ) -> None:
        self._db = db
        self._stated = releases
        self._complete = complete
        self._rejects = rejects
        self._rejected = 0
        self._entries: list[dict[str, Any]] = []
        self._gone: list[dict[str, Any]] = []
        self._next_entry = 0
        self._releases: dict[tuple[str, Path], int] = {}
        self._now = clock.now().replace(tzinfo=None)
        db.execute(TABLES + _WORKING).fetchall()
        self._schemas = {t: db.sql(f"FROM {t} LIMIT 0").to_arrow_table().schema for t in ("entry", "gone")}

    def add(self, path: Path, folder: Path) -> None:
        """Add the works of a file; in a folder, one that cannot be read must not keep the others out."""
        try:
            for place, source, fields in read_works(path):
                if isinstance(fields, Rejected):
                    self._reject(fields.model_copy(update={"place": place}))
                    continue
                release = self._release(source, path, folder)
                self._put(fields, release)
                notices = [(i, notice) for notice in fields.notices for i in fields.ids[:1]]
                notices += [(i, fields.ids[0]) for i in fields.retracts]
                self._gone += [{"id": i, "notice": notice, "release_id": release} for i, notice in notices]
                if len(self._entries) >= _BATCH:
                    self._flush()
        except InputFormat as error:
            if path == folder:
                raise
            self._reject(Rejected(reason="malformed", detail=error.message, place=str(path)))

    def add_retractions(self, path: Path) -> None:
        release = self._release("retractions", path, path.parent)
        for gone in read_retractions(path):
            self._gone.append({"id": gone, "notice": None, "release_id": release})
            # A work that nothing else speaks of is known by this alone.
            self._put(WorkFields(key=gone, ids=(gone,), listed=True), release)
        self._flush()

    def _put(self, fields: WorkFields, release: int) -> None:
        place = place_in_print(fields.volume, fields.page)
        alike = None
        if fields.titles and names_a_work(fields.titles[0]) and fields.years and (names := surnames(fields.author)):
            alike = key_of(names[0], str(min(fields.years)), *content_words(fields.titles[0]))
        row = fields._asdict() | {
            "entry": self._next_entry,
            "release_id": release,
            "stated_by": "reference_list" if fields.listed else "record",
            "record": fields.key,
            "alike": alike,
            "keys": sorted(set(title_keys(fields.titles, fields.author, [place] if place else []))),
        }
        self._entries.append(row)
        self._next_entry += 1

    def _reject(self, rejected: Rejected) -> None:
        self._rejects.write(rejected.model_dump_json() + "\n")
        self._rejected += 1

    def _flush(self) -> None:
        for table, rows in (("entry", self._entries), ("gone", self._gone)):
            if rows:
                insert_arrow(self._db, table, pa.Table.from_pylist(rows, schema=self._schemas[table]))
                rows.clear()

    def _release(self, source: str, path: Path, folder: Path) -> int:
        if (source, path) not in self._releases:
            number = self._releases[source, path] = len(self._releases) + 1
            stated = self._stated.get(source, "")
            row = {
                "id": number,
                "source": source,
                "release": stated or undated_release(path),
                "released": "",
                "file": path.name if path == folder else str(path.relative_to(folder)),
                "sha256": sha256_of(path),
                "retrieved_at": file_date(path),
                "built_at": self._now,
                "recency": recency(file_date(path).date().isoformat()),
                "complete": source in self._complete,
            }
            marks = ", ".join(f"${name}" for name in row)
            self._db.execute(f"INSERT INTO release ({', '.join(row)}) VALUES ({marks})", row).fetchall()
        return self._releases[source, path]

    def finish(self) -> BuiltBibliography:
        self._flush()
        if not self._next_entry:
            raise InputFormat("no work could be read", "what was wrong with each file is in the quarantine file")
        self._db.execute(_JOINING_RECORDS).fetchall()
        changed = 1
        while changed:
            ((changed,),) = self._db.execute(_RELABEL).fetchall()
        self._db.execute(_JOINING_LISTS + _FINISHING).fetchall()
        for key, value in (("kind", KIND), ("format", FORMAT), ("kgcheck", __version__)):
            self._db.execute("INSERT INTO meta VALUES (?, ?)", [key, value]).fetchall()
        (works,) = self._db.execute("SELECT count(*) FROM work").fetchall()[0]
        counted = "SELECT source, count(*) FROM statement JOIN release ON id = release_id GROUP BY ALL ORDER BY ALL"
        statements = dict(self._db.execute(counted).fetchall())
        return BuiltBibliography(works, statements, self._rejected, Path())


# Each entry gets the number of its work: records by their ids, until nothing changes, then lists.
_JOINING_RECORDS = """
CREATE TEMP TABLE mark AS SELECT entry, unnest(ids) AS id FROM entry WHERE stated_by = 'record';
CREATE TEMP TABLE label AS SELECT entry, entry AS work FROM entry WHERE stated_by = 'record';
"""
_RELABEL = """
CREATE OR REPLACE TEMP TABLE better AS
WITH least AS (SELECT id, min(work) AS work FROM mark JOIN label USING (entry) GROUP BY id)
SELECT entry, min(least.work) AS work FROM mark JOIN least USING (id) GROUP BY entry;
UPDATE label SET work = better.work FROM better WHERE better.entry = label.entry AND better.work < label.work;
"""
_JOINING_LISTS = """
CREATE TEMP TABLE known AS SELECT id, min(work) AS work FROM mark JOIN label USING (entry) GROUP BY id;
-- A list names a work by its first id that has a record; without one, by its first id alone.
INSERT INTO label
SELECT entry, min_by(known.work, place)
FROM (SELECT entry, unnest(ids) AS id, generate_subscripts(ids, 1) AS place FROM entry
      WHERE stated_by = 'reference_list') JOIN known USING (id) GROUP BY entry;
INSERT INTO label
SELECT entry, min(entry) OVER (PARTITION BY ids[1]) FROM entry
WHERE stated_by = 'reference_list' AND len(ids) > 0 AND entry NOT IN (SELECT entry FROM label);
-- Without an id: the one work of the same title, author and year, else those that are listed so are one.
CREATE TEMP TABLE alike AS
SELECT alike, min(work) AS work FROM entry JOIN label USING (entry) WHERE alike IS NOT NULL
GROUP BY alike HAVING count(DISTINCT work) = 1;
INSERT INTO label
SELECT entry, coalesce(alike.work, min(entry) OVER (PARTITION BY coalesce(entry.alike, entry::UBIGINT)))
FROM entry LEFT JOIN alike USING (alike) WHERE entry NOT IN (SELECT entry FROM label);
"""
_FINISHING = """
CREATE TEMP TABLE labelled AS SELECT * FROM entry JOIN label USING (entry);
INSERT INTO statement BY NAME
SELECT DISTINCT * EXCLUDE (entry, retracted, alike, keys, ids, cites) FROM labelled
ORDER BY work, stated_by, release_id;
-- Ids of a list that names a work by another id are not the work's: they may be wrong.
INSERT INTO name
SELECT DISTINCT id, work FROM (
    SELECT unnest(ids) AS id, work FROM labelled WHERE stated_by = 'record'
    UNION ALL
    SELECT ids[1], work FROM labelled
    WHERE stated_by = 'reference_list' AND len(ids) > 0 AND ids[1] NOT IN (SELECT id FROM known))
ORDER BY id;
INSERT INTO lookup SELECT DISTINCT key, work FROM (SELECT unnest(keys) AS key, work FROM labelled) ORDER BY key;
INSERT INTO notice SELECT DISTINCT work, notice, release_id FROM gone JOIN name USING (id) ORDER BY work;
INSERT INTO work
SELECT work, bool_or(retracted OR work IN (SELECT work FROM notice)) FROM labelled GROUP BY work ORDER BY work;
INSERT INTO cites
SELECT DISTINCT work, cited FROM (SELECT work, unnest(cites) AS cited FROM labelled) ORDER BY work, cited;
"""


_AGAIN = "build it again"

_MOST_ALIKE = 40  # works of one key that are looked at; a key of more says nothing
_NUMBER = re.compile(r"[a-z]{0,3}\d{1,9}(?:[a-z]\d{1,9})?", re.IGNORECASE)
_MOST_NUMBERS = 40
_MOST_AROUND = 1_000
_DOI = re.compile(r"\b10\.\d{4,9}/\S{1,200}")
_OWNERS = {"doi": "crossref", "pmid": "pubmed"}
"""The source that would have every work with an id of a kind, where its files are complete."""


class Bibliography(Closing):
    """A bibliography snapshot, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = connected()
        try:
            refuse_place(path)
            with attaching(path):
                self._db.execute(f"ATTACH {literal(str(path.absolute()))} AS bib (READ_ONLY, TYPE duckdb)").fetchall()
            confine(self._db)
            with attaching(path):
                self._refuse_foreign()
            rows = self._rows("SELECT r FROM bib.release AS r ORDER BY id")
            self._releases: dict[int, dict[str, Any]] = {row["id"]: row for (row,) in rows}
        except BaseException:
            self.close()
            raise

    def _refuse_foreign(self) -> None:
        if catalog_of(self._db, "bib") != _expected():
            raise SnapshotError(
                f"{self.path} is no bibliography snapshot of this version of kgcheck",
                f"build one: kgcheck reference build DIR --kind {KIND} --out {self.path}",
            )
        meta = dict(self._rows("SELECT key, value FROM bib.meta"))
        if (meta.get("kind"), meta.get("format")) != (KIND, FORMAT):
            raise SnapshotError(f"{self.path} is a bibliography of format {meta.get('format')}, not {FORMAT}", _AGAIN)

    def close(self) -> None:
        self._db.close()

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with damage_named(self.path):
            return self._db.execute(sql, list(parameters)).fetchall()

    def releases(self) -> list[SourceRelease]:
        """List the files that it was built from, a row a file."""
        counts: dict[int, dict[str, int]] = defaultdict(dict)
        for release, kind, count in self._rows(
            """
            SELECT release_id, stated_by, count(*) FROM bib.statement GROUP BY ALL
            UNION ALL SELECT release_id, 'retracted', count(*) FROM bib.notice GROUP BY ALL ORDER BY ALL
            """
        ):
            counts[release][kind] = count
        return [
            SourceRelease(
                name=f"{row['source']}, complete" if row["complete"] else row["source"],
                licence="",
                rows=counts[number],
                **{name: row[name] for name in SourceRelease.model_fields.keys() & row.keys()},
            )
            for number, row in self._releases.items()
        ]

    def find(self, references: Sequence[CitedWork]) -> list[WorksFound]:
        """See Works: two look-ups for all of them."""
        ids = [ids_of_reference(r) for r in references]
        keys = [_keys_of(r) for r in references]
        named = self._numbers("name", "id", "VARCHAR", {i for some in ids for i in some})
        alike = self._numbers("lookup", "key", "UBIGINT", {k for some in keys for k in some})
        works = self._works({n for found in (named, alike) for some in found.values() for n in some})
        return [
            WorksFound(
                by_id=_distinct(works, (n for i in own for n in named.get(i, ()))),
                similar=_distinct(works, (n for k in some for n in alike.get(k, ()))),
                absent=tuple(e for i in own if i not in named and (e := self._absent(i))),
                looked=self._looked(reference),
            )
            for reference, own, some in zip(references, ids, keys, strict=True)
        ]

    def cites(self, name: str) -> tuple[str, ...]:
        """Ids of what a work cites."""
        rows = self._rows(
            "SELECT cited FROM bib.cites WHERE work IN (SELECT work FROM bib.name WHERE id = ?) ORDER BY cited", [name]
        )
        return tuple(cited for (cited,) in rows)

    def _numbers(self, table: str, column: str, kind: str, wanted: Iterable[Any]) -> dict[Any, list[int]]:
        found = self._rows(
            f"""
            SELECT {column}, list(work ORDER BY work) FROM bib.{table}
            WHERE {column} IN (SELECT unnest(?::{kind}[])) GROUP BY ALL HAVING count(*) <= {_MOST_ALIKE}
            """,
            [sorted(wanted)],
        )
        return dict(found)

    def _works(self, numbers: set[int]) -> dict[int, Work]:
        wanted = [sorted(numbers)]
        among = "WHERE work IN (SELECT unnest(?::BIGINT[]))"
        ids = dict(self._rows(f"SELECT work, list(id ORDER BY id) FROM bib.name {among} GROUP BY ALL", wanted))
        listed = f"SELECT work, list(DISTINCT notice ORDER BY notice) FROM bib.notice {among} AND notice IS NOT NULL"
        notices = dict(self._rows(f"{listed} GROUP BY ALL", wanted))
        gone = dict(self._rows(f"SELECT number, retracted FROM bib.work {among.replace('work', 'number')}", wanted))
        statements: dict[int, list[WorkStatement]] = defaultdict(list)
        for (stated,) in self._rows(f"SELECT s FROM bib.statement AS s {among} ORDER BY ALL", wanted):
            number = stated.pop("work")
            try:
                release = self._releases[stated.pop("release_id")]
                source = {name: release[name] for name in ("source", "release", "retrieved_at")}
                statements[number].append(WorkStatement(**source, **stated))
            except (ValidationError, KeyError) as error:
                raise SnapshotError(f"{self.path} is damaged: a statement of work {number} is none", _AGAIN) from error
        return {
            number: Work(
                ids=tuple(ids.get(number, ())),
                statements=tuple(stated),
                retracted=gone.get(number, False),
                notices=tuple(notices.get(number, ())),
            )
            for number, stated in statements.items()
        }

    def _absent(self, name: str) -> Evidence | None:
        """Evidence that an id does not exist, where one that would have it says that it has all.

        Ids that begin like it must be of that source: a DOI of another agency is not for it to deny.
        """
        owner = _OWNERS[name.partition(":")[0]]
        complete = [r for r in self._releases.values() if r["source"] == owner and r["complete"]]
        newest = max(complete, key=lambda r: int(r["recency"]), default=None)
        prefix = f"{name.partition('/')[0]}/" if name.startswith("doi:") else "pmid:"
        issues = """
            SELECT 1 FROM bib.name JOIN bib.statement USING (work) JOIN bib.release AS r ON r.id = release_id
            WHERE starts_with(name.id, ?) AND stated_by = 'record' AND source = ? LIMIT 1
        """
        if not newest or not self._rows(issues, [prefix, owner]):
            return None
        return silent(owner, newest["release"], newest["retrieved_at"], name, complete=True)

    def _looked(self, reference: CitedWork) -> tuple[Evidence, ...]:
        record = ", ".join(ids_of_reference(reference)) or reference.title or reference.text
        newest = {r["source"]: r for r in sorted(self._releases.values(), key=lambda r: int(r["recency"]))}
        return tuple(
            silent(source, r["release"], r["retrieved_at"], record, complete=False)
            for source, r in newest.items()
            if source != "retractions"
        )


def _distinct(works: dict[int, Work], numbers: Iterable[int]) -> tuple[Work, ...]:
    return tuple(works[n] for n in dict.fromkeys(numbers) if n in works)


def _keys_of(reference: CitedWork) -> tuple[int, ...]:
    """Return the keys of a reference without an id: its title, or two numbers of it as volume and page."""
    author = reference.authors[0] if reference.authors else ""
    titles = (reference.title,) if reference.title else ()
    return tuple(dict.fromkeys(title_keys(titles, author, places_in(reference))))


def places_in(reference: CitedWork) -> list[tuple[str, str]]:
    """Pairs of numbers in the text of a reference that may be volume and first page.

    >>> places_in(CitedWork(key="1", text="Doe J (2001) On cells. Nature 12: 345.", doi="10.5555/1"))
    [('2001', '12'), ('2001', '345'), ('12', '345'), ('345', '')]
    """
    before, _, after = reference.text.partition(reference.title) if reference.title else ("", "", reference.text)
    text = _DOI.sub(" ", f"{before[-_MOST_AROUND:]} {after[:_MOST_AROUND]}")
    found = [m.casefold() for m in _NUMBER.findall(text)][:_MOST_NUMBERS]
    return [(a, b) for at, a in enumerate(found) for b in found[at + 1 : at + 3] or ("",)]


@cache
def _expected() -> dict[tuple[str, str], tuple[object, ...]]:
    with connected() as db:
        db.execute(f"ATTACH ':memory:' AS bib; USE bib; {TABLES}").fetchall()
        return catalog_of(db, "bib")
