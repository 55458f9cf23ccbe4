"""DuckDB connections: temporary database with memory limit, no outside files, Arrow inserts."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from glob import escape
from pathlib import Path

import duckdb
import pyarrow as pa

from kgcheck.errors import KgcheckError
from kgcheck.outputs import temporary_folder
from kgcheck.quoting import identifier, literal
from kgcheck.settings import Settings

Config = dict[str, str | bool | int | float | list[str]]


def connected(database: str = ":memory:", *, config: Config | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that shows nothing: in a notebook or a shell, DuckDB would draw a bar for every slow query."""
    connection = duckdb.connect(database, config=config or {})
    (drawn,) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0]
    # Where a notebook cannot draw one, DuckDB refuses to hear of it.
    if drawn:
        connection.execute("SET enable_progress_bar = false").fetchall()
    return connection


@contextmanager
def working_database(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB database in a temporary folder, which is removed when the block ends."""
    made = ExitStack()
    try:
        folder = made.enter_context(temporary_folder())
    except OSError as error:
        raise KgcheckError(f"cannot make a temporary folder: {error}", "set TMPDIR to a writable folder") from error
    with made:
        try:
            with connected(str(folder / "work.duckdb"), config=limits(settings)) as connection:
                yield connection
        except duckdb.OutOfMemoryException as error:
            raise KgcheckError(
                f"the work does not fit in memory: {error}", "raise KGCHECK_DUCKDB_MEMORY_LIMIT"
            ) from error
        # A full disk shows as an IOException, and once a database has met one, as any other.
        except duckdb.Error as error:
            raise KgcheckError(
                f"the working database in {folder} failed: {error}", "free disk space, or set TMPDIR"
            ) from error


def limits(settings: Settings) -> Config:
    """DuckDB configuration of these settings."""
    config: Config = {"memory_limit": settings.duckdb_memory_limit}
    if settings.duckdb_threads:
        config["threads"] = settings.duckdb_threads
    return config


def confine(connection: duckdb.DuckDBPyConnection, paths: Iterable[Path] = ()) -> None:
    """Let no further statement leave the database: no other file, no network, no extension, no way back.

    What is attached stays attached, and folders that `allow` named stay open. A statement may come from a recipe of
    somebody else, a view from a file of theirs.
    """
    # DuckDB compares names as they are written: where one is a pattern, it is written as one.
    (before,) = connection.execute("SELECT current_setting('allowed_directories')").fetchall()[0]
    named = [name for path in paths for name in dict.fromkeys((str(path), escape(str(path))))]
    settings = (
        f"allowed_paths = [{', '.join(map(literal, named))}]",
        f"allowed_directories = [{', '.join(literal(str(folder)) for folder in before)}]",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "python_enable_replacements = false",
        "enable_external_access = false",
        "lock_configuration = true",
    )
    connection.execute("; ".join(f"SET {setting}" for setting in settings)).fetchall()


def allow(connection: duckdb.DuckDBPyConnection, *folders: Path) -> None:
    """Keep folders open for files that are read and written, whatever `confine` closes later."""
    listed = ", ".join(literal(str(folder)) for folder in folders)
    connection.execute(f"SET allowed_directories = [{listed}]").fetchall()


def put_arrow(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table | pa.RecordBatchReader) -> None:
    """Make a temporary table of Arrow rows, in the place of one of that name."""
    _take(connection, rows, f"CREATE OR REPLACE TEMP TABLE {identifier(table)} AS FROM incoming")


def insert_arrow(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table | pa.RecordBatchReader) -> None:
    """Append Arrow rows to a table, by column name."""
    _take(connection, rows, f"INSERT INTO {identifier(table)} BY NAME SELECT * FROM incoming")


def _take(connection: duckdb.DuckDBPyConnection, rows: pa.Table | pa.RecordBatchReader, statement: str) -> None:
    connection.register("incoming", rows)
    try:
        connection.execute(statement).fetchall()
    finally:
        connection.unregister("incoming")
