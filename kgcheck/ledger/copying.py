"""Copy a ledger into another one, SQLite or PostgreSQL, all or nothing; its size and rows."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Select, Table, TypeDecorator, func, insert, select, text
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

_COPIED = {"work": "job"}
"""Tables of which only rows with a value in a column are copied: of work, the runs of jobs."""

_NOTHING_WRITTEN = "nothing was written: name an empty ledger"


class Copied(NamedTuple):
    """Result of copying one table."""

    table: str
    rows: int
    """Number of rows that the target has now, as many as the source."""
    added: int


def copy_ledger(source: Database, target: Database, progress: Progress) -> list[Copied]:
    """Write into a ledger what another one has, all or nothing.

    A target that has some of the same rows already, say of an earlier copy, gets those that are missing.
    """
    try:
        with source.reading() as before, target.writing() as after, target.reading() as there:
            return _copied(before, after, there, (source.where, target.where), progress)
    except (ValueError, TypeError) as error:
        raise LedgerError(
            f"the ledger {source.where} holds a row that cannot be copied: {error}", FROM_A_COPY
        ) from error


def _copied(
    before: Connection, after: Connection, there: Connection, places: tuple[str, str], progress: Progress
) -> list[Copied]:
    of_source, of_target = places
    tables = [table for table in METADATA.sorted_tables if table.name not in STAYING]
    plain = {table.name: _as_it_stands(table) for table in tables}
    copied = {name: _copied_rows(table).subquery() for name, table in plain.items()}
    is_empty = not any(_count(there, table) for table in copied.values())
    done = []
    for table in tables:
        read, total, added = plain[table.name], _count(before, copied[table.name]), 0
        if total and _count(there, read) > _count(there, copied[table.name]):
            raise LedgerError(f"{of_target} has {table.name} of its own", _NOTHING_WRITTEN)
        order = [] if is_empty else [column.name for column in table.primary_key.columns]
        with (
            closing(_rows(before, read, order)) as every,
            closing(_rows(there, read, order)) as present,
            progress.step(f"copying {table.name}", total) as step,
        ):
            rows = every if is_empty else _missing(every, present, table, of_target)
            for some in batches(rows, _TOGETHER):
                _insert(after, read, some)
                added += len(some)
                step.advance(len(some))
        go_on_counting(after, table)
        if (now := _count(after, copied[table.name])) != total:
            raise LedgerError(
                f"{table.name} would have {now:,} rows in {of_target}, and has {total:,} in {of_source}",
                _NOTHING_WRITTEN,
            )
        done.append(Copied(table.name, total, added))
    return done


def _as_it_stands(table: Table) -> TableClause:
    """A table whose values are not read as what they mean: JSON stays the text that it is."""
    types = [c.type.impl if isinstance(c.type, TypeDecorator) else c.type for c in table.columns]
    return plain_table(table.name, *(plain_column(c.name, t) for c, t in zip(table.columns, types, strict=True)))


def _copied_rows(table: TableClause) -> Select[Any]:
    needed = _COPIED.get(table.name)
    return select(table).where(table.c[needed].is_not(None)) if needed else select(table)


def _count(connection: Connection, table: FromClause) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _rows(connection: Connection, table: TableClause, order: Sequence[str]) -> Generator[tuple[Any, ...]]:
    query = _copied_rows(table).order_by(*(table.c[name] for name in order)).execution_options(yield_per=_TOGETHER)
    with connection.execute(query) as found:
        for row in found:
            yield tuple(row)


def _missing(
    source: Iterator[tuple[Any, ...]], target: Iterator[tuple[Any, ...]], table: Table, where: str
) -> Iterator[tuple[Any, ...]]:
    """The rows that the target lacks; both come in the order of their keys, which both databases sort alike."""
    places = [list(table.columns).index(column) for column in table.primary_key.columns]

    def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        # As bytes: so both databases order words.
        return tuple(v.encode() if isinstance(v, str) else v for v in (row[place] for place in places))

    expected = next(target, None)
    for row in source:
        if expected is None or key(row) < key(expected):
            yield row
        elif row == expected:
            expected = next(target, None)
        else:
            break
    if expected is not None:
        named = ", ".join(str(expected[place]) for place in places)
        raise LedgerError(
            f"{where} is not empty, and not all that it has is so in the other ledger: {table.name} {named}",
            _NOTHING_WRITTEN,
        )


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
