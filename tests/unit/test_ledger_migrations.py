"""Ledgers of the release before become ones of the present format, on both databases, whole or not at all."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    MetaData,
    String,
    create_engine,
    event,
    func,
    insert,
    select,
    text,
    update,
)

from kgcheck.errors import EXIT_USAGE, LedgerError
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.comparisons import ComparisonTable, Pair, compared_with
from kgcheck.ledger.database import configuration
from kgcheck.ledger.decisions import DecisionTable
from kgcheck.ledger.engines import SqliteFile
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.patches import PatchTable
from kgcheck.ledger.tables import FINDING, FORMAT, KEY, METADATA, RELEASED, VERSION
from kgcheck.ledger.work import WorkState, WorkTable
from kgcheck.model import Change, ChangeKind, Outcome, TallyMark
from tests.support import ROOT, quick_of
from tests.support.forked import Forked, program
from tests.support.postgres import ledger_place
from tests.unit.test_ledger import finding, run, tally

APPLICATION = 0x6B676331
DUMP = ROOT / "tests" / "support" / "ledger_0_2_0.sql"
FIRST, SECOND = "20260101-000000-aaaa", "20260102-000000-bbbb"


@pytest.fixture(params=quick_of(["sqlite", "postgresql"], "sqlite"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | URL:
    """Where a ledger could be, in each database."""
    return ledger_place(request, tmp_path)


@pytest.fixture
def released(place: Path | URL, tmp_path: Path) -> Path | URL:
    """A ledger as kgcheck 0.2.0 wrote it."""
    file = place if isinstance(place, Path) else tmp_path / "dumped.sqlite"
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(DUMP.read_text())
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {RELEASED}")
    if isinstance(place, URL):
        _copy_to_server(file, place)
    return place


def _copy_to_server(file: Path, place: URL) -> None:
    """Write the tables of a file and their rows to a server."""
    tables, source, target = MetaData(), engine_of(file), engine_of(place)
    event.listen(tables, "column_reflect", lambda _, __, column: column.update(type=column["type"].as_generic()))
    with source.connect() as before, target.begin() as after:
        tables.reflect(before)
        for index in tables.tables["job_run"].indexes:
            if (where := index.dialect_options["sqlite"]["where"]) is not None:
                index.dialect_options["postgresql"]["where"] = where
        tables.create_all(after)
        for table in tables.sorted_tables:
            after.execute(insert(table), [dict(row) for row in before.execute(select(table)).mappings()])
            if table.autoincrement_column is not None:
                _go_on_counting(after, table.name)
    for engine in (source, target):
        engine.dispose()


def _go_on_counting(connection: Connection, table: str) -> None:
    connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), max(number)) FROM {table}"))


def engine_of(place: Path | URL) -> Engine:
    return create_engine(place if isinstance(place, URL) else f"sqlite:///{place}")


def differences(place: Path | URL) -> list[Any]:
    """How the tables that are there differ from those that the code has."""
    engine = engine_of(place)
    with engine.connect() as connection:
        options = {"version_table": VERSION.name, "compare_type": True, "target_metadata": METADATA}
        listed: list[Any] = compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)
    engine.dispose()
    # Only PostgreSQL keeps comments, and only of tables that were made from the code.
    return [d for d in listed if "modify_comment" not in str(d)]


def state(place: Path | URL) -> dict[str, list[Any]]:
    """Every row of every table."""
    engine, there = engine_of(place), MetaData()
    with engine.connect() as connection:
        there.reflect(connection)
        rows = {t.name: sorted(map(str, connection.execute(select(t)))) for t in there.sorted_tables}
    engine.dispose()
    return rows


def version(place: Path | URL) -> str:
    engine = engine_of(place)
    with engine.connect() as connection:
        written: str = connection.scalars(select(VERSION.c.version_num)).one()
    engine.dispose()
    return written


def claim_format(place: Path | URL, format_: int) -> None:
    """Let a ledger say that it is of some format."""
    engine = engine_of(place)
    with engine.begin() as connection:
        connection.execute(update(VERSION).values(version_num=str(format_)))
        if isinstance(place, Path):
            connection.exec_driver_sql(f"PRAGMA user_version = {format_}")
    engine.dispose()


def _results(ledger: Ledger) -> dict[str, str]:
    return {fingerprint: one.result for fingerprint, one in ledger.handed(FIRST).items()}


def test_the_format_is_the_one_step_from_the_release_before(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger, ledger.database.reading() as connection:
        script = ScriptDirectory.from_config(configuration(connection))

    assert [revision.revision for revision in script.walk_revisions()] == [str(FORMAT), str(RELEASED)]


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_ledger_of_the_release_before_has_the_tables_of_the_code(released: Path | URL) -> None:
    assert version(released) == str(RELEASED)
    assert differences(released) != []

    with Ledger(released, create=False):
        pass

    assert differences(released) == []
    assert version(released) == str(FORMAT)


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_ledger_of_the_release_before_keeps_its_findings(released: Path | URL) -> None:
    change = Change(kind=ChangeKind.REPOINT, to="P9", candidates=("P9", "P8"), because="merged")
    expected = [finding(run(), f"P{n}").model_copy(update={"change": change if n % 2 else None}) for n in range(4)]

    with Ledger(released, create=False) as ledger:
        assert [r.id for r in ledger.runs()] == [SECOND, FIRST]
        assert list(ledger.findings(ledger.run(FIRST))) == expected
        assert [f.task.subject.id for f in ledger.findings(ledger.run(SECOND))] == ["P1", "P2", "Q1"]
        assert ledger.finding(expected[0].fingerprint) == expected[0]
        assert [(t.by_team, t.count) for t in ledger.tallies(ledger.run(FIRST))] == [(True, 1), (False, 3)]
        assert _results(ledger) == {expected[0].fingerprint: "refuted"}
        assert ledger.run(FIRST).releases[0].source == "go"
        with ledger.database.reading() as connection:
            query = select(KEY.c.fingerprint, KEY.c.basis).where(KEY.c.run == FIRST)
            assert dict(connection.execute(query).all()) == {f.fingerprint: basis_of(f) for f in expected}


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_what_the_release_before_called_refuted_of_a_missing_edge_is_supported(released: Path | URL) -> None:
    engine = engine_of(released)
    with engine.begin() as connection:
        for table in ("finding", "tally", "compared"):
            connection.execute(text(f"UPDATE {table} SET type = 'potential'"))
        bases = set(connection.execute(text("SELECT fingerprint, basis FROM finding")).all())
    engine.dispose()

    with Ledger(released, create=False) as ledger:
        found = list(ledger.findings(ledger.run(FIRST)))
        assert {(f.verdict.outcome, f.mark) for f in found} == {(Outcome.SUPPORTED, TallyMark.LACKS_IT)}
        assert {t.mark for t in ledger.tallies(ledger.run(FIRST))} == {TallyMark.LACKS_IT}
        assert set(_results(ledger).values()) == {"supported"}
        assert list(ledger.findings(ledger.run(FIRST), [Outcome.REFUTED])) == []
        with ledger.database.reading() as connection:
            assert set(connection.execute(select(FINDING.c.fingerprint, FINDING.c.basis)).all()) == bases
        # Decisions hold: what the finding rests on is the same in the words of now.
        assert {(f.fingerprint, basis_of(f)) for f in found} <= bases


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_ledger_of_the_release_before_keeps_what_became_of_findings(released: Path | URL) -> None:
    with Ledger(released, create=False) as ledger:
        compared = ComparisonTable(ledger.database)
        (decision,) = DecisionTable(ledger.database).newest_first()
        (patch,) = PatchTable(ledger.database).all()

        with ledger.database.reading() as connection:
            assert compared_with(connection, SECOND) == FIRST
        assert compared.counts(Pair(FIRST, SECOND)) == {
            **dict.fromkeys(("new", "still", "changed", "fixed", "unchecked"), 1),
            "gone": 0,
        }
        names = {finding(run(), name).fingerprint: name for name in ("P0", "P1", "P2", "P3", "Q1")}
        states = compared.states(Pair(FIRST, SECOND), names)
        assert {names[fingerprint]: state.value for fingerprint, state in states.items()} == {
            "P0": "fixed",
            "P1": "changed",
            "P2": "still",
            "P3": "unchecked",
            "Q1": "new",
        }
        assert (decision.by, decision.note) == ("anna", "later")
        assert (patch.id, patch.operations) == ("00ff", 1)


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_ledger_of_the_release_before_keeps_the_runs_of_jobs(released: Path | URL) -> None:
    at = datetime(2026, 11, 22, 3, tzinfo=UTC)
    with Ledger(released, create=False) as ledger:
        runs = WorkTable(ledger.database)
        newest, refresh, oldest = runs.history()

        assert (newest.job, newest.state, newest.attempt, newest.run) == ("nightly", WorkState.RUNNING, 2, SECOND)
        assert newest.worker == "host 2 ee"
        assert newest.lease_until == at.replace(minute=55)
        assert (refresh.job, refresh.state, refresh.result) == ("refresh", WorkState.FAILED, {"changes": {"go": 3}})
        assert (oldest.severity, oldest.message, oldest.ended) == ("warn", "audit", at.replace(minute=40))
        assert runs.last_planned("nightly") == at.replace(minute=50)
        assert runs.schedule_since("nightly", "30 2 * * * UTC", at.replace(hour=9)) == at


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_ledger_that_was_brought_forward_goes_on(released: Path | URL) -> None:
    with Ledger(released, create=False) as ledger:
        ledger.start(run("20260103-000000-cccc"))
        ledger.record(ledger.run(FIRST), "two", [finding(run(), "Q2")], [tally()])
        assert len(list(ledger.findings(ledger.run(FIRST)))) == 5
        with ledger.database.reading() as connection:
            assert connection.scalar(select(func.max(FINDING.c.number))) == 8
        if isinstance(released, Path):
            with ledger.database.reading() as connection:
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
                assert connection.exec_driver_sql("PRAGMA integrity_check").scalars().all() == ["ok"]


KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Engine, event, make_url
from kgcheck.ledger.ledger import Ledger

seen = []

def count(*_):
    seen.append(1)
    if len(seen) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(Engine, "after_cursor_execute", count)
place = sys.argv[1]
with Ledger(make_url(place) if "://" in place else Path(place)) as ledger:
    print(len(seen), len(ledger.runs()))
"""


def opened(place: Path | URL, statements: int = 0) -> Forked:
    """A process that opens a ledger, and is killed after so many statements."""
    where = place.render_as_string(hide_password=False) if isinstance(place, URL) else str(place)
    return program(KILLED, where, statements)


@pytest.mark.parametrize("statements", quick_of([8, 14, 30, 60], 14, 60))
def test_a_killed_change_of_format_is_begun_again(released: Path | URL, statements: int) -> None:
    before = state(released)
    killed = opened(released, statements).ended()

    assert killed.returncode == -signal.SIGKILL
    assert state(released) == before
    with Ledger(released) as ledger:
        assert len(list(ledger.findings(ledger.run(FIRST)))) == 4
    assert differences(released) == []


def test_several_processes_bring_one_ledger_forward(released: Path | URL) -> None:
    for process in [opened(released) for _ in range(2)]:
        done = process.ended()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split()[1] == "2"
    assert differences(released) == []
    assert version(released) == str(FORMAT)


@pytest.mark.slow
def test_several_processes_make_one_ledger(place: Path | URL) -> None:
    for process in [opened(place) for _ in range(2)]:
        assert process.ended().returncode == 0
    assert differences(place) == []


OTHERS = (
    *((older, f"kgcheck 0.2 brings it to format {RELEASED}") for older in (1, 2)),
    (RELEASED + 1, "no release writes it"),
    *(pytest.param(n, "no release writes it", marks=pytest.mark.slow) for n in range(RELEASED + 2, FORMAT)),
    (FORMAT + 1, "a newer kgcheck reads it"),
)


@pytest.mark.parametrize(("format_", "advice"), OTHERS)
def test_a_ledger_of_another_format_is_refused_and_stays_as_it_is(
    released: Path | URL, format_: int, advice: str
) -> None:
    claim_format(released, format_)
    before = state(released)

    for create in (True, False):
        with pytest.raises(
            LedgerError, match=f"is a ledger of format {format_}, and this kgcheck reads {FORMAT}"
        ) as caught:
            Ledger(released, create=create)
        assert advice in caught.value.hint
        assert caught.value.exit_code == EXIT_USAGE
    assert state(released) == before


def test_a_ledger_that_a_newer_kgcheck_makes_meanwhile_is_not_marked_as_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formats = iter([None, FORMAT + 1])
    monkeypatch.setattr(SqliteFile, "format", lambda *_: next(formats))
    with Ledger(tmp_path / "l.sqlite"):
        pass

    with closing(sqlite3.connect(tmp_path / "l.sqlite")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (0,)


def test_a_ledger_of_now_is_opened_without_alembic(tmp_path: Path) -> None:
    """It takes longer to be imported than everything else of the ledger."""
    program_text = (
        "import sys; from pathlib import Path; from kgcheck.ledger.ledger import Ledger; "
        "Ledger(Path(sys.argv[1])).close(); Ledger(Path(sys.argv[1])).close(); sys.exit('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program_text, str(tmp_path / "l.sqlite")], cwd=ROOT, check=False)

    assert done.returncode == 0


@pytest.mark.slow
def test_words_are_compared_as_bytes(released: Path | URL) -> None:
    """In PostgreSQL whatever the language of the database, in tables that are new and in those brought forward."""
    if isinstance(released, Path):
        pytest.skip("SQLite does so by itself")
    columns = text(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() "
        "AND data_type IN ('text', 'character varying') AND collation_name IS DISTINCT FROM 'C' "
        "AND table_name <> :version"
    )
    for _ in ("brought forward", "new"):
        with Ledger(released) as ledger, ledger.database.writing() as connection:
            assert connection.execute(columns, {"version": VERSION.name}).all() == []
            METADATA.drop_all(connection)
            VERSION.drop(connection)
    assert any(isinstance(c.type, String) for c in FINDING.columns)
