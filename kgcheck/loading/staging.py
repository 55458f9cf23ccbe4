"""Staging: read and check source files in DuckDB tables, before anything reaches a store.

Every row of a file ends in the staging table of its label or pattern, with the reason where it cannot be loaded. A row
of a file that feeds several of them, and that is of none, is counted by what it says.
"""

from functools import partial
from pathlib import Path

import duckdb

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.loading.lines import Records, find
from kgcheck.profile.import_files import FILES, EdgeFile, NodeFile, Recipe, Where
from kgcheck.profile.schema import Holder, Label, Property, PropertyType, Schema
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

OF_NONE = "(no label or relation)"
"""Stands for the target of rows that no entry of the recipe takes, or that cannot be read far enough to know."""

_KINDS = 20
"""Kinds of rows of no label or relation that are named, the most frequent first."""


def holder_name(holder: Holder) -> str:
    """``Protein``, or ``Protein ACTS_ON Protein``."""
    return holder.name if isinstance(holder, Label) else str(holder)


def keys_of(holder: Holder) -> list[str]:
    """Key columns of a staging table."""
    return ["id"] if isinstance(holder, Label) else ["head", "tail"]


def stated_by(holder: Holder) -> list[str]:
    """Everything that a row states: its keys and its properties."""
    return [*keys_of(holder), *holder.properties]


def _table_of(kind: str, holder: Holder) -> str:
    return identifier(f"{kind} {holder_name(holder)}")


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
        self.of_none: dict[str, dict[str, int]] = {}
        """Rows of each shared file that no entry takes, by what they say; the last count is of all other kinds."""

    def stage(self, holders: list[Holder], progress: Progress) -> None:
        for holder in self.schema.holders:
            keys = ", ".join(f"{identifier(k)} VARCHAR" for k in keys_of(holder))
            columns = "".join(f", {identifier(n)} {_SQL_TYPES[p.type]}" for n, p in holder.properties.items())
            self._db.execute(
                f"CREATE TABLE {staged(holder)}"
                f" (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR, {keys}{columns})"
            ).fetchall()
        self._db.execute(
            "CREATE TABLE unread (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR)"
        ).fetchall()
        wanted = {holder_name(holder) for holder in holders}
        files = {name: e for name, e in self.recipe.by_file.items() if name in self.files}
        files = {name: e for name, e in files.items() if any(entry.target in wanted for entry in e)}
        with progress.step("reading source files", len(files)) as step:
            for name, entries in files.items():
                if any(entry.where for entry in entries):
                    self._stage_shared(name, entries)
                else:
                    self._stage_file(self.holder(entries[0]), entries[0], self.files[name])
                step.advance()

    def unread(self, file: str) -> dict[str, int]:
        """Count the rows of a shared file that cannot be read far enough to know what they are, by reason."""
        rows = self._db.execute("SELECT reason, count(*) FROM unread WHERE file = ? GROUP BY ALL", [file]).fetchall()
        return {reason: n for reason, n in rows}

    def shared(self) -> list[str]:
        """The files that are there and of which entries take some rows only."""
        return [f for f, e in self.recipe.by_file.items() if f in self.files and any(entry.where for entry in e)]

    def decided_by_ends(self, entry: NodeFile | EdgeFile) -> set[str]:
        """The labels whose ids have to be known to tell which pattern a row of this entry is of."""
        rivals = self.recipe.rivals(entry) if isinstance(entry, EdgeFile) else ()
        return {label for e in rivals for label in (e.head, e.tail)} if len(rivals) > 1 else set()

    def recipe_files(self) -> list[NodeFile | EdgeFile]:
        """The files of the recipe that are there; nodes before edges."""
        return [f for f in self.recipe.files if f.file in self.files]

    def holder(self, file: NodeFile | EdgeFile) -> Holder:
        if isinstance(file, NodeFile):
            return self.schema.label(file.label)
        return self.schema.pattern(file.head, file.relation, file.tail)

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

    def _stage_file(self, holder: Holder, file: NodeFile | EdgeFile, path: Path) -> None:
        records = Records(path)
        place = self._places(path, records, (file,))
        if records.is_bare:
            return
        self._feed(
            records,
            self._insert(
                holder, file, place, f"(SELECT *, {self._unreadable(records)} AS broken FROM {self._fields(records)})"
            ),
            file.file,
        )

    def _stage_shared(self, name: str, entries: tuple[NodeFile | EdgeFile, ...]) -> None:
        """Read a file once, and part its rows among the labels or patterns that take some of them."""
        records = Records(self.files[name])
        place = self._places(self.files[name], records, entries)
        if records.is_bare:
            self.of_none[name] = {}
            return
        cells = {column: identifier(f"cell {column}") for column in place}
        read = "".join(f", {field} AS {cells[column]}" for column, field in place.items())
        self._feed(
            records,
            f"""
            CREATE OR REPLACE TEMP TABLE shared AS
            SELECT *, CASE WHEN broken IS NULL THEN {self._taker(entries, cells)} END AS taker
            FROM (SELECT line, suspect, broken, CASE WHEN broken IS NOT NULL THEN coalesce(text, odd_bytes) END AS text,
                         NULL::VARCHAR AS odd_bytes, len(fields) AS width{read}
                  FROM (SELECT *, {self._unreadable(records)} AS broken FROM {self._fields(records)}))
            """,
            None,
        )
        self._db.execute(
            """
            INSERT INTO unread
            SELECT $file, line, broken, CASE broken WHEN 'field_count' THEN width || ' fields' END, text
            FROM shared WHERE broken IS NOT NULL
            """,
            {"file": name},
        ).fetchall()
        for number, entry in enumerate(entries):
            rows = f"(SELECT * FROM shared WHERE taker = {number})"
            self._db.execute(self._insert(self.holder(entry), entry, cells, rows), {"file": name}).fetchall()
        self.of_none[name] = self._of_none(entries, cells)
        self._db.execute("DROP TABLE shared").fetchall()

    def _taker(self, entries: tuple[NodeFile | EdgeFile, ...], cells: dict[str, str]) -> str:
        """SQL for the number of the entry that takes a row: by what the row says, then by what its ends are."""
        sure, unsure = [], []
        for number, entry in enumerate(entries):
            if entry.where is None:
                continue
            takes = self._takes(entry.where, cells[entry.where.column])
            if isinstance(entry, EdgeFile) and self.decided_by_ends(entry):
                unsure.append(f"WHEN {takes} THEN {number}")
                ends = zip((entry.head, entry.tail), entry.keys.items(), strict=True)
                takes += "".join(
                    f" AND {_without(entry.prefixes[key], cells[column])} IN ({_known_ids(self.schema.label(label))})"
                    for label, (key, column) in ends
                )
            sure.append(f"WHEN {takes} THEN {number}")
        return f"CASE {' '.join([*sure, *unsure])} END"

    def _takes(self, where: Where, cell: str) -> str:
        values = ", ".join(literal(value) for value in where.equals or where.contains)
        if where.equals:
            return f"{cell} IN ({values})"
        separator = literal(self.recipe.format.list_separator)
        return f"list_has_any(list_transform(string_split({cell}, {separator}), lambda x: trim(x)), [{values}])"

    def _of_none(self, entries: tuple[NodeFile | EdgeFile, ...], cells: dict[str, str]) -> dict[str, int]:
        tested = dict.fromkeys(entry.where.column for entry in entries if entry.where)
        kind = ", ', ', ".join(f"{literal(f'{column} ')}, coalesce({cells[column]}, '')" for column in tested)
        rows = self._db.execute(
            f"""
            SELECT concat({kind})[:{_SHOWN_HEADER}] AS kind, count(*) AS n FROM shared
            WHERE broken IS NULL AND taker IS NULL GROUP BY kind ORDER BY n DESC, kind
            """
        ).fetchall()
        named = {kind: n for kind, n in rows[:_KINDS]}
        if others := sum(n for _, n in rows[_KINDS:]):
            named[f"{len(rows) - _KINDS} other kinds"] = others
        return named

    def _feed(self, records: Records, statement: str, file: str | None) -> None:
        """Run a statement over the table ``source``, which streams the records."""
        self._db.register("source", records.rows())
        try:
            self._db.execute(statement, {"file": file} if file else None).fetchall()
        except duckdb.Error:
            # DuckDB passes an exception of its input on as text only.
            if records.failure:
                raise records.failure from None
            raise
        finally:
            self._db.unregister("source")

    def _places(self, path: Path, records: Records, entries: tuple[NodeFile | EdgeFile, ...]) -> dict[str, str]:
        """The field of each column that is needed, as SQL."""
        needed = list(dict.fromkeys(column for entry in entries for column in entry.columns))
        ignored = {column for entry in entries for column in entry.ignored}
        self.ignored[entries[0].file] = [c for c in records.header if c not in {*needed, *ignored}]
        required = {column for entry in entries for column in entry.required_columns}
        shown = f"its first line is {records.first_line[:_SHOWN_HEADER]!r}"
        hint = f"{shown}; {self.schema.folder / FILES} says what it needs"
        if missing := [c for c in needed if c not in records.header and c in required]:
            raise InputFormat(f"{path} has another header: it lacks {', '.join(missing)}", hint)
        if doubled := sorted({c for c in needed if records.header.count(c) > 1}):
            raise InputFormat(f"{path} has more than one column {', '.join(doubled)}", hint)
        present = set(records.header)
        return {c: f"fields[{records.header.index(c) + 1}]" if c in present else "NULL::VARCHAR" for c in needed}

    def _insert(self, holder: Holder, entry: NodeFile | EdgeFile, place: dict[str, str], rows: str) -> str:
        stated = {key: _without(entry.prefixes[key], place[column]) for key, column in entry.keys.items()}
        stated |= {name: place[column] for name, column in entry.properties.items()}
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
        odd_prefix = " ".join(
            f"WHEN NOT starts_with({place[column]}, {literal(entry.prefixes[key])})"
            f" THEN {place[column]} || {literal(f' does not begin with {entry.prefixes[key]}')}"
            for key, column in entry.keys.items()
            if entry.prefixes[key]
        )
        names = ", ".join(identifier(n) for n in stated)
        return f"""
            INSERT INTO {staged(holder)} (file, line, reason, detail, row_text, {names})
            SELECT $file, line, reason,
                   CASE reason WHEN 'field_count' THEN width || ' fields'
                               WHEN 'bad_id' THEN {f"CASE {odd_prefix} END" if odd_prefix else "NULL"}
                               WHEN 'bad_number' THEN {f"CASE {wrong} END" if wrong else "NULL"} END,
                   CASE WHEN reason IS NOT NULL THEN coalesce(text, odd_bytes) END, {names}
            FROM (
                SELECT *, CASE WHEN broken IS NOT NULL THEN broken
                               WHEN {bad_id} THEN 'bad_id'
                               {f"WHEN CASE {wrong} END IS NOT NULL THEN 'bad_number'" if wrong else ""} END AS reason
                FROM (SELECT *, {made} FROM (SELECT *, {read} FROM {rows}))
            )"""

    def _fields(self, records: Records) -> str:
        """SQL for every record with its fields."""
        plain = "string_split(text, chr(9))"
        quoted = "quoted"
        if self.recipe.format.lenient:
            # A quote may be a character, unless the fields are too many without it.
            width = len(records.header)
            needs_it = f"len(quoted) = {width} OR (len(quoted) < {width} AND len({plain}) > {width})"
            quoted = f"CASE WHEN {needs_it} THEN quoted ELSE {plain} END"
        fields = f"CASE WHEN suspect AND contains(text, '\"') THEN {quoted} ELSE {plain} END"
        return f"(SELECT *, len(fields) AS width FROM (SELECT *, {fields} AS fields FROM source))"

    def _unreadable(self, records: Records) -> str:
        """SQL for why a record cannot be read at all; null where it can."""
        differs = ">" if self.recipe.format.lenient else "<>"
        return f"""CASE WHEN text IS NULL THEN 'not_utf8'
                        WHEN suspect AND contains(text, chr(0)) THEN 'nul_byte'
                        WHEN fields IS NULL THEN 'quoting'
                        WHEN len(fields) {differs} {len(records.header)} THEN 'field_count' END"""

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


def _without(prefix: str, cell: str) -> str:
    """SQL for an id without what stands before every id of a file; null where that is missing."""
    if not prefix:
        return cell
    return f"CASE WHEN starts_with({cell}, {literal(prefix)}) THEN {cell}[{len(prefix) + 1}:] END"


def _known_ids(label: Label) -> str:
    return f"SELECT id FROM {staged(label)} WHERE reason IS NULL"


def _is_id(field: str) -> str:
    """SQL for `model.Identifier`: something to see in it, and nothing that cannot be seen."""
    hidden = f"suspect AND regexp_matches({field}, '[{HIDDEN_RE2}]')"
    return f"trim({field}) <> '' AND length({field}) <= {_LONGEST_ID} AND NOT ({hidden})"


def _locate(recipe: Recipe, folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", f"give the folder with {recipe.files[0].file}")
    paths = {name: find(folder, name) for name in recipe.by_file}
    found = {name: path for name, path in paths.items() if path}
    missing = [n for n, entries in recipe.by_file.items() if n not in found and not all(e.optional for e in entries)]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise InputMissing(
            f"{folder} lacks {len(missing)} of {len(found) + len(missing)} source files: {shown}",
            "a file with only its header line stands for a source that has nothing"
            if found
            else f"name the folder in which {missing[0]} lies",
        )
    return found
