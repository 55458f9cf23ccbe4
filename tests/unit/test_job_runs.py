"""One run of a job: begun once, kept alive, taken over, tried again, and written down; and what is sent about it."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from sqlalchemy import URL

from kgcheck import clock
from kgcheck.curation.jobs import Delivery, JobWork, Notify, open_since, work_by_rule
from kgcheck.curation.project import RetryRule
from kgcheck.curation.thresholds import Severity
from kgcheck.errors import (
    EXIT_INCOMPLETE,
    InputMissing,
    JobUnderWay,
    KgcheckError,
    SourceUnreachable,
    StoreLocked,
)
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.work import LEASE, Ending, Lease, WorkItem, WorkState, WorkTable, this_worker
from kgcheck.progress import NoProgress
from tests.support import quick_of
from tests.support.postgres import ledger_place

NOW = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)
GOOD = JobWork(Severity.OK, "all is well", run="r1")
NEVER = RetryRule()


@pytest.fixture(params=quick_of(["sqlite", "postgresql"], "sqlite"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | URL:
    return ledger_place(request, tmp_path)


@pytest.fixture
def runs(place: Path | URL) -> Iterator[WorkTable]:
    with Ledger(place) as ledger:
        yield WorkTable(ledger.database)


def silent(run: WorkItem, done: JobWork, failure: str) -> list[Delivery]:
    return []


def nightly(begun: datetime, job: str = "nightly") -> WorkItem:
    return WorkItem(job=job, created=begun)


def performed(runs: WorkTable, rule: RetryRule, work: Callable[[Lease], JobWork], notify: Notify = silent) -> WorkItem:
    run = runs.begin(nightly(clock.now()), this_worker(), clock.now())
    with Lease(runs, run).keep() as lease:

        def result() -> dict[str, Any]:
            work_by_rule(lease, rule, lambda: work(lease), notify)
            return lease.work.result

        lease.perform(result)
    return runs.get(run.number)


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_job_is_begun_once(runs: WorkTable) -> None:
    first = runs.begin(nightly(NOW), "a 1", NOW)

    with pytest.raises(JobUnderWay, match="a 1 began it at 2026-11-22 02:30:00 UTC") as caught:
        runs.begin(nightly(NOW + LEASE), "b 2", NOW + LEASE)
    assert caught.value.exit_code == EXIT_INCOMPLETE
    assert runs.begin(nightly(NOW, "other"), "b 2", NOW).job == "other"
    runs.change(first, state=WorkState.DONE, ended=NOW)
    assert runs.begin(nightly(NOW), "b 2", NOW).number > first.number


def test_one_that_was_killed_is_taken_over_and_cannot_go_on(runs: WorkTable) -> None:
    killed = runs.begin(nightly(NOW), "a 1", NOW)

    later = runs.begin(nightly(NOW + LEASE + timedelta(seconds=1)), "b 2", NOW + LEASE + timedelta(seconds=1))

    assert runs.get(killed.number).state is WorkState.LOST
    assert not runs.change(killed, lease_until=NOW + 2 * LEASE)
    assert not runs.change(killed, state=WorkState.DONE, ended=NOW + LEASE)
    assert runs.get(later.number).state is WorkState.RUNNING


def test_a_sign_of_life_keeps_it(runs: WorkTable) -> None:
    run = runs.begin(nightly(NOW), "a 1", NOW)
    assert runs.change(run, lease_until=NOW + 2 * LEASE)

    with pytest.raises(JobUnderWay):
        runs.begin(nightly(NOW + LEASE + timedelta(seconds=1)), "b 2", NOW + LEASE + timedelta(seconds=1))


def test_of_many_at_once_one_begins(place: Path | URL) -> None:
    ready, begun, refused = threading.Barrier(8), list[WorkItem](), list[KgcheckError]()
    Ledger(place).close()

    def begin(number: int) -> None:
        with Ledger(place) as ledger:
            ready.wait()
            try:
                begun.append(WorkTable(ledger.database).begin(nightly(NOW), f"w {number}", NOW))
            except JobUnderWay as error:
                refused.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(begun), len(refused)) == (1, 7)


@pytest.mark.parametrize(
    ("error", "severity"), [(InputMissing("no folder", "make it"), "error"), (SourceUnreachable("down"), "unavailable")]
)
def test_a_run_that_fails_is_written_down(runs: WorkTable, error: KgcheckError, severity: str) -> None:
    sent: list[str] = []

    def work(lease: Lease) -> JobWork:
        raise error

    def notify(run: WorkItem, done: JobWork, failure: str) -> list[Delivery]:
        sent.append(failure)
        return [Delivery("team", sent=False, why="down, too")]

    with pytest.raises(type(error)):
        performed(runs, NEVER, work, notify)

    (run,) = runs.history("nightly")
    assert (run.state, run.severity) == (WorkState.FAILED, severity)
    assert sent == [run.message]
    assert run.result["notifications"] == [{"name": "team", "sent": False, "why": "down, too"}]


def test_an_interruption_leaves_it_to_be_gone_on_with(runs: WorkTable) -> None:
    def work(lease: Lease) -> JobWork:
        lease.note(result={"changes": {"go value": 1}})
        raise KeyboardInterrupt

    with time_machine.travel(NOW, tick=False):
        with pytest.raises(KeyboardInterrupt):
            performed(runs, NEVER, work)
        (cut_off,) = runs.history()
        assert cut_off.state is WorkState.INTERRUPTED

    again = runs.begin(nightly(NOW + LEASE), "b 2", NOW + LEASE)
    assert open_since(runs, again) == (NOW, {"changes": {"go value": 1}})
    runs.change(again, state=WorkState.DONE, ended=NOW + LEASE)
    next_day = runs.begin(nightly(NOW + timedelta(days=1)), "b 2", NOW + timedelta(days=1))
    assert open_since(runs, next_day) == (NOW + timedelta(days=1), {})


class Failing:
    """Fails as often as is wanted; counts the calls."""

    def __init__(self, *errors: KgcheckError | JobWork) -> None:
        self.left = list(errors)
        self.calls = 0

    def __call__(self, lease: Lease) -> JobWork:
        self.calls += 1
        if not self.left:
            return GOOD
        now = self.left.pop(0)
        if isinstance(now, JobWork):
            return now
        raise now


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(Lease, "sleep", lambda self, seconds: found.append(seconds))
    return found


AWAY = SourceUnreachable("down")
RULE = RetryRule(times=3, wait="10m", longest="15m")
UNFINISHED = JobWork(Severity.UNAVAILABLE, "half", unfinished=True)


@pytest.mark.parametrize(
    ("rule", "errors", "state", "calls", "pauses"),
    [
        (NEVER, [AWAY], WorkState.FAILED, 1, []),
        (RULE, [AWAY], WorkState.DONE, 2, [600]),
        (RULE, [AWAY, StoreLocked("in use"), AWAY], WorkState.DONE, 4, [600, 900, 900]),
        (RULE, [AWAY] * 4, WorkState.FAILED, 4, [600, 900, 900]),
        (RULE, [InputMissing("no folder")], WorkState.FAILED, 1, []),
        (RetryRule(times=1, wait="1s", on="any"), [InputMissing("late")], WorkState.DONE, 2, [1]),
        (RULE, [UNFINISHED], WorkState.DONE, 2, [600]),
        (RetryRule(times=1, wait="1s"), [UNFINISHED, UNFINISHED], WorkState.DONE, 2, [1]),
    ],
)
def test_retries_are_by_the_rule_of_the_job(
    runs: WorkTable,
    waits: list[float],
    rule: RetryRule,
    errors: list[KgcheckError | JobWork],
    state: WorkState,
    calls: int,
    pauses: list[float],
) -> None:
    work = Failing(*errors)

    try:
        performed(runs, rule, work)
    except KgcheckError as error:
        assert error is errors[-1]  # noqa: PT017

    (run,) = runs.history("nightly")
    assert (run.state, run.attempt, work.calls, waits) == (state, calls, calls, pauses)


def test_who_lost_the_run_stops_at_the_next_step(runs: WorkTable, monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs.begin(nightly(NOW), "a 1", NOW)
    with Lease(runs, run).keep(0.01) as lease:
        with lease.watch(NoProgress()).step("auditing", 2) as step:
            step.advance()
            runs.change(run, state=WorkState.LOST, ended=NOW)
            lease.lost.wait(10)
            with pytest.raises(Ending):
                step.advance()
        with pytest.raises(Ending):
            lease.sleep(0)


def test_a_lease_gives_signs(runs: WorkTable) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        run = runs.begin(nightly(NOW), "a 1", NOW)
        clock.shift(timedelta(minutes=4))
        with Lease(runs, run).keep(0.01):
            ended = threading.Event()
            while runs.get(run.number).lease_until == NOW + LEASE:
                assert not ended.wait(0.01)
    assert runs.get(run.number).lease_until == NOW + timedelta(minutes=4) + LEASE


def test_a_run_that_somebody_took_over_does_not_say_that_it_is_done(runs: WorkTable) -> None:
    def work(lease: Lease) -> JobWork:
        later = lease.work.created + timedelta(minutes=6)
        runs.begin(nightly(later), "b 2", later)
        return GOOD

    with pytest.raises(JobUnderWay, match="counts as killed"):
        performed(runs, NEVER, work)
    assert [run.state for run in runs.history()] == [WorkState.RUNNING, WorkState.LOST]
