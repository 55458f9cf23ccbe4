"""Builds a reference snapshot from provider files, by the recipes of a profile."""

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from kgcheck import __version__
from kgcheck.errors import InputError, InputFormat, InputMissing, SnapshotError
from kgcheck.graph.schema import Schema
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import Settings
from kgcheck.sources.formats import Parsed, read_obo, read_uniprot_flat
from kgcheck.sources.recipe import ReferenceFile, ReferenceRecipe, load_reference_recipes
from kgcheck.sources.snapshot import FORMAT_VERSION, TABLES
from kgcheck.tables import literal, limits

_ARROW = {
    "successors": pa.list_(pa.string()),
    "candidates": pa.list_(pa.string()),
    "score": pa.float64(),
    "negated": pa.bool_(),
}
_COLUMNS = {
    "entity": ("id", "label", "state", "name", "successors", "candidates", "detail", "record"),
    "value": ("id", "attribute", "value", "status", "record"),
    "link": ("relation", "head", "tail", "score", "negated", "record"),
    "covered": ("topic", "id"),
}
_FACTS_FILES = ("releases", "entity", "value", "link", "covered")


def build_snapshot(
    folder: Path,
    out: Path,
    schema: Schema,
    settings: Settings,
    *,
    releases: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Build a snapshot from every file under a folder that a recipe knows.

    The snapshot appears under its name only when it is whole.

    Args:
        folder: Where the provider files are, at any depth.
        out: The DuckDB file to make; replaced if it exists.
        schema: Profile.
        settings: Limits.
        releases: Release by source, for files that do not state it.
        progress: Where to show progress.

    Returns:
        The files that went in.

    Raises:
        InputMissing: The folder is missing, or no recipe knows any file in it.
        InputFormat: A file is not what its name promises.
        SnapshotError: The snapshot cannot be written.
    """
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", "give the folder with the files of the providers")
    chosen = _choose(folder, load_reference_recipes(schema))
    if not chosen:
        raise InputMissing(
            f"no recipe knows any file under {folder}",
            f"loaders/{schema.profile.name}/reference/*.toml name the files that can be used",
        )
    partial = out.with_name(out.name + ".partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        with duckdb.connect(str(partial), config=limits(settings)) as db:
            builder = _Builder(db, dict(releases or {}))
            db.execute(TABLES).fetchall()
            with (progress or NoProgress()).step("reading reference files", len(chosen)) as step:
                for recipe, file, path in chosen:
                    builder.add(recipe, file, path, folder)
                    step.advance()
            builder.finish(schema)
        os.replace(partial, out)
    except (OSError, duckdb.IOException) as error:
        raise SnapshotError(f"cannot write the snapshot {out}: {error}", "free disk space, or name another --out") from error
    finally:
        partial.unlink(missing_ok=True)
        partial.with_name(partial.name + ".wal").unlink(missing_ok=True)
    return [path for _, _, path in chosen]


def _choose(folder: Path, recipes: list[ReferenceRecipe]) -> list[tuple[ReferenceRecipe, ReferenceFile, Path]]:
    return [
        (recipe, file, path)
        for recipe in recipes
        for file in recipe.files
        for path in sorted(folder.rglob(file.glob))
        if path.is_file()
    ]


class _Builder:
    def __init__(self, db: duckdb.DuckDBPyConnection, releases: dict[str, str]) -> None:
        self._db = db
        self._releases = releases
        self._next = 1
        self._now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)

    def add(self, recipe: ReferenceRecipe, file: ReferenceFile, path: Path, folder: Path) -> None:
        if path.stat().st_size == 0:
            raise InputFormat(f"{path} is empty")
        if file.format == "facts":
            self._add_facts(path.parent)
            return
        parsed, release, released = self._parse(file, path)
        release_id = self._add_release(
            {
                "source": recipe.source,
                "name": recipe.name,
                "release": self._releases.get(recipe.source) or release or file.release or released or _dated(path),
                "released": released or file.released,
                "licence": recipe.licence,
                "url_template": recipe.url_template,
                "file": str(path.relative_to(folder)),
                "sha256": _sha256(path),
                "recency": _recency(released or file.released),
            }
        )
        for topic, complete in file.topics.items():
            self._add_topic(release_id, recipe.source, topic, complete)
        if parsed is None:
            self._add_selected(recipe.source, release_id, file, path)
            return
        parsed["link"] = [row for row in parsed["link"] if row["relation"] in file.topics]
        for table, rows in parsed.items():
            self._add_rows(table, recipe.source, release_id, rows)

    def _parse(self, file: ReferenceFile, path: Path) -> tuple[Parsed | None, str, str]:
        match file.format:
            case "obo":
                return read_obo(path, file)
            case "uniprot_flat":
                return read_uniprot_flat(path, file)
            case _:
                return None, "", ""

    def _add_release(self, row: dict[str, object]) -> int:
        release_id, self._next = self._next, self._next + 1
        filled = {"id": release_id, "built_at": self._now} | row
        names = ", ".join(filled)
        marks = ", ".join(f"${n}" for n in filled)
        self._db.execute(f"INSERT INTO release ({names}) VALUES ({marks})", filled).fetchall()
        return release_id

    def _add_topic(self, release_id: int, source: str, topic: str, complete: bool) -> None:
        self._db.execute("INSERT INTO topic VALUES (?, ?, ?, ?)", [release_id, source, topic, complete]).fetchall()

    def _add_rows(self, table: str, source: str, release_id: int, rows: list[dict[str, object]]) -> None:
        columns = _COLUMNS[table]
        arrow = pa.table({c: pa.array([r.get(c) for r in rows], _ARROW.get(c, pa.string())) for c in columns})
        self._db.register("incoming", arrow)
        self._db.execute(
            f"INSERT INTO {table} BY NAME SELECT $id AS release_id, $source AS source, * FROM incoming",
            {"id": release_id, "source": source},
        ).fetchall()
        self._db.unregister("incoming")

    def _add_selected(self, source: str, release_id: int, file: ReferenceFile, path: Path) -> None:
        self._open_tsv("file", path, file.header, file.columns)
        for rows in file.rows:
            wanted = ", ".join(_COLUMNS[rows.table])
            try:
                self._db.execute(
                    f"""
                    INSERT INTO {rows.table} BY NAME
                    SELECT $id AS release_id, $source AS source, * FROM ({rows.select})
                    """,
                    {"id": release_id, "source": source},
                ).fetchall()
            except duckdb.BinderException as error:
                raise InputFormat(
                    f"{path} has other columns than the recipe of {source!r} expects: {error}",
                    f"the recipe fills {rows.table} ({wanted})",
                ) from error

    def _open_tsv(self, view: str, path: Path, header: bool, columns: tuple[str, ...] = ()) -> None:
        typed = ", ".join(f"{literal(c)}: 'VARCHAR'" for c in columns)
        names = f", columns={{{typed}}}" if columns else ""
        try:
            self._db.execute(
                f"""
                CREATE OR REPLACE TEMP TABLE {view} AS SELECT * FROM read_csv({literal(str(path))}, delim='\t',
                quote='"', header={str(header).lower()}, all_varchar=true, strict_mode=false, null_padding=true{names})
                """
            ).fetchall()
        except duckdb.Error as error:
            raise InputFormat(f"{path} is not a tab separated UTF-8 table: {error}") from error

    def _add_facts(self, folder: Path) -> None:
        """A folder of kgcheck's own fact tables: one TSV a snapshot table, each row with its release."""
        for name in _FACTS_FILES:
            path = folder / f"{name}.tsv"
            if not path.is_file():
                raise InputMissing(f"{folder} lacks {name}.tsv", f"a facts folder holds {', '.join(_FACTS_FILES)}")
            self._open_tsv(f"facts_{name}", path, header=True)
        try:
            self._insert_facts(folder)
        except duckdb.BinderException as error:
            raise InputFormat(f"a table of facts under {folder} has another header: {error}", "see docs/snapshot.md") from error

    def _insert_facts(self, folder: Path) -> None:
        stated = self._db.execute(
            "SELECT source, release, released, name, licence, url_template, coverage FROM facts_releases"
        ).fetchall()
        self._db.execute("CREATE OR REPLACE TEMP TABLE known (source VARCHAR, release VARCHAR, id INTEGER, complete BOOLEAN)").fetchall()
        for source, release, released, name, licence, url, coverage in stated:
            release_id = self._add_release(
                {
                    "source": source,
                    "name": name,
                    "release": release,
                    "released": released or "",
                    "licence": licence,
                    "url_template": url or "",
                    "file": f"{folder.name}/*.tsv",
                    "sha256": _sha256(folder / "releases.tsv"),
                    "recency": _recency(released or ""),
                }
            )
            self._db.execute("INSERT INTO known VALUES (?, ?, ?, ?)", [source, release, release_id, coverage == "complete"]).fetchall()
        listed = "list_filter(string_split(coalesce({0}, ''), '|'), lambda x: x <> '') AS {0}"
        self._db.execute(
            f"""
            INSERT INTO entity BY NAME
            SELECT k.id AS release_id, f.source, f.id, label, state, name, {listed.format("successors")},
                   {listed.format("candidates")}, detail, record
            FROM facts_entity f JOIN known k USING (source, release);
            INSERT INTO value BY NAME
            SELECT k.id AS release_id, f.source, f.id, attribute, value, status, record
            FROM facts_value f JOIN known k USING (source, release);
            INSERT INTO link BY NAME
            SELECT k.id AS release_id, f.source, relation, head, tail, try_cast(score AS DOUBLE) AS score,
                   coalesce(negated = 'true', false) AS negated, record
            FROM facts_link f JOIN known k USING (source, release);
            INSERT INTO covered BY NAME
            SELECT k.id AS release_id, f.source, relation AS topic, f.id
            FROM facts_covered f JOIN known k USING (source, release);
            INSERT INTO topic
            SELECT DISTINCT k.id, k.source, t.topic, k.complete
            FROM known k JOIN (
                SELECT release_id, topic FROM covered UNION SELECT release_id, relation FROM link
                UNION SELECT release_id, 'entity' FROM entity UNION SELECT release_id, 'value' FROM value
            ) t ON t.release_id = k.id
            """
        ).fetchall()
        self._refuse_unknown_releases(folder)

    def _refuse_unknown_releases(self, folder: Path) -> None:
        for name in _FACTS_FILES[1:]:
            stray = self._db.execute(
                f"SELECT source, release FROM facts_{name} ANTI JOIN known USING (source, release) LIMIT 1"
            ).fetchall()
            if stray:
                raise InputFormat(
                    f"{folder / name}.tsv names {stray[0][0]} {stray[0][1]}, which releases.tsv does not list"
                )

    def finish(self, schema: Schema) -> None:
        """Derive what is looked up most: one state an id, and the ancestors of every term."""
        _drop_superseded_links(self._db)
        _age_values(self._db)
        _settle_lifecycles(self._db)
        _close_hierarchies(self._db)
        for key, value in (
            ("profile", schema.profile.name),
            ("format", str(FORMAT_VERSION)),
            ("kgcheck", __version__),
            ("built_at", self._now.isoformat()),
        ):
            self._db.execute("INSERT INTO meta VALUES (?, ?)", [key, value]).fetchall()


def _drop_superseded_links(db: duckdb.DuckDBPyConnection) -> None:
    """Where a newer release lists every link of a relation, what older ones said of it no longer counts."""
    db.execute(
        """
        CREATE TEMP TABLE superseded AS
        SELECT old.release_id, old.topic FROM topic old JOIN release o ON o.id = old.release_id
        JOIN topic new ON new.source = old.source AND new.topic = old.topic AND new.complete
        JOIN release n ON n.id = new.release_id AND n.recency > o.recency
        WHERE old.topic NOT IN ('entity', 'value');
        DELETE FROM link USING superseded s WHERE s.release_id = link.release_id AND s.topic = link.relation;
        DELETE FROM topic USING superseded s WHERE s.release_id = topic.release_id AND s.topic = topic.topic
        """
    ).fetchall()


def _age_values(db: duckdb.DuckDBPyConnection) -> None:
    """A value that only an older release calls current is a former one, if a newer release states another."""
    db.execute(
        """
        UPDATE value SET status = 'former' FROM release old
        WHERE old.id = value.release_id AND value.status = 'current' AND EXISTS (
            FROM value newer JOIN release new ON new.id = newer.release_id
            WHERE newer.source = value.source AND newer.id = value.id AND newer.attribute = value.attribute
              AND newer.status = 'current' AND new.recency > old.recency)
        """
    ).fetchall()


def _settle_lifecycles(db: duckdb.DuckDBPyConnection) -> None:
    """One row an id: the newest release that names it; dropped, if a newer complete one does not.

    A current id beats every other state that the same release gives it (a symbol may also be somebody's alias).
    """
    db.execute(
        """
        CREATE TABLE lifecycle AS
        WITH ranked AS (
            SELECT e.*, r.recency FROM entity e JOIN release r ON r.id = e.release_id
            QUALIFY row_number() OVER (
                PARTITION BY e.source, e.id
                ORDER BY r.recency DESC, (e.state = 'current') DESC, (e.state = 'alias'), e.release_id, e.record) = 1
        ), newest_complete AS (
            SELECT t.source, max(r.recency) AS recency, arg_max(r.id, r.recency) AS release_id
            FROM topic t JOIN release r ON r.id = t.release_id WHERE t.topic = 'entity' AND t.complete GROUP BY t.source
        )
        SELECT e.source, e.id, e.label,
               CASE WHEN e.state = 'current' AND e.recency < n.recency THEN 'dropped' ELSE e.state END AS state,
               e.name, coalesce(e.successors, []) AS successors, coalesce(e.candidates, []) AS candidates, e.detail,
               coalesce(e.record, e.id) AS record,
               CASE WHEN e.state = 'current' AND e.recency < n.recency THEN n.release_id ELSE e.release_id END AS release_id
        FROM ranked e LEFT JOIN newest_complete n USING (source)
        """
    ).fetchall()
    # A term that is gone without a named replacement: live terms of the same name are worth a look.
    db.execute(
        """
        UPDATE lifecycle SET candidates = same.ids FROM (
            SELECT gone.source, gone.id, list(DISTINCT live.id ORDER BY live.id) AS ids
            FROM lifecycle gone JOIN value v ON v.source = gone.source AND lower(v.value) = lower(gone.name)
            JOIN lifecycle live ON live.source = v.source AND live.id = v.id AND live.state = 'current'
            WHERE gone.state IN ('obsolete', 'dropped') AND v.attribute = 'name' AND live.id <> gone.id
            GROUP BY ALL) same
        WHERE lifecycle.source = same.source AND lifecycle.id = same.id
          AND len(lifecycle.successors) = 0 AND len(lifecycle.candidates) = 0
        """
    ).fetchall()


def _close_hierarchies(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(
        """
        CREATE TABLE ancestor AS
        WITH RECURSIVE up(ontology, id, ancestor) AS (
            SELECT DISTINCT source, head, tail FROM link WHERE relation = 'HAS_PARENT' AND NOT negated
            UNION
            SELECT up.ontology, up.id, l.tail FROM up JOIN link l
            ON l.source = up.ontology AND l.head = up.ancestor AND l.relation = 'HAS_PARENT' AND NOT l.negated
        )
        SELECT ontology, id, ancestor FROM up WHERE id <> ancestor
        """
    ).fetchall()


def _recency(released: str) -> int:
    """A day, month or year as a number that orders releases; 0 where nothing is stated."""
    digits = "".join(c for c in released[:10] if c.isdigit())
    return int(digits.ljust(8, "0")) if digits else 0


def _dated(path: Path) -> str:
    day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    return f"not stated, file of {day}"


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
