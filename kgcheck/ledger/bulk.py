"""Many findings written at once, as each kind of database takes them fastest: no statement of SQLAlchemy for any."""

from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from kgcheck.ledger.rows import FindingRows
from kgcheck.ledger.tables import FINDING


def insert_findings(connection: Connection, rows: FindingRows) -> None:
    """Insert findings, in the transaction of the connection.

    Args:
        connection: Of SQLite or PostgreSQL.
        rows: The findings.

    Raises:
        SQLAlchemyError: The database refuses.
    """
    names = ", ".join(column.name for column in FINDING.columns)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {FINDING.name} ({names}) FROM STDIN", rows)
        return
    places = ", ".join("?" for _ in FINDING.columns)
    for batch in rows.batches:
        connection.exec_driver_sql(f"INSERT INTO {FINDING.name} ({names}) VALUES ({places})", batch)


def _copy(connection: Connection, statement: str, rows: FindingRows) -> None:
    import psycopg

    cursor: Any = connection.connection.cursor()
    with cursor:
        try:
            with cursor.copy(statement) as copy:
                for batch in rows.batches:
                    for row in batch:
                        copy.write_row(row)
        except psycopg.Error as error:
            # As SQLAlchemy does with whatever it sends itself.
            raise DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect) from error
