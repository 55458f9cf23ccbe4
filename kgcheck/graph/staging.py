"""Source files read and checked as a whole in DuckDB, before anything is written to a store.

Every line ends in exactly one place: the staging table of its label or pattern, or the quarantine table with a reason.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.graph.lines import find, read_lines
from kgcheck.graph.recipe import EdgeFile, NodeFile, Recipe
from kgcheck.graph.schema import Label, Pattern, Property, PropertyType, Schema
from kgcheck.progress import Progress
from kgcheck.tables import identifier, literal

_SQL_TYPES: dict[PropertyType, str] = {
    "string": "VARCHAR",
    "strings": "VARCHAR[]",
    "integer": "BIGINT",
    "number": "DOUBLE",
}
_SHOWN_HEADER = 120


def table_name(holder: Label | Pattern) -> str:
    """Name of the staging table of a label or pattern."""
    return f"nodes {holder.name}" if isinstance(holder, Label) else f"edges {holder}"


def keys_of(holder: Label | Pattern) -> list[str]:
    """Key columns of a staging table."""
    return ["id"] if isinstance(holder, Label) else ["head", "tail"]


class Staging:
    """The staging tables of one import directory.

    Args:
        connection: A working database.
        schema: Profile of the graph.
        recipe: Which file becomes what.
        folder: The import directory.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, schema: Schema, recipe: Recipe, folder: Path
    ) -> None:
        self._db = connection
        self._schema = schema
        self._recipe = recipe
        self.files = self._locate(folder)
        self._db.execute(
            "CREATE TABLE quarantine (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR);"
            "CREATE TABLE files (file VARCHAR, rows BIGINT, ignored VARCHAR)"
        ).fetchall()

    def stage(self, progress: Progress) -> None:
        """Read every file, keep what can be loaded, quarantine the rest.

        Raises:
            InputFormat: A file is empty, binary, or has another header.
        """
        with progress.step("reading source files", len(self.files)) as step:
            for label, node_files in self._recipe.node_files(self._schema):
                self._stage_all(label, node_files)
                self._quarantine_duplicates(label)
                step.advance(len(node_files))
            for pattern, edge_files in self._recipe.edge_files(self._schema):
                self._stage_all(pattern, edge_files)
                step.advance(len(edge_files))

    def add_known_ids(self, label: Label, ids: pa.Table) -> None:
        """Ids that the store already holds: an edge may end at them.

        Args:
            label: Their label.
            ids: A table with the column id.
        """
        self._db.register("held", ids)
        self._db.execute(f"INSERT INTO {identifier('ids ' + label.name)} SELECT id FROM held").fetchall()
        self._db.unregister("held")

    def close_edges(self) -> None:
        """Quarantine edges whose ends exist nowhere, then repeated rows."""
        for pattern, _ in self._recipe.edge_files(self._schema):
            for key, end in (("head", pattern.head), ("tail", pattern.tail)):
                self._quarantine(
                    pattern,
                    f"unknown_{key}",
                    f"{literal(f'no {end} ')} || {key}",
                    f"{key} NOT IN (SELECT id FROM {identifier('ids ' + end)})",
                )
            self._quarantine_duplicates(pattern)

    def _locate(self, folder: Path) -> dict[str, Path]:
        if not folder.is_dir():
            raise InputMissing(f"there is no folder {folder}", "give the import directory, with databases/ and ontologies/")
        found: dict[str, Path] = {}
        missing: list[str] = []
        for file in (*self._recipe.nodes, *self._recipe.edges):
            path = find(folder, file.file)
            if path:
                found[file.file] = path
            elif not file.optional:
                missing.append(file.file)
        if missing:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            raise InputMissing(
                f"{folder} lacks {len(missing)} of {len(found) + len(missing)} source files: {shown}",
                "a file with only its header line stands for a source that has nothing",
            )
        return found

    def _stage_all(self, holder: Label | Pattern, files: list[NodeFile] | list[EdgeFile]) -> None:
        keys = ", ".join(f"{identifier(k)} VARCHAR" for k in keys_of(holder))
        columns = "".join(f", {identifier(n)} {_SQL_TYPES[p.type]}" for n, p in holder.properties.items())
        table = identifier(table_name(holder))
        self._db.execute(f"CREATE TABLE {table} (file VARCHAR, line BIGINT, {keys}{columns})").fetchall()
        if isinstance(holder, Label):
            self._db.execute(f"CREATE TABLE {identifier('ids ' + holder.name)} (id VARCHAR)").fetchall()
        for file in files:
            if file.file in self.files:
                self._stage_file(holder, file, self.files[file.file])
        if isinstance(holder, Label):
            self._db.execute(f"INSERT INTO {identifier('ids ' + holder.name)} SELECT id FROM {table}").fetchall()

    def _stage_file(self, holder: Label | Pattern, file: NodeFile | EdgeFile, path: Path) -> None:
        self._db.register("source", read_lines(path))
        try:
            self._db.execute(
                "CREATE OR REPLACE TABLE raw AS SELECT line, raw, try(decode(raw)) AS text FROM source"
            ).fetchall()
        except duckdb.Error as error:
            raise InputFormat(f"{path} cannot be read: {error}", "it may be truncated or not what its suffix says") from error
        finally:
            self._db.unregister("source")
        header = self._header(path, file)
        self._db.execute("DELETE FROM raw WHERE line = 1 OR octet_length(raw) = 0").fetchall()
        self._split(len(header))
        self._count_rows(file, header)
        self._reject_unreadable(file.file)
        self._keep(holder, file, {name: i + 1 for i, name in enumerate(header)})

    def _header(self, path: Path, file: NodeFile | EdgeFile) -> list[str]:
        row = self._db.execute("SELECT text FROM raw WHERE line = 1").fetchall()
        if not row or row[0][0] is None or "\x00" in row[0][0]:
            raise InputFormat(f"{path} is binary or not UTF-8", "save it as tab separated UTF-8 text")
        header = str(row[0][0]).split("\t")
        missing = [c for c in (*file.keys.values(), *file.properties.values()) if c not in header]
        if missing:
            shown = row[0][0][:_SHOWN_HEADER]
            raise InputFormat(
                f"{path} has another header: it lacks {', '.join(missing)}",
                f"its first line is {shown!r}; loaders/{self._schema.profile.name}/files.toml says what it needs",
            )
        return header

    def _split(self, width: int) -> None:
        """Table ``split``: line, row_text, fields, reason of rejection."""
        # Few lines hold a quote, so only those pay for a full RFC 4180 parser.
        quoted = self._db.execute("SELECT line, text FROM raw WHERE contains(text, '\"')").fetchall()
        parsed = pa.table(
            {
                "line": pa.array([line for line, _ in quoted], pa.int64()),
                "parsed": pa.array([_parse(text) for _, text in quoted], pa.list_(pa.string())),
            }
        )
        self._db.register("quoted", parsed)
        self._db.execute(
            """
            CREATE OR REPLACE TABLE split AS
            SELECT line, coalesce(text, raw::VARCHAR) AS row_text,
                   CASE WHEN contains(text, '"') THEN parsed ELSE string_split(text, chr(9)) END AS fields,
                   CASE WHEN text IS NULL THEN 'not_utf8'
                        WHEN contains(text, chr(0)) THEN 'nul_byte'
                        WHEN fields IS NULL THEN 'quoting'
                        WHEN len(fields) <> $width THEN 'field_count' END AS reason
            FROM raw LEFT JOIN quoted USING (line)
            """,
            {"width": width},
        ).fetchall()
        self._db.unregister("quoted")

    def _count_rows(self, file: NodeFile | EdgeFile, header: list[str]) -> None:
        used = {*file.keys.values(), *file.properties.values(), *file.ignored}
        ignored = ", ".join(c for c in header if c not in used)
        self._db.execute(
            "INSERT INTO files SELECT $file, count(*), $ignored FROM split", {"file": file.file, "ignored": ignored}
        ).fetchall()

    def _reject_unreadable(self, file: str) -> None:
        self._db.execute(
            """
            INSERT INTO quarantine
            SELECT $file, line, reason, CASE reason WHEN 'field_count' THEN len(fields) || ' fields' END, row_text
            FROM split WHERE reason IS NOT NULL
            """,
            {"file": file},
        ).fetchall()
        self._db.execute("DELETE FROM split WHERE reason IS NOT NULL").fetchall()

    def _keep(self, holder: Label | Pattern, file: NodeFile | EdgeFile, position: Mapping[str, int]) -> None:
        keys = {k: f"fields[{position[column]}]" for k, column in file.keys.items()}
        values = {
            name: self._typed(holder.properties[name], f"fields[{position[column]}]")
            for name, column in file.properties.items()
        }
        empty = " OR ".join(f"trim({k}) = '' OR regexp_matches({k}, '[\\x00-\\x1f]')" for k in keys.values())
        numbers = [
            (name, f"fields[{position[column]}]")
            for name, column in file.properties.items()
            if holder.properties[name].type in ("integer", "number")
        ]
        bad = " ".join(
            f"WHEN {raw} <> '' AND ({values[name]} IS NULL OR NOT isfinite({values[name]}::DOUBLE)) THEN {literal(name)} || ' is ' || {raw}"
            for name, raw in numbers
        )
        self._db.execute(
            f"""
            CREATE OR REPLACE TABLE judged AS SELECT *,
              CASE WHEN {empty} THEN 'bad_id' WHEN detail IS NOT NULL THEN 'bad_number' END AS why
            FROM (SELECT *, {f"CASE {bad} END" if bad else "NULL::VARCHAR"} AS detail FROM split)
            """
        ).fetchall()
        self._db.execute(
            "INSERT INTO quarantine SELECT $file, line, why, detail, row_text FROM judged WHERE why IS NOT NULL",
            {"file": file.file},
        ).fetchall()
        selected = {"file": "$file", "line": "line"} | keys | values
        columns = ", ".join(f"{expression} AS {identifier(name)}" for name, expression in selected.items())
        self._db.execute(
            f"INSERT INTO {identifier(table_name(holder))} BY NAME SELECT {columns} FROM judged WHERE why IS NULL",
            {"file": file.file},
        ).fetchall()

    def _typed(self, spec: Property, field: str) -> str:
        match spec.type:
            case "string":
                return f"nullif({field}, '')"
            case "strings":
                separator = literal(self._recipe.format.list_separator)
                items = f"list_filter(list_transform(string_split({field}, {separator}), lambda x: trim(x)), lambda x: x <> '')"
                return f"CASE WHEN len({items}) > 0 THEN {items} END"
            case "integer":
                return f"TRY_CAST({field} AS BIGINT)"
            case _:
                return f"TRY_CAST({field} AS DOUBLE)"

    def _quarantine_duplicates(self, holder: Label | Pattern) -> None:
        """Of rows that state the same, the first stays; a second node of one id goes, whatever it states."""
        table = identifier(table_name(holder))
        everything = ", ".join(identifier(c) for c in (*keys_of(holder), *holder.properties))
        keys = ", ".join(identifier(k) for k in keys_of(holder))
        repeated = f"row_number() OVER (PARTITION BY {everything} ORDER BY file, line) > 1"
        chosen = f"SELECT rowid FROM {table} QUALIFY {repeated}"
        self._quarantine(holder, "duplicate_row", "NULL", f"rowid IN ({chosen})")
        if isinstance(holder, Label):
            chosen = f"SELECT rowid FROM {table} QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY file, line) > 1"
            self._quarantine(holder, "duplicate_id", "NULL", f"rowid IN ({chosen})")

    def _quarantine(self, holder: Label | Pattern, reason: str, detail: str, where: str) -> None:
        table = identifier(table_name(holder))
        self._db.execute(
            f"INSERT INTO quarantine SELECT file, line, {literal(reason)}, {detail}, NULL FROM {table} WHERE {where}"
        ).fetchall()
        self._db.execute(f"DELETE FROM {table} WHERE {where}").fetchall()

    def restore_rows(self) -> None:
        """Give every quarantined row its text as it stands in the file, by reading those files again."""
        wanting = self._db.execute("SELECT DISTINCT file FROM quarantine WHERE row_text IS NULL").fetchall()
        for (file,) in wanting:
            self._db.register("source", read_lines(self.files[file]))
            self._db.execute(
                """
                UPDATE quarantine SET row_text = decode(source.raw) FROM source
                WHERE quarantine.file = $file AND quarantine.line = source.line AND row_text IS NULL
                """,
                {"file": file},
            ).fetchall()
            self._db.unregister("source")


def _parse(text: str) -> list[str] | None:
    """The fields of one record, or None where its quotes do not close."""
    try:
        rows = list(csv.reader([text], delimiter="\t", strict=True))
    except csv.Error:
        return None
    return rows[0] if rows else None
