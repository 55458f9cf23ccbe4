"""Build a bibliography snapshot: works of pinned files, merged by DOI and PMID, in DuckDB.

Records of one work are those that share a DOI or a PMID, in a chain of records; a reference list joins none, for it may
be wrong: what it states is kept beside the work whose id it names, or, without one, of the same title, author and year.

* ``release``: one row a file: source, release, date, hash, and whether it claims to have every work of its kind;
* ``work``, ``name``, ``statement``: works, the ids of each, and what each source states of it;
* ``lookup``: numbers under which a work is found by its title or its place in print (kgcheck.literature.titles);
* ``notice``: what retracts a work, where that is known; ``cites``: what it cites.

Like a reference snapshot it may come from anybody, is attached and never opened, and holds these tables alone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from kgcheck import __version__, clock
from kgcheck.duck import connected, insert_arrow, limits
from kgcheck.errors import InputFormat, InputMissing, KgcheckError, SnapshotError, SourceAnswer, UnknownName
from kgcheck.inputs import refuse_outside, sha256_of
from kgcheck.literature.documents import Rejected, clean
from kgcheck.literature.formats import json_lines, json_of, numbered, read_retractions
from kgcheck.literature.jats import ids_of, journal_of, notices_of, reference_of, text_of, years_of
from kgcheck.literature.titles import content_words, key_of, names_a_work, surnames, title_keys
from kgcheck.literature.works import ids_of_reference, place_in_print
from kgcheck.literature.xml_records import xml_records
from kgcheck.outputs import replacing, write_hint
from kgcheck.progress import NoProgress, Progress
from kgcheck.providers import crossref, openalex
from kgcheck.providers.paper_service import WorkFields, doi_id, first_page, last_page, pmid_id
from kgcheck.providers.pubmed import work_of_article
from kgcheck.reference.build import file_date, refuse_out, undated_release
from kgcheck.reference.writer import recency
from kgcheck.settings import Settings

_XML = (".xml", ".nxml")
_LINES = (".jsonl", ".ndjson", "")
"""Suffixes of files with one object a line; OpenAlex calls its own ``part_000.gz``."""

_OF_WORKS = "name a file of works of OpenAlex or Crossref"
_LONGEST = 2_000
"""Characters of a title or a name; what is longer is none."""


class ReadWork(NamedTuple):
    """A record of a file: where it stands, whose form it has, and what it states, or why it is none."""

    place: str
    source: str
    fields: WorkFields | Rejected


def holds_works(path: Path) -> bool:
    """Tell whether a file may hold works, by its name."""
    packed = path.name.lower().endswith(".gz")
    bare = Path(path.name.lower().removesuffix(".gz")).suffix
    return bare in (*_XML, *_LINES[:2], ".json") or (packed and not bare)


def read_works(path: Path) -> Iterator[ReadWork]:
    """The works of a file, and those that their reference lists name."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    for found in _of_xml(path) if suffix in _XML else _of_json(path, suffix):
        fields = _cleaned(found.fields) if isinstance(found.fields, WorkFields) else found.fields
        if fields is not None:
            yield found._replace(fields=fields)


def _cleaned(fields: WorkFields) -> WorkFields | Rejected | None:
    """A record that can be found again; None for an entry of a list that names nothing."""
    texts = (*fields.titles, fields.journal, fields.author, fields.volume, fields.issue, fields.page, fields.last_page)
    texts += (fields.key, *fields.ids)
    if any(len(text) > _LONGEST for text in texts):
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
    meta = article.find("front/article-meta")
    if meta is None:
        return [Rejected(reason="malformed", detail="the article has no front/article-meta")]
    ids = ids_of(meta)
    if not ids:
        title = text_of(meta.find("title-group/article-title"))
        return [Rejected(reason="no_id", detail="the article has no DOI, PMID or PMCID", record=title[:200])]
    notices = [n for n in notices_of(article, ids) if n.kind == "retraction"]
    listed = [_listed(ids[0], element) for element in article.iter("ref") if element.get("id")]
    doi = next((i for i in ids if i.startswith("doi:")), "")
    heading = meta.find("title-group")
    subtitle = text_of(heading.find("subtitle")) if heading is not None else ""
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
    for contributor in meta.iter("contrib"):
        if contributor.get("contrib-type") not in (None, "author"):
            continue
        name = contributor.find(".//name")
        if name is not None:
            return " ".join(filter(None, (text_of(name.find("surname")), text_of(name.find("given-names")))))
        if contributor.find("collab") is not None:
            return text_of(contributor.find("collab"))
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


def _of_json(path: Path, suffix: str) -> Iterator[ReadWork]:
    number = 0
    for place, raw in json_lines(path) if suffix in _LINES else _items(path):
        if isinstance(raw, Rejected):
            yield ReadWork(place, "", raw)
            continue
        number += 1
        openalex_work = str(raw.get("id")).startswith("https://openalex.org/W")
        source = "openalex" if openalex_work else "crossref" if isinstance(raw.get("DOI"), str) else ""
        if not source and number == 1:
            detail = f"{path} holds no works: its first record has neither an OpenAlex id nor a DOI"
            raise InputFormat(detail, _OF_WORKS)
        made: list[WorkFields | Rejected] = []
        try:
            if source == "openalex":
                made = [openalex.work_fields(raw)]
            elif source == "crossref":
                made = [crossref.work_of(raw), *crossref.cited_in(raw)]
            else:
                detail = "it is no work of OpenAlex or Crossref"
                made = [Rejected(reason="malformed", detail=detail, record=str(raw)[:200])]
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

_ENTRY = pa.schema(
    {
        "entry": pa.int64(),
        "release_id": pa.int32(),
        **dict.fromkeys(("stated_by", "record", "url"), pa.string()),
        "titles": pa.list_(pa.string()),
        "years": pa.list_(pa.int32()),
        **dict.fromkeys(("journal", "author", "volume", "issue", "page", "last_page"), pa.string()),
        "retracted": pa.bool_(),
        "alike": pa.uint64(),
        "keys": pa.list_(pa.uint64()),
        "ids": pa.list_(pa.string()),
        "cites": pa.list_(pa.string()),
    }
)
_GONE = pa.schema({"id": pa.string(), "notice": pa.string(), "release_id": pa.int32()})
_WORKING = {"entry": _ENTRY, "gone": _GONE}


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
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and holds_works(p)]
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
        db.execute(TABLES).fetchall()
        for table, schema in _WORKING.items():
            db.register("empty", schema.empty_table())
            db.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM empty").fetchall()
            db.unregister("empty")

    def add(self, path: Path, folder: Path) -> None:
        """Add the works of a file; in a folder, one that cannot be read must not keep the others out."""
        try:
            for found in read_works(path):
                self._add(found, path, folder)
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

    def _add(self, found: ReadWork, path: Path, folder: Path) -> None:
        fields = found.fields
        if isinstance(fields, Rejected):
            self._reject(fields.model_copy(update={"place": found.place}))
            return
        release = self._release(found.source, path, folder)
        self._put(fields, release)
        self._gone += [{"id": i, "notice": n, "release_id": release} for n in fields.notices for i in fields.ids[:1]]
        self._gone += [{"id": i, "notice": fields.ids[0], "release_id": release} for i in fields.retracts]
        if len(self._entries) >= _BATCH:
            self._flush()

    def _put(self, fields: WorkFields, release: int) -> None:
        self._entries.append({"entry": self._next_entry, "release_id": release, **_row(fields)})
        self._next_entry += 1

    def _reject(self, rejected: Rejected) -> None:
        self._rejects.write(rejected.model_dump_json() + "\n")
        self._rejected += 1

    def _flush(self) -> None:
        for table, rows in (("entry", self._entries), ("gone", self._gone)):
            if rows:
                insert_arrow(self._db, table, pa.Table.from_pylist(rows, schema=_WORKING[table]))
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
        self._join()
        for statement in _FINISHING:
            self._db.execute(statement).fetchall()
        for key, value in (("kind", KIND), ("format", FORMAT), ("kgcheck", __version__)):
            self._db.execute("INSERT INTO meta VALUES (?, ?)", [key, value]).fetchall()
        (works,) = self._db.execute("SELECT count(*) FROM work").fetchall()[0]
        counted = "SELECT source, count(*) FROM statement JOIN release ON id = release_id GROUP BY ALL ORDER BY ALL"
        statements = dict(self._db.execute(counted).fetchall())
        return BuiltBibliography(works, statements, self._rejected, Path())

    def _join(self) -> None:
        """Give each entry the number of its work: of records by their ids, until nothing changes, then of lists."""
        for statement in _JOINING_RECORDS:
            self._db.execute(statement).fetchall()
        changed = 1
        while changed:
            self._db.execute(_BETTER).fetchall()
            ((changed,),) = self._db.execute(_RELABEL).fetchall()
        for statement in _JOINING_LISTS:
            self._db.execute(statement).fetchall()


_JOINING_RECORDS = (
    "CREATE TEMP TABLE mark AS SELECT entry, unnest(ids) AS id FROM entry WHERE stated_by = 'record'",
    "CREATE TEMP TABLE label AS SELECT entry, entry AS work FROM entry WHERE stated_by = 'record'",
)
_BETTER = """
CREATE OR REPLACE TEMP TABLE better AS
WITH least AS (SELECT id, min(work) AS work FROM mark JOIN label USING (entry) GROUP BY id)
SELECT entry, min(least.work) AS work FROM mark JOIN least USING (id) GROUP BY entry
"""
_RELABEL = """
UPDATE label SET work = better.work FROM better WHERE better.entry = label.entry AND better.work < label.work
"""
_JOINING_LISTS = (
    "CREATE TEMP TABLE known AS SELECT id, min(work) AS work FROM mark JOIN label USING (entry) GROUP BY id",
    # A list names a work by its first id that has a record; without one, by its first id alone.
    """
    INSERT INTO label
    SELECT entry, min_by(known.work, place)
    FROM (SELECT entry, unnest(ids) AS id, generate_subscripts(ids, 1) AS place FROM entry
          WHERE stated_by = 'reference_list') JOIN known USING (id) GROUP BY entry
    """,
    """
    INSERT INTO label
    SELECT entry, min(entry) OVER (PARTITION BY ids[1]) FROM entry
    WHERE stated_by = 'reference_list' AND len(ids) > 0 AND entry NOT IN (SELECT entry FROM label)
    """,
    # Without an id: the one work of the same title, author and year, else those that are listed so are one.
    """
    CREATE TEMP TABLE alike AS
    SELECT alike, min(work) AS work FROM entry JOIN label USING (entry) WHERE alike IS NOT NULL
    GROUP BY alike HAVING count(DISTINCT work) = 1
    """,
    """
    INSERT INTO label
    SELECT entry, coalesce(alike.work, min(entry) OVER (PARTITION BY coalesce(entry.alike, entry::UBIGINT)))
    FROM entry LEFT JOIN alike USING (alike) WHERE entry NOT IN (SELECT entry FROM label)
    """,
)
_FINISHING = (
    """
    INSERT INTO statement
    SELECT DISTINCT work, release_id, stated_by, record, url, titles, years, journal, author, volume, issue, page,
        last_page
    FROM entry JOIN label USING (entry) ORDER BY work, stated_by, release_id
    """,
    # Ids of a list that names a work by another id are not the work's: they may be wrong.
    """
    INSERT INTO name
    SELECT DISTINCT id, work FROM (
        SELECT unnest(ids) AS id, work FROM entry JOIN label USING (entry) WHERE stated_by = 'record'
        UNION ALL
        SELECT ids[1], work FROM entry JOIN label USING (entry)
        WHERE stated_by = 'reference_list' AND len(ids) > 0 AND ids[1] NOT IN (SELECT id FROM known))
    ORDER BY id
    """,
    """
    INSERT INTO lookup
    SELECT DISTINCT key, work FROM (SELECT unnest(keys) AS key, work FROM entry JOIN label USING (entry)) ORDER BY key
    """,
    """
    INSERT INTO notice
    SELECT DISTINCT work, notice, release_id FROM gone JOIN name USING (id) ORDER BY work
    """,
    """
    INSERT INTO work
    SELECT work, bool_or(retracted OR work IN (SELECT work FROM notice)) FROM entry JOIN label USING (entry)
    GROUP BY work ORDER BY work
    """,
    """
    INSERT INTO cites
    SELECT DISTINCT work, cited FROM (SELECT work, unnest(cites) AS cited FROM entry JOIN label USING (entry))
    ORDER BY work, cited
    """,
)


def _row(fields: WorkFields) -> dict[str, Any]:
    place = place_in_print(fields.volume, fields.page)
    return fields._asdict() | {
        "stated_by": "reference_list" if fields.listed else "record",
        "record": fields.key,
        "alike": _alike(fields),
        "keys": sorted(set(title_keys(fields.titles, fields.author, [place] if place else []))),
    }


def _alike(fields: WorkFields) -> int | None:
    if not (fields.titles and names_a_work(fields.titles[0]) and fields.years and surnames(fields.author)):
        return None
    return key_of(surnames(fields.author)[0], str(min(fields.years)), *content_words(fields.titles[0]))
