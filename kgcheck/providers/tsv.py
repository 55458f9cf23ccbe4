"""Read a provider's TSV or text file into a DuckDB table, strictly, all columns text.

`kgcheck.loading.lines` reads the files of a graph, in another way on purpose: of those, each bad line is put aside with
its number and its bytes while the others are loaded, which a table reader cannot tell. Of a provider's file, one bad
line means that the file is not what its recipe describes, or was cut off, and none of it is taken.
"""

import gzip
import io
import os
import zlib
from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import NamedTuple, TextIO

import duckdb
import pyarrow as pa
from pyarrow import csv

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
_KINDS = {"\t": "tab separated UTF-8 table", ",": "comma separated UTF-8 table"}


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
    check_packed(path)


def open_tsv(db: duckdb.DuckDBPyConnection, table: str, path: Path, form: Form = _TABLE) -> None:
    """Read a file, packed or not, into a temporary table: all columns text, nothing guessed, an empty field null."""
    if form.lines:
        form = form._replace(header=False, columns=("line",), delimiter="\x1f", quoted=False)
    skipped, header = _head(path, form)
    names = _names(path, header, form) if form.header else form.columns
    try:
        if skipped:
            _open_commented(db, table, path, form, names, skipped)
        else:
            _open_plain(db, table, path, form, names)
    except (duckdb.InvalidInputException, pa.ArrowInvalid) as error:
        raise InputFormat(
            f"{path} is not a {_KINDS.get(form.delimiter, 'UTF-8 table')}: {first_words(error)}",
            "get it again, or name its source as another form",
        ) from error
    except (duckdb.IOException, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputFormat(
            f"{path} cannot be unpacked: {first_words(error)}", "it may be truncated: get it again"
        ) from error


def _open_plain(db: duckdb.DuckDBPyConnection, table: str, path: Path, form: Form, names: Sequence[str]) -> None:
    typed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    quote = "'\"'" if form.quoted else "''"
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {identifier(table)} AS
        SELECT * FROM read_csv({literal(escape(str(path)))}, columns={{{typed}}}, header={str(form.header).lower()},
            delim={literal(form.delimiter)}, quote={quote}, escape={quote}, auto_detect=false, strict_mode=true)
        """
    ).fetchall()


def _open_commented(
    db: duckdb.DuckDBPyConnection, table: str, path: Path, form: Form, names: Sequence[str], skipped: int
) -> None:
    """Read what follows a head of comments.

    DuckDB takes what follows the sign of a comment anywhere in a line for one, and reads nothing where the head has
    other ends of lines than the table.
    """
    reading = csv.ReadOptions(column_names=names, skip_rows=skipped + form.header)
    parsing = csv.ParseOptions(delimiter=form.delimiter, quote_char='"' if form.quoted else False)
    types = pa.schema([(name, pa.string()) for name in names])
    converting = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    with io.BufferedReader(Bounded(path), MIB) as stream:
        rows = csv.open_csv(stream, reading, parsing, converting)
        db.register("rows", rows)
        db.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(table)} AS FROM rows").fetchall()
        db.unregister("rows")


def open_text(path: Path) -> TextIO:
    """A text file to be read, packed with gzip or not, within the limits of kgcheck.inputs."""
    return io.TextIOWrapper(io.BufferedReader(Bounded(path), MIB), encoding="utf-8-sig", newline="")


def first_words(error: Exception) -> str:
    """Return DuckDB's error on one line, without its advice on options that nobody here can set."""
    detail = str(error).split("Possible ")[0]
    return " ".join(detail.split())[:300]


def _head(path: Path, form: Form) -> tuple[int, str]:
    """The number of comments before the first other line, and that line."""
    try:
        with open_text(path) as stream:
            for number, line in enumerate(iter(lambda: stream.readline(1_000_000), "")):
                if not (form.comment and line.startswith(form.comment)):
                    return number, line.rstrip("\r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputFormat(f"{path} cannot be unpacked: {error}", "it may be truncated: get it again") from error
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}", LET_READ) from error
    except UnicodeDecodeError as error:
        raise InputFormat(f"{path} is not a tab separated UTF-8 table: {error}", AS_UTF8) from error
    raise InputFormat(f"{path} has no line that says anything", "it may be truncated: get it again")


def _names(path: Path, line: str, form: Form) -> list[str]:
    names = [name.strip('"') for name in line.split(form.delimiter)]
    if len({name.casefold() for name in names}) < len(names) or not all(names):
        raise InputFormat(
            f"the header of {path} does not name every column once: {line[:100]!r}",
            "name each column once in its first line",
        )
    return names
