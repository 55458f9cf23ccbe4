"""What a job keeps: old runs leave the ledger; the newest, what it needs, and decisions stay."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kgcheck.curation.decisions import Decisions
from kgcheck.curation.jobs import old_runs
from kgcheck.curation.project import Retention
from kgcheck.ledger.decisions import Action, Decision
from kgcheck.ledger.ledger import Ledger, Run, forget, needed
from kgcheck.ledger.tables import METADATA
from kgcheck.ledger.work import WorkItem, WorkState
from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Reason, Ref, Tally, Target, Verdict

NOW = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)
DAY = timedelta(days=1)
TASK = CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="A", id="1"))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        for number in range(5):
            run = Run(
                id=f"r{number}",
                started=NOW - (4 - number) * DAY,
                store="s",
                profile="p",
                nodes={"A": 1},
                compared_with=f"r{number - 1}" if number else None,
            )
            opened.start(run)
            verdict = Verdict(outcome=Outcome.REFUTED, reason=Reason.ID_DELETED, confidence=1)
            found = Finding(run=run.id, fingerprint=TASK.fingerprint, task=TASK, verdict=verdict)
            tally = Tally(
                type=TASK.type, target=Target(label="A"), outcome=Outcome.REFUTED, reason=Reason.ID_DELETED, count=1
            )
            opened.record(run, "piece", [found], [tally])
            opened.finish(run)
        yield opened


def history() -> list[WorkItem]:
    return [
        WorkItem(
            number=number,
            job="nightly",
            state=WorkState.DONE,
            created=NOW - (4 - number) * DAY,
            worker="w",
            lease_until=NOW,
            run=f"r{number}",
        )
        for number in reversed(range(5))
    ]


@pytest.mark.parametrize(
    ("rule", "old"),
    [
        (Retention(), set()),
        (Retention(runs=3), {"r0", "r1"}),
        (Retention(runs=9), set()),
        (Retention(age="36h"), {"r0", "r1", "r2"}),
        (Retention(runs=4, age="60h"), {"r0", "r1"}),
    ],
)
def test_which_runs_are_old(rule: Retention, old: set[str]) -> None:
    assert old_runs(rule, history(), NOW) == old


def test_the_newest_run_and_the_one_before_it_are_needed(ledger: Ledger) -> None:
    assert needed(ledger) == {"r4", "r3"}
    ledger.start(Run(id="r5", started=NOW, store="s", profile="p", nodes={"A": 1}, compared_with="r2"))
    assert needed(ledger) == {"r5", "r4", "r3", "r2"}


def test_what_is_forgotten_leaves_nothing_and_decisions_stay(ledger: Ledger) -> None:
    decided = Decision(
        fingerprint=TASK.fingerprint, basis="0" * 16, action=Action.REJECT, by="me", at=NOW, run="r0", note="checked"
    )
    Decisions(ledger).table.add([decided])

    assert forget(ledger.database, ["r0", "r1", "r2", "none"]) == 3

    assert [run.id for run in ledger.runs()] == ["r4", "r3"]
    with ledger.database.reading() as connection:
        for table in METADATA.tables.values():
            for row in connection.execute(table.select()) if table.name != "decision" else ():
                assert not {"r0", "r1", "r2"} & {value for name, value in row._mapping.items() if name == "run"}
    assert ledger.finding(TASK.fingerprint).run == "r4"
    assert Decisions(ledger).current([TASK.fingerprint])[TASK.fingerprint].note == "checked"
