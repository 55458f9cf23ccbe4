"""Many findings written at once, as each kind of database takes them fastest: no statement of SQLAlchemy for any."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from kgcheck.ledger.rows import FindingRows
from kgcheck.ledger.settling import last_number, leave_unsettled, settle_run
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS


def insert_findings(connection: Connection, run: str, rows: FindingRows) -> None:
    """Insert findings, in the transaction of the connection.

    Args:
        connection: Of SQLite or PostgreSQL.
        run: Of the findings.
        rows: The findings.

    Raises:
        SQLAlchemyError: The database refuses.
    """
    names, newest = ", ".join(FINDING_COLUMNS), last_number(connection)
    if connection.dialect.name == "postgresql":
        copy_in(connection, f"COPY {FINDING.name} ({names}) FROM STDIN", rows.batches)
        # Several write at once here, and who may only read must find everything settled.
        settle_run(connection, run, newest)
        return
    places = ", ".join("?" for _ in FINDING_COLUMNS)
    for batch in rows.batches:
        connection.exec_driver_sql(f"INSERT INTO {FINDING.name} ({names}) VALUES ({places})", batch)
    leave_unsettled(connection, run, newest)


def copy_in(connection: Connection, statement: str, batches: Iterable[list[tuple[Any, ...]]]) -> None:
    """Send rows to PostgreSQL, in the transaction of the connection.

    Args:
        connection: Of PostgreSQL.
        statement: ``COPY TABLE (COLUMNS) FROM STDIN``.
        batches: Some rows at a time.

    Raises:
        DBAPIError: The database refuses.
    """
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
