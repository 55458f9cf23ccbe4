"""Insert, replace and remove findings; keys and places (index rows) of new ones may come later.

A run's findings are written without any, which is several times faster where an index is larger than the memory that
the database has for it. Whoever reads finds all of them settled.
"""

from collections.abc import Iterable
from itertools import chain, groupby, islice
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from kgcheck.ledger.rows import FindingRows, batches
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, KEY, PLACE, UNSETTLED

_SETTLED = tuple(
    (table, [FINDING.c["number" if column.name == "finding" else column.name] for column in table.columns])
    for table in (KEY, PLACE)
)
"""Columns that are kept of a finding in each table."""

_WAITING = select(UNSETTLED.c.run).limit(1)
_WAITING_OF = _WAITING.where(UNSETTLED.c.run == bindparam("of"))
_SAME_PLACE = and_(*(column == bindparam(f"of_{column.name}") for column in PLACE.primary_key.columns))


def last_number(connection: Connection) -> int:
    """The number of the newest finding; 0 where there is none."""
    return connection.scalar(select(func.max(FINDING.c.number))) or 0


def is_settled(connection: Connection, run: str | None = None) -> bool:
    """Return whether every finding, or every one of a run, has its key and its place."""
    if run is None:
        return connection.scalar(_WAITING) is None
    return connection.scalar(_WAITING_OF, {"of": run}) is None


def settle(connection: Connection) -> None:
    """Give every finding that was left without its key and its place."""
    for run, after in connection.execute(select(UNSETTLED.c.run, UNSETTLED.c.after)).all():
        connection.execute(delete(UNSETTLED).where(UNSETTLED.c.run == run))
        try:
            with connection.begin_nested():
                settle_run(connection, run, after)
        except IntegrityError:
            # Two pieces of the run have a finding that is the same: that of the first stays.
            newer = FINDING.c.number > after
            first = (
                select(func.min(FINDING.c.number)).where(FINDING.c.run == run, newer).group_by(FINDING.c.fingerprint)
            )
            known = select(KEY.c.fingerprint).where(KEY.c.run == run)
            again = FINDING.c.number.not_in(first) | FINDING.c.fingerprint.in_(known)
            connection.execute(delete(FINDING).where(FINDING.c.run == run, newer, again))
            settle_run(connection, run, after)


def settle_run(connection: Connection, run: str, after: int) -> None:
    """Give findings of a run their keys and places."""
    for table, columns in _SETTLED:
        order = [FINDING.c[column.name] for column in table.primary_key.columns]
        rows = select(*columns).where(FINDING.c.run == run, FINDING.c.number > after).order_by(*order)
        connection.execute(insert(table).from_select(list(table.columns.keys()), rows))


def number_of(run: Any, fingerprint: Any) -> Select[int]:
    """The number of the finding that a run has of a fingerprint, as a select; both may be SQL."""
    return select(KEY.c.finding).where(KEY.c.run == run, KEY.c.fingerprint == fingerprint)


def replace_finding(connection: Connection, row: dict[str, object]) -> None:
    """Write a finding in the place of the one that its run has of the same fingerprint."""
    run, fingerprint = str(row["run"]), str(row["fingerprint"])
    number = connection.scalar(number_of(run, fingerprint))
    if number is None:
        return
    remove_findings(connection, [number], rows=False)
    connection.execute(update(FINDING).where(FINDING.c.number == number).values(**row))
    for table, columns in _SETTLED:
        one = select(*columns).where(FINDING.c.number == number)
        connection.execute(insert(table).from_select(list(table.columns.keys()), one))


def remove_findings(connection: Connection, numbers: Iterable[int], *, rows: bool = True) -> int:
    """Take findings out of the ledger."""
    count = 0
    for numbered in batches(numbers, 500):
        some = FINDING.c.number.in_(numbered)
        keys = connection.execute(select(*(FINDING.c[c.name] for c in PLACE.primary_key.columns)).where(some)).all()
        if not keys:
            continue
        places = [{f"of_{name}": value for name, value in key._mapping.items()} for key in keys]
        connection.execute(delete(PLACE).where(_SAME_PLACE), places)
        same = KEY.c.run == bindparam("of_run"), KEY.c.fingerprint == bindparam("of_fingerprint")
        connection.execute(delete(KEY).where(*same), [{n: p[n] for n in ("of_run", "of_fingerprint")} for p in places])
        count += connection.execute(delete(FINDING).where(some)).rowcount if rows else len(keys)
    return count


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
    if connection.dialect.name == "postgresql":
        # Several write at once here, and who may only read must find everything settled.
        settle_run(connection, run, newest)
    elif is_settled(connection, run):
        # They get keys and places when somebody reads them.
        connection.execute(insert(UNSETTLED).values(run=run, after=newest))


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


def copy_in(connection: Connection, statement: str, rows: Iterable[list[tuple[Any, ...]]]) -> None:
    """Send rows to PostgreSQL, in the transaction of the connection."""
    import psycopg

    cursor: Any = connection.connection.cursor()
    with cursor:
        try:
            with cursor.copy(statement) as copy:
                for batch in rows:
                    for row in batch:
                        copy.write_row(row)
        except psycopg.Error as error:
            # As SQLAlchemy does with whatever it sends itself.
            refused = DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect)
            raise refused from error
