"""Snapshot: open, check and attach a reference snapshot, a DuckDB file of pinned releases.

Tables (docs/snapshot.md):

* ``release``: one row a source file: source, release, date, licence, hash, and how a record is addressed;
* ``topic``: what a release speaks about, and whether it lists everything of that kind (``complete``) or only the
  subjects in ``covered``;
* ``entity``, ``value``, ``link``: identifiers, attribute values and edges as each release states them; of a link also
  the ids that its ends have now;
* ``lifecycle``: one row an identifier, the newest release deciding;
* ``ancestor``: the transitive closure of the hierarchies.

A snapshot may come from anybody. It is attached, never opened as the database of a connection, so that no name in it
takes the place of one that kgcheck uses; it must hold these tables and nothing else, for a view, a generated column or
a macro is a statement of whoever made it; and a connection that has one attached reaches no other file.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path

import duckdb

from kgcheck.closing import Closing
from kgcheck.duck import confine, connected
from kgcheck.errors import SnapshotError
from kgcheck.model import Value
from kgcheck.profile.schema import Schema
from kgcheck.quoting import literal
from kgcheck.reference.retractions import SOURCE as RETRACTIONS

FORMAT_VERSION = 5

TABLES = """
CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR);
CREATE TABLE release (
    id INTEGER PRIMARY KEY, source VARCHAR, name VARCHAR, release VARCHAR, released VARCHAR, licence VARCHAR,
    url_template VARCHAR, file VARCHAR, sha256 VARCHAR, retrieved_at TIMESTAMP, built_at TIMESTAMP,
    recency BIGINT);
CREATE TABLE topic (release_id INTEGER, source VARCHAR, topic VARCHAR, complete BOOLEAN);
CREATE TABLE covered (release_id INTEGER, source VARCHAR, topic VARCHAR, id VARCHAR);
CREATE TABLE entity (
    release_id INTEGER, source VARCHAR, id VARCHAR, namespace VARCHAR, state VARCHAR, name VARCHAR,
    successors VARCHAR[], candidates VARCHAR[], detail VARCHAR, record VARCHAR);
CREATE TABLE value (
    release_id INTEGER, source VARCHAR, id VARCHAR, attribute VARCHAR, value VARCHAR, status VARCHAR, record VARCHAR);
CREATE TABLE link (
    release_id INTEGER, source VARCHAR, relation VARCHAR, head VARCHAR, tail VARCHAR, score DOUBLE, negated BOOLEAN,
    record VARCHAR, head_now VARCHAR, tail_now VARCHAR, citations VARCHAR[], retracted BOOLEAN DEFAULT false);
"""


DERIVED_TABLES = """
CREATE TABLE lifecycle (
    source VARCHAR, id VARCHAR, namespace VARCHAR, state VARCHAR, name VARCHAR, successors VARCHAR[],
    candidates VARCHAR[], detail VARCHAR, record VARCHAR, release_id INTEGER);
CREATE TABLE ancestor (ontology VARCHAR, id VARCHAR, ancestor VARCHAR);
"""
"""Tables that kgcheck.reference.derive makes of the others."""


class SourceRelease(Value):
    """One pinned file of one source, as ``kgcheck reference show`` lists it."""

    source: str
    name: str
    release: str
    released: str
    licence: str
    file: str
    sha256: str
    retrieved_at: datetime
    built_at: datetime
    rows: dict[str, int]


class Snapshot(Closing):
    """A snapshot opened for reading, for graphs of a profile or, without one, to look at the snapshot itself."""

    def __init__(self, path: Path, schema: Schema | None = None) -> None:
        self.path = path
        self._db = connected()
        try:
            attach_snapshots(self._db, {"ref": path})
            with damage_named(path):
                self.meta = dict(self._db.execute("SELECT key, value FROM ref.meta").fetchall())
            if schema:
                refuse_unserved(self.sources, path, schema)
        except BaseException:
            self.close()
            raise

    @cached_property
    def sources(self) -> frozenset[str]:
        """The sources of which it has a release."""
        return sources_of(self._db, self.path)

    def serves(self, schema: Schema) -> frozenset[str]:
        """The sources of a profile that it has: with none, it can decide nothing of such a graph."""
        return schema.sources & self.sources

    def releases(self) -> list[SourceRelease]:
        names, rows = [name for name in SourceRelease.model_fields if name != "rows"], dict[int, dict[str, int]]()
        with damage_named(self.path):
            for table in ("entity", "value", "link"):
                counted = self._db.execute(f"SELECT release_id, count(*) FROM ref.{table} GROUP BY 1").fetchall()
                for release_id, n in counted:
                    rows.setdefault(release_id, {})[table] = n
            select = f"SELECT id, {', '.join(names)} FROM ref.release ORDER BY source, recency, file"
            listed = self._db.execute(select).fetchall()
        return [SourceRelease(**dict(zip(names, row[1:], strict=True)), rows=rows.get(row[0], {})) for row in listed]

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own to what is attached as ``ref``, for one thread."""
        return self._db.cursor()

    def check(self) -> None:
        with damage_named(self.path):
            for kind, table in _expected():
                if kind == "table":
                    # Every column is read, for a count alone would be answered from what stands beside the blocks.
                    self._db.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM ref.{table}").fetchall()

    def close(self) -> None:
        self._db.close()


def releases_of(path: Path | None, schema: Schema | None = None) -> tuple[SourceRelease, ...]:
    """The releases in a snapshot; none where there is none."""
    if path is None:
        return ()
    with Snapshot(path, schema) as snapshot:
        return tuple(snapshot.releases())


def sources_of(db: duckdb.DuckDBPyConnection, path: Path) -> frozenset[str]:
    """The sources of which the snapshot that is attached as ``ref`` has a release."""
    with damage_named(path):
        rows = db.execute("SELECT DISTINCT source FROM ref.release").fetchall()
    return frozenset(str(source) for (source,) in rows)


def refuse_unserved(sources: frozenset[str], path: Path, schema: Schema) -> None:
    """Refuse a snapshot that can decide nothing of a profile's graphs, nor lists retracted papers."""
    if schema.sources and not (schema.sources | {RETRACTIONS}) & sources:
        raise SnapshotError(
            f"{path} has no source that profile {schema.profile.name!r} asks: it has "
            f"{', '.join(sorted(sources)) or 'none'}",
            f"the profile asks {', '.join(sorted(schema.sources))}; build a snapshot from their files",
        )


def attach_snapshots(db: duckdb.DuckDBPyConnection, snapshots: Mapping[str, Path]) -> None:
    """Attach snapshots to a connection, which reaches no other file from then on."""
    states: dict[str, tuple[int, ...]] = {}
    for name, path in snapshots.items():
        refuse_place(path)
        # Without links, which may be turned meanwhile.
        file = path.resolve()
        before = _state_of(file)
        with attaching(path):
            # The type is named, and the path whole, so that DuckDB takes it for nothing else: sqlite:, https://.
            db.execute(f"ATTACH {literal(str(file))} AS {name} (READ_ONLY, TYPE duckdb)").fetchall()
        states[name] = before if before == _state_of(file) else ()
    confine(db)
    for name, path in snapshots.items():
        if states[name] not in _looked_at:
            with attaching(path):
                _refuse_foreign(db, name, path)
            _looked_at.update(filter(None, [states[name]]))


_looked_at: set[tuple[int, ...]] = set()
"""States of files that hold what a snapshot holds: a command opens one four times, and to look takes a tenth second."""


def _state_of(path: Path) -> tuple[int, ...]:
    """A file, and when it was changed or moved last; nothing where it is not there any more."""
    try:
        file = path.stat()
    except OSError:
        return ()
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns


@contextmanager
def damage_named(*paths: Path | None) -> Iterator[None]:
    """Say of a block of a snapshot that cannot be read which snapshot it is, and what to do."""
    try:
        yield
    except duckdb.Error as error:
        detail = str(error)
        if not any(paths) or not any(words in detail for words in _DAMAGE):
            raise
        shown = " or ".join(str(path) for path in paths if path)
        raise SnapshotError(f"the snapshot {shown} is damaged: {_one_line(detail)}", "build it again") from error


_DAMAGE = (
    "Corrupt database file",
    "checksum",
    "Could not read enough bytes",
    "Failed to load metadata pointer",
    "deserialize",
    "INTERNAL Error",
    "database has been invalidated",
)
"""Messages of DuckDB about a file whose blocks are not what was written."""


def refuse_place(path: Path) -> None:
    """Refuse what cannot be a whole snapshot."""
    if not path.is_file():
        if path.is_dir():
            hint = f"build one of its files: kgcheck reference build {path} --out reference.duckdb"
            raise SnapshotError(f"{path} is a folder, not a snapshot", hint)
        detail = f"{path} is no file, not a snapshot" if path.exists() else f"there is no snapshot at {path}"
        raise SnapshotError(detail, f"build one: kgcheck reference build DIR --out {path}")
    log = path.with_name(path.name + ".wal")
    if log.exists() or log.is_symlink():
        # DuckDB would run what stands there. A snapshot that is whole has none.
        raise SnapshotError(f"{path} is not finished: {log.name} lies beside it", "build it again")


@contextmanager
def attaching(path: Path) -> Iterator[None]:
    """Say of a file that cannot be attached that it is no snapshot."""
    try:
        yield
    except (duckdb.Error, UnicodeError) as error:
        raise SnapshotError(f"{path} is not a reference snapshot: {_one_line(str(error))}", "build it again") from error


def _refuse_foreign(db: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    """Refuse a file that holds anything but the tables of a snapshot of this format."""
    found, expected = catalog_of(db, name), _expected()
    # Before anything is read: a view is a statement of whoever made it.
    if foreign := [entry for entry in found if entry not in expected]:
        kind, called = foreign[0]
        raise SnapshotError(
            f"{path} is not a reference snapshot: it holds the {kind} {called!r}, which no snapshot has",
            "use only snapshots that kgcheck reference build made",
        )
    columns = ("table", "meta")
    if found.get(columns) != expected[columns]:
        raise SnapshotError(f"{path} is not a reference snapshot: it says nothing of itself", "build it again")
    stated = dict(db.execute(f"SELECT key, value FROM {name}.meta WHERE key = 'format'").fetchall()).get("format")
    if stated != str(FORMAT_VERSION):
        raise SnapshotError(
            f"{path} is a snapshot of format {stated}, not {FORMAT_VERSION}",
            "build it again with this version of kgcheck",
        )
    for (kind, called), form in expected.items():
        if (kind, called) not in found:
            raise SnapshotError(f"{path} is damaged: it lacks the {kind} {called!r}", "build it again")
        if found[kind, called] != form:
            raise SnapshotError(
                f"{path} is not a reference snapshot: its {kind} {called!r} has another form",
                "use only snapshots that kgcheck reference build made",
            )


def catalog_of(db: duckdb.DuckDBPyConnection, name: str) -> dict[tuple[str, str], tuple[object, ...]]:
    """Everything that the catalog of an attached file lists, by kind and name, with what it is like."""
    selects = " UNION ALL ".join(
        f"SELECT {place} AS place, '{kind}' AS kind, {names} AS called, ({form})::VARCHAR AS form "
        f"FROM {source} WHERE database_name = $name"
        for place, (kind, names, form, source) in enumerate(_KINDS)
    )
    rows = db.execute(
        f"SELECT kind, called, list(form ORDER BY form) FROM ({selects}) GROUP BY place, kind, called ORDER BY place",
        {"name": name},
    ).fetchall()
    return {(kind, str(called)): tuple(forms) for kind, called, forms in rows}


_KINDS = (
    # Views, macros and types are looked for whether or not the file calls them DuckDB's own.
    ("view", "view_name", "sql", "duckdb_views()"),
    ("macro", "function_name", "function_type", "duckdb_functions()"),
    ("type", "type_name", "row(logical_type, internal)", "duckdb_types()"),
    ("trigger", "trigger_name", "sql", "duckdb_triggers()"),
    ("sequence", "sequence_name", "sql", "duckdb_sequences()"),
    ("schema", "schema_name", "internal", "duckdb_schemas()"),
    ("index", "index_name", "row(table_name, sql)", "duckdb_indexes()"),
    (
        "table",
        "table_name",
        "row(schema_name, column_index, column_name, data_type, column_default, is_nullable)",
        "duckdb_columns()",
    ),
    ("constraint", "table_name", "row(schema_name, constraint_type, constraint_text)", "duckdb_constraints()"),
)
"""Kinds of entries of a catalog, the worst first: what they are called and are like, and where DuckDB lists them."""


@cache
def _expected() -> dict[tuple[str, str], tuple[object, ...]]:
    with connected() as db:
        db.execute(f"ATTACH ':memory:' AS ref; USE ref; {TABLES} {DERIVED_TABLES}").fetchall()
        return catalog_of(db, "ref")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


_KEY = "'bare link ' || to_json([{source}, {relation}])::VARCHAR"
"""SQL for the key in ``meta``."""


def note_bare(db: duckdb.DuckDBPyConnection) -> None:
    """Note in ``meta`` of a snapshot that is being built, whose links are up to date, which relations are bare."""
    db.execute(f"""
        INSERT INTO meta SELECT {_KEY.format(source="source", relation="relation")}, '' FROM link
        GROUP BY source, relation
        HAVING bool_and(score IS NULL AND record IS NOT DISTINCT FROM head_now || ' ' || tail_now)""").fetchall()


def is_bare(db: duckdb.DuckDBPyConnection, source: str, relation: str) -> bool:
    """Tell whether the snapshot notes a relation of a source as bare."""
    noted = f"SELECT 1 FROM ref.meta WHERE key = {_KEY.format(source='$source', relation='$relation')}"
    return bool(db.execute(noted, {"source": source, "relation": relation}).fetchall())
