"""Findings that go into SQLite many in one statement are what they would be one by one."""

import pytest
from sqlalchemy import Connection, create_engine, select

from kgcheck.ledger.bulk_insert import insert_findings
from kgcheck.ledger.rows import FindingRows
from kgcheck.ledger.tables import FINDING_COLUMNS, METADATA, UNSETTLED

_NUMBERS = {"confidence": 0.5, "severity": 1, "by_confidence": -0.5, "by_score": 0.0}
_MAY_LACK = ("relation", "value", "basis")


def _row(number: int) -> tuple[object, ...]:
    """A row of which most is as in all others, some differs, and some is lacking now and then."""
    row: dict[str, object] = {**dict.fromkeys(FINDING_COLUMNS, "same"), **_NUMBERS}
    row |= {"run": "one", "fingerprint": f"{number:016}", "reason": f"reason '{number % 3}'", "note": "ä \x00 %s ?"}
    row |= {name: None if (number + place) % 2 else f"{name} {number}" for place, name in enumerate(_MAY_LACK)}
    return tuple(row[name] for name in FINDING_COLUMNS)


def _written(connection: Connection, *batches: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    insert_findings(connection, "one", FindingRows(batches))
    columns = ", ".join(FINDING_COLUMNS)
    rows = connection.exec_driver_sql(f"SELECT {columns} FROM finding ORDER BY number").fetchall()
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("sizes", [(), (1,), (2,), (99,), (100,), (101,), (250, 1, 100)], ids=str)
def test_rows_come_out_as_they_went_in_and_in_their_order(sizes: tuple[int, ...]) -> None:
    engine, numbers = create_engine("sqlite://"), iter(range(1_000))
    batches = [[_row(next(numbers)) for _ in range(size)] for size in sizes]
    with engine.begin() as connection:
        METADATA.create_all(connection)
        assert _written(connection, *batches) == [row for batch in batches for row in batch]
        assert connection.execute(select(UNSETTLED)).all() == [("one", 0)]
    engine.dispose()
