"""The loader: stage and check every source file, compare with the store, write only what differs."""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from pydantic import Field

from kgcheck import __version__
from kgcheck.errors import InputError
from kgcheck.graph.recipe import load_recipe
from kgcheck.graph.schema import Label, Pattern, Schema
from kgcheck.graph.staging import Staging, keys_of, table_name
from kgcheck.graph.store import GraphStore
from kgcheck.model import Value
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import Settings
from kgcheck.tables import identifier, insert_arrow, working_database

_WRITE_ROWS = 500_000


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

    Raises:
        InputError: A source file is missing or is not what its name promises.
        StoreError: The store refused a write.
    """
    shown = progress or NoProgress()
    schema = store.schema
    recipe = load_recipe(schema)
    with working_database(settings) as db:
        staging = Staging(db, schema, recipe, folder)
        staging.stage(shown)
        held = store.counts()
        _compare_nodes(db, staging, store, schema, held.nodes, shown)
        staging.close_edges()
        staging.restore_rows()
        _compare_edges(db, store, schema, held.edges, shown)
        rejected = _write_quarantine(db, quarantine)
        store.prepare()
        for key, value in (("profile", schema.profile.name), ("profile_version", str(schema.profile.version))):
            store.set_meta(key, value)
        _write(db, store, schema, shown)
        counts = store.counts()
        files = _file_counts(db, schema)
        store.set_meta("loaded", _manifest(staging.files, files))
        return LoadSummary(
            store=store.name,
            files=files,
            nodes=counts.total_nodes,
            edges=counts.total_edges,
            quarantine=quarantine if rejected else None,
        )


def _holders(schema: Schema, db: duckdb.DuckDBPyConnection) -> list[Label | Pattern]:
    staged = {row[0] for row in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    return [h for h in (*schema.labels, *schema.relations) if table_name(h) in staged]


def _compare_nodes(
    db: duckdb.DuckDBPyConnection,
    staging: Staging,
    store: GraphStore,
    schema: Schema,
    held: dict[str, int],
    progress: Progress,
) -> None:
    with progress.step("comparing nodes with the store", len(schema.labels)) as step:
        for label in [h for h in _holders(schema, db) if isinstance(h, Label)]:
            _make_have(db, label)
            if held.get(label.name):
                for table in store.scan_nodes(label):
                    insert_arrow(db, f"have {label.name}", table.select(["id", *label.properties]))
                    staging.add_known_ids(label, table.select(["id"]))
            _classify(db, label)
            step.advance()


def _compare_edges(
    db: duckdb.DuckDBPyConnection, store: GraphStore, schema: Schema, held: dict[str, int], progress: Progress
) -> None:
    patterns = [h for h in _holders(schema, db) if isinstance(h, Pattern)]
    with progress.step("comparing edges with the store", len(patterns)) as step:
        for pattern in patterns:
            _make_have(db, pattern)
            if held.get(str(pattern)):
                for table in store.scan_edges(pattern):
                    insert_arrow(db, f"have {pattern}", table.select(["head", "tail", *pattern.properties]))
            _classify(db, pattern)
            step.advance()


def _name(holder: Label | Pattern) -> str:
    return holder.name if isinstance(holder, Label) else str(holder)


def _stated(holder: Label | Pattern) -> list[str]:
    return [*keys_of(holder), *holder.properties]


def _make_have(db: duckdb.DuckDBPyConnection, holder: Label | Pattern) -> None:
    columns = ", ".join(identifier(c) for c in _stated(holder))
    staged = identifier(table_name(holder))
    db.execute(f"CREATE TABLE {identifier('have ' + _name(holder))} AS SELECT {columns} FROM {staged} LIMIT 0").fetchall()


def _classify(db: duckdb.DuckDBPyConnection, holder: Label | Pattern) -> None:
    """Table ``todo ...``: rowid of the staged row and what it is: new, changed or unchanged."""
    staged, have = identifier(table_name(holder)), identifier("have " + _name(holder))
    same = " AND ".join(f"h.{identifier(c)} IS NOT DISTINCT FROM s.{identifier(c)}" for c in _stated(holder))
    known = " AND ".join(f"h.{identifier(c)} = s.{identifier(c)}" for c in keys_of(holder))
    # An edge has no key but what it states, so it is new or unchanged, never changed.
    changed = f"WHEN EXISTS (FROM {have} h WHERE {known}) THEN 'changed'" if isinstance(holder, Label) else ""
    db.execute(
        f"""
        CREATE TABLE {identifier("todo " + _name(holder))} AS
        SELECT s.rowid AS row, s.file,
               CASE WHEN EXISTS (FROM {have} h WHERE {same}) THEN 'unchanged' {changed} ELSE 'new' END AS what
        FROM {staged} s
        """
    ).fetchall()


def _write(db: duckdb.DuckDBPyConnection, store: GraphStore, schema: Schema, progress: Progress) -> None:
    holders = _holders(schema, db)
    todo = " UNION ALL ".join(
        f"SELECT count(*) AS n FROM {identifier('todo ' + _name(h))} WHERE what <> 'unchanged'" for h in holders
    )
    total = db.execute(f"SELECT sum(n)::BIGINT FROM ({todo})").fetchall()[0][0] or 0
    with progress.step(f"writing to {store.name}", total) as step:
        for holder in holders:
            for what in ("new", "changed"):
                columns = ", ".join(f"s.{identifier(c)}" for c in _stated(holder))
                rows = db.sql(
                    f"""
                    SELECT {columns} FROM {identifier(table_name(holder))} s
                    JOIN {identifier("todo " + _name(holder))} t ON t.row = s.rowid WHERE t.what = '{what}'
                    ORDER BY ALL
                    """
                ).to_arrow_table()
                for start in range(0, rows.num_rows, _WRITE_ROWS):
                    batch = rows.slice(start, _WRITE_ROWS)
                    if isinstance(holder, Pattern):
                        store.add_edges(holder, batch)
                    elif what == "new":
                        store.add_nodes(holder, batch)
                    else:
                        store.update_nodes(holder, batch)
                    step.advance(batch.num_rows)


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
    except (OSError, duckdb.IOException) as error:
        raise InputError(f"cannot write the quarantine file {path}: {error}", "name another with --quarantine") from error
    return rows


def _file_counts(db: duckdb.DuckDBPyConnection, schema: Schema) -> tuple[FileCount, ...]:
    recipe = load_recipe(schema)
    targets: dict[str, Label | Pattern] = {f.file: schema.label(f.label) for f in recipe.nodes}
    targets |= {f.file: schema.pattern(f.head, f.relation, f.tail) for f in recipe.edges}
    rejected: dict[str, dict[str, int]] = {}
    for file, reason, n in db.execute(
        "SELECT file, reason, count(*) FROM quarantine GROUP BY ALL ORDER BY ALL"
    ).fetchall():
        rejected.setdefault(file, {})[reason] = n
    counts = []
    for file, rows, ignored in db.execute("SELECT file, rows, ignored FROM files").fetchall():
        name = _name(targets[file])
        done = dict(
            db.execute(
                f"SELECT what, count(*) FROM {identifier('todo ' + name)} WHERE file = $file GROUP BY what", {"file": file}
            ).fetchall()
        )
        counts.append(
            FileCount(
                file=file,
                target=name,
                read=rows,
                loaded=done.get("new", 0),
                changed=done.get("changed", 0),
                unchanged=done.get("unchanged", 0),
                quarantined=rejected.get(file, {}),
                ignored_columns=ignored or "",
            )
        )
    return tuple(counts)


def _manifest(paths: dict[str, Path], files: tuple[FileCount, ...]) -> str:
    """What was loaded, from which bytes, and when: JSON for the store's own record."""
    digests = {}
    for name, path in paths.items():
        with path.open("rb") as stream:
            digests[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return json.dumps(
        {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "kgcheck": __version__,
            "files": {f.file: {"sha256": digests[f.file], "rows": f.read} for f in files},
        }
    )
