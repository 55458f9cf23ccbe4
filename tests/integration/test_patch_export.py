"""A patch as a corrected import directory: loaded anew, it gives the graph that applying gives, as readers see it."""

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from kgcheck.curation.export import Exported, export_patch
from kgcheck.curation.operations import AddEdge, Patch, SetValue
from kgcheck.errors import UsageError
from kgcheck.graph.open import open_store
from kgcheck.loading.load import load_directory
from kgcheck.profile.folder import profile_dir
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.contract.stores import all_edges, all_nodes
from tests.integration.import_directory import ACTS_ON, CKG, PROTEINS
from tests.integration.test_reload import EVERYTHING, FINDING, NAME, SCORE, Place, edge, ref
from tests.support.audits import demo


def contents(store: str) -> dict[str, Any]:
    """Everything that a reader can see of a graph."""
    with open_store(store, CKG, Settings()) as opened:
        nodes = {label.name: all_nodes(opened, label) for label in CKG.labels}
        return nodes | {str(pattern): all_edges(opened, pattern) for pattern in CKG.relations}


def loaded(folder: Path, at: Path) -> dict[str, Any]:
    with open_store(str(at), CKG, Settings(), create=True) as store:
        load_directory(folder, store, Settings(), quarantine=at.with_suffix(".jsonl"))
    return contents(str(at))


def export(place: Place, patch: Patch, out: Path) -> Exported:
    with open_store(place.store, CKG, Settings()) as store:
        return export_patch(patch, store, place.directory.folder, out, Settings())


def as_written(place: Place, how: str) -> None:
    """The files in another form, which means the same."""
    for name in (PROTEINS, ACTS_ON):
        path = place.directory.folder / name
        data = path.read_bytes()
        match how:
            case "crlf":
                path.write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
            case "quoted":
                lines = [
                    "\t".join(f'"{f}"' if f else f for f in line.split("\t")) for line in data.decode().splitlines()
                ]
                path.write_bytes("\n".join(lines).encode())
            case "gzip":
                path.unlink()
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(data))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["quoted", "crlf", "gzip"])
def test_loading_the_corrected_files_gives_what_applying_gives(tmp_path: Path, how: str) -> None:
    place = Place(tmp_path)
    as_written(place, how)
    place.load()
    patch = place.apply(*EVERYTHING)
    patched = contents(place.store)

    exported = export(place, patch, tmp_path / "new")

    assert exported.unplaced == ()
    assert {name: n for name, n in exported.rows.items() if n} == {PROTEINS: 4, ACTS_ON: 8}
    assert loaded(tmp_path / "new", tmp_path / "anew.lbdb") == patched
    assert place.undo(patch) == []
    assert export(place, patch, tmp_path / "before").rows == exported.rows
    assert loaded(tmp_path / "before", tmp_path / "before.lbdb") == patched


def test_only_the_touched_rows_are_others(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.load()
    (place.directory.folder / "README").write_bytes(b"\xff not a file of the recipe")
    patch = place.apply(NAME, SCORE)

    export(place, patch, tmp_path / "new")

    for path in sorted(p for p in place.directory.folder.rglob("*") if p.is_file()):
        name = path.relative_to(place.directory.folder).as_posix()
        before, after = path.read_bytes().split(b"\n"), (tmp_path / "new" / name).read_bytes().split(b"\n")
        assert len(before) == len(after)
        changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert len(changed) == (1 if name in (PROTEINS, ACTS_ON) else 0), name
        for a, b in changed:
            assert sum(x != y for x, y in zip(a.split(b"\t"), b.split(b"\t"), strict=True)) == 1


@pytest.mark.slow
def test_values_that_need_quotes_and_those_that_have_no_place(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.load()
    hostile = SetValue(what=ref("P1"), attribute="name", was="n1", to='a "b"\tc=1', **FINDING)
    broken = SetValue(what=ref("P2"), attribute="name", was="n2", to="two\nlines", **FINDING)
    items = SetValue(what=ref("P3"), attribute="synonyms", to=["a", "b"], **FINDING)
    no_item = SetValue(what=ref("P7"), attribute="synonyms", to=["a,b|c;d", ""], **FINDING)
    added = AddEdge(what=edge("P1", "P5"), properties={"source": "kgcheck", "score": 0.25}, **FINDING)
    patch = place.apply(hostile, broken, items, no_item, added)

    exported = export(place, patch, tmp_path / "new")

    assert {(u.what, u.why) for u in exported.unplaced} == {
        ("Protein P2", "name has what a line of a file cannot hold"),
        ("Protein P7", "synonyms has an item that a list in a file cannot hold"),
    }
    anew = loaded(tmp_path / "new", tmp_path / "anew.lbdb")
    names = {n["id"]: n.get("name") for n in anew["Protein"]}
    assert (names["P1"], names["P2"]) == ('a "b"\tc=1', "n2")
    assert next(n["synonyms"] for n in anew["Protein"] if n["id"] == "P3") == ["a", "b"]
    assert ("P1", "P5", 0.25) in {
        (e["head"], e["tail"], e["score"]) for e in anew[str(CKG.pattern(*"Protein ACTS_ON Protein".split()))]
    }


def test_what_the_files_do_not_state_is_named(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.load()
    patch = place.apply(NAME, SCORE)
    place.write(without=("P1",))

    exported = export(place, patch, tmp_path / "new")

    assert [(u.what, u.why) for u in exported.unplaced] == [("Protein P1", "no row of the files states it")]
    assert exported.rows == {ACTS_ON: 1}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.load()
    patch = place.apply(NAME)
    for out in (place.directory.folder, place.directory.folder / "new"):
        with pytest.raises(UsageError, match=r"is not empty|is in"):
            export(place, patch, out)
    assert not (place.directory.folder / "new").exists()


@pytest.mark.slow
def test_every_repair_of_the_demo(tmp_path: Path) -> None:
    """Everything that needs no choice."""
    import_dir, store = profile_dir("ckg") / "demo" / "import", tmp_path / "graph.lbdb"
    shutil.copy(demo().store, store)
    with Workspace(store=str(store), reference=demo().reference, ledger=tmp_path / "ledger.sqlite") as workspace:
        workspace.audit()
        made = workspace.make_patch(tmp_path / "patch", findings=[f.fingerprint for f in workspace.findings()])
        exported = workspace.export_patch(tmp_path / "patch", import_dir, tmp_path / "new")
        outcome = workspace.apply_patch(tmp_path / "patch")
        patched = contents(str(store))
        again = workspace.load(import_dir, quarantine=tmp_path / "quarantine.jsonl", full=True)
    assert (outcome.conflicts, exported.unplaced, again.settled) == ((), (), ())
    assert contents(str(store)) == patched
    assert loaded(tmp_path / "new", tmp_path / "anew.lbdb") == patched
    assert made.patch
    assert made.patch.header.operations > 15
