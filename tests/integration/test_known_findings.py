"""A finding looked at by itself, what is near it, and decisions that are only about what was seen."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgcheck.errors import ChangedMeanwhile, InputMissing, UnknownName
from kgcheck.graph.neighbourhood import neighbourhood
from kgcheck.ledger.decisions import DecisionTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import Ref
from kgcheck.profile.schema import load_schema
from kgcheck.workspace import Workspace
from tests.support.api import demo_ledger
from tests.support.audits import MemoryStore, demo


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    shutil.copy(demo_ledger(), tmp_path / "ledger.sqlite")
    with Workspace(store=str(demo().store), reference=demo().reference, ledger=tmp_path / "ledger.sqlite") as opened:
        yield opened


def test_finding_stands_alone_as_in_the_list(workspace: Workspace) -> None:
    for listed in workspace.list_findings().page(limit=8):
        known = workspace.known_finding(listed.fingerprint)
        assert (known.finding, known.state, known.basis, known.version) == (
            listed.finding,
            listed.state,
            listed.basis,
            listed.version,
        )
    with pytest.raises(UnknownName):
        workspace.known_finding("0000000000000000")


def test_occurrences_are_the_runs_that_have_it(workspace: Workspace) -> None:
    one = next(workspace.list_findings().page())

    assert [o.run for o in workspace.occurrences(one.fingerprint)] == [run.id for run, _ in workspace.runs()]
    assert len(workspace.occurrences(one.fingerprint, limit=1)) == 1


def test_version_changes_with_each_decision(workspace: Workspace) -> None:
    name = next(workspace.list_findings().page()).fingerprint
    versions = [workspace.known_finding(name).version]
    for action in ("reject", "reopen", "reject"):
        workspace.decide(name, action, by="a", seen={name: versions[-1]})
        versions.append(workspace.known_finding(name).version)

    assert len(set(versions)) == 4
    with pytest.raises(ChangedMeanwhile) as caught:
        workspace.decide(name, "accept", by="b", seen={name: versions[0]})
    assert caught.value.present == {name: versions[-1]}
    assert len(workspace.history(name)) == 3


def test_who_decides_between_the_look_and_the_write_is_not_overruled(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = workspace.known_finding(next(workspace.list_findings().page()).fingerprint)
    name = known.finding.fingerprint
    looked = DecisionTable.states

    def somebody_else_decides(self: DecisionTable, *args: object, **kwargs: object) -> object:
        found = looked(self, *args, **kwargs)  # type: ignore[arg-type]
        monkeypatch.setattr(DecisionTable, "states", looked)
        workspace.decide(name, "reject", by="somebody else")
        return found

    monkeypatch.setattr(DecisionTable, "states", somebody_else_decides)
    with pytest.raises(ChangedMeanwhile, match="somebody else has just decided"):
        workspace.decide(name, "accept", by="a", seen={name: known.version})

    assert [one.by for one in workspace.history(name)] == ["somebody else"]


def test_expected_number_is_that_of_a_list_or_of_names(workspace: Workspace) -> None:
    findings = workspace.list_findings(types=["existence"])
    count = findings.count()
    for wrong in (0, count - 1, count + 1):
        with pytest.raises(ChangedMeanwhile, match=f"{count} findings are meant"):
            workspace.decide(findings, "reject", by="a", expected=wrong)
    assert workspace.decisions() == []

    assert len(workspace.decide(findings, "reject", by="a", expected=count)) == count
    newest = workspace.decisions(limit=2)
    assert [one.number for one in workspace.decisions(before=newest[-1].number)] == list(range(count - 2, 0, -1))


def test_ledger_refuses_what_is_newer_than_what_was_seen(workspace: Workspace) -> None:
    name = next(workspace.list_findings().page()).fingerprint
    (made,) = workspace.decide(name, "reject", by="a")
    with Ledger(workspace.ledger) as ledger:
        table = DecisionTable(ledger.database)
        assert table.newest() == made.decision.number
        with pytest.raises(ChangedMeanwhile):
            table.add([made.decision], unless_after=made.decision.number - 1)
        assert len(table.add([made.decision], unless_after=made.decision.number)) == 1


def test_patch_whose_files_are_gone(workspace: Workspace, tmp_path: Path) -> None:
    one = next(workspace.list_findings(text="PARK2").page())
    made = workspace.make_patch(tmp_path / "patch", findings=[one.fingerprint])
    assert made.patch
    assert workspace.patch_folder(made.patch.id) == tmp_path / "patch"

    shutil.rmtree(tmp_path / "patch")

    with pytest.raises(InputMissing):
        workspace.patch_folder(made.patch.id)


def test_readiness_names_the_part(workspace: Workspace, tmp_path: Path) -> None:
    assert {part.name: part.is_ready for part in map(workspace.part, workspace.part_names)} == dict.fromkeys(
        ("ledger", "store", "reference"), True
    )
    with Workspace(store=tmp_path / "none", ledger=tmp_path / "none.sqlite") as empty:
        parts = {part.name: part.kind_of_error for part in map(empty.part, empty.part_names)}
    assert parts == {"ledger": "LedgerError", "store": "StoreMissing"}
    assert not (tmp_path / "none.sqlite").exists()


def test_neighbourhood_has_a_few_of_each_and_says_where_there_are_more() -> None:
    schema = load_schema()
    names = [f"P{n:05}" for n in range(9)]
    nodes = {"Protein": [{"id": name, "name": f"name {name}"} for name in names]}
    pattern = schema.pattern("Protein", "ACTS_ON", "Protein")
    store = MemoryStore(nodes, {str(pattern): [{"head": names[0], "tail": name} for name in names[1:]]})

    near = neighbourhood(store, [Ref(label="Protein", id=names[0])], 3)

    assert [(node.id, node.name) for node in near.nodes] == [(name, f"name {name}") for name in names[:4]]
    assert [edge.tail.id for edge in near.edges] == names[1:4]
    assert near.more == (f"{names[0]} ACTS_ON Protein",)
    assert neighbourhood(store, [Ref(label="Protein", id=names[0])], 8).more == ()


def test_neighbourhood_of_what_nobody_can_look_for() -> None:
    store = MemoryStore({}, {})

    near = neighbourhood(store, [Ref(label="Protein", id="P00000"), Ref(label="No such label", id="x")], 3)

    assert [node.is_there for node in near.nodes] == [False, None]
    assert near.edges == ()
