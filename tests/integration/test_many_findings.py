"""A ledger of many findings: no look-up walks over all, they are counted once for all who wait, in little memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from kgcheck.curation import facets
from kgcheck.curation.facets import facets_of
from kgcheck.curation.findings import FACETS, FindingPage
from kgcheck.ledger.comparisons import ComparisonTable
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import Finding, Tally
from kgcheck.workspace import Workspace
from tests.support.audits import core_demo
from tests.unit.test_ledger import finding, run, tally

BEFORE, AFTER = "20260101-000000-aaaa", "20260201-000000-bbbb"
LAST = datetime(2026, 2, 1, tzinfo=UTC)


def audit(name: str, started: datetime) -> Run:
    return run(name).model_copy(update={"started": started, "nodes": {"Protein": 99}})


def written(ledger: Ledger, of: Run, findings: list[Finding]) -> None:
    ledger.start(of)
    ledger.record(of, "a piece", findings, [Tally(**{**dict(tally()), "count": len(findings)})])
    ledger.finish(of)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Two audits: most findings are still there, some are new, changed or gone; four were decided about."""
    place = tmp_path_factory.mktemp("many") / "ledger.sqlite"
    first, second = audit(BEFORE, LAST - timedelta(days=31)), audit(AFTER, LAST)
    with Ledger(place) as ledger:
        written(ledger, first, [finding(first, f"P{n:03}") for n in range(60)])
        later = [finding(second, f"P{n:03}", value="another" if n % 10 == 3 else None) for n in range(5, 70)]
        written(ledger, second, later)
        ComparisonTable(ledger.database).record(AFTER, BEFORE, (), LAST)
    with Workspace(ledger=place) as opened:
        names = [one.fingerprint for one in opened.list_findings().page(limit=4)]
        opened.decide(names[:2], "reject", by="rosa")
        opened.decide(names[2:], "accept", by="rosa")
        yield opened


@pytest.fixture
def plans(workspace: Workspace) -> Iterator[list[str]]:
    """What SQLite does for each statement that is asked from here on."""
    made: list[str] = []
    beside = sqlite3.connect(str(workspace.ledger))

    def explain(_c: Any, _cursor: Any, statement: str, parameters: Any, _x: Any, _many: bool) -> None:
        if statement.startswith("SELECT"):
            made.extend(row[3] for row in beside.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    event.listen(Engine, "before_cursor_execute", explain)
    yield made
    event.remove(Engine, "before_cursor_execute", explain)
    beside.close()


def over_all(plans: list[str]) -> list[str]:
    """Steps that go through all findings, or all of a run: they take as long as there are findings."""
    places = (
        "SEARCH finding_place USING PRIMARY KEY (run=? AND severity=?)",
        "SEARCH finding USING INDEX finding_by_run",
    )
    walks = tuple(f"SCAN {table}" for table in ("finding", "finding_key", "finding_place", "now", "old", "earlier"))
    return [step for step in plans if step.startswith((*walks, *places))]


def test_no_look_up_walks_over_all_findings(workspace: Workspace, plans: list[str]) -> None:
    name = next(workspace.list_findings().page(limit=1)).fingerprint
    plans.clear()

    known = workspace.known_finding(name)
    assert (known.finding.fingerprint, known.state) == (name, "still")
    assert len(workspace.occurrences(name[:10])) == 2
    assert len(list(FindingPage(workspace.list_findings(), name, 5))) == 5
    rejected = list(FindingPage(workspace.list_findings(decisions=["rejected"]), None, 50))

    assert len(rejected) == 2
    assert plans
    assert over_all(plans) == []


def test_a_walk_over_all_findings_would_be_seen(workspace: Workspace, plans: list[str]) -> None:
    assert workspace.list_findings().count() == 65
    assert over_all(plans)


def test_what_is_counted_by_places_is_what_a_list_has(workspace: Workspace) -> None:
    counted = workspace.facets(workspace.list_findings())

    assert counted.total == 65
    assert counted.of("states") == {"still": 50, "new": 10, "unchecked": 5, "changed": 5}
    assert counted.of("decisions") == {"open": 61, "accepted": 2, "rejected": 2}
    for facet in FACETS:
        for choice, count in counted.of(facet).items():
            assert (facet, choice, count) == (facet, choice, workspace.list_findings(**{facet: [choice]}).count())  # type: ignore[arg-type]


def test_who_asks_meanwhile_waits_and_nothing_is_counted_twice(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, counted, real = threading.Event(), threading.Event(), list[bool](), facets._of_part

    def slowly(connection: Any, findings: Any, part: Any, day: date | None) -> Any:
        counted.append(day is None)
        begun.set()
        assert go_on.wait(30)
        return real(connection, findings, part, day)

    monkeypatch.setattr(facets, "_of_part", slowly)
    listed = workspace.list_findings(text="P01")
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(lambda: workspace.facets(listed).total) for _ in range(8)]
        assert begun.wait(30)
        go_on.set()
        assert {one.result(30) for one in asked} == {10}

    # Those that the run has, and those that it did not find, once each.
    assert sorted(counted) == [False, False, True, True]


def test_only_who_writes_has_much_memory_for_pages(tmp_path: Path) -> None:
    def memory(connection: Any) -> int:
        return int(connection.exec_driver_sql("PRAGMA cache_size").scalar_one())

    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.start(run())
        with ledger.database.reading() as reading:
            before = memory(reading)
        with ledger.database.writing() as writing:
            most = memory(writing)
        with ledger.database.reading() as reading:
            after = memory(reading)

    assert before == after == -4 * 1024
    assert most == -64 * 1024


FILTERS: dict[str, list[str]] = {
    "decisions": ["open", "reopened"],
    "states": ["new", "unchecked"],
    "outcomes": ["refuted"],
    "graph": ["lacks_it"],
    "types": ["attribute", "triple"],
    "reasons": ["value_outdated", "edge_unsupported", "id_obsolete"],
    "labels": ["Disease"],
    "relations": ["HAS_PARENT"],
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The workspace of tests that audit nothing more."""
    return audited_in(tmp_path_factory.mktemp("facets"))


def audited_in(folder: Path) -> Workspace:
    """An audit of the demo, and decisions of each kind about what it found."""
    ledger = folder / "ledger.sqlite"
    workspace = Workspace(store=str(core_demo().store), reference=core_demo().reference, ledger=ledger)
    workspace.audit(types=["existence", "attribute", "triple", "potential"], labels=["Disease", "Gene"])
    names = [one.fingerprint for one in workspace.list_findings().page(limit=6)]
    workspace.decide(names[:2], "accept", by="rosa")
    workspace.decide(names[2:4], "reject", by="rosa")
    workspace.decide(names[4:5], "defer", by="rosa", until="2199-01-01")
    workspace.decide(names[5:6], "reject", by="rosa")
    workspace.decide(names[5:6], "reopen", by="rosa")
    return workspace


@pytest.mark.parametrize("chosen", [(), *((f,) for f in FACETS), *combinations(("decisions", "types"), 2)])
def test_each_choice_says_how_many_it_leaves(audited: Workspace, chosen: tuple[str, ...]) -> None:
    filters = {name: FILTERS[name] for name in chosen}
    listed = audited.list_findings(**filters)  # type: ignore[arg-type]
    facets = facets_of(listed)

    assert facets.total == listed.count()
    for facet in FACETS:
        others = {name: values for name, values in filters.items() if name != facet}
        for choice, count in list(facets.of(facet).items())[:2]:
            narrowed = audited.list_findings(**others, **{facet: [choice]})  # type: ignore[arg-type]
            assert (facet, choice, narrowed.count()) == (facet, choice, count)


def test_a_decision_is_counted_at_once(audited: Workspace) -> None:
    before = facets_of(audited.list_findings()).of("decisions")
    name = next(audited.list_findings(decisions=["open"]).page(limit=1)).fingerprint

    audited.decide([name], "accept", by="rosa")

    after = facets_of(audited.list_findings()).of("decisions")
    assert (after["open"], after["accepted"]) == (before["open"] - 1, before["accepted"] + 1)
    audited.decide([name], "reopen", by="rosa")


@pytest.mark.slow
def test_what_a_later_run_did_not_find_is_counted_apart(tmp_path: Path) -> None:
    audited = audited_in(tmp_path)
    first = audited.run()
    later = audited.audit(types=["existence"], labels=["Gene"]).run
    diff = audited.diff(first, later)
    listed = audited.list_findings(later, before=first)

    states = facets_of(listed).of("states")
    assert states == {state.value: count for state, count in diff.counts.items() if count}
    assert states["unchecked"] > 0
    assert facets_of(listed).total == listed.count() == sum(1 for _ in audited.findings(later))
    lost = audited.list_findings(later, before=first, states=["unchecked"])
    assert facets_of(lost).total == lost.count() == states["unchecked"]
