"""The small snapshot that live answers make, attached in place of the one before."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb

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
        writer.finish({}, lasting=False)
        cited = {paper for one in releases for row in one.rows["link"] for paper in row.get("citations") or ()}
        if cited:
            mark_retracted(live, retracted_among(db, cited, "base"))
        live.commit()


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
