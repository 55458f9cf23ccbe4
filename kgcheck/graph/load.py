"""The loader: stage and check every source file, compare with the store, write only what differs."""

import hashlib
import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from pydantic import Field

from kgcheck import __version__
from kgcheck.errors import InputError, InputMissing
from kgcheck.graph.compare import CHANGED, NEW, UNCHANGED, Comparison
from kgcheck.graph.recipe import load_recipe
from kgcheck.graph.staging import Staging, holder_name
from kgcheck.graph.store import DONE, LOAD, UNDER_WAY, GraphStore
from kgcheck.model import Value
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import Settings
from kgcheck.tables import working_database

_WRITE_ROWS = 10_000_000
"""Few large writes: LadybugDB rewrites what a table holds with each of them."""


class FileCount(Value):
    """What became of the rows of one source file: read = loaded + changed + unchanged + quarantined."""

    file: str
    target: str
    read: int
    loaded: int
    changed: int
    unchanged: int
    quarantined: dict[str, int] = Field(default_factory=dict)
    ignored_columns: str = ""


class LoadSummary(Value):
    """What a load did."""

    store: str
    files: tuple[FileCount, ...]
    nodes: int
    edges: int
    quarantine: Path | None

    def total(self, field: str) -> int:
        """Sum of one count over all files."""
        return sum(getattr(f, field) for f in self.files)

    @property
    def quarantined(self) -> int:
        """Rows that were not loaded."""
        return sum(n for f in self.files for n in f.quarantined.values())


def load_directory(
    folder: Path,
    store: GraphStore,
    settings: Settings,
    *,
    quarantine: Path,
    progress: Progress | None = None,
) -> LoadSummary:
    """Load an import directory of the store's profile.

    Nothing is written to the store before every file has been read and checked, so a broken file leaves it as it was.
    A second load of the same directory changes nothing.

    Args:
        folder: The import directory.
        store: Where to; opened for writing.
        settings: Limits.
        quarantine: JSON lines file for rejected rows; written only when there are any.
        progress: Where to show progress.

    Returns:
        What became of every row.

    Raises:
        InputError: A source file is missing or is not what its name promises.
        StoreError: The store refused a write.
    """
    shown = progress or NoProgress()
    schema = store.schema
    with working_database(settings) as db:
        staging = Staging(db, schema, load_recipe(schema), folder)
        staging.stage(shown)
        comparison = Comparison(db, store)
        comparison.judge(store.counts(), shown)
        staging.restore_rows()
        rejected = _write_quarantine(db, quarantine)
        files = _file_counts(staging, comparison)
        manifest = _manifest(staging.files, files)
        store.prepare()
        _write(comparison, store, shown)
        store.set_meta("loaded", manifest)
        counts = store.counts()
        return LoadSummary(
            store=store.name,
            files=files,
            nodes=counts.total_nodes,
            edges=counts.total_edges,
            quarantine=quarantine if rejected else None,
        )


def _write(comparison: Comparison, store: GraphStore, progress: Progress) -> None:
    """Write what is new or changed; a reader of the store is refused until all of it is there."""
    schema = store.schema
    total = comparison.to_write()
    # The version goes first: a store that knows its profile knows its version too, whenever this is cut short.
    store.set_meta("profile_version", str(schema.profile.version))
    store.set_meta("profile", schema.profile.name)
    if total:
        store.set_meta(LOAD, UNDER_WAY)
    with progress.step(f"writing to {store.name}", total) as step:
        for label in schema.labels:
            for rows in comparison.rows(label, NEW, _WRITE_ROWS):
                store.add_nodes(label, rows)
                step.advance(rows.num_rows)
            for rows in comparison.rows(label, CHANGED, _WRITE_ROWS):
                store.update_nodes(label, rows)
                step.advance(rows.num_rows)
        for pattern in schema.relations:
            for rows in comparison.rows(pattern, NEW, _WRITE_ROWS):
                store.add_edges(pattern, rows)
                step.advance(rows.num_rows)
    store.set_meta(LOAD, DONE)


def _write_quarantine(db: duckdb.DuckDBPyConnection, path: Path) -> int:
    rows = int(db.execute("SELECT count(*) FROM quarantine").fetchall()[0][0])
    if not rows:
        return 0
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db.execute(
            """
            COPY (SELECT file, line, reason, detail, row_text AS "row" FROM quarantine ORDER BY file, line)
            TO $path (FORMAT json)
            """,
            {"path": str(partial)},
        ).fetchall()
        os.replace(partial, path)
    except (OSError, duckdb.Error) as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise InputError(
            f"cannot write the quarantine file {path}: {error}", "name another with --quarantine"
        ) from error
    return rows


def _file_counts(staging: Staging, comparison: Comparison) -> tuple[FileCount, ...]:
    counts = []
    for file in staging.recipe_files():
        holder = staging.holder(file)
        judged = comparison.counts(holder).get(file.file, {})
        counts.append(
            FileCount(
                file=file.file,
                target=holder_name(holder),
                read=sum(judged.values()),
                loaded=judged.pop(NEW, 0),
                changed=judged.pop(CHANGED, 0),
                unchanged=judged.pop(UNCHANGED, 0),
                quarantined=judged,
                ignored_columns=", ".join(staging.ignored[file.file]),
            )
        )
    return tuple(counts)


def _manifest(paths: dict[str, Path], files: tuple[FileCount, ...]) -> str:
    """What was loaded, from which bytes, and when: JSON for the store's own record."""
    digests = {}
    for name, path in paths.items():
        try:
            with path.open("rb") as stream:
                digests[name] = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise InputMissing(f"cannot read {path} again: {error.strerror}") from error
    return json.dumps(
        {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "kgcheck": __version__,
            "files": {f.file: {"sha256": digests[f.file], "rows": f.read} for f in files},
        }
    )
