"""What is said where a ledger is full, empty or shared by too many, and where a folder may only be read."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from kgcheck.ledger.ledger import Ledger
from tests.integration.test_full_disk import _fill, disk
from tests.support.audits import core_demo, kgcheck
from tests.support.facts import world
from tests.support.postgres import PostgresServer, fresh_schema, named
from tests.unit.test_ledger import finding, run, tally

__all__ = ["disk"]


def test_a_decision_on_a_full_disk_is_told_to_be_made_again(disk: Path) -> None:
    place = disk / "ledger.sqlite"
    found = finding(run(), "P1")
    with Ledger(place) as ledger:
        ledger.keep(run(), found, tally())
    decide = ("decide", found.fingerprint[:8], "accept", "--by", "me", "--note", "x" * 9_000, "--ledger", place)
    _fill(disk, 0)

    said = kgcheck(*decide)

    assert said.refuses(f"cannot write to the ledger {place}: the disk is full or failing")
    assert "free space, then do the same again" in said.err
    (disk / "filler").unlink()
    assert kgcheck(*decide).code == 0


@pytest.mark.slow
def test_a_ledger_that_a_full_disk_left_empty_is_begun_by_an_audit(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    place.touch()
    for command in (("runs",), ("findings",), ("audit", "--resume")):
        said = kgcheck(*command, "--ledger", place)
        assert said.code == 2, command
        assert "kgcheck audit" in said.err, (command, said.err)
        assert "cannot be used" not in said.err
    over = ("--store", core_demo().store, "--type", "structure", "--ledger", place)
    assert kgcheck("audit", *over).code in (0, 1, 3)
    assert kgcheck("runs", "--ledger", place).code == 0


@pytest.mark.slow
def test_a_server_that_takes_no_more_connections_is_told(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = fresh_schema(postgres_server.address())
    Ledger(address).close()
    engine = create_engine(postgres_server.address())
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE ROLE few LOGIN CONNECTION LIMIT 0")
    engine.dispose()
    monkeypatch.setenv("KGCHECK_LEDGER_USER", "few")

    said = kgcheck("runs", "--ledger", named(address))

    assert said.refuses("cannot open the ledger postgresql:///postgres"), said.err
    assert "ALTER ROLE ... CONNECTION LIMIT" in said.err
    assert "PASSWORD" not in said.err


def test_a_server_that_ends_long_statements_is_told(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = fresh_schema(postgres_server.address())
    with Ledger(address) as ledger:
        ledger.keep(run(), finding(run(), "P1"), tally())
    engine = create_engine(postgres_server.address())
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE ROLE slow LOGIN SUPERUSER")
        connection.exec_driver_sql("ALTER ROLE slow SET statement_timeout = '20ms'")
    schema = str(address.query["options"]).partition("=")[2]
    monkeypatch.setenv("KGCHECK_LEDGER_USER", "slow")
    with engine.begin() as connection:
        # Whoever reads waits for this transaction, longer than the server lets them.
        connection.exec_driver_sql(f"LOCK TABLE {schema}.run IN ACCESS EXCLUSIVE MODE")
        said = kgcheck("runs", "--ledger", named(address))
    engine.dispose()

    assert said.refuses("the server of the ledger postgresql:///postgres"), said.err
    assert "ALTER ROLE ... SET statement_timeout" in said.err


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that nobody may write to, root neither."""
    if os.geteuid():
        pytest.skip("only root can mount a folder that may only be read")
    folder = tmp_path / "closed"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow
def test_an_out_that_may_only_be_read_is_told(closed: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    over = ("--store", core_demo().store, "--ledger", ledger)
    assert kgcheck("audit", *over, "--reference", core_demo().reference, "--label", "Gene").code in (1, 3)
    facts = world().write(tmp_path / "facts")
    manuscript = tmp_path / "paper.md"
    manuscript.write_text("p53 binds MDM2.")
    for command in (
        ("report", "--ledger", ledger, "--format", "html", "--out", closed / "r.html"),
        ("report", "--ledger", ledger, "--format", "html", "--out", closed / "new" / "r.html"),
        ("reference", "build", facts, "--out", closed / "r.duckdb"),
        ("export", manuscript, "--out", closed / "paper.html"),
        ("init", closed / "new"),
    ):
        said = kgcheck(*command, cwd=tmp_path)
        assert said.code == 2, (command, said)
        assert "Read-only file system" in said.err, (command, said.err)
        assert "free" not in said.err.splitlines()[-1], (command, said.err)
        assert len(said.err.strip().splitlines()) >= 2, (command, said.err)
