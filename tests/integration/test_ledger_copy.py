"""``kgcheck ledger copy``: one ledger into another, both ways, all or nothing, and never over other rows."""

from __future__ import annotations

import json
import signal
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

from kgcheck import clock
from kgcheck.errors import LedgerError
from kgcheck.ledger.accounts import ActionEntry, ActionTable, Users
from kgcheck.ledger.copying import STAYING, copy_ledger
from kgcheck.ledger.decisions import Action, Decision, DecisionTable
from kgcheck.ledger.ledger import Ledger, PinnedRelease
from kgcheck.ledger.place import ledger_place
from kgcheck.ledger.run import NOT_DECIDED, HandedOver
from kgcheck.ledger.tables import METADATA
from kgcheck.ledger.work import WorkItem, WorkTable
from kgcheck.model import Change, ChangeKind, Gap, Reason
from kgcheck.progress import NoProgress
from kgcheck.settings import Settings
from tests.support.audits import kgcheck
from tests.support.forked import program
from tests.support.postgres import USER, PostgresServer, fresh_schema, named
from tests.unit.test_ledger import finding, run, tally

BOTH = list(product(("sqlite", "postgresql"), repeat=2))
PAIRS = pytest.mark.parametrize(
    "kinds",
    [pytest.param(pair, id="-to-".join(pair), marks=[pytest.mark.slow] * (pair[0] == pair[1])) for pair in BOTH],
)


class Places:
    """Makes places for ledgers, in either database."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self._request = request
        self._folder = folder
        self._count = 0

    def new(self, kind: str) -> str:
        self._count += 1
        if kind == "sqlite":
            return str(self._folder / f"ledger {self._count}.sqlite")
        server: PostgresServer = self._request.getfixturevalue("postgres_server")
        return named(fresh_schema(server.address()))


@pytest.fixture
def places(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("KGCHECK_LEDGER_USER", USER)
    return Places(request, tmp_path)


def opened(place: str) -> Ledger:
    return Ledger(ledger_place(place, Settings()))


def decision(number: int) -> Decision:
    return Decision(
        fingerprint=f"{number:04x}", basis="b", action=Action.DEFER, by="Ünal 'DROP", note="\\N\t\n\u2028", run="a",
        at=datetime(2026, 1, 1, 1, 2, 3, 456, tzinfo=UTC), until=date(2026, 2, 1),
    )  # fmt: skip


def fill(place: str) -> None:
    """Runs with everything that a row may hold, also what COPY has signs for."""
    change = Change(kind=ChangeKind.REPOINT, to="\\.", candidates=("P9", "\\N"), because='quoted "x"\n')
    release = PinnedRelease(source="go", release="1", file="go.tsv", sha256="00")
    with opened(place) as ledger:
        for name in ("a", "b"):
            mine = run(name).model_copy(update={"releases": (release,), "options": {"nested": [1, {"x": None}]}})
            ledger.start(mine)
            found = [finding(mine, f"P{n}\u00e9'\\t%s", value="\\N") for n in range(60)]
            found += [finding(mine, f"Q{n}").model_copy(update={"change": change}) for n in range(60)]
            gap = tally().model_copy(update={"gaps": (Gap("uniprot", Reason.NOT_COVERED),), "by_team": True})
            ledger.record(mine, "one", found, [tally(3), gap], "digest")
            handed = HandedOver(fingerprint=found[0].fingerprint, result=NOT_DECIDED, calls=2)
            ledger.hand_over(mine, (found[0], None, handed))
        ledger.finish(run("a"))
        DecisionTable(ledger.database).add([decision(n) for n in range(3)])


def content(place: str) -> dict[str, list[str]]:
    """Every row, as the program reads it."""
    with opened(place) as ledger, ledger.database.reading() as connection:
        return {t.name: sorted(map(repr, connection.execute(select(t)))) for t in METADATA.sorted_tables}


@PAIRS
def test_a_copy_has_the_same_rows_and_goes_on(places: Places, kinds: tuple[str, str]) -> None:
    source, target = map(places.new, kinds)
    fill(source)

    ended = kgcheck("ledger", "copy", source, target, "--format", "json")

    assert ended.code == 0, ended.err
    rows = {row["table"]: row["rows"] for row in json.loads(ended.out)}
    assert rows["finding"] == 240
    assert rows["decision"] == 3
    assert "copying finding" in ended.err
    assert content(target) == content(source)
    with opened(target) as ledger:
        # New rows get numbers of their own.
        ledger.record(run("b"), "two", [finding(run("b"), "P1")], [tally(1)])
        (added,) = DecisionTable(ledger.database).add([decision(9)])
        ledger.start(run("c"))
        assert [r.id for r in ledger.runs()] == ["c", "b", "a"]
        assert added.number == 4
        assert sum(t.count for t in ledger.tallies(run("b"))) == 5


@pytest.mark.parametrize("kinds", [BOTH[0], pytest.param(BOTH[1], marks=pytest.mark.slow)], ids=str)
def test_what_is_of_a_service_stays_where_it_is(places: Places, kinds: tuple[str, str]) -> None:
    source, target = map(places.new, kinds)
    for place in (source, target):
        with opened(place) as ledger:
            users = Users(ledger.database)
            token, _ = users.add("ada", "admin", by="t")
            assert users.sign_in(token)
    with opened(source) as ledger:
        WorkTable(ledger.database).add(WorkItem(id="0" * 16, kind="audit", by="ada", created=clock.now()))
        ActionTable(ledger.database).add(ActionEntry(at=clock.now(), name="ada", method="POST", route="/", status=200))
    before = content(target)

    ended = kgcheck("ledger", "copy", source, target, "--format", "json")

    assert ended.code == 0, ended.err
    after = content(target)
    assert {name for name in after if after[name] != before[name]} == {"service_action"}
    assert after["service_action"] == content(source)["service_action"]
    assert {row["table"] for row in json.loads(ended.out)} == set(METADATA.tables) - STAYING


@PAIRS
def test_other_rows_are_never_written_over(places: Places, kinds: tuple[str, str]) -> None:
    source, target = map(places.new, kinds)
    fill(source)
    with opened(target) as ledger:
        ledger.start(run("z"))
    before = content(target)

    ended = kgcheck("ledger", "copy", source, target, "--format", "json")

    assert ended.refuses(f"{target} is not empty: it has run of its own"), ended.err
    assert "nothing was written" in ended.err
    assert content(target) == before


KILLED = """
import os, signal, sys
from kgcheck.ledger import copying
from kgcheck.cli.main import run

insert = copying._insert

def killed(connection, table, rows):
    insert(connection, table, rows)
    if table.name == "finding":
        os.kill(os.getpid(), signal.SIGKILL)

copying._insert = killed
run(["ledger", "copy", *sys.argv[1:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds", [("sqlite", "postgresql"), pytest.param(("postgresql", "sqlite"), marks=pytest.mark.slow)]
)
def test_a_copy_that_is_killed_leaves_nothing(places: Places, kinds: tuple[str, str]) -> None:
    source, target = map(places.new, kinds)
    fill(source)
    killed = program(KILLED, source, target).ended()

    assert killed.returncode == -signal.SIGKILL
    assert {name: rows for name, rows in content(target).items() if rows} == {}
    assert kgcheck("ledger", "copy", source, target).code == 0
    assert content(target) == content(source)


def test_a_copy_that_lost_rows_is_not_kept(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody takes rows away under its eyes: the counts are compared before anything is kept."""
    from kgcheck.ledger import copying

    source, target = places.new("sqlite"), places.new("sqlite")
    fill(source)
    insert = copying._insert

    def lossy(connection: Any, table: Any, rows: Any) -> None:
        insert(connection, table, rows)
        if table.name == "finding":
            connection.execute(delete(table).where(table.c.run == "a"))

    monkeypatch.setattr(copying, "_insert", lossy)
    with (
        opened(source) as one,
        opened(target) as other,
        pytest.raises(LedgerError, match="finding would have 120 rows"),
    ):
        copy_ledger(one.database, other.database, NoProgress())

    assert not any(content(target).values())


def test_what_cannot_be_copied(places: Places, tmp_path: Path) -> None:
    source = places.new("sqlite")
    assert kgcheck("ledger", "copy", source, places.new("sqlite")).refuses("there is no ledger at")
    fill(source)
    assert kgcheck("ledger", "copy", source, source).refuses("the two ledgers are the same")
    (tmp_path / "link.sqlite").symlink_to(source)
    assert kgcheck("ledger", "copy", source, tmp_path / "link.sqlite").refuses("the two ledgers are the same")
    assert kgcheck("ledger", "copy", source, "postgresql://me:x@host/db").refuses("the address of a ledger must not")
    with opened(source) as ledger, ledger.database.writing() as connection:
        connection.exec_driver_sql("UPDATE finding SET confidence = 'high' WHERE run = 'b'")
        connection.exec_driver_sql("UPDATE run SET started = 'yesterday' WHERE id = 'b'")
    for kind in ("sqlite", "postgresql"):
        target = places.new(kind)
        assert kgcheck("ledger", "copy", source, target).refuses("the ledger"), kind
        assert not any(content(target).values())
