"""Write the quarantine file or keep its old rows; say what a load lacks and if it is too much."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from kgcheck.errors import InputError
from kgcheck.loading.lines import ends_whole
from kgcheck.loading.staging import Staging
from kgcheck.outputs import replacing
from kgcheck.plurals import how_many
from kgcheck.profile.import_files import NodeFile
from kgcheck.quoting import literal

if TYPE_CHECKING:
    from kgcheck.loading.load import FileCount


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
    """Count the rows of each source file in an earlier quarantine file; none where it cannot be read."""
    with suppress(duckdb.Error):
        return dict(db.execute(f"SELECT file, count(*) FROM {_reader(path)} GROUP BY file").fetchall())
    return {}


def read_quarantine(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make the table ``quarantine`` of the file of an earlier load."""
    db.execute(
        f'CREATE TABLE quarantine AS SELECT file, line, reason, detail, "row" AS row_text FROM {_reader(path)}'
    ).fetchall()


def _reader(path: Path) -> str:
    form = f"format='newline_delimited', maximum_object_size={_LONGEST_ROW}"
    return f"read_json({literal(escape(str(path)))}, columns={_COLUMNS}, {form})"


_TENTH = 0.1
_SHOWN = 5


def cut_short(staging: Staging) -> Iterator[str]:
    """Files that may be cut inside their last line."""
    for name, path in staging.files.items():
        if not ends_whole(path):
            yield f"{name}: its last line has no line end: it may be cut inside its last field"


def costly(staging: Staging, files: "Iterable[FileCount]") -> Iterator[str]:
    """Labels of which the files have only headers, while edges that end there could not be loaded."""
    read, lost = Counter[str](), Counter[str]()
    of_label: dict[str, list[str]] = {}
    counts = {f.file: f for f in files}
    for recipe in staging.recipe_files():
        count = counts[recipe.file]
        if isinstance(recipe, NodeFile):
            read[recipe.label] += count.read
            of_label.setdefault(recipe.label, []).append(recipe.file)
        else:
            lost[recipe.head] += count.quarantined.get("unknown_head", 0)
            lost[recipe.tail] += count.quarantined.get("unknown_tail", 0)
    for label, names in of_label.items():
        if not read[label] and lost[label]:
            ends = how_many(lost[label], "edge ends", "edges end")
            yield f"{', '.join(names)}: no row but the header, and {ends} at a {label}"


def incomplete(files: "Iterable[FileCount]", limit: str = "") -> str:
    """Say why too many rows stayed out for the graph to be what the files state; empty where they are few.

    Rows of namespaces that the profile does not load are none of them, unless they are all that a file has.
    """
    read, out, nothing = 0, 0, list[str]()
    for count in files:
        rejected = Counter(count.quarantined)
        read += count.read
        out += rejected.total() - sum(rejected[reason] for reason in FOREIGN)
        if rejected and not count.loaded + count.changed + count.unchanged:
            nothing.append(f"none of {how_many(rejected.total(), 'row')} of {count.file}")
    summary = f"{out:,} of {how_many(read, 'row')} cannot be loaded"
    if limit:
        most = float(limit.removesuffix("%")) / 100 * read if limit.endswith("%") else int(limit)
        return f"{summary}, and --max-quarantined allows {limit}" if out > most else ""
    if len(nothing) > _SHOWN:
        nothing[_SHOWN:] = [f"of {how_many(len(nothing) - _SHOWN, 'more file')} nothing"]
    causes = [f"{', '.join(nothing)} could be loaded"] if nothing else []
    if out > _TENTH * read:
        causes.append(f"{summary}, more than a tenth")
    return "; ".join(causes)
