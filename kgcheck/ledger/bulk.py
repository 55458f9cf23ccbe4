"""Many findings written at once, as each kind of database takes them fastest: no statement of SQLAlchemy for any."""

from collections.abc import Iterable
from itertools import chain, groupby, islice
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from kgcheck.ledger.rows import FindingRows
from kgcheck.ledger.settling import last_number, leave_unsettled, settle_run
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS

_TOGETHER = 100
"""Rows in one statement of SQLite, which takes 32,766 values."""


def insert_findings(connection: Connection, run: str, rows: FindingRows) -> None:
    """Insert findings, in the transaction of the connection."""
    names, newest = ", ".join(FINDING_COLUMNS), last_number(connection)
    if connection.dialect.name == "postgresql":
        copy_in(connection, f"COPY {FINDING.name} ({names}) FROM STDIN", rows.batches)
    else:
        for batch in rows.batches:
            _insert_together(connection, batch)
    key_new(connection, run, newest)


def key_new(connection: Connection, run: str, after: int) -> None:
    """Give new findings their keys and places, now or when somebody reads them."""
    if connection.dialect.name == "postgresql":
        # Several write at once here, and who may only read must find everything settled.
        settle_run(connection, run, after)
    else:
        leave_unsettled(connection, run, after)


def _insert_together(connection: Connection, batch: list[tuple[Any, ...]]) -> None:
    """Insert rows into SQLite, where most of the time goes into single values: one that all rows have is given once."""
    columns = dict(zip(FINDING_COLUMNS, zip(*batch, strict=True), strict=True))
    same = [name for name, values in columns.items() if values.count(values[0]) == len(values)]
    varied = [name for name in columns if name not in same] or [same.pop()]
    once = tuple(columns[name][0] for name in same)
    rows = zip(*(columns[name] for name in varied), strict=True)
    row, given = f"({', '.join('?' for _ in varied)})", "".join("?, " for _ in same)
    for count, some in groupby(iter(lambda: list(islice(rows, _TOGETHER)), []), key=len):
        values = f"SELECT {given}* FROM (VALUES {', '.join([row] * count)})"
        statement = f"INSERT INTO {FINDING.name} ({', '.join(same + varied)}) {values}"
        connection.exec_driver_sql(statement, [once + tuple(chain.from_iterable(part)) for part in some])


def copy_in(connection: Connection, statement: str, batches: Iterable[list[tuple[Any, ...]]]) -> None:
    """Send rows to PostgreSQL, in the transaction of the connection."""
    import psycopg

    cursor: Any = connection.connection.cursor()
    with cursor:
        try:
            with cursor.copy(statement) as copy:
                for batch in batches:
                    for row in batch:
                        copy.write_row(row)
        except psycopg.Error as error:
            # As SQLAlchemy does with whatever it sends itself.
            refused = DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect)
            raise refused from error
