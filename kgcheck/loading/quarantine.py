"""The quarantine file: every row that was not loaded, as it stands in its file, with the reason. JSON lines."""

from contextlib import suppress
from glob import escape
from pathlib import Path

import duckdb

from kgcheck.duck import literal
from kgcheck.errors import InputError
from kgcheck.outputs import replacing

_COLUMNS = "{file: 'VARCHAR', line: 'BIGINT', reason: 'VARCHAR', detail: 'VARCHAR', \"row\": 'VARCHAR'}"

FOREIGN = ("foreign_head", "foreign_tail")
"""Reasons of edges whose missing end is in a namespace that the profile does not load."""

_NAMED = 20
"""Namespaces that are named, those of most rows first."""

_LONGEST_ROW = 1 << 27
"""Bytes: a line of 64 MiB, escaped."""


def write_quarantine(db: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Write the table ``quarantine`` in place of the file of an earlier load, as a whole."""
    rows = int(db.execute("SELECT count(*) FROM quarantine").fetchall()[0][0])
    if not rows:
        return 0
    try:
        with replacing(path) as partial:
            db.execute(
                """
                COPY (SELECT file, line, reason, detail, row_text AS "row" FROM quarantine ORDER BY file, line)
                TO $path (FORMAT json)
                """,
                {"path": str(partial)},
            ).fetchall()
    except (OSError, UnicodeError, duckdb.Error) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or error
        raise InputError(f"cannot write the quarantine file {path}: {why}", "name another with --quarantine") from error
    return rows


def foreign_namespaces(db: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """The namespaces that the profile does not load, each with its rows in quarantine."""
    rows = db.execute(
        """
        SELECT regexp_extract(detail, '^no \\S+ ([^:]+):', 1) AS namespace, count(*) AS n FROM quarantine
        WHERE list_contains($reasons, reason) GROUP BY ALL ORDER BY n DESC, namespace LIMIT $most
        """,
        {"reasons": list(FOREIGN), "most": _NAMED},
    ).fetchall()
    return {namespace: n for namespace, n in rows}


def kept_rows(db: duckdb.DuckDBPyConnection, path: Path) -> dict[str, int]:
    """How many rows of each source file an earlier quarantine file holds; none where it cannot be read."""
    with suppress(duckdb.Error):
        return dict(db.execute(f"SELECT file, count(*) FROM {_reader(path)} GROUP BY file").fetchall())
    return {}


def keep_rows(db: duckdb.DuckDBPyConnection, path: Path, files: list[str]) -> None:
    """Take the rows of these source files over from an earlier quarantine file."""
    if files:
        db.execute(
            f'INSERT INTO quarantine SELECT file, line, reason, detail, "row" FROM {_reader(path)}'
            " WHERE list_contains($files, file)",
            {"files": files},
        ).fetchall()


def _reader(path: Path) -> str:
    form = f"format='newline_delimited', maximum_object_size={_LONGEST_ROW}"
    return f"read_json({literal(escape(str(path)))}, columns={_COLUMNS}, {form})"
