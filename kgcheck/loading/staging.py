"""Source files read and checked as a whole in DuckDB, before anything is written to a store.

Every row of a file ends in the staging table of its label or pattern, with the reason where it cannot be loaded.
"""

from pathlib import Path

import duckdb

from kgcheck.duck import identifier, literal
from kgcheck.errors import InputFormat, InputMissing
from kgcheck.loading.lines import find
from kgcheck.loading.records import Records
from kgcheck.profile.import_files import EdgeFile, NodeFile, Recipe
from kgcheck.profile.schema import Holder, Label, Property, PropertyType, Schema
from kgcheck.progress import Progress
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


def holder_name(holder: Holder) -> str:
    """``Protein``, or ``Protein ACTS_ON Protein``."""
    return holder.name if isinstance(holder, Label) else str(holder)


def keys_of(holder: Holder) -> list[str]:
    """Key columns of a staging table."""
    return ["id"] if isinstance(holder, Label) else ["head", "tail"]


def stated_by(holder: Holder) -> list[str]:
    """Everything that a row states: its keys and its properties."""
    return [*keys_of(holder), *holder.properties]


def staged(holder: Holder) -> str:
    """Quoted name of a staging table.

    Returns:
        The name; its columns are file, line, reason, detail, row_text (of rows with a reason), then what a row states.
    """
    return identifier(f"staged {holder_name(holder)}")


class Staging:
    """The staging tables of one import directory.

    Args:
        connection: A working database.
        schema: Profile of the graph.
        recipe: Which file becomes what.
        folder: The import directory.

    Raises:
        InputMissing: The folder, or a file of the recipe, is not there.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: Schema, recipe: Recipe, folder: Path) -> None:
        self._db = connection
        self.schema = schema
        self._recipe = recipe
        self.files = _locate(recipe, folder)
        self.ignored: dict[str, list[str]] = {}
        """Columns of each file that the recipe does not name."""

    def stage(self, holders: list[Holder], progress: Progress) -> None:
        """Read every file of these labels and patterns.

        Raises:
            InputFormat: A file is empty, binary, or has another header.
        """
        for holder in self.schema.holders:
            keys = ", ".join(f"{identifier(k)} VARCHAR" for k in keys_of(holder))
            columns = "".join(f", {identifier(n)} {_SQL_TYPES[p.type]}" for n, p in holder.properties.items())
            self._db.execute(
                f"CREATE TABLE {staged(holder)}"
                f" (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR, {keys}{columns})"
            ).fetchall()
        wanted = {holder_name(holder) for holder in holders}
        files = [f for f in self.recipe_files() if holder_name(self.holder(f)) in wanted]
        with progress.step("reading source files", len(files)) as step:
            for file in files:
                self._stage_file(self.holder(file), file, self.files[file.file])
                step.advance()

    def recipe_files(self) -> list[NodeFile | EdgeFile]:
        """The files of the recipe that are there; nodes before edges."""
        return [f for f in self._recipe.files if f.file in self.files]

    def holder(self, file: NodeFile | EdgeFile) -> Holder:
        """The label or pattern whose rows a file has."""
        if isinstance(file, NodeFile):
            return self.schema.label(file.label)
        return self.schema.pattern(file.head, file.relation, file.tail)

    def restore_rows(self) -> None:
        """Give every quarantined row its text as it stands in the file, by reading those files again.

        Raises:
            InputError: A file has changed meanwhile, and cannot be read any more.
        """
        wanting = self._db.execute("SELECT DISTINCT file FROM quarantine WHERE row_text IS NULL").fetchall()
        for (file,) in wanting:
            self._feed(
                Records(self.files[file]),
                "UPDATE quarantine SET row_text = source.text FROM source"
                " WHERE quarantine.file = $file AND quarantine.line = source.line AND row_text IS NULL",
                file,
            )

    def _stage_file(self, holder: Holder, file: NodeFile | EdgeFile, path: Path) -> None:
        records = Records(path)
        position = self._positions(path, records, file)
        used = {*file.keys.values(), *file.properties.values(), *file.ignored}
        self.ignored[file.file] = [c for c in records.header if c not in used]
        self._feed(records, self._insert(holder, file, position, len(records.header)), file.file)

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

    def _positions(self, path: Path, records: Records, file: NodeFile | EdgeFile) -> dict[str, str]:
        """The field of each column that is needed, as SQL."""
        needed = [*file.keys.values(), *file.properties.values()]
        shown = f"its first line is {records.first_line[:_SHOWN_HEADER]!r}"
        hint = f"{shown}; loaders/{self.schema.profile.name}/files.toml says what it needs"
        if missing := [c for c in needed if c not in records.header]:
            raise InputFormat(f"{path} has another header: it lacks {', '.join(missing)}", hint)
        if doubled := sorted({c for c in needed if records.header.count(c) > 1}):
            raise InputFormat(f"{path} has more than one column {', '.join(doubled)}", hint)
        return {column: f"fields[{records.header.index(column) + 1}]" for column in needed}

    def _insert(self, holder: Holder, file: NodeFile | EdgeFile, position: dict[str, str], width: int) -> str:
        """The statement that judges, types and stages the rows of ``source``."""
        stated = {name: position[column] for name, column in {**file.keys, **file.properties}.items()}
        fields = {name: identifier(f"field {name}") for name in stated}
        read = ", ".join(f"{stated[name]} AS {field}" for name, field in fields.items())
        typed = {n: self._typed(holder.properties[n], fields[n]) for n in file.properties}
        made = ", ".join(f"{typed.get(n, field)} AS {identifier(n)}" for n, field in fields.items())
        wrong = " ".join(
            f"WHEN {fields[n]} <> '' AND {identifier(n)} IS NULL THEN {literal(f'{n} is ')} || {fields[n]}"
            for n in typed
            if holder.properties[n].type in ("integer", "number")
        )
        bad_id = " OR ".join(f"NOT coalesce({_is_id(fields[key])}, false)" for key in file.keys)
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
                               WHEN len(fields) <> {width} THEN 'field_count'
                               WHEN {bad_id} THEN 'bad_id'
                               {f"WHEN CASE {wrong} END IS NOT NULL THEN 'bad_number'" if wrong else ""} END AS reason
                FROM (SELECT *, {made} FROM (SELECT *, {read} FROM (
                    SELECT *, CASE WHEN suspect AND contains(text, '"') THEN quoted ELSE string_split(text, chr(9)) END
                              AS fields
                    FROM source
                )))
            )"""

    def _typed(self, spec: Property, field: str) -> str:
        match spec.type:
            case "string":
                return f"nullif({field}, '')"
            case "strings":
                separator = literal(self._recipe.format.list_separator)
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


def _is_id(field: str) -> str:
    """What `model.Identifier` asks for, something to see in it, and nothing that cannot be seen."""
    hidden = f"suspect AND regexp_matches({field}, '[{HIDDEN_RE2}]')"
    return f"trim({field}) <> '' AND length({field}) <= {_LONGEST_ID} AND NOT ({hidden})"


def _locate(recipe: Recipe, folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", "give the import directory, with databases/ and ontologies/")
    paths = {f.file: find(folder, f.file) for f in recipe.files}
    found = {name: path for name, path in paths.items() if path}
    missing = [f.file for f in recipe.files if not f.optional and f.file not in found]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise InputMissing(
            f"{folder} lacks {len(missing)} of {len(found) + len(missing)} source files: {shown}",
            "a file with only its header line stands for a source that has nothing",
        )
    return found
