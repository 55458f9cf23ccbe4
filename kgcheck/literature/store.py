"""Files of an index: DocumentStore (documents, whole papers, sentences and embeddings, in SQLite) and Manifest.

The version of a store counts changes: an index that was built of another version is not of these documents.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kgcheck import __version__
from kgcheck.closing import Closing
from kgcheck.errors import IndexFault, InputError
from kgcheck.inputs import LONGEST_LINE, parse_json, read_only_address, read_whole
from kgcheck.literature.dense import Structure
from kgcheck.literature.documents import Document
from kgcheck.literature.lexical import SETTINGS
from kgcheck.literature.papers import WholePaper, parts_of
from kgcheck.model import Value

BUILT_FORMAT = 2
MANIFEST = "manifest.json"
DOCUMENTS = "documents.sqlite"
PAPERS = "papers.npy"  # file with the number of each row's paper; there where the index holds whole papers
SECTIONS_OF = "sections.npy"  # file with the place of each row's section in SECTIONS


class DenseManifest(Value):
    """The vectors of an index, and the model that they are of."""

    model: str
    digest: str = Field(description="SHA-256 of the weights of the model, 16 digits")
    runtime: str = Field(description="what computed the vectors, and how exactly; several, if not always the same")
    dimension: int
    metric: str = "cosine"
    structure: Structure


class Manifest(Value):
    """Manifest of an index, ``manifest.json``: the documents and the method that it was built with.

    An index that does not fit is refused, never searched.
    """

    format: int = BUILT_FORMAT
    kgcheck: str = __version__
    built_at: str
    version: int = Field(description="of the document store when the index was built")
    documents: int
    paragraphs: int = Field(default=0, description="of the documents, those that are paragraphs of whole papers")
    folder: str = Field(description="where the built parts are", pattern=r"^built-[0-9]+-[0-9]+$")
    lexical: dict[str, Any] = SETTINGS
    dense: DenseManifest | None = None

    @property
    def papers(self) -> int:
        """Papers, each counted once, whole or by its abstract alone."""
        return self.documents - self.paragraphs


def read_manifest(index: Path) -> Manifest:
    """The manifest of an index."""
    path = index / MANIFEST
    if not path.is_file():
        if (index / DOCUMENTS).is_file():
            raise IndexFault(f"the index in {index} is not finished", f"kgcheck corpus build --index {index}")
        raise IndexFault(f"there is no index in {index}", "kgcheck corpus add FILE --index DIR makes one")
    anew = f"kgcheck corpus build --index {index} --anew"
    try:
        raw = parse_json(read_whole(path))
        if raw.get("format") != BUILT_FORMAT or raw.get("lexical") != SETTINGS:
            raise IndexFault(
                f"the index in {index} was built by kgcheck {raw.get('kgcheck')}, which indexes otherwise",
                f"{anew} makes it again from its documents",
            )
        return Manifest.model_validate(raw)
    except (InputError, ValueError, AttributeError) as error:
        raise IndexFault(f"{path} is broken: {str(error)[:200]}", f"{anew} makes it again") from error


FORMAT = "2"
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE document (
    number INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, abstract TEXT NOT NULL, spans TEXT NOT NULL,
    year INTEGER, journal TEXT NOT NULL, types TEXT NOT NULL, retracted INTEGER NOT NULL, recipe TEXT NOT NULL,
    content TEXT NOT NULL UNIQUE, section TEXT NOT NULL, heading TEXT NOT NULL, paragraph INTEGER NOT NULL,
    paper INTEGER);
CREATE INDEX document_paper ON document (paper) WHERE paper IS NOT NULL;
CREATE TABLE paper (number INTEGER PRIMARY KEY, whole TEXT NOT NULL);
CREATE TABLE name (id TEXT PRIMARY KEY, number INTEGER NOT NULL, place INTEGER NOT NULL);
CREATE INDEX name_number ON name (number);
CREATE TABLE retraction (id TEXT PRIMARY KEY);
CREATE TABLE vector (number INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
CREATE TABLE sentence (number INTEGER PRIMARY KEY, embeddings BLOB NOT NULL);
"""

_COLUMNS = (
    *("title", "abstract", "spans", "year", "journal", "types", "retracted", "recipe", "content"),
    *("section", "heading", "paragraph", "paper"),
)

VECTORS, SENTENCES = "vector", "sentence"  # tables of embeddings: of whole documents, and of their sentences
_LISTED = "(SELECT value FROM json_each(?))"
_LISTED_TOGETHER = 10_000  # values of one such list: the length of a parameter is bounded


def packed(vectors: NDArray[np.float32]) -> bytes:
    """Pack vectors into a quarter of the room: eight bits a number, and the step of each vector before them."""
    steps = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-12).astype(np.float32) / 127
    whole = np.rint(vectors / steps[:, None]).astype(np.int8)
    return bytes(steps.tobytes() + whole.tobytes())


def unpacked(raw: bytes, dimension: int) -> NDArray[np.float32]:
    """Unpack vectors."""
    count = len(raw) // (dimension + 4)
    steps = np.frombuffer(raw, dtype=np.float32, count=count)
    whole = np.frombuffer(raw, dtype=np.int8, offset=4 * count).reshape(count, dimension)
    return np.asarray(whole * steps[:, None], dtype=np.float32)


class Added(StrEnum):
    """Results of adding a document to the store."""

    NEW = "new"
    UNCHANGED = "unchanged"
    MERGED = "merged"
    REPLACED = "replaced"
    COMPLETED = "completed"  # the whole paper came to an abstract that was there
    CONFLICT = "conflict"


class RecipeCount(NamedTuple):
    """Number of documents, and of paragraphs of whole papers, that came by one recipe."""

    recipe: str
    documents: int
    retracted: int
    first_year: int | None
    last_year: int | None
    paragraphs: int


class DocumentStore(Closing):
    """Documents in one SQLite file. May be used by several threads."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if not create and not path.exists():
            raise IndexFault(f"there is no index in {path.parent}", "kgcheck corpus add FILE --index DIR makes one")
        self._lock = threading.RLock()
        try:
            address = None if create else read_only_address(path)
            self._db = sqlite3.connect(
                address or path, uri=bool(address), check_same_thread=False, isolation_level=None, timeout=5.0
            )
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
        except (sqlite3.Error, OSError) as error:
            raise IndexFault(
                f"cannot open {path}: {error}", "name another index, or ask for the right to it"
            ) from error
        except InputError as error:
            raise IndexFault(error.message, error.hint) from error
        try:
            self._prepare(create=create, fixed=bool(address))
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, *, create: bool, fixed: bool) -> None:
        with self._telling():
            self._db.execute("PRAGMA trusted_schema = OFF")
            if not fixed:
                self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            tables = {row[0] for row in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if create and not tables:
                self._db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
                self._db.executemany("INSERT INTO meta VALUES (?, ?)", [("format", FORMAT), ("version", "0")])
        found = self.get_meta("format") if "meta" in tables or create else None
        if found != FORMAT:
            other = f": it has format {found}, this one reads {FORMAT}" if found else ""
            wrong = f"{self.path} is no document store of this version of kgcheck{other}"
            raise IndexFault(wrong, "make the index anew in another folder")

    @property
    def version(self) -> int:
        """Counts the changes."""
        return int(self.get_meta("version") or 0)

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM document")[0][0])

    @contextmanager
    def writing(self) -> Iterator[Self]:
        """One transaction: all or nothing."""
        with self._lock, self._telling():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def add(self, document: Document, *, replace: bool = False) -> tuple[Added, str]:
        """Put a document in."""
        content = document.content
        by_content = self._rows("SELECT number FROM document WHERE content = ?", [content])
        known = {i: n for i in document.ids if (n := self.number_of(i)) is not None}
        if by_content:
            number = by_content[0][0]
            strangers = [i for i, n in known.items() if n != number]
            if strangers and not replace:
                return Added.CONFLICT, strangers[0]
            for other in {known[i] for i in strangers}:
                self._drop(other)
            new = [i for i in document.ids if known.get(i) != number]
            self._name(number, new)
            if document.retracted:
                self._db.execute("UPDATE document SET retracted = 1 WHERE number = ? OR paper = ?", [number, number])
            if new:
                self._changed()
            return (Added.MERGED, self._ids(number)[0]) if new else (Added.UNCHANGED, "")
        if known and not replace:
            return Added.CONFLICT, next(iter(known))
        for other in set(known.values()):
            self._drop(other)
        number = self._insert(document, None)
        self._name(number, document.ids)
        self._changed()
        return (Added.REPLACED, next(iter(known))) if known else (Added.NEW, "")

    def add_paper(self, paper: WholePaper, *, replace: bool = False) -> tuple[Added, str]:
        """Put a whole paper in: its abstract, and each paragraph for itself.

        An abstract that is here under one of its ids, without the paper, is completed; the ids of both stay.
        """
        head, paragraphs = parts_of(paper)
        whole = paper.model_dump_json()
        known = {n for i in head.ids if (n := self.number_of(i)) is not None}
        before = next(iter(known)) if len(known) == 1 else None
        whole_before = self._rows("SELECT 1 FROM document WHERE paper = ? LIMIT 1", [before])
        completing = before is not None and bool(paragraphs) and not whole_before
        if before is not None and completing:
            head = head.model_copy(update={"ids": tuple(dict.fromkeys((*self._ids(before), *head.ids)))})
        became, met = self.add(head, replace=replace or completing)
        if became is Added.CONFLICT:
            return became, met
        number = self.number_of(paper.id) or 0
        kept = self._rows("SELECT whole FROM paper WHERE number = ?", [number])
        if kept and kept[0][0] == whole:
            return became, met
        if kept and not paragraphs:
            # An abstract that is here already, as a service knows it now: its links may have changed.
            if not whole_before:
                self._db.execute("UPDATE paper SET whole = ? WHERE number = ?", [whole, number])
            return became, met
        if kept and not (replace or completing):
            return Added.CONFLICT, paper.id
        self._drop_paragraphs(number)
        for part in paragraphs:
            self._name(self._insert(part, number), part.ids)
        self._db.execute("INSERT INTO paper VALUES (?, ?)", [number, whole])
        self._changed()
        return (Added.COMPLETED if completing else Added.REPLACED if kept else became), met

    def _insert(self, document: Document, paper: int | None) -> int:
        given = document.model_dump(include=set(_COLUMNS)) | {
            "spans": json.dumps(document.spans),
            "types": json.dumps(document.types),
            "content": document.content,
            "paper": paper,
        }
        marks = ", ".join(f":{name}" for name in _COLUMNS)
        row = self._db.execute(f"INSERT INTO document ({', '.join(_COLUMNS)}) VALUES ({marks})", given)
        return int(row.lastrowid or 0)

    def paper(self, name: str) -> WholePaper | None:
        """The whole paper with this id; None where there is none, or its abstract alone."""
        sql = """
            SELECT p.whole,
                d.retracted OR EXISTS (SELECT 1 FROM name n JOIN retraction USING (id) WHERE n.number = d.number)
            FROM paper p JOIN name m ON m.number = p.number JOIN document d ON d.number = p.number WHERE m.id = ?
        """
        rows = self._rows(sql, [name.partition("#")[0]])
        if not rows:
            return None
        paper = WholePaper.model_validate_json(rows[0][0])
        return paper.model_copy(update={"retracted": paper.retracted or bool(rows[0][1])})

    def parts(self, name: str) -> list[int]:
        """Numbers of the abstract and the paragraphs of the paper with this id, in order; none where it is not here."""
        number = self.number_of(name)
        return self._numbers("WHERE number = ? OR paper = ? ORDER BY paragraph", [number, number])

    def sections(self) -> tuple[list[int], list[str]] | None:
        """For each document, in order of number, the number of its paper and its section; None without whole papers."""
        if not self._rows("SELECT 1 FROM document WHERE paper IS NOT NULL LIMIT 1"):
            return None
        rows = self._rows("SELECT coalesce(paper, number), section FROM document ORDER BY number")
        return [row[0] for row in rows], [row[1] for row in rows]

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Take documents out by their ids; a document with several names leaves with its last one."""
        gone: list[str] = []
        with self.writing():
            for name in ids:
                if (number := self.number_of(name)) is not None:
                    self._db.execute("DELETE FROM name WHERE id = ?", [name])
                    if not self._ids(number):
                        self._drop(number)
                    gone.append(name)
            if gone:
                self._changed()
        return gone

    def retract(self, ids: Iterable[str]) -> int:
        """Remember that papers are retracted, those that are here and those that may come."""
        with self.writing():
            self._db.executemany("INSERT OR IGNORE INTO retraction VALUES (?)", ((i,) for i in ids))
        rows = self._rows("SELECT count(DISTINCT number) FROM name JOIN retraction USING (id)")
        return int(rows[0][0])

    def retracted(self, ids: Iterable[str]) -> set[str]:
        """Those of some ids that a list or a notice has retracted, whether their papers are here or not."""
        return {row[0] for row in self._rows_of(f"SELECT id FROM retraction WHERE id IN {_LISTED}", ids)}

    def documents(self, numbers: Sequence[int]) -> dict[int, Document]:
        """Documents by number; those that are not there are left out."""
        columns = ", ".join(_COLUMNS)
        rows = self._rows_of(f"SELECT number, {columns} FROM document WHERE number IN {_LISTED}", numbers)
        names: dict[int, list[str]] = {}
        gone: set[int] = set()
        for name, number, retracted in self._rows_of(
            "SELECT n.id, number, r.id IS NOT NULL FROM name n LEFT JOIN retraction r ON r.id = n.id"
            f" WHERE number IN {_LISTED} ORDER BY place",
            {n for row in rows for n in (row[0], row[-1]) if n is not None},
        ):
            names.setdefault(number, []).append(name)
            if retracted:
                gone.add(number)
        # A paragraph is retracted with its paper; what has no name, or whose paper has none, was removed meanwhile.
        return {
            row[0]: _document(row, names, retracted=not gone.isdisjoint((row[0], row[-1])))
            for row in rows
            if row[0] in names and (row[-1] is None or row[-1] in names)
        }

    def number_of(self, name: str) -> int | None:
        rows = self._rows("SELECT number FROM name WHERE id = ?", [name])
        return int(rows[0][0]) if rows else None

    def numbers(self) -> list[int]:
        return self._numbers("ORDER BY number")

    def texts(self) -> Iterator[tuple[int, str]]:
        """Number and indexed text of every document, in order."""
        return self._in_parts("SELECT number, trim(title || ' ' || abstract) FROM document", 2_000)

    def without(self, table: str) -> list[int]:
        """Numbers of the documents without embeddings in a table, VECTORS or SENTENCES, the longest last."""
        lacking = f"WHERE number NOT IN (SELECT number FROM {table})"
        return self._numbers(f"{lacking} ORDER BY length(title) + length(abstract), number")

    def _numbers(self, which: str, parameters: Sequence[Any] = ()) -> list[int]:
        return [row[0] for row in self._rows(f"SELECT number FROM document {which}", parameters)]

    def _in_parts(self, select: str, size: int) -> Iterator[Any]:
        last = 0
        while part := self._rows(f"{select} WHERE number > ? ORDER BY number LIMIT {size}", [last]):
            yield from part
            last = part[-1][0]

    def put(self, table: str, numbers: Sequence[int], embeddings: Sequence[bytes]) -> None:
        """Keep embeddings in a table, VECTORS or SENTENCES, one row a document."""
        with self.writing():
            self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", zip(numbers, embeddings, strict=True))

    def sentences(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """The embeddings of the sentences of documents, by number, of those that have them."""
        return dict(self._rows_of(f"SELECT * FROM sentence WHERE number IN {_LISTED}", numbers))

    def clear_vectors(self) -> None:
        with self.writing():
            self._db.execute("DELETE FROM vector")
            self._db.execute("DELETE FROM sentence")

    def vectors(self) -> Iterator[tuple[int, bytes]]:
        """Number and embedding, in order of number."""
        return self._in_parts("SELECT * FROM vector", 10_000)

    def listed(self) -> list[RecipeCount]:
        """Count the documents by recipe."""
        rows = self._rows(
            """
            WITH gone AS (SELECT DISTINCT number FROM name JOIN retraction USING (id))
            SELECT recipe, count(*) FILTER (WHERE paper IS NULL),
                   sum(retracted OR number IN gone) FILTER (WHERE paper IS NULL), min(year), max(year), count(paper)
            FROM document GROUP BY recipe ORDER BY recipe
            """
        )
        return [RecipeCount(*row) for row in rows]

    def ids(self, limit: int | None = None) -> list[tuple[str, int | None, bool, str]]:
        """Id, year, whether retracted, and title of documents, in the order in which they came."""
        numbers = self._numbers("WHERE paper IS NULL ORDER BY number LIMIT ?", [-1 if limit is None else limit])
        documents = self.documents(numbers)
        return [(d.id, d.year, d.retracted, d.title) for n in numbers if (d := documents.get(n))]

    def get_meta(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", [key])
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: str) -> None:
        with self.writing():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _changed(self) -> None:
        self._db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'version'")

    def _drop(self, number: int) -> None:
        self._drop_paragraphs(number)
        for table in ("document", "name", "vector", "sentence"):
            self._db.execute(f"DELETE FROM {table} WHERE number = ?", [number])

    def _drop_paragraphs(self, paper: int) -> None:
        """Take the paragraphs of a paper out, and the paper as a whole, but not its abstract."""
        parts = "SELECT number FROM document WHERE paper = ?"
        for table in ("name", "vector", "sentence"):
            self._db.execute(f"DELETE FROM {table} WHERE number IN ({parts})", [paper])
        self._db.execute("DELETE FROM document WHERE paper = ?", [paper])
        self._db.execute("DELETE FROM paper WHERE number = ?", [paper])

    def _ids(self, number: int) -> list[str]:
        return [row[0] for row in self._rows("SELECT id FROM name WHERE number = ? ORDER BY place", [number])]

    def _name(self, number: int, ids: Sequence[str]) -> None:
        start = len(self._ids(number))
        rows = [(name, number, start + i) for i, name in enumerate(dict.fromkeys(ids))]
        self._db.executemany("INSERT OR REPLACE INTO name VALUES (?, ?, ?)", rows)

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._lock, self._telling():
            return self._db.execute(sql, parameters).fetchall()

    def _rows_of(self, sql: str, listed: Iterable[Any]) -> list[Any]:
        values = list(listed)
        parts = (values[at : at + _LISTED_TOGETHER] for at in range(0, len(values), _LISTED_TOGETHER))
        return [row for part in parts for row in self._rows(sql, [json.dumps(part)])]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise IndexFault(
                f"the document store {self.path} failed: {error}", "another process may be writing; or free disk space"
            ) from error
        except sqlite3.DatabaseError as error:
            raise IndexFault(f"{self.path} is no document store: {error}", "make the index anew") from error


def _document(row: Sequence[Any], names: Mapping[int, Sequence[str]], *, retracted: bool) -> Document:
    stored = dict(zip(("number", *_COLUMNS), row, strict=True))
    known: dict[str, Any] = {
        "ids": tuple(names[stored["number"]]),
        "types": tuple(json.loads(stored["types"])),
        "retracted": bool(stored["retracted"]) or retracted,
        "paper": names[stored["paper"]][0] if stored["paper"] is not None else "",
    }
    fields = {name: value for name, value in stored.items() if name in Document.model_fields}
    # The sentences as they were when the document came, whatever the splitter does today.
    return Document(**fields | known).with_spans(tuple((a, b) for a, b in json.loads(stored["spans"])))
