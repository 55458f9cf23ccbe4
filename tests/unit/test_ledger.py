"""The ledger keeps runs, and keeps them whole: pieces are all or nothing, whatever happens to the disk."""

from __future__ import annotations

import sqlite3
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kgcheck import clock
from kgcheck.errors import AmbiguousName, LedgerError, UnknownName
from kgcheck.ledger import engines
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import (
    CheckTask,
    CheckType,
    Evidence,
    Finding,
    Outcome,
    Reason,
    Ref,
    Stance,
    Tally,
    Target,
    Tier,
    Verdict,
    World,
)
from tests.support import quick_of
from tests.support.forked import Forked, program
from tests.support.postgres import fresh_schema


def run(name: str = "20260101-000000-aaaa", store: str = "graph.lbdb") -> Run:
    return Run(id=name, started=clock.now(), store=store, profile="ckg", nodes={"Protein": 1})


def finding(of: Run, identifier: str, outcome: Outcome = Outcome.REFUTED, value: str | None = None) -> Finding:
    task = CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="Protein", id=identifier), value=value)
    evidence = Evidence(
        source="uniprot",
        release="2026_03",
        record=identifier,
        retrieved_at=datetime(2026, 1, 1, tzinfo=UTC),
        stance=Stance.CONTRADICTS,
        world=World.CLOSED,
        tier=Tier.OWNER,
    )
    verdict = Verdict(outcome=outcome, reason=Reason.ID_DELETED, confidence=0.99, evidence=(evidence,))
    return Finding(run=of.id, fingerprint=task.fingerprint, task=task, verdict=verdict)


def tally(count: int = 1) -> Tally:
    return Tally(
        type=CheckType.EXISTENCE,
        target=Target(label="Protein"),
        outcome=Outcome.REFUTED,
        reason=Reason.ID_DELETED,
        sources=("uniprot",),
        count=count,
    )


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "ledger?a=b#c%20.sqlite"


@pytest.fixture
def file_ledger(where: Path) -> Iterator[Ledger]:
    with Ledger(where) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """An empty ledger in each database that is supported."""
    if request.param == "sqlite":
        yield request.getfixturevalue("file_ledger")
        return
    with Ledger(fresh_schema(request.getfixturevalue("postgres_server").address())) as opened:
        yield opened


# --- what it keeps


def test_what_was_written_is_read_by_the_next_process(where: Path) -> None:
    with Ledger(where) as ledger:
        ledger.start(run())
        ledger.record(run(), "one", [finding(run(), "P1")], [tally(3)], "digest")
        ended = ledger.finish(run())

    with Ledger(where, create=False) as ledger:
        assert ledger.runs() == [ended]
        assert ended.finished is not None
        assert list(ledger.findings(ended)) == [finding(run(), "P1")]
        assert ledger.tallies(ended) == [tally(3)]
        assert ledger.done(ended) == {"one": "digest"}


def test_findings_come_worst_first(ledger: Ledger) -> None:
    ledger.start(run())
    found = [finding(run(), f"P{n}", o) for n, o in enumerate([*Outcome, *Outcome])]
    ledger.record(run(), "one", found, [])

    outcomes = [f.verdict.outcome.value for f in ledger.findings(run())]
    assert outcomes == ["refuted"] * 2 + ["insufficient"] * 2 + ["unavailable"] * 2 + ["supported"] * 2
    assert [f.task.subject.id for f in ledger.findings(run(), limit=2)] == ["P1", "P5"]
    assert [f.task.subject.id for f in ledger.findings(run(), [Outcome.SUPPORTED])] == ["P0", "P4"]
    assert list(ledger.findings(run(), limit=0)) == []


# --- names


def test_runs_are_named_by_the_beginning_of_their_id(ledger: Ledger) -> None:
    for name in ("20260101-000000-aaaa", "20260101-000000-bbbb", "20260102-000000-cccc", "20260102"):
        ledger.start(run(name))

    assert ledger.run("20260101-000000-b").id == "20260101-000000-bbbb"
    assert ledger.run("20260102").id == "20260102"
    assert ledger.run("latest").id == "20260102"
    with pytest.raises(AmbiguousName, match="several runs begin with '20260101'") as ambiguous:
        ledger.run("20260101")
    assert "20260101-000000-aaaa" in ambiguous.value.hint
    with pytest.raises(UnknownName, match="there is no run '20260101-000000-aaab'") as unknown:
        ledger.run("20260101-000000-aaab")
    assert "did you mean 20260101-000000-aaaa" in unknown.value.hint


def test_findings_are_named_by_the_beginning_of_their_fingerprint(ledger: Ledger) -> None:
    ledger.start(run())
    ledger.record(run(), "one", [finding(run(), f"P{n}") for n in range(40)], [])
    wanted = finding(run(), "P7")

    assert ledger.finding(wanted.fingerprint) == wanted
    assert ledger.finding(wanted.fingerprint[:8]) == wanted
    with pytest.raises(AmbiguousName, match="several findings begin with ''"):
        ledger.finding("")
    for name in ("zzzz", "%", "_", "' OR 1=1 --"):
        with pytest.raises(UnknownName, match="there is no finding"):
            ledger.finding(name)


def test_the_audit_before_is_a_finished_one_of_the_same_store(ledger: Ledger) -> None:
    assert ledger.audit_before("graph.lbdb") is None
    for name, store in (("a", "graph.lbdb"), ("b", "graph.lbdb"), ("c", "another")):
        ledger.start(run(name, store))
        ledger.finish(run(name, store))
    ledger.start(run("d"))
    ledger.keep(run("e").model_copy(update={"nodes": {}}), finding(run("e"), "P1"), tally())

    before = ledger.audit_before("graph.lbdb")
    assert before is not None
    assert before.id == "b"


# --- all or nothing


def test_a_piece_is_written_whole_or_not_at_all(ledger: Ledger) -> None:
    ledger.start(run())

    with pytest.raises(LedgerError, match="already has this part"):
        ledger.record(run(), "one", [finding(run(), "P1"), finding(run(), "P1")], [tally()])

    assert ledger.done(run()) == {}
    assert list(ledger.findings(run())) == []
    assert ledger.tallies(run()) == []


def child(script: str, *arguments: object) -> Forked:
    return program("import sys\nfrom tests.unit.test_ledger import *\n" + textwrap.dedent(script), *arguments)


FULL_DISK = """
import os, resource
with Ledger(Path(sys.argv[1])) as ledger:
    ledger.start(run())
    ledger.record(run(), "one", [finding(run(), "P1")], [tally()])
    size = os.path.getsize(sys.argv[1] + "-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + int(sys.argv[2]), resource.RLIM_INFINITY))
    try:
        ledger.record(run(), "two", [finding(run(), f"Q{n}") for n in range(1000)], [tally()])
    except LedgerError as error:
        print(error.message, "|", error.hint)
    print(*ledger.done(run()))
"""


@pytest.mark.parametrize("room", quick_of([0, 1, 5_000, 60_000], 0, 60_000))
def test_a_full_disk_loses_nothing_and_leaves_nothing_half_written(where: Path, room: int) -> None:
    done = child(FULL_DISK, where, room).ended()
    out = done.stdout

    assert done.stderr == ""
    assert out.splitlines()[0].startswith(f"cannot write to the ledger {where}: the disk is full or failing")
    assert "kgcheck audit --resume" in out
    assert out.splitlines()[-1] == "one"
    with Ledger(where, create=False) as ledger:
        assert list(ledger.findings(run())) == [finding(run(), "P1")]
        assert ledger.tallies(run()) == [tally()]
        ledger.record(run(), "two", [finding(run(), "P2")], [tally()])
        assert set(ledger.done(run())) == {"one", "two"}


KILLED = """
import os, random, signal, threading, time
ledger = Ledger(Path(sys.argv[1]))
ledger.start(run())
found = [[finding(run(), f"P{piece}.{n}") for n in range(200)] for piece in range(40)]
delay = random.Random(int(sys.argv[2])).uniform(0, 0.4)
threading.Thread(target=lambda: (time.sleep(delay), os.kill(os.getpid(), signal.SIGKILL))).start()
for piece in range(40):
    ledger.record(run(), str(piece), found[piece], [tally(200)])
time.sleep(10)
"""


@pytest.mark.parametrize("seed", quick_of(range(4), 0, 1))
def test_a_killed_writer_leaves_whole_pieces(where: Path, seed: int) -> None:
    killed = child(KILLED, where, seed).ended()

    assert killed.returncode == -9
    with Ledger(where, create=False) as ledger:
        done = ledger.done(run())
        found = [f.task.subject.id for f in ledger.findings(run())]
        assert sorted(found) == sorted(f"P{piece}.{n}" for piece in done for n in range(200))
        assert sum(t.count for t in ledger.tallies(run())) == len(found)


WRITER = """
with Ledger(Path(sys.argv[1])) as ledger:
    mine = run(sys.argv[2])
    ledger.start(mine)
    for piece in range(30):
        ledger.record(mine, str(piece), [finding(mine, f"P{piece}.{n}") for n in range(20)], [tally(20)])
    ledger.finish(mine)
"""


def test_several_processes_make_and_write_one_ledger(where: Path) -> None:
    names = ["a", "b", "c", "d"]
    writers = [child(WRITER, where, name) for name in names]

    for writer in writers:
        done = writer.ended()
        assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    with Ledger(where, create=False) as ledger:
        assert sorted(r.id for r in ledger.runs()) == names
        for name in names:
            assert len(list(ledger.findings(run(name)))) == 600
            assert sum(t.count for t in ledger.tallies(run(name))) == 600


def test_a_writer_waits_and_then_says_for_whom(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Before the first connection to the file, which all that are opened later share.
    monkeypatch.setattr(engines, "_WAIT_S", 0.05)
    with Ledger(where) as waiting:
        other = sqlite3.connect(where, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert waiting.runs() == []
        with pytest.raises(LedgerError, match="another process has been writing"):
            waiting.start(run())
        other.execute("ROLLBACK")
        waiting.start(run())
        other.close()
        assert [r.id for r in waiting.runs()] == [run().id]


# --- what is no ledger


def test_a_text_file_is_no_ledger_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("notes " * 1000)

    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger(path)

    assert path.read_text() == "notes " * 1000
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()
    before = path.read_bytes()

    with pytest.raises(LedgerError, match="a database of another program"):
        Ledger(path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("damaged", [lambda data: data[:100] + b"\xff" * 3000 + data[3100:], lambda data: data[:5000]])
def test_a_damaged_ledger_is_told(where: Path, damaged: Callable[[bytes], bytes]) -> None:
    with Ledger(where) as ledger:
        ledger.start(run())
    where.write_bytes(damaged(where.read_bytes()))

    with pytest.raises(LedgerError):
        Ledger(where).runs()


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("run", "options", "[1]"),
        ("run", "started", "yesterday"),
        ("finding", "evidence", "{}"),
        ("finding", "evidence", "no JSON"),
        ("finding", "outcome", "so so"),
        ("finding", "confidence", "7"),
        ("finding", "subject_id", ""),
        ("tally", "gaps", "[[1]]"),
        ("tally", "reason", "because"),
    ],
)
def test_a_row_that_cannot_be_read_is_told(
    file_ledger: Ledger, where: Path, table: str, column: str, value: str
) -> None:
    file_ledger.start(run())
    file_ledger.record(run(), "one", [finding(run(), "P1")], [tally()])
    with sqlite3.connect(where) as db:
        db.execute(f"UPDATE {table} SET {column} = ?", [value])
    db.close()

    with pytest.raises(LedgerError, match=f"holds a {table} that cannot be read"):
        _ = file_ledger.runs(), list(file_ledger.findings(run())), file_ledger.tallies(run())


def test_reading_makes_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger") as caught:
        Ledger(tmp_path / "ledger.sqlite", create=False)

    assert "kgcheck audit makes one" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_has_lost_pieces_takes_no_more_of_the_run(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    with Ledger(place) as ledger:
        ledger.start(run())
        for piece in ("one", "two", "three"):
            ledger.record(run(), piece, [finding(run(), piece)], [tally()])
        with Ledger(place) as other, other.database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM piece WHERE piece IN ('two', 'three')")

        for go_on in (lambda: ledger.record(run(), "four", [], [tally()]), lambda: ledger.finish(run())):
            with pytest.raises(LedgerError, match="has lost 2 pieces of run") as caught:
                go_on()
            assert "audit --resume" in caught.value.hint
        assert set(ledger.done(run())) == {"one"}
        assert ledger.cut_off().id == run().id


def test_a_piece_whose_findings_fail_is_not_written(ledger: Ledger) -> None:
    def failing() -> Iterator[Finding]:
        yield finding(run(), "P1")
        raise RuntimeError("boom")

    ledger.start(run())
    with pytest.raises(RuntimeError, match="boom"):
        ledger.record(run(), "one", failing(), [tally()])

    assert ledger.done(run()) == {}


def test_a_full_disk_at_the_start_is_told(tmp_path: Path) -> None:
    script = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    try:
        Ledger(Path(sys.argv[1]))
    except LedgerError as error:
        print(error.message)
    """
    done = child(script, tmp_path / "ledger.sqlite").ended()

    assert done.stderr == ""
    assert "the disk is full or failing" in done.stdout
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.runs() == []


def test_a_piece_of_no_run_is_refused(ledger: Ledger) -> None:
    with pytest.raises(LedgerError):
        ledger.record(run("unknown"), "one", [], [])


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="is a folder") as caught:
        Ledger(tmp_path)

    assert "ledger.sqlite" in caught.value.hint


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LedgerError, match=r"cannot make .*file"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


def test_an_empty_file_becomes_a_ledger_only_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.touch()
    with pytest.raises(LedgerError, match="it is empty"):
        Ledger(path, create=False)

    with Ledger(path) as ledger:
        assert ledger.runs() == []
