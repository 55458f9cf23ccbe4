"""A reference snapshot: one DuckDB file with what the sources said in pinned releases.

Tables (docs/snapshot.md):

* ``release``: one row a source file: source, release, date, licence, hash, and how a record is addressed;
* ``topic``: what a release speaks about, and whether it lists everything of that kind (``complete``) or only the
  subjects in ``covered``;
* ``entity``, ``value``, ``link``: identifiers, attribute values and edges as each release states them; of a link also
  the ids that its ends have now;
* ``lifecycle``: one row an identifier, the newest release deciding;
* ``ancestor``: the transitive closure of the hierarchies.
"""

from datetime import datetime
from pathlib import Path

import duckdb

from kgcheck.closing import Closing
from kgcheck.errors import SnapshotError
from kgcheck.graph.schema import Schema
from kgcheck.model import Value

FORMAT_VERSION = 4

TABLES = """
CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR);
CREATE TABLE release (
    id INTEGER PRIMARY KEY, source VARCHAR, name VARCHAR, release VARCHAR, released VARCHAR, licence VARCHAR,
    url_template VARCHAR, file VARCHAR, sha256 VARCHAR, retrieved_at TIMESTAMP, built_at TIMESTAMP,
    recency BIGINT);
CREATE TABLE topic (release_id INTEGER, source VARCHAR, topic VARCHAR, complete BOOLEAN);
CREATE TABLE covered (release_id INTEGER, source VARCHAR, topic VARCHAR, id VARCHAR);
CREATE TABLE entity (
    release_id INTEGER, source VARCHAR, id VARCHAR, label VARCHAR, state VARCHAR, name VARCHAR,
    successors VARCHAR[], candidates VARCHAR[], detail VARCHAR, record VARCHAR);
CREATE TABLE value (
    release_id INTEGER, source VARCHAR, id VARCHAR, attribute VARCHAR, value VARCHAR, status VARCHAR, record VARCHAR);
CREATE TABLE link (
    release_id INTEGER, source VARCHAR, relation VARCHAR, head VARCHAR, tail VARCHAR, score DOUBLE, negated BOOLEAN,
    record VARCHAR, head_now VARCHAR, tail_now VARCHAR, citations VARCHAR[], retracted BOOLEAN DEFAULT false);
"""


DERIVED_TABLES = """
CREATE TABLE lifecycle (
    source VARCHAR, id VARCHAR, label VARCHAR, state VARCHAR, name VARCHAR, successors VARCHAR[], candidates VARCHAR[],
    detail VARCHAR, record VARCHAR, release_id INTEGER);
CREATE TABLE ancestor (ontology VARCHAR, id VARCHAR, ancestor VARCHAR);
"""
"""What kgcheck.sources.derive makes of the others."""


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
    """A snapshot opened for reading.

    Args:
        path: The DuckDB file.
        schema: Profile that it must be of.

    Raises:
        SnapshotError: It is missing, no snapshot, or one of another profile or format.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self.path = path
        if not path.is_file():
            raise SnapshotError(
                f"there is no snapshot at {path}", f"build one: kgcheck reference build DIR --out {path}"
            )
        try:
            self._db = duckdb.connect(str(path), read_only=True)
        except duckdb.Error as error:
            raise SnapshotError(f"{path} is not a reference snapshot: {error}", "build it again") from error
        try:
            self.meta = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
        except duckdb.Error as error:
            self.close()
            raise SnapshotError(f"{path} is not a reference snapshot: {error}", "build it again") from error
        found = (self.meta.get("profile"), self.meta.get("format"))
        wanted = (schema.profile.name, str(FORMAT_VERSION))
        if found != wanted:
            self.close()
            raise SnapshotError(
                f"{path} is a snapshot of profile {found[0]!r}, format {found[1]}, "
                f"not {wanted[0]!r}, format {wanted[1]}",
                "build it again with this version of kgcheck",
            )

    def releases(self) -> list[SourceRelease]:
        """Every release in the snapshot, with its rows by table."""
        rows: dict[int, dict[str, int]] = {}
        for table in ("entity", "value", "link"):
            counted = self._db.execute(f"SELECT release_id, count(*) FROM {table} GROUP BY 1").fetchall()
            for release_id, n in counted:
                rows.setdefault(release_id, {})[table] = n
        listed = self._db.execute(
            """
            SELECT id, source, name, release, released, licence, file, sha256, retrieved_at, built_at
            FROM release ORDER BY source, recency, file
            """
        ).fetchall()
        names = ("source", "name", "release", "released", "licence", "file", "sha256", "retrieved_at", "built_at")
        return [SourceRelease(**dict(zip(names, row[1:], strict=True)), rows=rows.get(row[0], {})) for row in listed]

    def close(self) -> None:
        """Close the file."""
        self._db.close()
