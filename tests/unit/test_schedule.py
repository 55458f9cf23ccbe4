"""Schedules of jobs: cron words in time zones, what was missed, and the real scheduler on a clock of the test's own."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from kgcheck import clock
from kgcheck.curation.project import Project, read_project
from kgcheck.curation.schedule import Schedule
from kgcheck.curation.scheduler import Server
from kgcheck.errors import UsageError
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.work import WorkItem, WorkState, WorkTable
from tests.support.clock import AtOnce, Clock

pytest.importorskip("cronsim")

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
DAY = timedelta(days=1)

CHANGES = {3: (7, 28), 4: (4,), 10: (3, 24, 31), 11: (1,)}
"""Days about which clocks change in some zone, by month of 2026."""


def times(cron: str, zone: str, begin: datetime, days: int) -> list[str]:
    return [f"{at:%m-%d %H:%M %Z}" for at in firings(cron, zone, begin, begin + days * DAY)]


def firings(cron: str, zone: str, begin: datetime, end: datetime) -> Iterator[datetime]:
    schedule, at = Schedule(cron, zone), begin
    while (at := schedule.after(at)) <= end:
        yield at


@pytest.mark.parametrize(
    ("cron", "found"),
    [
        ("30 2 * * *", ["11-23 02:30 UTC", "11-24 02:30 UTC", "11-25 02:30 UTC"]),
        ("@daily", ["11-24 00:00 UTC", "11-25 00:00 UTC", "11-26 00:00 UTC"]),
        # 0 and 7 are Sunday, as in cron.
        ("0 6 * * 1", ["11-23 06:00 UTC"]),
        ("0 6 * * 2-3", ["11-24 06:00 UTC", "11-25 06:00 UTC"]),
        ("0 6 * * 0", []),
        ("0 6 * * sun-mon", ["11-23 06:00 UTC"]),
        ("0 6 24 11 *", ["11-24 06:00 UTC"]),
        ("0 */12 24 * *", ["11-24 00:00 UTC", "11-24 12:00 UTC"]),
    ],
)
def test_cron_words(cron: str, found: list[str]) -> None:
    assert times(cron, "UTC", MONDAY, 3) == found


@pytest.mark.parametrize(
    ("cron", "why"),
    [
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 0 31 4,6,9,11 *", "Bad day-of-month"),
        ("0 0 * *", "five words"),
        ("61 0 * * *", "is no schedule"),
        ("0 0 * * foo", "is no schedule: Bad day-of-week"),
        ("0 0 * * 8", "is no schedule: Bad day-of-week"),
        ("*/0 0 * * *", "is no schedule: Bad minute"),
        ("0 0 13 * fri", "cron takes either"),
        ("5,, * * * *", "is no schedule"),
        ("0 0 * * * *", "five words"),
        ("@noon", "five words"),
        ("", "five words"),
    ],
)
def test_what_is_no_schedule(cron: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Schedule(cron)


@pytest.mark.parametrize(
    ("cron", "found"),
    [
        # 2:00 to 2:59 do not exist on that day.
        ("30 2 * * *", ["03:00"]),
        ("0,20,40 2 * * *", ["03:00"]),
        ("0 1,2 * * *", ["01:00", "03:00"]),
        ("0 */2 * * *", [f"{hour:02}:00" for hour in (0, *range(4, 24, 2))]),
        ("30 * * * *", [f"{hour:02}:30" for hour in (0, 1, *range(3, 24))]),
    ],
)
def test_times_that_clocks_leave_out(cron: str, found: list[str]) -> None:
    begin = datetime(2026, 3, 28, 22, 59, tzinfo=UTC)
    assert [f"{at:%H:%M}" for at in firings(cron, "Europe/Berlin", begin, begin + DAY) if at.day == 29] == found


@pytest.mark.parametrize(
    ("cron", "found"),
    [
        ("30 2 * * *", ["02:30 CEST"]),
        ("30 1-3 * * *", ["01:30 CEST", "02:30 CEST", "03:30 CET"]),
        ("*/30 2 * * *", ["02:00 CEST", "02:30 CEST", "02:00 CET", "02:30 CET"]),
    ],
)
def test_times_that_clocks_show_twice(cron: str, found: list[str]) -> None:
    begin = datetime(2026, 10, 24, 22, tzinfo=UTC)
    assert [f"{at:%H:%M %Z}" for at in firings(cron, "Europe/Berlin", begin, begin + DAY)] == found


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
@pytest.mark.parametrize("cron", ["30 2 * * *", "0 */2 * * *", "*/15 1-3 * * *", "15,45 1-3 * * *"])
def test_the_last_firing_is_the_last_of_all_also_where_clocks_change(cron: str, zone: str) -> None:
    for first in (datetime(2026, month, day, tzinfo=UTC) for month, days in CHANGES.items() for day in days):
        for hours in range(0, 48, 3):
            end = first + timedelta(hours=hours, minutes=7)
            found = list(firings(cron, zone, first - DAY, end))
            assert Schedule(cron, zone).last(first - DAY, end) == (found[-1] if found else None)


TEXT = """
time_zone = "Europe/Berlin"
[jobs.nightly]
kind = "audit"
schedule = "30 2 * * *"
[jobs.weekly]
kind = "audit"
schedule = "0 5 * * sun"
catch_up = false
[jobs.by_hand]
kind = "audit"
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "kgcheck.toml").write_text(TEXT)
    return read_project(tmp_path / "kgcheck.toml")


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[WorkTable]:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        yield WorkTable(ledger.database)


def a_run(job: str, begun: datetime, planned: datetime | None) -> WorkItem:
    return WorkItem(job=job, created=begun, planned=planned)


def served(
    project: Project, runs: WorkTable, begin: datetime, end: datetime, takes: timedelta
) -> list[tuple[str, str]]:
    """The runs of some days, each with the time at which it began; a run takes some time."""
    began: list[tuple[str, str]] = []
    with time_machine.travel(begin, tick=False) as traveller:

        def start(name: str, planned: datetime | None) -> int:
            began.append((name, f"{clock.exact_now():%d %H:%M}"))
            run = runs.begin(a_run(name, clock.exact_now(), planned), "test 1", clock.exact_now())
            traveller.shift(takes)
            runs.change(run, state=WorkState.DONE, ended=clock.exact_now())
            return 0

        server = Server(project, runs, start, lambda line: None, executor=AtOnce())
        server.woken = Clock(traveller, end)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            server.serve()
    return began


def test_a_week_by_the_real_scheduler(project: Project, runs: WorkTable) -> None:
    began = served(project, runs, MONDAY, MONDAY + 7 * DAY, timedelta(minutes=20))

    # 2:30 in Berlin is 1:30 UTC in winter.
    assert began == [*(("nightly", f"{day} 01:30") for day in range(23, 30)), ("weekly", "29 04:00")]
    assert [run.planned for run in runs.history("weekly")] == [datetime(2026, 11, 29, 4, tzinfo=UTC)]


def test_what_was_missed_runs_once(project: Project, runs: WorkTable) -> None:
    served(project, runs, MONDAY, MONDAY + DAY, timedelta(minutes=1))
    later = MONDAY + 10 * DAY

    began = served(project, runs, later, later + timedelta(hours=1), timedelta(minutes=1))

    # Nine nights were missed, and a Sunday that is not to be made up for.
    assert began == [("nightly", "03 00:00")]
    assert runs.history("nightly")[0].planned == later - DAY + timedelta(hours=1, minutes=30)


def test_a_run_that_takes_days_is_not_started_twice(project: Project, runs: WorkTable) -> None:
    began = served(project, runs, MONDAY, MONDAY + 4 * DAY, timedelta(hours=60))

    # The two nights that it worked through are made up for by one run, at once.
    assert began == [("nightly", "23 01:30"), ("nightly", "25 13:30")]


@pytest.mark.parametrize("state", [WorkState.INTERRUPTED, WorkState.LOST])
def test_what_was_cut_off_goes_on_at_the_next_start(project: Project, runs: WorkTable, state: WorkState) -> None:
    planned = MONDAY + timedelta(hours=1, minutes=30)
    with time_machine.travel(MONDAY, tick=False):
        runs.schedule_since("nightly", "30 2 * * * Europe/Berlin", MONDAY)
    run = runs.begin(a_run("nightly", planned, planned), "a 1", planned)
    runs.change(run, state=state, ended=planned)

    began = served(project, runs, MONDAY + DAY / 2, MONDAY + DAY, timedelta(minutes=1))

    assert began == [("nightly", "23 12:00")]
    assert runs.history("nightly")[0].planned == planned


def test_what_was_killed_goes_on_when_its_lease_has_run_out(project: Project, runs: WorkTable) -> None:
    planned = MONDAY + timedelta(hours=1, minutes=30)
    runs.schedule_since("nightly", "30 2 * * * Europe/Berlin", MONDAY)
    runs.begin(a_run("nightly", planned, planned), "a 1", planned, timedelta(minutes=5))

    began = served(project, runs, planned + timedelta(minutes=1), MONDAY + DAY, timedelta(minutes=1))

    assert began == [("nightly", "23 01:35")]


def test_without_a_schedule_there_is_nothing_to_serve(tmp_path: Path, runs: WorkTable) -> None:
    (tmp_path / "kgcheck.toml").write_text('[jobs.a]\nkind = "audit"\n')

    with pytest.raises(UsageError, match=r"no job of .* has a schedule"):
        Server(read_project(tmp_path / "kgcheck.toml"), runs, lambda name, planned: 0, lambda line: None)
