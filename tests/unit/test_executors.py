"""Work in another thread: in the order in which it was given, once, and with its errors told to the caller."""

import threading

import duckdb
import pytest

from kgcheck.audit.executors import Prefetcher, SerialExecutor


def fail() -> str:
    raise OSError("the disk is full")


def test_everything_is_done_in_order_and_at_the_end_all_of_it() -> None:
    done: list[int] = []
    with SerialExecutor() as executor:
        for number in range(20):
            executor.submit(done.append, number)
    assert done == list(range(20))


def test_the_caller_goes_on_meanwhile() -> None:
    may_end, done = threading.Event(), list[bool]()
    with SerialExecutor() as executor:
        executor.submit(lambda: done.append(may_end.wait(30)))
        assert not done
        may_end.set()
        executor.wait()
        assert done == [True]


def test_nothing_is_begun_after_a_failure_and_the_caller_hears_of_it() -> None:
    done: list[int] = []

    def give() -> None:
        with SerialExecutor() as executor:
            executor.submit(done.append, 1)
            executor.submit(fail)
            for number in range(2, 20):
                executor.submit(done.append, number)

    with pytest.raises(OSError, match="the disk is full"):
        give()
    assert done == [1]


def test_what_was_given_before_an_error_elsewhere_is_finished() -> None:
    done: list[int] = []

    def give() -> None:
        with SerialExecutor() as executor:
            executor.submit(done.append, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give()
    assert done == [1]


def test_what_was_begun_is_taken_once_and_in_order() -> None:
    done: list[str] = []

    def add(name: str) -> str:
        done.append(name)
        return name

    with duckdb.connect() as db, Prefetcher[str](db) as ahead:
        for name in ("a", "b", "a", "c"):
            ahead.submit(name, add, name)
        assert [ahead.take(name, add, name) for name in ("a", "b", "c", "d")] == ["a", "b", "c", "d"]
    assert done == ["a", "b", "c", "d"]


def test_work_ahead_of_its_time_lets_the_caller_go_on() -> None:
    may_end = threading.Event()
    with duckdb.connect() as db, Prefetcher[bool](db) as ahead:
        ahead.submit("a", may_end.wait, 30)
        may_end.set()
        assert ahead.take("a", may_end.wait, 0)


def test_an_error_ahead_of_its_time_is_that_of_the_one_it_was_begun_for() -> None:
    with duckdb.connect() as db, Prefetcher[str](db) as ahead:
        ahead.submit("a", fail)
        assert ahead.take("b", lambda: "b") == "b"
        ahead.submit("a", fail)
        with pytest.raises(OSError, match="the disk is full"):
            ahead.take("a", fail)


def test_temporary_tables_of_work_ahead_are_its_own() -> None:
    with duckdb.connect() as db, Prefetcher[int](db) as ahead:
        db.execute("CREATE TEMP TABLE t AS SELECT 1 AS n").fetchall()
        ahead.db.execute("CREATE TEMP TABLE t AS SELECT 2 AS n").fetchall()
        assert db.execute("FROM t").fetchall() == [(1,)]
