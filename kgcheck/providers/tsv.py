"""Read a provider's TSV or text file into a DuckDB table, strictly, all columns text.

`kgcheck.loading.lines` reads the files of a graph, in another way on purpose: of those, each bad line is put aside with
its number and its bytes while the others are loaded, which a table reader cannot tell. Of a provider's file, one bad
line means that the file is not what its recipe describes, or was cut off, and none of it is taken.
"""

import gzip
import io
import os
import zlib
from glob import escape
from pathlib import Path
from typing import NamedTuple, TextIO

import duckdb

from kgcheck.errors import AS_UTF8, LET_READ, InputFormat, InputMissing
from kgcheck.inputs import MIB, Bounded, check_packed
from kgcheck.quoting import identifier, literal


class Form(NamedTuple):
    """Form of a text file as a table; ``lines``: one column, `line`, with each line as it is."""

    header: bool = True
    columns: tuple[str, ...] = ()
    delimiter: str = "\t"
    quoted: bool = True
    comment: str = ""
    lines: bool = False


_TABLE = Form()


def check_file(path: Path, *, whole_lines: bool) -> None:
    """Refuse a file that cannot be read, is empty or was cut off."""
    try:
        with path.open("rb") as stream:
            if not stream.seek(0, os.SEEK_END):
                raise InputFormat(f"{path} is empty", "get it again")
            stream.seek(-1, os.SEEK_END)
            last = stream.read(1)
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}", LET_READ) from error
    # A packed file carries a checksum of its own, which is checked when it is read.
    if whole_lines and path.suffix != ".gz" and last != b"\n":
        raise InputFormat(f"the last line of {path} has no end", "the file may be truncated: get it again")


def open_tsv(db: duckdb.DuckDBPyConnection, table: str, path: Path, form: Form = _TABLE) -> None:
    """Read a file, packed or not, into a temporary table: all columns text, nothing guessed, an empty field null."""
    check_packed(path)
    if form.lines:
        form = form._replace(header=False, columns=("line",), delimiter="\x1f", quoted=False)
    names = _header(path, form) if form.header else form.columns
    typed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    quote = "'\"'" if form.quoted else "''"
    comment = f", comment={literal(form.comment)}" if form.comment else ""
    try:
        db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {identifier(table)} AS
            SELECT * FROM read_csv({literal(escape(str(path)))}, columns={{{typed}}}, header={str(form.header).lower()},
                delim={literal(form.delimiter)}, quote={quote}, escape={quote}{comment}, auto_detect=false,
                strict_mode=true)
            """
        ).fetchall()
    except duckdb.InvalidInputException as error:
        raise InputFormat(
            f"{path} is not a tab separated UTF-8 table: {first_words(error)}",
            "get it again, or name its source as another form",
        ) from error
    except duckdb.IOException as error:
        raise InputFormat(
            f"{path} cannot be unpacked: {first_words(error)}", "it may be truncated: get it again"
        ) from error


def open_text(path: Path) -> TextIO:
    """A text file to be read, packed with gzip or not, within the limits of kgcheck.inputs."""
    return io.TextIOWrapper(io.BufferedReader(Bounded(path), MIB), encoding="utf-8-sig", newline="")


def first_words(error: Exception) -> str:
    """Return DuckDB's error on one line, without its advice on options that nobody here can set."""
    detail = str(error).split("Possible ")[0]
    return " ".join(detail.split())[:300]


def _header(path: Path, form: Form) -> list[str]:
    try:
        with open_text(path) as stream:
            line = stream.readline(1_000_000).rstrip("\r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputFormat(f"{path} cannot be unpacked: {error}", "it may be truncated: get it again") from error
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}", LET_READ) from error
    except UnicodeDecodeError as error:
        raise InputFormat(f"{path} is not a tab separated UTF-8 table: {error}", AS_UTF8) from error
    names = [name.strip('"') for name in line.split(form.delimiter)]
    if len({name.casefold() for name in names}) < len(names) or not all(names):
        raise InputFormat(
            f"the header of {path} does not name every column once: {line[:100]!r}",
            "name each column once in its first line",
        )
    return names
