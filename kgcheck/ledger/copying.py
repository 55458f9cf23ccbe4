"""Copy a ledger into another one, SQLite or PostgreSQL, all or nothing; its size and rows."""

from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Table, TypeDecorator, func, insert, select, text
from sqlalchemy import column as plain_column
from sqlalchemy import table as plain_table
from sqlalchemy.sql.expression import FromClause, TableClause

from kgcheck.errors import FROM_A_COPY, LedgerError
from kgcheck.ledger.bulk_insert import copy_in
from kgcheck.ledger.database import Database
from kgcheck.ledger.rows import batches
from kgcheck.ledger.tables import FORMAT, METADATA
from kgcheck.progress import Progress

_TOGETHER = 5_000

STAYING = frozenset({"service_token", "service_session"})
"""Tables of a service and its place: who has a copy has no users of another."""

_NOTHING_WRITTEN = "nothing was written: name an empty ledger"


def copy_ledger(source: Database, target: Database, progress: Progress) -> dict[str, int]:
    """Write into an empty ledger what another one has, all or nothing, and count the rows of its tables."""
    try:
        with source.reading() as before, target.writing() as after:
            tables = [table for table in METADATA.sorted_tables if table.name not in STAYING]
            return {table.name: _copied(before, after, table, target.where, progress) for table in tables}
    except (ValueError, TypeError) as error:
        raise LedgerError(
            f"the ledger {source.where} holds a row that cannot be copied: {error}", FROM_A_COPY
        ) from error


def _copied(before: Connection, after: Connection, table: Table, where: str, progress: Progress) -> int:
    """Copy one table, and count its rows."""
    plain = _as_it_stands(table)
    # Of work, the runs of jobs alone.
    wanted = select(plain).where(plain.c.job.is_not(None)) if table.name == "work" else select(plain)
    total = _count(before, wanted.subquery())
    if _count(after, plain):
        raise LedgerError(f"{where} is not empty: it has {table.name} of its own", _NOTHING_WRITTEN)
    with (
        progress.step(f"copying {table.name}", total) as step,
        before.execute(wanted.execution_options(yield_per=_TOGETHER)) as rows,
    ):
        for some in batches(map(tuple, rows), _TOGETHER):
            _insert(after, plain, some)
            step.advance(len(some))
    go_on_counting(after, table)
    if (now := _count(after, plain)) != total:
        raise LedgerError(f"{table.name} would have {now:,} rows in {where}, and not {total:,}", _NOTHING_WRITTEN)
    return total


def _as_it_stands(table: Table) -> TableClause:
    """A table whose values are not read as what they mean: JSON stays the text that it is."""
    types = [c.type.impl if isinstance(c.type, TypeDecorator) else c.type for c in table.columns]
    return plain_table(table.name, *(plain_column(c.name, t) for c, t in zip(table.columns, types, strict=True)))


def _count(connection: Connection, table: FromClause) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _insert(connection: Connection, table: TableClause, rows: list[tuple[Any, ...]]) -> None:
    names = [column.name for column in table.columns]
    if connection.dialect.name == "postgresql":
        quote = connection.dialect.identifier_preparer.quote
        quoted = ", ".join(map(quote, names))
        copy_in(connection, f"COPY {quote(table.name)} ({quoted}) FROM STDIN", [rows])
    else:
        connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])


def go_on_counting(connection: Connection, table: Table) -> None:
    """Numbers that PostgreSQL gives go on after those that were copied; SQLite looks for the largest by itself."""
    number = table.autoincrement_column
    if number is None or connection.dialect.name != "postgresql" or not isinstance(number.type, Integer):
        return
    quote = connection.dialect.identifier_preparer.quote
    sequence = text("SELECT pg_get_serial_sequence(:table, :number)")
    name = connection.execute(sequence, {"table": quote(table.name), "number": number.name}).scalar_one_or_none()
    if name is not None:
        largest = select(func.max(number)).scalar_subquery()
        connection.execute(select(func.setval(name, func.coalesce(largest, 1), largest.is_not(None))))


class LedgerFacts(NamedTuple):
    """Facts about a ledger: its database, its format, and how much is in it."""

    ledger: str
    database: str
    """The program, and its version."""
    format: int
    bytes: int
    rows: dict[str, int]
    """By table."""


def facts_of(database: Database) -> LedgerFacts:
    """Describe a ledger, and how much is in it, at one moment."""
    with database.reading() as connection:
        program, size = database.about(connection)
        rows = {table.name: _count(connection, _as_it_stands(table)) for table in METADATA.sorted_tables}
    return LedgerFacts(database.where, program, FORMAT, size, rows)
