"""What is said where a ledger is full, empty or shared by too many, and where a folder may only be read."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from kgcheck.ledger.ledger import Ledger
from tests.integration.test_full_disk import _fill, disk
from tests.support.audits import kgcheck
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
