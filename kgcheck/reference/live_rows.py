"""The small snapshot that live answers make, attached in place of the one before."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb

from kgcheck.closing import Closing
from kgcheck.duck import connected, literal
from kgcheck.profile.schema import Schema
from kgcheck.providers.uniprot_rows import Rows
from kgcheck.reference.overlay import FIRST_LIVE_RELEASE
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
    """What the release speaks of even where it has no row of it."""


class LiveRows(Closing):
    """Writes live rows, each time into a file of its own.

    Args:
        schema: Profile.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._temporary = TemporaryDirectory(prefix="kgcheck-live-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        self._count = 0

    def attach(self, db: duckdb.DuckDBPyConnection, releases: Sequence[LiveRelease]) -> None:
        """Put rows into a snapshot of their own, and attach it as ``live``.

        Args:
            db: The working database.
            releases: The rows.
        """
        self._count += 1
        path = self.folder / f"live-{self._count}.duckdb"
        with connected(str(path)) as live:
            # Few rows, and many statements: what is written at each end of a transaction is most of the work.
            live.begin()
            writer = SnapshotWriter(live, self._schema, FIRST_LIVE_RELEASE)
            for one in releases:
                _write(writer, one)
            writer.finish({}, lasting=False)
            cited = {paper for one in releases for row in one.rows["link"] for paper in row.get("citations") or ()}
            if cited:
                mark_retracted(live, retracted_among(db, cited, "base"))
            live.commit()
        db.execute("DETACH live").fetchall()
        db.execute(f"ATTACH {literal(str(path))} AS live (READ_ONLY)").fetchall()

    def close(self) -> None:
        """Remove the files."""
        self._temporary.cleanup()


def _write(writer: SnapshotWriter, release: LiveRelease) -> None:
    number = writer.add_release(
        {
            "source": release.source,
            "name": f"{release.source}, live",
            "release": release.release,
            "released": release.at.date().isoformat(),
            "licence": "",
            "url_template": release.url_template,
            "file": "",
            "sha256": "",
            "retrieved_at": release.at.astimezone(UTC).replace(tzinfo=None, microsecond=0),
            "built_at": None,
        }
    )
    spoken = {*(row["relation"] for row in release.rows["link"]), *(row["topic"] for row in release.rows["covered"])}
    writer.add_topics(number, release.source, dict.fromkeys(sorted({*release.topics, *spoken}), False))
    for table, filled in release.rows.items():
        if filled:
            writer.add_rows(table, release.source, number, filled)
