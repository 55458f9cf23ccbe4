"""Tab separated files as DuckDB tables: UTF-8, a field that holds a tab, a line end or a leading quote is quoted."""

import os
from pathlib import Path

import duckdb

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.tables import identifier, literal


def check_file(path: Path, *, whole_lines: bool) -> None:
    """Refuse a file that cannot be read, is empty or was cut off.

    Args:
        path: The file.
        whole_lines: The last line must have an end: every provider writes one, so a file without was cut off.

    Raises:
        InputMissing: It cannot be read.
        InputFormat: It is empty, or cut off.
    """
    try:
        with path.open("rb") as stream:
            if not stream.seek(0, os.SEEK_END):
                raise InputFormat(f"{path} is empty")
            stream.seek(-1, os.SEEK_END)
            last = stream.read(1)
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}") from error
    if whole_lines and last != b"\n":
        raise InputFormat(f"the last line of {path} has no end", "the file may be truncated: get it again")


def open_tsv(
    db: duckdb.DuckDBPyConnection, table: str, path: Path, *, header: bool = True, columns: tuple[str, ...] = ()
) -> None:
    """Read a file into a temporary table, all columns text and nothing guessed; an empty field is null.

    Args:
        db: Where to make the table.
        table: Its name.
        path: The file.
        header: The first line names the columns.
        columns: Their names, where it does not.

    Raises:
        InputMissing: The file cannot be read.
        InputFormat: It is no such table.
    """
    names = _header(path) if header else columns
    typed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    try:
        db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {identifier(table)} AS
            SELECT * FROM read_csv({literal(str(path))}, columns={{{typed}}}, header={str(header).lower()}, delim='\t',
                quote='"', escape='"', auto_detect=false, strict_mode=true)
            """
        ).fetchall()
    except duckdb.InvalidInputException as error:
        raise InputFormat(f"{path} is not a tab separated UTF-8 table: {first_words(error)}") from error


def first_words(error: duckdb.Error) -> str:
    """What DuckDB found wrong, on one line and without its advice, which names options that nobody here can set."""
    told = str(error).split("Possible ")[0]
    return " ".join(told.split())[:300]


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            line = stream.readline(1_000_000).rstrip("\r\n")
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputFormat(f"{path} is not a tab separated UTF-8 table: {error}") from error
    names = [name.strip('"') for name in line.split("\t")]
    if len({name.casefold() for name in names}) < len(names) or not all(names):
        raise InputFormat(f"the header of {path} does not name every column once: {line[:100]!r}")
    return names
