"""Findings counted by what they can be filtered by: the same numbers as a list with that filter has."""

from itertools import combinations
from pathlib import Path

import pytest

from kgcheck.curation.facets import facets_of
from kgcheck.curation.findings import FACETS
from kgcheck.workspace import Workspace
from tests.support.audits import core_demo

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
