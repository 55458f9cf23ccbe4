"""Staging: read and check source files in DuckDB tables, before anything reaches a store.

Every row of a file ends in the staging table of its label or pattern, with the reason where it cannot be loaded.
"""

from functools import partial
from pathlib import Path

import duckdb

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.loading.lines import Records, find
from kgcheck.profile.import_files import FILES, EdgeFile, NodeFile, Recipe, holder_of
from kgcheck.profile.schema import Holder, Property, PropertyType, Schema
from kgcheck.progress import Progress
from kgcheck.quoting import identifier, literal
from kgcheck.visible import HIDDEN_RE2

_SQL_TYPES: dict[PropertyType, str] = {
    "string": "VARCHAR",
    "strings": "VARCHAR[]",
    "integer": "BIGINT",
    "number": "DOUBLE",
}
_NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_LONGEST_ID = 512
_SHOWN_HEADER = 120

NEW, CHANGED, UNCHANGED = "new", "changed", "unchanged"
"""Judgements of rows that can be loaded."""

ACCEPTED = f"({literal(NEW)}, {literal(CHANGED)}, {literal(UNCHANGED)})"


def _table_of(kind: str, holder: Holder) -> str:
    return identifier(f"{kind} {holder}")


staged, have_table, judged_table, gone_table, again_table = (
    partial(_table_of, kind) for kind in ("staged", "have", "judged", "gone", "again")
)
"""Quoted names of the tables of a label or pattern."""


class Staging:
    """The staging tables of one import directory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: Schema, recipe: Recipe, folder: Path) -> None:
        self._db = connection
        self.schema = schema
        self.recipe = recipe
        self.files = _locate(recipe, folder)
        self.ignored: dict[str, list[str]] = {}
        """Columns of each file that the recipe does not name."""

    def stage(self, progress: Progress) -> None:
        for holder in self.schema.holders:
            keys = ", ".join(f"{identifier(k)} VARCHAR" for k in holder.key_columns)
            columns = "".join(f", {identifier(n)} {_SQL_TYPES[p.type]}" for n, p in holder.properties.items())
            self._db.execute(
                f"CREATE TABLE {staged(holder)}"
                f" (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR, {keys}{columns})"
            ).fetchall()
        with progress.step("reading source files", len(self.files)) as step:
            for name, path in self.files.items():
                self._stage_file(self.recipe.by_file[name], path)
                step.advance()

    def recipe_files(self) -> list[NodeFile | EdgeFile]:
        """The files of the recipe that are there; nodes before edges."""
        return [f for f in self.recipe.files if f.file in self.files]

    def restore_rows(self) -> None:
        """Give every quarantined row its text as it stands in the file, by reading those files again."""
        wanting = self._db.execute("SELECT DISTINCT file FROM quarantine WHERE row_text IS NULL").fetchall()
        for (file,) in wanting:
            self._feed(
                Records(self.files[file]),
                "UPDATE quarantine SET row_text = source.text FROM source"
                " WHERE quarantine.file = $file AND quarantine.line = source.line AND row_text IS NULL",
                file,
            )

    def _stage_file(self, entry: NodeFile | EdgeFile, path: Path) -> None:
        records = Records(path)
        place = self._places(path, records, entry)
        if not records.is_bare:
            self._feed(records, self._insert(holder_of(entry, self.schema), entry, place, records), entry.file)

    def _feed(self, records: Records, statement: str, file: str) -> None:
        """Run a statement over the table ``source``, which streams the records."""
        self._db.register("source", records.rows())
        try:
            self._db.execute(statement, {"file": file}).fetchall()
        except duckdb.Error:
            # DuckDB passes an exception of its input on as text only.
            if records.failure:
                raise records.failure from None
            raise
        finally:
            self._db.unregister("source")

    def _places(self, path: Path, records: Records, entry: NodeFile | EdgeFile) -> dict[str, str]:
        """The field of each column that is needed, as SQL."""
        needed = entry.columns
        self.ignored[entry.file] = [c for c in records.header if c not in {*needed, *entry.ignored}]
        shown = f"its first line is {records.first_line[:_SHOWN_HEADER]!r}"
        hint = f"{shown}; {self.schema.folder / FILES} says what it needs"
        if missing := [c for c in needed if c not in records.header]:
            raise InputFormat(f"{path} has another header: it lacks {', '.join(missing)}", hint)
        if doubled := sorted({c for c in needed if records.header.count(c) > 1}):
            raise InputFormat(f"{path} has more than one column {', '.join(doubled)}", hint)
        return {c: f"fields[{records.header.index(c) + 1}]" for c in needed}

    def _insert(self, holder: Holder, entry: NodeFile | EdgeFile, place: dict[str, str], records: Records) -> str:
        stated = {name: place[column] for name, column in (entry.keys | entry.properties).items()}
        fields = {name: identifier(f"field {name}") for name in stated}
        read = ", ".join(f"{stated[name]} AS {field}" for name, field in fields.items())
        typed = {n: self._typed(holder.properties[n], fields[n]) for n in entry.properties}
        made = ", ".join(f"{typed.get(n, field)} AS {identifier(n)}" for n, field in fields.items())
        wrong = " ".join(
            f"WHEN {fields[n]} <> '' AND {identifier(n)} IS NULL THEN {literal(f'{n} is ')} || {fields[n]}"
            for n in typed
            if holder.properties[n].type in ("integer", "number")
        )
        bad_id = " OR ".join(f"NOT coalesce({_is_id(fields[key])}, false)" for key in entry.keys)
        names = ", ".join(identifier(n) for n in stated)
        return f"""
            INSERT INTO {staged(holder)} (file, line, reason, detail, row_text, {names})
            SELECT $file, line, reason,
                   CASE reason WHEN 'field_count' THEN len(fields) || ' fields'
                               WHEN 'bad_number' THEN {f"CASE {wrong} END" if wrong else "NULL"} END,
                   CASE WHEN reason IS NOT NULL THEN coalesce(text, odd_bytes) END, {names}
            FROM (
                SELECT *, CASE WHEN text IS NULL THEN 'not_utf8'
                               WHEN suspect AND contains(text, chr(0)) THEN 'nul_byte'
                               WHEN fields IS NULL THEN 'quoting'
                               WHEN len(fields) <> {len(records.header)} THEN 'field_count'
                               WHEN {bad_id} THEN 'bad_id'
                               {f"WHEN CASE {wrong} END IS NOT NULL THEN 'bad_number'" if wrong else ""} END AS reason
                FROM (SELECT *, {made} FROM (SELECT *, {read} FROM {_FIELDS}))
            )"""

    def _typed(self, spec: Property, field: str) -> str:
        match spec.type:
            case "string":
                return f"nullif({field}, '')"
            case "strings":
                separator = literal(self.recipe.format.list_separator)
                trimmed = f"list_transform(string_split({field}, {separator}), lambda x: trim(x))"
                items = f"list_filter({trimmed}, lambda x: x <> '')"
                return f"CASE WHEN len({items}) > 0 THEN {items} END"
            case kind:
                # DuckDB alone would also take 0x10 and 1_000, and round 3.7 to 4.
                is_number = f"regexp_full_match({field}, {literal(_NUMBER)})"
                number, whole = f"TRY_CAST({field} AS DOUBLE)", f"TRY_CAST({field} AS BIGINT)"
                if kind == "number":
                    return f"CASE WHEN {is_number} AND isfinite({number}) THEN {number} END"
                return f"CASE WHEN {is_number} AND {number} = {whole} THEN {whole} END"


_FIELDS = """(SELECT *, CASE WHEN suspect AND contains(text, '"') THEN quoted ELSE string_split(text, chr(9)) END
    AS fields FROM source)"""
"""SQL for every record with its fields."""


def _is_id(field: str) -> str:
    """SQL for `model.Identifier`: something to see in it, and nothing that cannot be seen."""
    hidden = f"suspect AND regexp_matches({field}, '[{HIDDEN_RE2}]')"
    return f"trim({field}) <> '' AND length({field}) <= {_LONGEST_ID} AND NOT ({hidden})"


def _locate(recipe: Recipe, folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", f"give the folder with {recipe.files[0].file}")
    paths = {name: find(folder, name) for name in recipe.by_file}
    found = {name: path for name, path in paths.items() if path}
    missing = [name for name, entry in recipe.by_file.items() if name not in found and not entry.optional]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise InputMissing(
            f"{folder} lacks {len(missing)} of {len(found) + len(missing)} source files: {shown}",
            "a file with only its header line stands for a source that has nothing"
            if found
            else f"name the folder in which {missing[0]} lies",
        )
    return found
