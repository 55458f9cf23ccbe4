"""A ledger in a file or on a PostgreSQL server: the same commands, the same results, and errors that help."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, create_engine

from kgcheck import Workspace
from kgcheck.audit.run import Audit
from kgcheck.curation.operations import read_patch
from kgcheck.errors import LedgerError, MissingExtra, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger import engines
from kgcheck.ledger.decisions import DecisionTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.place import LedgerServer, ledger_place
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.integration.test_resume import BrittleLedger, CutOff
from tests.support.audits import Audited, audited, comparable, demo, kgcheck, of_run
from tests.support.forked import program
from tests.support.ports import free_port
from tests.support.postgres import GUARDED, PASSWORD, USER, PostgresServer, fresh_schema, named, own_server
from tests.unit.test_ledger import finding, run, tally

MARK = "hunter2MARK"
"""Stands in every password of these tests."""


@pytest.fixture
def server(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    monkeypatch.setenv("KGCHECK_LEDGER_USER", USER)
    return postgres_server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a person names as the ledger."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return named(fresh_schema(request.getfixturevalue("server").address()))


# Most other tests of audits, of resuming and of commands are of a file.
MOSTLY_POSTGRESQL = pytest.mark.parametrize(
    "place", ["postgresql", pytest.param("sqlite", marks=pytest.mark.slow)], indirect=True
)


def opened(place: str, *, create: bool = True) -> Ledger:
    return Ledger(ledger_place(place, Settings()), create=create)


# --- every command, on both


OVER: dict[str, Any] = {"types": ("existence",)}
OPTIONS = ("--type", "existence")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """What the audit comes to."""
    with EmbeddedStore(demo().store, load_schema()) as store:
        return audited(store, tmp_path_factory.mktemp("expected") / "l.sqlite", demo().reference, **OVER)


@MOSTLY_POSTGRESQL
def test_every_command_works_on_both(place: str, expected: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    where = ("--store", demo().store, "--reference", demo().reference)

    audit = kgcheck("audit", *OPTIONS, *where, "--ledger", place, "--format", "json")

    assert (audit.code, "Traceback" in audit.err) == (1, False)
    monkeypatch.setenv("KGCHECK_LEDGER", place)
    (listed,) = json.loads(kgcheck("runs", "--format", "json").out)
    assert listed["finished"]
    with opened(place, create=False) as ledger:
        kept = of_run(ledger, ledger.run("latest"))
    assert comparable(kept) == comparable(expected)
    lines = [json.loads(line) for line in kgcheck("report", "latest", "--format", "jsonl").out.splitlines()]
    found = [line for line in lines if "fingerprint" in line]
    assert [f["fingerprint"] for f in found] == [f.fingerprint for f in expected.findings]
    explained = json.loads(kgcheck("explain", found[0]["fingerprint"][:10], "--format", "json").out)
    assert explained["fingerprint"] == found[0]["fingerprint"]
    assert kgcheck("check", "existence Protein P02649", *where).code in (0, 1)
    with Workspace(store=demo().store) as workspace:
        assert [f.fingerprint for f in workspace.findings(limit=3)] == [f["fingerprint"] for f in found[:3]]
        assert len(workspace.runs()) == 2
        assert workspace.findings().to_arrow().num_rows == len(found)


def curated(place: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What commands of curation write over two audits; runs and times, which differ, are left out."""
    monkeypatch.setenv("KGCHECK_LEDGER", place)
    where = ("--store", demo().store, "--reference", demo().reference)
    written: list[Any] = []

    def command(*arguments: object) -> str:
        ended = kgcheck(*arguments, cwd=folder)
        assert ended.code in (0, 1), (arguments, ended.err)
        return re.sub(r"20\d\d-?\d\d-?\d\d[-T ]\d\d:?\d\d[\w:.-]*", "WHEN", ended.out)

    for label in ("Protein", "Disease"):
        command("audit", "--type", "existence", *where, "--label", label)
    command("audit", "--type", "existence", *where)
    written.append(command("diff", "--format", "json"))
    first, second = (
        json.loads(line)["fingerprint"] for line in command("findings", "--format", "jsonl").splitlines()[:2]
    )
    for action, by in (("accept", "a"), ("reject", "b"), ("accept", "c")):
        command("decide", first, action, "--note", "seen 'twice' \\", "--by", by)
    command("decide", second, "reject", "--note", "no", "--by", "a")
    for wanted in (
        (), ("--reason", "id_deleted"), ("--label", "Protein"), ("--text", "p0"), ("--text", "%_"), ("--state", "new"),
        ("--state", "still", "--state", "fixed"), ("--decision", "open"), ("--decision", "rejected"),
        ("--limit", "3"), ("--after", second, "--limit", "2"),
    ):  # fmt: skip
        written.append((wanted, command("findings", *wanted, "--format", "jsonl")))
    written += [command("explain", first), command("report", "latest", "--format", "json")]
    assert re.search(r"accept\w*.* by c", written[-2]), written[-2]
    written += [command("decisions", "history", first)]
    written += [command("patch", "make", "--accepted", "--out", folder / "patch", *where[:2])]
    written += [command("patch", "check", read_patch(folder / "patch").id, *where[:2])]
    return written


@pytest.mark.slow
def test_curation_is_the_same_on_both(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = list[list[str]]()
    for place in (str(tmp_path / "l.sqlite"), named(fresh_schema(server.address()))):
        folder = tmp_path / f"{len(results)}"
        folder.mkdir()
        results.append([str(part).replace(str(folder), "FOLDER") for part in curated(place, folder, monkeypatch)])

    assert results[0] == results[1]
    assert len(results[0]) == 17
    assert "id_deleted" in results[0][2]
    assert "retire" in results[0][15]


def test_findings_have_one_order_in_any_language(server: PostgresServer, tmp_path: Path) -> None:
    """A database whose language sorts a before B, and ignores signs."""
    engine = create_engine(server.address()).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "CREATE DATABASE english TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' ENCODING 'UTF8'"
        )
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    engine.dispose()
    names = ["a", "B", "c", "_d", "-e", "é", "Z", "10", "9", "a b", "ab", "%", "\U0001f600", "\uff5e"]
    orders = []
    for where in (tmp_path / "l.sqlite", server.address("english")):
        with Ledger(where) as ledger:
            ledger.start(run())
            ledger.record(run(), "one", [finding(run(), name) for name in names], [])
            orders.append([f.task.subject.id for f in ledger.findings(run())])
            assert [ledger.finding(f.fingerprint[:12]).task.subject.id for f in ledger.findings(run())] == orders[-1]

    assert orders[0] == orders[1] == sorted(names, key=lambda name: name.encode())


# --- addresses and passwords


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (f"postgresql://me:{MARK}@host/db", "the address of a ledger must not carry credentials"),
        (f"postgresql://me:{MARK}%40host/db", "the address of a ledger must not carry credentials"),
        (f"postgresql://me:p#{MARK}@host/db", "the address of a ledger must not carry credentials"),
        (f"postgres://{MARK}@host/db", "the address of a ledger must not carry credentials"),
        (f"me:{MARK}@host/db", "the address of a ledger must not carry credentials"),
        (f"postgresql://host/db?password={MARK}", "the address of a ledger cannot have password"),
        (f"postgresql://host/db?sslmode=require&user={MARK}", "the address of a ledger cannot have user"),
        (f"postgresql://host/db?sslpassword={MARK}", "the address of a ledger cannot have sslpassword"),
        ("mysql://host/db", "no ledger is kept in mysql://"),
        ("sqlite:///ledger.sqlite", "no ledger is kept in sqlite://"),
        ("postgresql://host", "the address of the ledger names no database"),
        ("postgresql://host/a/b", "the address of the ledger names no database, or more than one"),
        ("postgresql://host:port/db", "the ledger is not an address"),
        ("postgresql:/host/db", "the address of a ledger is text, not a path"),
    ],
)
def test_an_address_that_is_refused(
    address: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in (("runs",), ("audit", "--store", demo().store), ("report", "latest"), ("explain", "00")):
        ended = kgcheck(*arguments, "--ledger", address, cwd=tmp_path)
        assert ended.refuses(message), ended.err
        assert MARK not in ended.err
    monkeypatch.setenv("KGCHECK_LEDGER", address)
    ended = kgcheck("runs", cwd=tmp_path)
    assert ended.refuses()
    assert MARK not in ended.err
    with pytest.raises(UsageError) as refused:
        Workspace(ledger=address)
    assert MARK not in f"{refused.value.message} {refused.value.hint}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", [None, "KGCHECK_LEDGER_PASSWORD", "PGPASSWORD", "PGPASSFILE", "wrong"])
def test_the_password_comes_from_the_environment(
    server: PostgresServer, variable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, password = fresh_schema(server.address()), PASSWORD
    with Ledger(address) as ledger:
        ledger.start(run())
    place = named(address)
    monkeypatch.setenv("KGCHECK_LEDGER_USER", GUARDED)
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    match variable:
        case "PGPASSFILE":
            (tmp_path / "passes").write_text(f"*:*:*:{GUARDED}:{password}\n")
            (tmp_path / "passes").chmod(0o600)
            monkeypatch.setenv(variable, str(tmp_path / "passes"))
        case "wrong":
            monkeypatch.setenv("KGCHECK_LEDGER_PASSWORD", MARK)
        case str():
            monkeypatch.setenv(variable, password)

    ended = kgcheck("runs", "--ledger", place, cwd=tmp_path)

    assert MARK not in ended.err + ended.out
    assert password not in ended.err + ended.out
    if variable in (None, "wrong"):
        assert ended.refuses("cannot open the ledger postgresql:///postgres")
        assert "KGCHECK_LEDGER_PASSWORD" in ended.err
    else:
        assert (ended.code, ended.out.count("graph.lbdb")) == (0, 1), ended.err


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)

    ended = kgcheck("runs", "--ledger", "postgresql://localhost/kgcheck", cwd=tmp_path)

    assert ended.refuses("a ledger on PostgreSQL needs the extra 'postgres'")
    assert "pip install 'kgcheck[postgres]'" in ended.err
    with pytest.raises(MissingExtra):
        Ledger(LedgerServer("postgresql://localhost/kgcheck"))


# --- what may be wrong with a server


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    for address in (f"postgresql:///db?host={tmp_path}", "postgresql://127.0.0.1:1/db"):
        ended = kgcheck("runs", "--ledger", address)
        assert ended.refuses(f"cannot open the ledger {address}: ")
        assert "is the server up" in ended.err


def test_a_database_of_another_program_stays_as_it_is(server: PostgresServer) -> None:
    address = fresh_schema(server.address())
    engine = create_engine(address)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE run (name text)")
    engine.dispose()

    with pytest.raises(LedgerError, match="holds tables of another program: run") as caught:
        Ledger(address)

    assert "a schema of its own" in caught.value.hint


def test_one_who_may_only_read_reads(server: PostgresServer) -> None:
    address = fresh_schema(server.address())
    with Ledger(address) as ledger:
        ledger.keep(run(), finding(run(), "P1"), tally())
        schema = str(address.query["options"]).partition("=")[2]
        with ledger.database.writing() as connection:
            connection.exec_driver_sql("CREATE ROLE reader LOGIN")
            connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {schema} TO reader")
            connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")

    with Ledger(address.set(username="reader"), create=False) as ledger:
        assert list(ledger.findings(run())) == [finding(run(), "P1")]
        with pytest.raises(LedgerError, match="may not be written or read by this user"):
            ledger.start(run("b"))


def test_a_text_that_postgresql_has_no_place_for_is_named(server: PostgresServer) -> None:
    with Ledger(fresh_schema(server.address())) as ledger:
        ledger.start(run())
        with pytest.raises(LedgerError, match="the character NUL cannot be written"):
            ledger.record(run(), "one", [finding(run(), "P1", value="a\x00b")], [tally()])
        ledger.record(run(), "one", [finding(run(), "P1")], [tally()])


@pytest.mark.slow
def test_a_server_that_is_started_again_loses_nothing(server: PostgresServer, expected: Audited) -> None:
    """Between pieces nobody notices; within one it is said, and the run goes on."""
    place = named(fresh_schema(server.address()))
    with EmbeddedStore(demo().store, load_schema()) as store:

        class Stopping(Ledger):
            """The server ends in the middle of a piece, and is started again later."""

            left = 3

            def record(self, *given: Any, **more: Any) -> None:
                self.left -= 1
                if self.left == 1:
                    server.stop()
                    server.start()
                if self.left == 0:
                    with self.database.writing() as connection:
                        connection.exec_driver_sql("DELETE FROM piece")
                        server.stop()
                        connection.exec_driver_sql("DELETE FROM tally")
                super().record(*given, **more)

        with Stopping(ledger_place(place, Settings())) as stopping:
            audit = Audit(store, demo().reference, stopping, Settings())
            with pytest.raises(LedgerError, match=r"the (server|connection)") as caught:
                audit.start(AuditOptions(**OVER))
    assert "kgcheck audit --resume goes on" in caught.value.hint
    assert kgcheck("runs", "--ledger", place).refuses("cannot open the ledger")

    server.start()

    with opened(place, create=False) as ledger:
        assert len(ledger.done(ledger.cut_off())) == 2
    ended = kgcheck("audit", "--resume", "--ledger", place)
    assert ended.code == 1, ended.err
    with opened(place, create=False) as ledger:
        assert comparable(of_run(ledger, ledger.run("latest"))) == comparable(expected)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of this machine, which vouches for itself, and its key."""
    made = tmp_path / "server.crt", tmp_path / "server.key"
    about = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2")
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-out", made[0], "-keyout", made[1], *about)
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("is_behind", [False, True])
def test_a_standby_that_takes_over_in_mid_audit_loses_nothing(
    is_behind: bool, expected: Audited, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGCHECK_LEDGER_USER", USER)
    with (
        own_server() as primary,
        own_server(is_made=False) as standby,
        EmbeddedStore(demo().store, load_schema()) as store,
    ):
        ports = free_port(), free_port()
        primary.stop()
        primary.listen(ports[0], *certificate)
        primary.start()
        standby.make_standby(primary, ports[1], ports[0], *certificate)
        servers = f"host=localhost,localhost&port={ports[0]},{ports[1]}&target_session_attrs=read-write"
        place = f"postgresql:///postgres?{servers}&sslmode=verify-full&sslrootcert={certificate[0]}"

        class FailingOver(Ledger):
            """The standby takes over before the sixth piece; it may have heard of none after the second."""

            pieces = 0

            def record(self, *given: Any, **more: Any) -> None:
                self.pieces += 1
                if self.pieces == 3 and is_behind:
                    standby.ask("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
                    standby.wait_until("SELECT count(*) FROM pg_stat_wal_receiver", 0)
                if self.pieces == 6:
                    if not is_behind:
                        written = primary.ask("SELECT pg_current_wal_lsn()::text")
                        standby.wait_until(f"SELECT (pg_last_wal_replay_lsn() >= '{written}')::int", 1)
                    primary.stop()
                    standby.promote()
                super().record(*given, **more)

        with FailingOver(ledger_place(place, Settings())) as ledger:
            audit = Audit(store, demo().reference, ledger, Settings())
            if is_behind:
                with pytest.raises(LedgerError, match="has lost 3 pieces of run") as caught:
                    audit.start(AuditOptions(**OVER))
                assert "audit --resume" in caught.value.hint
                assert kgcheck("audit", "--resume", "--ledger", place).code == 1
            else:
                assert audit.start(AuditOptions(**OVER)).finished
            ended = ledger.run("latest")
            assert comparable(of_run(ledger, ended)) == comparable(expected)


# --- several at once


WRITER = """
import os, signal, sys
from kgcheck import clock
from kgcheck.ledger.decisions import Action, Decision, DecisionTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.place import ledger_place
from kgcheck.settings import Settings
from tests.unit.test_ledger import finding, run, tally

place, name, killed = sys.argv[1:]
with Ledger(ledger_place(place, Settings())) as ledger:
    mine, decisions = run(name), DecisionTable(ledger.database)
    ledger.start(mine)
    for piece in range(15):
        if piece == int(killed):
            os.kill(os.getpid(), signal.SIGKILL)
        found = [finding(mine, f"P{piece}.{n}") for n in range(40)]
        ledger.record(mine, str(piece), found, [tally(40)])
        one = Decision(
            fingerprint=found[0].fingerprint, basis="b", action=Action.ACCEPT, by=name, at=clock.exact_now(),
            note=str(piece),
        )
        decisions.add([one])
    ledger.finish(mine)
"""


@pytest.mark.slow
@MOSTLY_POSTGRESQL
def test_several_processes_write_runs_and_decisions_at_once(place: str) -> None:
    """One of them is killed; its pieces are whole, and nobody else notices."""
    names = {"a": -1, "b": -1, "killed": 8}
    writers = {name: program(WRITER, place, name, after) for name, after in names.items()}

    for name, writer in writers.items():
        done = writer.ended()
        assert (done.returncode, done.stderr) == (-signal.SIGKILL if name == "killed" else 0, "")
    with opened(place, create=False) as ledger:
        decided = DecisionTable(ledger.database).newest_first()
        pieces = {"a": 15, "b": 15, "killed": 8}
        assert Counter(d.by for d in decided) == pieces
        assert len({d.number for d in decided}) == len(decided) == 38
        assert sorted(r.id for r in ledger.runs()) == sorted(names)
        assert [r.id for r in ledger.runs() if not r.finished] == ["killed"]
        for name, count in pieces.items():
            found = [f.task.subject.id for f in ledger.findings(run(name))]
            assert sorted(found) == sorted(f"P{piece}.{n}" for piece in range(count) for n in range(40))
            assert sum(t.count for t in ledger.tallies(run(name))) == len(found)


def test_nothing_secret_is_in_a_message_of_any_error(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    where = LedgerServer.of(
        URL.create("postgresql+psycopg", GUARDED, MARK, database="x", query={"host": server.folder})
    )
    with pytest.raises(LedgerError) as caught:
        Ledger(where)

    assert MARK not in f"{caught.value} {caught.value.hint} {where} {where!r} {caught.value.__cause__}"
    assert re.search("password|authentication", caught.value.message)


@pytest.mark.slow
@MOSTLY_POSTGRESQL
def test_an_audit_that_was_cut_off_goes_on(place: str, expected: Audited) -> None:
    with EmbeddedStore(demo().store, load_schema()) as store:
        with BrittleLedger(ledger_place(place, Settings()), 2) as ledger, pytest.raises(CutOff):
            Audit(store, demo().reference, ledger, Settings()).start(AuditOptions(**OVER))
    with opened(place, create=False) as ledger:
        assert len(ledger.done(ledger.cut_off())) == 2

    ended = kgcheck("audit", "--resume", "--ledger", place, "--format", "json")

    assert ended.code == 1, ended.err
    with opened(place, create=False) as ledger:
        assert comparable(of_run(ledger, ledger.run("latest"))) == comparable(expected)


def test_a_database_that_is_not_there(server: PostgresServer) -> None:
    ended = kgcheck("audit", "--store", demo().store, "--ledger", named(server.address("nothing")))

    assert ended.refuses("cannot open the ledger postgresql:///nothing")
    assert "createdb" in ended.err


def test_a_database_without_a_ledger_is_not_made_one_by_reading(server: PostgresServer) -> None:
    place = named(fresh_schema(server.address()))

    assert kgcheck("runs", "--ledger", place).refuses(f"{place} is not a ledger: it is empty")
    assert kgcheck("runs", "--ledger", place).refuses(f"{place} is not a ledger: it is empty")


def test_pieces_of_several_audits_do_not_wait_for_each_other(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = fresh_schema(server.address())
    monkeypatch.setattr(engines, "_WAIT_S", 1)
    with Ledger(address) as ledger, Ledger(address) as other:
        ledger.start(run())
        with other.database.writing(alone=False):
            ledger.record(run(), "one", [finding(run(), "P1")], [tally()])
            with pytest.raises(LedgerError, match="another process has been writing"):
                ledger.finish(run())

        assert set(ledger.done(run())) == {"one"}
