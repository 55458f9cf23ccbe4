"""Whoever opens a ledger that is open in this process shares its connections, and nobody else's."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine, event

from kgcheck.ledger.ledger import Ledger
from tests.support.postgres import ledger_place
from tests.unit.test_ledger import run


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | URL:
    where = ledger_place(request, tmp_path)
    with Ledger(where) as ledger:
        ledger.start(run())
    return where


def ids(place: Path | URL) -> list[str]:
    with Ledger(place, create=False) as ledger:
        return [r.id for r in ledger.runs()]


def test_a_ledger_that_is_open_is_opened_again_without_a_new_connection(place: Path | URL) -> None:
    opened: list[int] = []

    def count(*_: object) -> None:
        opened.append(1)

    event.listen(Engine, "connect", count)
    try:
        assert [ids(place) for _ in range(3)] == [[run().id]] * 3
        assert len(opened) == 3
        with Ledger(place) as kept:
            assert [ids(place) for _ in range(20)] == [[run().id]] * 20
            assert len(opened) == 4
            kept.start(run().model_copy(update={"id": "later"}))
            assert ids(place) == ["later", run().id]
        # It is not closed twice, and what is open again is not closed by who had it before.
        with Ledger(place) as again:
            kept.close()
            assert ids(place) == ["later", run().id]
            assert len(again.runs()) == 2
            assert len(opened) == 5
    finally:
        event.remove(Engine, "connect", count)


def test_a_file_that_takes_the_place_of_another_is_another_ledger(tmp_path: Path) -> None:
    where, other = tmp_path / "l.sqlite", tmp_path / "other.sqlite"
    with Ledger(other) as ledger:
        ledger.start(run().model_copy(update={"id": "of the other"}))
    with Ledger(where) as ledger:
        ledger.start(run())
    with Ledger(where) as kept:
        assert ids(where) == [run().id]
        shutil.move(other, where)
        assert ids(where) == ["of the other"]
        assert [r.id for r in kept.runs()] == [run().id]


def test_many_threads_read_and_write_at_once(place: Path | URL) -> None:
    def work(number: int) -> int:
        with Ledger(place, create=False) as ledger:
            ledger.start(run().model_copy(update={"id": f"run {number}"}))
            with ledger.database.reading(), ledger.database.reading(), ledger.database.reading():
                return len(ledger.runs())

    with Ledger(place), ThreadPoolExecutor(16) as threads:
        assert max(threads.map(work, range(48))) <= 49
    assert len(ids(place)) == 49


def _read(place: Path | URL) -> None:
    os._exit(0 if ids(place) == [run().id] else 1)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own(place: Path | URL) -> None:
    with Ledger(place) as ledger:
        forked = multiprocessing.get_context("fork").Process(target=_read, args=(place,))
        forked.start()
        forked.join(timeout=60)
        assert forked.exitcode == 0
        assert [r.id for r in ledger.runs()] == [run().id]
