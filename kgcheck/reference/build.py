"""Build a reference snapshot from provider files, by the recipes of a profile."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from kgcheck.duck import confine, connected, limits
from kgcheck.errors import (
    ConfigurationError,
    InputError,
    InputFormat,
    InputMissing,
    KgcheckError,
    MissingExtra,
    SnapshotError,
    UnknownName,
)
from kgcheck.inputs import MIB, Bounded, refuse_odd_name, refuse_outside, sha256_of
from kgcheck.outputs import replacing, write_hint
from kgcheck.profile.patterns import found_groups
from kgcheck.profile.reference_files import (
    ReferenceFile,
    ReferenceRecipe,
    SnapshotWords,
    load_reference_recipes,
    shared_recipes,
    words_of,
)
from kgcheck.profile.schema import Schema
from kgcheck.progress import NoProgress, Progress
from kgcheck.providers.files import STREAMS, iso_day, read_obo
from kgcheck.providers.tsv import Form, check_file, first_words, open_tsv
from kgcheck.providers.uniprot_entry import Rows, rename_links, terms_of
from kgcheck.reference.facts import COLUMNS as FACTS
from kgcheck.reference.facts import add_facts
from kgcheck.reference.ontologies import FORMAT as ONTOLOGY
from kgcheck.reference.ontologies import ontology_recipe, read_ontology
from kgcheck.reference.selects import refusal
from kgcheck.reference.snapshot import Snapshot
from kgcheck.reference.writer import COLUMNS, SnapshotWriter
from kgcheck.settings import Settings

_HEAD = 20_000
"""Bytes at the beginning of a file that may state its release."""

_UNNAMED = "coalesce({0}, '') = ''"
_BAD_ROWS = {
    "entity": f"{_UNNAMED.format('id')} OR state IS NULL",
    "value": f"{_UNNAMED.format('id')} OR value IS NULL",
    "link": f"{_UNNAMED.format('head')} OR {_UNNAMED.format('tail')} OR NOT isfinite(coalesce(score, 0))",
    "covered": _UNNAMED.format("id"),
}
"""By table, what no row of a file may be."""


def build_snapshot(
    folder: Path,
    out: Path,
    schema: Schema,
    settings: Settings,
    *,
    releases: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    notes: list[str] | None = None,
) -> list[Path]:
    """Build a snapshot from every file under a folder that a recipe knows, and from ontologies that name themselves.

    The snapshot appears under its name only when it is whole. `notes` gets why files were left out that no recipe of
    the profile asks for, and which recipes have met no file of their provider.
    """
    left_out: list[str] = [] if notes is None else notes
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", "give the folder with the files of the providers")
    recipes = load_reference_recipes(schema)
    own = {recipe.source for recipe in recipes}
    recipes += [recipe for recipe in shared_recipes() if recipe.source not in own]
    chosen = _choose(folder, recipes, left_out)
    recipes += [recipe for recipe, _, _ in chosen if recipe.source not in {known.source for known in recipes}]
    for source in releases or {}:
        if source not in {recipe.source for recipe in recipes}:
            raise UnknownName("source", source, [recipe.source for recipe in recipes])
    if not chosen:
        raise InputMissing(
            left_out[0] if left_out else f"no recipe knows any file under {folder}",
            f"the recipes of {schema.folder} name them: its reference/*.toml, and references in graph.toml",
        )
    for recipe, file, _ in chosen:
        for rows in file.rows:
            if why := refusal(rows.select):
                raise ConfigurationError(
                    f"a select of the recipe of {recipe.source!r} is refused: {why}",
                    "a select may read the file and the snapshot, see docs/snapshot.md",
                )
    refuse_out(out)
    try:
        with replacing(out) as partial:
            with connected(str(partial), config=limits(settings)) as db:
                confine(db, [read for _, file, path in chosen for read in _read_with(file, path)])
                builder = _Builder(db, schema, settings, releases or {}, words_of(schema, recipes), folder)
                with (progress or NoProgress()).step("reading reference files", len(chosen)) as step:
                    known = {path for recipe, file, path in chosen if recipe.source in own and file.format != ONTOLOGY}
                    for recipe, file, path in chosen:
                        is_optional = file.format == ONTOLOGY or (recipe.source not in own and path in known)
                        if error := builder.add(recipe, file, path):
                            if not is_optional:
                                raise error
                            left_out.append(f"{recipe.source}: {error.message}: left out")
                        step.advance()
                if builder.writer.next_release == 1:
                    raise InputFormat(left_out[0], "get the file again, or another one")
                builder.writer.finish({recipe.source: recipe.dropped for recipe in recipes})
            for source, made_after in {r.source: r.unverified for r, _, _ in chosen if r.unverified}.items():
                note = f"its recipe is unverified, made after {made_after}: compare some rows with the file"
                left_out.append(f"{source}: {note}")
            with Snapshot(partial) as snapshot:
                snapshot.check()
    except duckdb.OutOfMemoryException as error:
        raise KgcheckError(f"the work does not fit in memory: {error}", "raise KGCHECK_DUCKDB_MEMORY_LIMIT") from error
    # A full disk shows as an IOException, and once a database has met one, as any other.
    except (OSError, duckdb.OperationalError, duckdb.FatalException, duckdb.InternalException, SnapshotError) as error:
        raise SnapshotError(
            f"cannot write the snapshot {out}: {first_words(error)}", write_hint(error, "another --out")
        ) from error
    return list(dict.fromkeys(path for _, _, path in chosen))


def file_date(path: Path) -> datetime:
    """Return the time when a file came to lie here, in UTC without a zone.

    Fetching writes it then, copying with its dates keeps it.
    """
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(tzinfo=None, microsecond=0)


def _choose(
    folder: Path, recipes: list[ReferenceRecipe], left_out: list[str]
) -> list[tuple[ReferenceRecipe, ReferenceFile, Path]]:
    chosen = [
        (recipe, file, path)
        for recipe in recipes
        for file in recipe.files
        for path in sorted(folder.rglob(file.glob))
        # What fetch has not finished is no file yet.
        if path.is_file() and ".part" not in path.suffixes
    ]
    named, having = {path for _, _, path in chosen}, {recipe.source for recipe, _, _ in chosen}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path in named or ".part" in path.suffixes:
            continue
        try:
            refuse_outside(folder, path)
            recipe = ontology_recipe(path, recipes)
        except InputError as error:
            left_out.append(f"{error.message}: left out")
            continue
        if recipe and recipe.source in having:
            # It may be a part, and the recipe names whole ones.
            left_out.append(f"{path} is of {recipe.source}, of which there is a file that its recipe names: left out")
        elif recipe:
            chosen.append((recipe, recipe.files[0], path))
    for _, file, path in chosen:
        for read in _read_with(file, path):
            refuse_outside(folder, read)
    return chosen


def _read_with(file: ReferenceFile, path: Path) -> list[Path]:
    """All that is read where a recipe has found one file."""
    return [path.parent / f"{name}.tsv" for name in FACTS] if file.format == "facts" else [path]


def refuse_out(out: Path) -> None:
    """Refuse a place in which DuckDB cannot write: it takes what follows a question mark for a query."""
    refuse_odd_name(out)
    if "?" in str(out.absolute()):
        raise SnapshotError(f"cannot write the snapshot {out}: its path holds a question mark", "name another --out")


@dataclass(eq=False)
class _Builder:
    db: duckdb.DuckDBPyConnection
    schema: Schema
    settings: Settings
    releases: Mapping[str, str]
    words: SnapshotWords
    folder: Path

    def __post_init__(self) -> None:
        self.writer = SnapshotWriter(self.db, self.schema)

    def add(self, recipe: ReferenceRecipe, file: ReferenceFile, path: Path) -> KgcheckError | None:
        """Add a file; return why nothing of it was added, if it does not fit."""
        before = self.writer.next_release
        try:
            check_file(path, whole_lines=file.whole_lines and file.format != "facts")
            if file.format == "facts":
                dated = {"retrieved_at": file_date(path)}
                add_facts(self.db, path.parent, self.words, lambda row: self.writer.add_release(dated | row))
            else:
                self._add(recipe, file, path)
        except (InputError, MissingExtra) as error:
            self.writer.take_back(before)
            return error
        return None

    def _add(self, recipe: ReferenceRecipe, file: ReferenceFile, path: Path) -> None:
        release, released, parsed = "", "", None
        if file.format == "obo":
            parsed, release, released = read_obo(path, file)
        if not release and file.format not in STREAMS:
            release, released = _stated_release(file, path)
        released = released or file.released
        number = self._add_release(recipe, file, path, release, released)
        if parsed is not None:
            self._add_parsed(recipe, file, number, parsed)
        elif file.format == ONTOLOGY:
            for rows in read_ontology(path, file.prefix.removesuffix(":"), self.settings):
                self._add_parsed(recipe, file, number, rows)
        elif file.format in STREAMS:
            # Entries by the thousand, so that a file need not fit into memory; the last one tells its date.
            for rows, newest in STREAMS[file.format](path, file, terms_of(self.db)):
                released = newest or released
                self._add_parsed(recipe, file, number, rows)
            self.writer.date_release(number, self._named(recipe, file, path, released), released)
        else:
            self._add_selected(recipe, number, file, path)
        self._refuse_bad_rows(number, path)

    def _add_release(
        self, recipe: ReferenceRecipe, file: ReferenceFile, path: Path, release: str, released: str
    ) -> int:
        number = self.writer.add_release(
            {
                "source": recipe.source,
                "name": recipe.name,
                "release": release or self._named(recipe, file, path, released),
                "released": released,
                "licence": recipe.licence,
                "url_template": recipe.url_template,
                "file": str(path.relative_to(self.folder)),
                "sha256": sha256_of(path),
                "retrieved_at": file_date(path),
            }
        )
        self.writer.add_topics(number, recipe.source, file.topics)
        return number

    def _named(self, recipe: ReferenceRecipe, file: ReferenceFile, path: Path, released: str) -> str:
        """The release of a file that does not name it: what the user says, else what the recipe does."""
        stated = self.releases.get(recipe.source) or file.release.replace("{released}", released)
        return stated or undated_release(path)

    def _add_parsed(self, recipe: ReferenceRecipe, file: ReferenceFile, release_id: int, parsed: Rows) -> None:
        """Add the rows of the topics that the file is of, in the words of its recipe."""
        parsed = rename_links(parsed, recipe.links)
        parsed["link"] = [row for row in parsed["link"] if row["relation"] in file.topics]
        parsed["covered"] = [row for row in parsed["covered"] if row["topic"] in file.topics]
        for table, rows in parsed.items():
            self.writer.add_rows(table, recipe.source, release_id, rows)

    def _add_selected(self, recipe: ReferenceRecipe, release_id: int, file: ReferenceFile, path: Path) -> None:
        """Add what the selects of a recipe give, some of which read the rows of other sources."""
        for other in recipe.after:
            if not self.db.execute("FROM release WHERE source = ? LIMIT 1", [other]).fetchall():
                raise InputMissing(
                    f"{path} can only be used together with a file of {other}",
                    f"add one to the folder, or take {path.name} out",
                )
        form = Form(file.header, file.columns, file.delimiter, file.quoted, file.comment, file.format == "lines")
        open_tsv(self.db, "file", path, form)
        of_release = {"id": release_id, "source": recipe.source}
        for rows in file.rows:
            select = f"SELECT $id AS release_id, $source AS source, * FROM ({rows.select})"
            try:
                self.db.execute(f"INSERT INTO {rows.table} BY NAME {select}", of_release).fetchall()
            except duckdb.BinderException as error:
                raise InputFormat(
                    f"{path} has other columns than the recipe of {recipe.source!r} expects: {first_words(error)}",
                    f"the recipe fills {rows.table} ({', '.join(COLUMNS[rows.table])})",
                ) from error
            except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
                raise InputFormat(
                    f"{path} holds a value of another type: {first_words(error)}",
                    "get the file again, or correct the recipe",
                ) from error

    def _refuse_bad_rows(self, release_id: int, path: Path) -> None:
        """A file that gives nothing, or rows that name nothing, is not what its name promises."""
        given = 0
        for table, wrong in _BAD_ROWS.items():
            counts = f"SELECT count(*), count(*) FILTER ({wrong}) FROM {table} WHERE release_id = ?"
            ((rows, bad),) = self.db.execute(counts, [release_id]).fetchall()
            given += rows
            if bad:
                raise InputFormat(f"{path} gives {bad} rows of {table} that name nothing", "it may be broken")
        if not given:
            raise InputFormat(
                f"{path} gives no row", "it may be empty or truncated, or of another kind or species than its name says"
            )


def _stated_release(file: ReferenceFile, path: Path) -> tuple[str, str]:
    """The release that a file states in its head or in its name, and its date; each empty where it states none."""
    groups = found_groups(file.release_name, path.name) if file.release_name else {}
    if file.release_line:
        with io.BufferedReader(Bounded(path), MIB) as stream:
            # What is no text is told when all of it is read.
            head = stream.read(_HEAD).decode(errors="replace")
        groups = found_groups(file.release_line, head) or groups
    return groups.get("release") or "", iso_day(groups.get("released") or "")


def undated_release(path: Path) -> str:
    """Return a substitute for the release of a file that states none."""
    day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    return f"not stated, file of {day}"
