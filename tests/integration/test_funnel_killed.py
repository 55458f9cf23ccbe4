"""The funnel in a process that is killed: each finding once, and the budget kept over all of its lives."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import Finding, Tally
from tests.support import ROOT
from tests.support.facts import Facts
from tests.support.world import World, running

pytestmark = pytest.mark.slow

BUDGET = 6
CHILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sqlalchemy import Engine, event
from kgcheck.ledger.ledger import Ledger
from kgcheck.options import AuditOptions
from kgcheck.audit.run import Audit
from kgcheck.context import live_sources
from kgcheck.model import CheckType
from kgcheck.settings import Settings
from tests.support.audits import MemoryStore
from tests.support.facts import SCHEMA

folder, snapshot, path = map(Path, sys.argv[2:5])
live, counted, statements = sys.argv[5], sys.argv[6], int(sys.argv[7])
settings = Settings(home=folder / "home", cache_dir=folder / "cache", uniprot_url=sys.argv[8], string_url=sys.argv[9],
                    uniprot_calls_per_s=1e6, string_calls_per_s=1e6, duckdb_threads=1)
pairs = [("P10001", "P10002"), ("P10002", "P10003"), ("P10001", "P10003")]
pairs += [("P10001", f"P{n}") for n in range(10010, 10018)]
proteins = sorted({p for both in pairs for p in both})
store = MemoryStore({"Protein": [{"id": p, "name": p} for p in proteins]},
                    {"Protein ACTS_ON Protein": [{"head": a, "tail": b} for a, b in pairs]})
seen = {"all": 0, "funnel": 0, "handed": 0}

def count(connection, cursor, statement, parameters, *_):
    seen["all"] += 1
    seen["funnel"] += bool(seen["funnel"]) or "handed_to_team" in statement
    seen["handed"] += statement.startswith("INSERT INTO handed_to_team")
    if seen[counted] == statements:
        os.kill(os.getpid(), signal.SIGKILL)

with Ledger(path) as ledger, live_sources(SCHEMA, settings, wanted=True) as services:
    event.listen(Engine, "after_cursor_execute", count)
    audit = Audit(store, snapshot, ledger, settings, live=services)
    if ledger.runs():
        audit.resume(ledger.runs()[0])
    else:
        audit.start(AuditOptions(types=(CheckType.TRIPLE,), live=live == "live", team_budget=BUDGET, piece_tasks=3))
"""

Ended = tuple[Run, list[tuple[str, str, str]], list[Tally], dict[str, str]]


def child(world: World, snapshot: Path, path: Path, live: str, counted: str = "all", statements: int = 0) -> bool:
    """An audit, or the rest of one, in a process that is killed after so many SQL statements on its ledger."""
    program = CHILD.replace("BUDGET", str(BUDGET))
    services = world.uniprot.server.url, world.string.server.url
    where = (ROOT, world.folder, snapshot, path, live, counted, statements, *services)
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, where)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == 0


def _ended(path: Path) -> Ended:
    with Ledger(path) as ledger:
        (run,) = ledger.runs()
        found: list[Finding] = list(ledger.findings(run))
        shown = [(f.fingerprint, f.verdict.outcome.value, f.verdict.reason.value) for f in found]
        return (
            run,
            sorted(shown),
            ledger.tallies(run),
            {one.fingerprint: one.result for one in ledger.handed(run.id).values()},
        )


@pytest.mark.parametrize("live", ["live", "snapshot"])
def test_a_funnel_killed_three_times_doubles_nothing_and_keeps_its_budget(
    live: str, shared_data: Path, tmp_path: Path
) -> None:
    facts = Facts()
    facts.release("string", "11.0", "2019-01-01", complete=True).covers("ACTS_ON", "P90001", "P90002")
    snapshot = facts.build(tmp_path / "snapshot")
    with running(shared_data, tmp_path) as world:
        assert child(world, snapshot, tmp_path / "whole.sqlite", live)
        chosen, path = random.Random(live), tmp_path / "killed.sqlite"  # noqa: S311
        handed: list[int] = []
        for counted, points in (("all", (3, 25)), ("funnel", (2, 7)), ("handed", (2, 4))):
            assert not child(world, snapshot, path, live, counted, chosen.randint(*points))
            with Ledger(path) as ledger:
                handed += [len(ledger.handed(run.id)) for run in ledger.runs()]
        assert child(world, snapshot, path, live)

    whole, *expected = _ended(tmp_path / "whole.sqlite")
    run, findings, tallies, of_team = _ended(path)
    assert [findings, tallies, of_team] == expected
    assert len({fingerprint for fingerprint, *_ in findings}) == len(findings) > BUDGET
    assert len(of_team) == BUDGET
    assert handed == sorted(handed)
    assert 0 < handed[-1] < BUDGET
    assert run.team == whole.team
    assert run.finished
