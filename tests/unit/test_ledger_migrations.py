"""Ledgers of earlier formats become ones of the present format, on both databases, whole or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Engine, MetaData, String, create_engine, insert, select, text, update

from kgcheck.errors import LedgerError
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.migration import configuration
from kgcheck.ledger.migrations import format_2
from kgcheck.ledger.rows import finding_row, run_row, tally_row
from kgcheck.ledger.tables import FINDING, FORMAT, KEY, METADATA, VERSION
from kgcheck.model import Change, ChangeKind, Finding
from tests.support import ROOT, quick_of
from tests.support.forked import Forked, program
from tests.support.postgres import fresh_schema
from tests.unit.test_ledger import finding, run, tally

APPLICATION = 0x6B676331
MANY = 5_500
"""Findings of a ledger that is migrated in several batches."""


@pytest.fixture(params=quick_of(["sqlite", "postgresql"], "sqlite"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | URL:
    """Where a ledger could be, in each database."""
    if request.param == "sqlite":
        return tmp_path / "ledger.sqlite"
    address: URL = fresh_schema(request.getfixturevalue("postgres_server").address())
    return address


def engine_of(place: Path | URL) -> Engine:
    return create_engine(place if isinstance(place, URL) else f"sqlite:///{place}")


def found() -> list[Finding]:
    change = Change(kind=ChangeKind.REPOINT, to="P9", candidates=("P9", "P8"), because="merged")
    return [finding(run(), f"P{n}").model_copy(update={"change": change if n % 2 else None}) for n in range(40)]


def write_format_2(place: Path | URL, findings: list[Finding]) -> None:
    """A ledger as the kgcheck of format 2 wrote it."""

    def as_then(name: str, row: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if key in format_2.METADATA.tables[name].c}

    engine = engine_of(place)
    with engine.begin() as connection:
        format_2.METADATA.create_all(connection)
        connection.execute(insert(format_2.RUN).values(as_then("run", run_row(run()))))
        connection.execute(insert(format_2.PIECE).values(run=run().id, piece="one", digest="d"))
        rows = [as_then("finding", finding_row(run().id, f)) for f in findings]
        connection.execute(insert(format_2.FINDING), rows)
        connection.execute(insert(format_2.TALLY).values(as_then("tally", tally_row(run().id, "one", tally(40)))))
        if isinstance(place, Path):
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
            connection.exec_driver_sql("PRAGMA user_version = 2")
    engine.dispose()


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


def test_the_format_is_the_latest_revision(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger, ledger.database.reading() as connection:
        script = ScriptDirectory.from_config(configuration(connection))

    assert script.get_heads() == [str(FORMAT)]
    assert [revision.revision for revision in script.walk_revisions()] == ["6", "5", "4", "3", "2"]


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_new_ledger_and_one_brought_forward_have_the_tables_of_the_code(place: Path | URL) -> None:
    write_format_2(place, found())
    assert differences(place) != []

    with Ledger(place, create=False):
        pass

    assert differences(place) == []
    assert version(place) == str(FORMAT)


def write_format(place: Path | URL, format_: int, findings: list[Finding]) -> None:
    """A ledger of format 2 that a kgcheck of a later format brought forward."""
    write_format_2(place, findings)
    if format_ == 2:
        return
    engine = engine_of(place)
    with engine.begin() as connection:
        VERSION.create(connection)
        connection.execute(insert(VERSION).values(version_num="2"))
        command.upgrade(configuration(connection), str(format_))
        if isinstance(place, Path):
            connection.exec_driver_sql(f"PRAGMA user_version = {format_}")
    engine.dispose()


@pytest.mark.parametrize("format_", quick_of([3, 4, 5], 3))
def test_a_ledger_of_a_format_between_keeps_all(place: Path | URL, format_: int) -> None:
    write_format(place, format_, found())
    assert version(place) == str(format_)
    added = {table.name for table in METADATA.sorted_tables} - set(state(place))
    assert {"claim_text", "paper_claim", "claim_pair", "claim_paper", "claim_group"} <= added
    assert ({"finding_key", "finding_place", "unsettled", "compared_state"} <= added) == (format_ < 5)
    assert ("service_token" in added) == (format_ == 3)

    with Ledger(place, create=False) as ledger:
        assert [r.id for r in ledger.runs()] == [run().id]
        # The order in which they are shown is another table's now.
        shown = [f.fingerprint for f in ledger.findings(run())]
        assert shown == [f.fingerprint for f in sorted(found(), key=lambda f: f.task.subject.id)]
        assert ledger.finding(found()[7].fingerprint) == found()[7]
        assert ledger.known([f.fingerprint for f in found()]) == {f.fingerprint for f in found()}
        ledger.record(run(), "two", [finding(run(), "Q1")], [tally()])
        assert len(list(ledger.findings(run()))) == len(found()) + 1
        with ledger.database.reading() as connection:
            bases = dict(connection.execute(select(KEY.c.fingerprint, KEY.c.basis)).all())
        assert {f.fingerprint: basis_of(f) for f in found()}.items() <= bases.items()

    assert differences(place) == []
    assert version(place) == str(FORMAT)


def test_a_new_ledger_has_the_tables_of_the_code(place: Path | URL) -> None:
    with Ledger(place):
        pass

    assert differences(place) == []
    assert version(place) == str(FORMAT)


def test_findings_of_format_2_get_their_basis(place: Path | URL) -> None:
    write_format_2(place, found())

    with Ledger(place, create=False) as ledger:
        assert sorted(ledger.findings(run()), key=lambda f: f.fingerprint) == sorted(
            found(), key=lambda f: f.fingerprint
        )
        with ledger.database.reading() as connection:
            made = {row.fingerprint: row.basis for row in connection.execute(select(FINDING))}
        assert made == {f.fingerprint: basis_of(f) for f in found()}
        assert len(set(made.values())) > 20
        ledger.record(run(), "two", [finding(run(), "Q1")], [tally()])
        assert ledger.tallies(run()) == [tally(41)]


def test_all_findings_get_their_basis_when_there_are_many(tmp_path: Path) -> None:
    place = tmp_path / "l.sqlite"
    write_format_2(place, [finding(run(), f"P{n}") for n in range(MANY)])

    with Ledger(place, create=False) as ledger, ledger.database.reading() as connection:
        without = connection.execute(select(FINDING.c.fingerprint).where(FINDING.c.basis.is_(None))).all()
        bases = connection.scalars(select(FINDING.c.basis).distinct()).all()
    assert without == []
    assert len(bases) == MANY


@pytest.mark.slow
def test_words_are_compared_as_bytes(place: Path | URL) -> None:
    """In PostgreSQL whatever the language of the database, in tables that are new and in those brought forward."""
    if isinstance(place, Path):
        pytest.skip("SQLite does so by itself")
    columns = text(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() "
        "AND data_type IN ('text', 'character varying') AND collation_name IS DISTINCT FROM 'C' "
        "AND table_name <> :version"
    )
    for old in (True, False):
        if old:
            write_format_2(place, found())
        with Ledger(place) as ledger, ledger.database.writing() as connection:
            assert connection.execute(columns, {"version": VERSION.name}).all() == []
            METADATA.drop_all(connection)
            VERSION.drop(connection)
    assert any(isinstance(c.type, String) for c in FINDING.columns)


@pytest.mark.parametrize("column", ["evidence", "outcome"])
def test_what_cannot_be_read_stays_as_it_was(place: Path | URL, column: str) -> None:
    write_format_2(place, found())
    engine = engine_of(place)
    with engine.begin() as connection:
        one = format_2.FINDING.c.fingerprint == found()[7].fingerprint
        connection.execute(update(format_2.FINDING).where(one).values({column: '[{"so": "so"}]'}))
    engine.dispose()
    before = state(place)

    with pytest.raises(LedgerError, match=f"is of format 2 and holds what cannot be brought to format {FORMAT}"):
        Ledger(place)

    assert state(place) == before


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


# What SQLite does when it is killed, or opened by two at once, tests/unit/test_ledger_formats.py says of format 1.
ON_POSTGRESQL = pytest.mark.parametrize(
    "place", ["postgresql", pytest.param("sqlite", marks=pytest.mark.slow)], indirect=True
)


@ON_POSTGRESQL
@pytest.mark.parametrize(
    ("format_", "statements"),
    [(2, 11), (4, 12), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((2, 8), (2, 14), (4, 9), (4, 20)))],
)
def test_a_killed_change_of_format_is_begun_again(place: Path | URL, format_: int, statements: int) -> None:
    write_format(place, format_, found())
    before = state(place)
    killed = opened(place, statements).ended()

    assert killed.returncode == -signal.SIGKILL
    assert state(place) == before
    with Ledger(place) as ledger:
        assert len(list(ledger.findings(run()))) == len(found())
    assert differences(place) == []


@ON_POSTGRESQL
@pytest.mark.parametrize("old", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_several_processes_open_one_ledger_at_once(place: Path | URL, old: bool) -> None:
    if old:
        write_format_2(place, found())
    for process in [opened(place) for _ in range(2)]:
        done = process.ended()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split()[1] == str(int(old))
    assert differences(place) == []
    assert version(place) == str(FORMAT)


def test_a_ledger_of_a_later_format_is_refused_and_stays_as_it_is(place: Path | URL) -> None:
    with Ledger(place) as ledger:
        ledger.start(run())
        with ledger.database.writing() as connection:
            connection.execute(update(VERSION).values(version_num=str(FORMAT + 1)))
            if isinstance(place, Path):
                connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT + 1}")
    before = state(place)

    for create in (True, False):
        with pytest.raises(
            LedgerError, match=f"is a ledger of format {FORMAT + 1}, and this kgcheck reads {FORMAT}"
        ) as caught:
            Ledger(place, create=create)
        assert "a newer kgcheck" in caught.value.hint
    assert state(place) == before


def test_a_ledger_of_now_is_opened_without_alembic(tmp_path: Path) -> None:
    """It takes longer to be imported than everything else of the ledger."""
    text = (
        "import sys; from pathlib import Path; from kgcheck.ledger.ledger import Ledger; "
        "Ledger(Path(sys.argv[1])).close(); Ledger(Path(sys.argv[1])).close(); sys.exit('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", text, str(tmp_path / "l.sqlite")], cwd=ROOT, check=False)

    assert done.returncode == 0
