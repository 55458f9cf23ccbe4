"""A job from day to day: what is new, and decided; what was killed goes on; the scheduler as a process."""

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from kgcheck import clock
from kgcheck.curation.project import read_project
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.work import WORK, WorkState, WorkTable
from kgcheck.model import Finding
from kgcheck.workspace.jobs import run_job
from tests.support import PYTHONPATH
from tests.support.audits import demo, kgcheck

JOBS = """
ledger = "ledger.sqlite"
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
[jobs.ids]
kind = "audit"
types = ["existence"]
ids = ["PARK2", "PRNP"]
schedule = "30 2 * * *"
only_new = true
[[jobs.ids.thresholds]]
error_if = "> 0"
[[jobs.ids.thresholds]]
only_new = false
warn_if = "> 0"
[jobs.all]
kind = "audit"
types = ["existence", "attribute"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("jobs")
    shutil.copy(demo().store, made / "graph.lbdb")
    shutil.copy(demo().reference, made / "reference.duckdb")
    (made / "kgcheck.toml").write_text(JOBS)
    return made


def finding(folder: Path) -> Finding:
    with Ledger(folder / "ledger.sqlite") as ledger:
        (found,) = ledger.findings(ledger.run("latest"))
        return found


@pytest.mark.slow
def test_a_killed_job_is_taken_over_and_its_audit_goes_on(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    command = [sys.executable, "-m", "kgcheck", "job", "run", "all"]
    place = work / "ledger.sqlite"
    before = audits(place)
    with subprocess.Popen(command, cwd=work, env=environment(), stderr=subprocess.DEVNULL) as process:
        wait_for_pieces(place, before)
        process.kill()
    (begun,) = audits(place) - before
    killed = update(WORK).where(WORK.c.job == "all")
    with Ledger(place) as ledger:
        (cut_off,) = WorkTable(ledger.database).history("all")
        with ledger.database.writing() as connection:
            connection.execute(killed.values(worker=f"elsewhere {process.pid}"))
        # Of another machine nobody knows whether it lives: its lease must run out.
        assert kgcheck("job", "run", "all", cwd=work).refuses("job all is under way: ", code=3)
        with ledger.database.writing() as connection:
            connection.execute(killed.values(worker=cut_off.worker))

    _, done = run_job(read_project(work / "kgcheck.toml"), "all")

    # Its process was on this machine, and is gone.
    assert cut_off.lease_until is not None
    assert clock.now() < cut_off.lease_until

    assert done.run == begun
    assert f"went on with audit {begun}" in done.notes
    assert audits(place) - before == {begun}
    with Ledger(place) as ledger:
        assert [run.state for run in WorkTable(ledger.database).history("all")] == [WorkState.DONE, WorkState.LOST]
        whole = ledger.run(begun)
        assert whole.finished
        resumed = sorted(f.fingerprint for f in ledger.findings(whole))
        once, _ = run_job(read_project(work / "kgcheck.toml"), "all")
        assert sorted(f.fingerprint for f in ledger.findings(ledger.run(once.run or ""))) == resumed


@pytest.mark.slow
def test_the_scheduler_makes_up_for_what_was_missed_and_stops_tidily(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    (work / "kgcheck.toml").write_text(JOBS.replace("[jobs.all]", '[jobs.all]\nschedule = "30 4 * * *"'))
    place = work / "ledger.sqlite"
    before = audits(place)
    with Ledger(place) as ledger:
        WorkTable(ledger.database).schedule_since("all", "30 4 * * * UTC", clock.exact_now() - timedelta(days=3))
    command = [sys.executable, "-m", "kgcheck", "job", "serve"]
    with subprocess.Popen(command, cwd=work, env=environment(), stderr=subprocess.PIPE, text=True) as server:
        wait_for_pieces(place, before)
        server.send_signal(signal.SIGTERM)
        _, err = server.communicate(timeout=120)

    assert server.returncode == 128 + signal.SIGTERM
    assert "all: missed at " in err
    assert "stopping: " in err
    assert "Traceback" not in err
    with Ledger(place) as ledger:
        (run,) = WorkTable(ledger.database).history("all")
        assert run.state is WorkState.INTERRUPTED
        assert run.planned is not None
    (begun,) = audits(place) - before
    ended, done = run_job(read_project(work / "kgcheck.toml"), "all")
    assert (ended.state, done.run) == (WorkState.DONE, begun)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": PYTHONPATH}


def audits(place: Path) -> set[str]:
    with Ledger(place) as ledger:
        return {run.id for run in ledger.runs()}


def wait_for_pieces(place: Path, before: set[str]) -> None:
    """Wait until the audit that began has some pieces in the ledger, and is not finished, which would be too late."""
    end = time.monotonic() + 120
    # Opened once: to open it is most of the work of a look.
    with Ledger(place) as ledger:
        while True:
            new = [run for run in ledger.runs() if run.id not in before]
            assert not any(run.finished for run in new), "it was quicker than the test"
            if sum(len(ledger.done(run)) for run in new) > 3:
                return
            assert time.monotonic() < end
            time.sleep(0.02)
