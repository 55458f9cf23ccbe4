"""The funnel: undecided findings go to the team with live sources, worst first, under a budget."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgcheck.audit.funnel import NOT_DECIDED, Funnel, worst_first
from kgcheck.audit.ledger import Ledger, Run
from kgcheck.model import CheckType, Finding, Outcome, Reason
from kgcheck.report.render import render
from tests.integration.test_live import World, running
from tests.support import loopback
from tests.support.audits import Audited, MemoryStore
from tests.support.facts import Facts
from tests.support.reports import finding

PAIRS = [("P10001", "P10002"), ("P10002", "P10003"), ("P10001", "P10003"), ("P10001", "P10004")]


@pytest.fixture
def world(shared_data: Path, tmp_path: Path) -> Iterator[World]:
    with running(shared_data, tmp_path) as made:
        yield made


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(
        {"Protein": [{"id": f"P1000{n}"} for n in range(1, 5)]},
        {"Protein ACTS_ON Protein": [{"head": a, "tail": b} for a, b in PAIRS]},
    )


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A complete STRING that maps none of the proteins: every pair stays undecided."""
    facts = Facts()
    facts.release("string", "11.0", "2019-01-01", complete=True).link("ACTS_ON", "P90001", "P90002", 0.9).covers(
        "ACTS_ON", "P90001", "P90002"
    )
    return facts.build(tmp_path / "snapshot")


def _audit(
    world: World, store: MemoryStore, snapshot: Path, ledger: Path, budget: int, *, resume: bool = False
) -> Audited:
    options = {"live": False, "team_budget": budget, "types": (CheckType.TRIPLE,)}
    return world.audit(store, ledger, snapshot, resume=resume, **({} if resume else options))


def test_the_team_decides_what_the_snapshot_could_not(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path
) -> None:
    done = _audit(world, store, snapshot, tmp_path / "a.sqlite", 10)
    reasons = {str(f.task): f.verdict.reason for f in done.findings}

    assert reasons == {
        "P10001 ACTS_ON P10002": Reason.CONFIRMED,
        "P10002 ACTS_ON P10003": Reason.EDGE_UNSUPPORTED,
        "P10001 ACTS_ON P10003": Reason.BELOW_THRESHOLD,
        "P10001 ACTS_ON P10004": Reason.UNMAPPED_IDENTIFIER,
    }
    assert done.run.team == {NOT_DECIDED: 1, "refuted": 2, "supported": 1}
    assert sum(t.count for t in done.tallies) == len(PAIRS)
    assert {(t.outcome, t.count) for t in done.tallies if t.sources.startswith("team: ")} == {
        (Outcome.SUPPORTED, 1),
        (Outcome.REFUTED, 1),
    }
    assert done.run.finished
    assert len(list((tmp_path / "home" / "transcripts" / done.run.id).glob("*.jsonl"))) == 4
    refuted = next(f for f in done.findings if f.verdict.reason is Reason.EDGE_UNSUPPORTED)
    assert refuted.change
    assert refuted.verdict.evidence[0].release == "12.0"


def test_the_budget_is_kept(world: World, store: MemoryStore, snapshot: Path, tmp_path: Path) -> None:
    done = _audit(world, store, snapshot, tmp_path / "a.sqlite", 2)

    assert sum(done.run.team.values()) == 2
    assert sum(f.verdict.reason is Reason.UNMAPPED_IDENTIFIER for f in done.findings) >= 2


def test_without_a_budget_nothing_is_asked(world: World, store: MemoryStore, snapshot: Path, tmp_path: Path) -> None:
    done = _audit(world, store, snapshot, tmp_path / "a.sqlite", 0)

    assert (done.run.team, world.calls) == ({}, 0)


def test_a_source_that_is_down_decides_nothing(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path
) -> None:
    world.uniprot.server.always = world.string.server.always = loopback.reset
    done = _audit(world, store, snapshot, tmp_path / "a.sqlite", 10)

    assert done.run.team == {NOT_DECIDED: 4}
    assert {f.verdict.outcome for f in done.findings} == {Outcome.INSUFFICIENT}


def test_a_run_that_was_cut_off_asks_no_finding_twice(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _audit(world, store, snapshot, tmp_path / "whole.sqlite", 10)
    asked: list[str] = []
    real = Funnel._decide

    def dying(self: Funnel, run: Run, one: Finding) -> Finding | None:
        if len(asked) == 2:
            asked.append("killed")
            raise KeyboardInterrupt
        asked.append(one.fingerprint)
        return real(self, run, one)

    monkeypatch.setattr(Funnel, "_decide", dying)
    with pytest.raises(KeyboardInterrupt):
        _audit(world, store, snapshot, tmp_path / "a.sqlite", 10)
    resumed = _audit(world, store, snapshot, tmp_path / "a.sqlite", 10, resume=True)

    assert len(set(asked)) == len(asked) == 5
    assert resumed.run.team == whole.run.team
    assert {f.fingerprint: f.verdict.reason for f in resumed.findings} == {
        f.fingerprint: f.verdict.reason for f in whole.findings
    }
    assert resumed.tallies == whole.tallies


def test_reports_say_how_many_went_each_way(world: World, store: MemoryStore, snapshot: Path, tmp_path: Path) -> None:
    done = _audit(world, store, snapshot, tmp_path / "a.sqlite", 10)

    with Ledger(tmp_path / "a.sqlite") as kept:
        for form in ("markdown", "html"):
            assert "Handed to the team: 1 not decided, 2 refuted, 1 supported." in render(kept, done.run, form)


def test_the_worst_come_first() -> None:
    undecided = [
        finding("P10001", outcome=Outcome.UNAVAILABLE, reason=Reason.NOT_COVERED),
        finding("P10002", outcome=Outcome.INSUFFICIENT, reason=Reason.NOTHING_FOUND),
        finding("P10003", outcome=Outcome.INSUFFICIENT, reason=Reason.CONFLICTING_EVIDENCE),
        finding("P10004", kind=CheckType.STRUCTURE, outcome=Outcome.INSUFFICIENT, reason=Reason.ORPHAN_NODE),
        finding("P10005", outcome=Outcome.INSUFFICIENT, reason=Reason.UNMAPPED_IDENTIFIER),
    ]

    assert [f.task.subject.id for f in worst_first(undecided)] == ["P10003", "P10005", "P10002", "P10001"]
