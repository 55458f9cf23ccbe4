"""Findings that were written as rows have keys and places for whoever reads, whatever ended their writer."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from sqlalchemy import URL, Connection, create_engine, func, select

from kgcheck.errors import LedgerError
from kgcheck.ledger.bulk_insert import insert_findings
from kgcheck.ledger.database import Database
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.rows import FindingRows, finding_row
from kgcheck.ledger.run import HandedOver
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, KEY, METADATA, PLACE, UNSETTLED, JsonText
from kgcheck.model import Finding, Outcome
from tests.support import ROOT
from tests.support.postgres import ledger_place
from tests.unit.test_ledger import finding, run, tally


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | URL:
    return ledger_place(request, tmp_path)


def as_rows(findings: list[Finding], name: str = "") -> FindingRows:
    """Findings as an audit writes them."""
    made = []
    for one in findings:
        row = finding_row(name or run().id, one)
        for column in FINDING_COLUMNS:
            kind = FINDING.c[column].type
            if isinstance(kind, JsonText):
                row[column] = kind.process_bind_param(row[column], None)  # type: ignore[arg-type]
        made.append(tuple(row[column] for column in FINDING_COLUMNS))
    return FindingRows([made])


def some(numbers: range) -> list[Finding]:
    return [finding(run(), f"P{n:03}") for n in numbers]


def unsettled(ledger: Ledger) -> int:
    """How many findings have no key yet; read past what settles them."""
    with ledger.database._locked(alone=False) as connection:
        found = connection.scalar(select(func.count()).where(UNSETTLED.c.run == run().id)) or 0
        keys, places, all_ = (
            connection.execute(select(func.count()).select_from(t)).scalar_one() for t in (KEY, PLACE, FINDING)
        )
        assert keys == places
        assert (all_ > keys) == bool(found)
        return int(all_ - keys)


def test_rows_wait_for_a_reader_or_the_end_of_the_run(place: Path | URL) -> None:
    with Ledger(place) as ledger:
        ledger.start(run())
        ledger.record(run(), "one", as_rows(some(range(10, 20))), [tally(10)])
        ledger.record(run(), "two", as_rows(some(range(10))), [tally(10)])
        # On a server nothing waits: who may only read could not settle it.
        assert unsettled(ledger) == (20 if isinstance(place, Path) else 0)

        assert list(ledger.findings(run())) == some(range(20))
        assert unsettled(ledger) == 0
        ledger.record(run(), "three", as_rows(some(range(20, 30))), [tally(10)])
        with Ledger(place) as another:
            assert another.finding(some(range(25, 26))[0].fingerprint) == some(range(25, 26))[0]
        ledger.record(run(), "four", as_rows(some(range(30, 40))), [tally(10)])
        ledger.finish(run())
        assert unsettled(ledger) == 0
        assert list(ledger.findings(run())) == some(range(40))


def test_what_the_team_decides_changes_its_place(place: Path | URL) -> None:
    with Ledger(place) as ledger:
        ledger.start(run())
        ledger.record(run(), "one", as_rows(some(range(5))), [tally(5)])
        old = some(range(2, 3))[0]
        handed = HandedOver(fingerprint=old.fingerprint, result="supported")
        ledger.hand_over(run(), (old, finding(run(), "P002", Outcome.SUPPORTED), handed))

        shown = [(f.task.subject.id, f.verdict.outcome) for f in ledger.findings(run())]
        assert shown[-1] == ("P002", Outcome.SUPPORTED)
        assert [name for name, _ in shown] == ["P000", "P001", "P003", "P004", "P002"]
        assert ledger.finding(old.fingerprint).verdict.outcome is Outcome.SUPPORTED
        assert unsettled(ledger) == 0


def test_a_finding_of_two_pieces_is_there_once(tmp_path: Path) -> None:
    """The ledger stays one that can be read, and the first of both stays."""
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.start(run())
        ledger.record(run(), "one", as_rows(some(range(5))), [tally(5)])
        ledger.record(run(), "two", as_rows([finding(run(), "P003", Outcome.INSUFFICIENT)]), [tally()])
        assert list(ledger.findings(run())) == some(range(5))
        # The same again, when the first has its key.
        ledger.record(run(), "three", as_rows([finding(run(), "P004", Outcome.INSUFFICIENT)]), [tally()])
        assert list(ledger.findings(run())) == some(range(5))
        assert unsettled(ledger) == 0


def test_a_ledger_that_can_only_be_read_and_has_a_run_that_was_cut_off_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = tmp_path / "l.sqlite"
    with Ledger(where) as ledger:
        ledger.start(run())
        ledger.record(run(), "one", as_rows(some(range(3))), [tally(3)])
        assert unsettled(ledger) == 3
    # Root may write in any folder: so it is only asked for differently.
    monkeypatch.setattr("kgcheck.ledger.engines.read_only_address", lambda path: f"file:{path}?mode=ro&immutable=1")
    before = where.read_bytes()

    with Ledger(where, create=False) as ledger, pytest.raises(LedgerError, match="cannot be written"):
        list(ledger.findings(run()))
    assert where.read_bytes() == before


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sqlalchemy import Engine, event
from kgcheck.ledger.ledger import Ledger
from tests.unit.test_ledger import run, tally
from tests.unit.test_unsettled import as_rows, some

seen = []

def count(*_):
    seen.append(1)
    if len(seen) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

with Ledger(Path(sys.argv[2])) as ledger:
    ledger.start(run())
    for n in range(4):
        ledger.record(run(), f"piece {n}", as_rows(some(range(10 * n, 10 * n + 10))), [tally(10)])
    event.listen(Engine, "after_cursor_execute", count)
    ledger.finish(run())
print(len(seen))
"""


@pytest.mark.parametrize("statements", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4, 6, 8))])
def test_a_run_that_is_killed_at_its_end_is_settled_by_the_next(tmp_path: Path, statements: int) -> None:
    where = tmp_path / "l.sqlite"
    command = [sys.executable, "-c", KILLED, str(ROOT), str(where), str(statements)]
    killed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Ledger(where) as ledger:
        assert ledger.cut_off().id == run().id
        assert list(ledger.findings(run())) == some(range(40))
        assert unsettled(ledger) == 0


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


def pages(ledger: Ledger, size: int) -> Iterator[list[Finding]]:
    every = ledger.findings(run())
    while page := list(islice(every, size)):
        yield page


def test_a_reader_sees_whole_pieces_while_another_writes(tmp_path: Path) -> None:
    where = tmp_path / "l.sqlite"
    with Ledger(where) as writer, Ledger(where) as reader:
        writer.start(run())
        for n in range(5):
            writer.record(run(), f"piece {n}", as_rows(some(range(7 * n, 7 * n + 7))), [tally(7)])
            assert [f for page in pages(reader, 3) for f in page] == some(range(7 * n + 7))
    assert isinstance(reader.database, Database)
