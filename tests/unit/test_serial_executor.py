"""What is done in turn is done in the order in which it was given, and not after something has failed."""

import threading

import pytest

from kgcheck.audit.executors import SerialExecutor


def test_everything_is_done_in_order_and_at_the_end_all_of_it() -> None:
    done: list[int] = []
    with SerialExecutor() as executor:
        for number in range(20):
            executor.submit(done.append, number)
    assert done == list(range(20))


def test_the_caller_goes_on_meanwhile() -> None:
    may_end, done = threading.Event(), list[int]()

    def wait() -> None:
        assert may_end.wait(30)
        done.append(1)

    with SerialExecutor() as executor:
        executor.submit(wait)
        assert not done
        may_end.set()
        executor.wait()
        assert done == [1]


def test_nothing_is_begun_after_a_failure_and_the_caller_hears_of_it() -> None:
    done: list[int] = []

    def fail() -> None:
        raise OSError("the disk is full")

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
