"""What is done ahead of its time is what would have been done in its time."""

import threading

import duckdb
import pytest

from kgcheck.audit.executors import Prefetcher


def test_what_was_begun_is_taken_and_done_once() -> None:
    done: list[int] = []

    def add(number: int) -> int:
        done.append(number)
        return number

    with duckdb.connect() as db, Prefetcher[int](db) as ahead:
        ahead.submit("a", add, 1)
        assert ahead.take("a", add, 1) == 1
        assert ahead.take("b", add, 2) == 2
    assert done == [1, 2]


def test_several_are_taken_in_the_order_in_which_they_were_begun() -> None:
    done: list[str] = []

    def add(name: str) -> str:
        done.append(name)
        return name

    with duckdb.connect() as db, Prefetcher[str](db) as ahead:
        for name in ("a", "b", "a", "c"):
            ahead.submit(name, add, name)
        assert [ahead.take(name, add, name) for name in ("a", "b", "c")] == ["a", "b", "c"]
    assert done == ["a", "b", "c"]


def test_the_caller_goes_on_meanwhile() -> None:
    may_end = threading.Event()
    with duckdb.connect() as db, Prefetcher[bool](db) as ahead:
        ahead.submit("a", may_end.wait, 30)
        may_end.set()
        assert ahead.take("a", may_end.wait, 0)


def test_what_was_begun_of_another_is_left_and_has_ended() -> None:
    def fail() -> str:
        raise OSError("the store is gone")

    with duckdb.connect() as db, Prefetcher[str](db) as ahead:
        ahead.submit("a", fail)
        assert ahead.take("b", lambda: "b") == "b"


def test_an_error_is_that_of_the_one_it_was_begun_for() -> None:
    def fail() -> str:
        raise OSError("the store is gone")

    with duckdb.connect() as db, Prefetcher[str](db) as ahead:
        ahead.submit("a", fail)
        with pytest.raises(OSError, match="the store is gone"):
            ahead.take("a", fail)


def test_its_temporary_tables_are_its_own() -> None:
    with duckdb.connect() as db, Prefetcher[int](db) as ahead:
        db.execute("CREATE TEMP TABLE t AS SELECT 1 AS n").fetchall()
        ahead.db.execute("CREATE TEMP TABLE t AS SELECT 2 AS n").fetchall()
        assert db.execute("FROM t").fetchall() == [(1,)]
