"""What is refused as input of a snapshot, or as a snapshot; an existing snapshot stays as it was."""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from kgcheck.errors import InputFormat, InputMissing, SnapshotError, UnknownName
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.facts import COLUMNS
from kgcheck.reference.snapshot import Snapshot
from tests.support.facts import SCHEMA, SETTINGS, Facts, world
from tests.unit.test_formats import FLAT

HGNC = "\t".join(
    ["HGNC ID", "Approved Symbol", "Approved Name", "Status", "Synonyms", "x", "UniProt ID(supplied by UniProt)"]
)
WHOLE = {
    "hgnc_entries.tsv": f"{HGNC}\nHGNC:5\tA1BG\tglycoprotein\tApproved\t\t1\tP04217\n",
    "go_terms.tsv": "1\tGO:0000001\tbiological process\tinheritance\n",
    "bto.obo": "format-version: 1.2\nontology: bto\n\n[Term]\nid: BTO:0000142\nname: brain\n",
    "uniprot_x.txt": FLAT,
    "releases.tsv": "\t".join(COLUMNS["releases"]) + "\ngo\t1\t2024\tGO\tCC0\t\tlisted\n",
}
BROKEN: dict[str, Callable[[str], bytes]] = {
    "empty": lambda text: b"",
    "binary": lambda text: bytes(range(128, 256)) * 8,
    "truncated": lambda text: text.encode()[: -len(text.split("\n")[-2]) // 2 - 1],
    "of another kind": lambda text: b"<html>\n<body>not found</body>\n</html>\n",
    "not UTF-8": lambda text: text.encode().replace(b"a", "\u00e4".encode("latin-1")),
}


@pytest.mark.parametrize("name", WHOLE)
def test_broken_file_is_refused_and_the_snapshot_stays(tmp_path: Path, name: str) -> None:
    folder, snapshot = Facts().write(tmp_path / "in" / "facts"), tmp_path / "out" / "reference.duckdb"
    (folder / name).write_text(WHOLE[name], encoding="utf-8")
    if name != "releases.tsv":
        (folder / "releases.tsv").unlink()
    build_snapshot(tmp_path / "in", snapshot, SCHEMA, SETTINGS)
    before = snapshot.read_bytes()
    for break_ in BROKEN.values():
        (folder / name).write_bytes(break_(WHOLE[name]))

        with pytest.raises((InputFormat, InputMissing)) as caught:
            build_snapshot(tmp_path / "in", snapshot, SCHEMA, SETTINGS)

        assert str(folder) in caught.value.message
        assert snapshot.read_bytes() == before
        assert [path.name for path in snapshot.parent.iterdir()] == ["reference.duckdb"]


@pytest.mark.parametrize(
    ("table_name", "row", "told"),
    [
        ("releases", "go\t2\t\tGO\tCC0\t\tfull", "coverage|no fact"),
        ("releases", "go\t1\t2024\tGO\tCC0\t\tlisted", "2 times"),
        ("entity", "go\t1\tGO:1\tbiological_process\tcurent\t\t\t\t\t", "GO:1"),
        ("entity", "go\t1\tGO:1\tproces\tcurrent\t\t\t\t\t", "GO:1"),
        ("entity", "go\t1\t\tbiological_process\tcurrent\t\t\t\t\t", "no id"),
        ("entity", "go\t9\tGO:1\tbiological_process\tcurrent\t\t\t\t\t", "go 9, which releases.tsv does not list"),
        ("value", "go\t1\tGO:1\tname\tx\told\t", "GO:1"),
        ("value", "go\t1\tGO:1\tname\t\tcurrent\t", "no value"),
        ("link", "go\t1\tparentS\tGO:1\tGO:2\t\tfalse\t", "parentS"),
        ("link", "go\t1\tparent\tGO:1\tGO:2\t0,9\tfalse\t", "0,9"),
        ("link", "go\t1\tparent\tGO:1\tGO:2\tnan\tfalse\t", "nan"),
        ("link", "go\t1\tparent\tGO:1\tGO:2\t\tno\t", "GO:1"),
        ("link", "go\t1\tparent\tGO:1\t\t\tfalse\t", "no tail"),
        ("covered", "go\t1\tparentS\tGO:1", "parentS"),
        ("covered", "go\t1\tparent", "Columns"),
    ],
)
def test_row_that_is_no_fact_is_refused(tmp_path: Path, table_name: str, row: str, told: str) -> None:
    facts = Facts()
    facts.release("go", "1", "2024")
    path = facts.write(tmp_path) / f"{table_name}.tsv"
    path.write_text(f"{path.read_text()}{row}\n", encoding="utf-8")

    with pytest.raises(InputFormat, match=told) as caught:
        build_snapshot(tmp_path, tmp_path / "x.duckdb", SCHEMA, SETTINGS)

    assert path.name in caught.value.message


def test_facts_folder_needs_every_table_with_its_columns(tmp_path: Path) -> None:
    facts = Facts()
    facts.release("go", "1", "2024")
    link = facts.write(tmp_path) / "link.tsv"
    link.write_text("source\trelease\n", encoding="utf-8")
    with pytest.raises(InputFormat, match=r"link\.tsv has another header"):
        build_snapshot(tmp_path, tmp_path / "x.duckdb", SCHEMA, SETTINGS)
    link.unlink()
    with pytest.raises(InputMissing, match=r"lacks link\.tsv"):
        build_snapshot(tmp_path, tmp_path / "x.duckdb", SCHEMA, SETTINGS)


def test_nothing_to_build_from(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no recipe knows this")

    for folder, told in ((tmp_path, "no recipe knows any file"), (tmp_path / "none", "there is no folder")):
        with pytest.raises(InputMissing, match=told):
            build_snapshot(folder, tmp_path / "x.duckdb", SCHEMA, SETTINGS)


def test_string_export_needs_hgnc_to_be_brought_to_accessions(tmp_path: Path) -> None:
    (tmp_path / "a_string_interactions.tsv").write_text("#node1\tnode2\nA\tB\n")

    with pytest.raises(InputMissing, match="together with a file of hgnc"):
        build_snapshot(tmp_path, tmp_path / "x.duckdb", SCHEMA, SETTINGS)


def test_release_that_the_user_states(tmp_path: Path) -> None:
    (tmp_path / "uniprot_x.txt").write_text(FLAT)
    out = tmp_path / "x.duckdb"
    build_snapshot(tmp_path, out, SCHEMA, SETTINGS, releases={"uniprot": "2021_01"})

    with Snapshot(out, SCHEMA) as snapshot:
        assert [(r.release, r.released) for r in snapshot.releases()] == [("2021_01", "2021-02-10")]
    with pytest.raises(UnknownName, match="uniprto"):
        build_snapshot(tmp_path, out, SCHEMA, SETTINGS, releases={"uniprto": "2021_01"})


# snapshots that cannot be used


@pytest.mark.parametrize("out", ["file/reference.duckdb", "folder"])
def test_snapshot_that_cannot_be_written(tmp_path: Path, out: str) -> None:
    (tmp_path / "bto.obo").write_text(WHOLE["bto.obo"])
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "full").mkdir(parents=True)

    with pytest.raises(SnapshotError, match="cannot write"):
        build_snapshot(tmp_path, tmp_path / out, SCHEMA, SETTINGS)


def test_what_is_no_snapshot_of_this_profile_is_refused(tmp_path: Path) -> None:
    snapshot = world().build(tmp_path)
    for name, change, why in (
        ("format", "UPDATE meta SET value = '0' WHERE key = 'format'", "format 0"),
        ("sources", "UPDATE release SET source = 'elsewhere'", "no source that profile 'ckg' asks: it has elsewhere"),
    ):
        other = tmp_path / f"{name}.duckdb"
        shutil.copy(snapshot, other)
        with duckdb.connect(str(other)) as db:
            db.execute(change).fetchall()
        with pytest.raises(SnapshotError, match=why):
            Snapshot(other, SCHEMA)
    with duckdb.connect(str(tmp_path / "empty.duckdb")) as db:
        db.execute("CREATE TABLE x (y INTEGER)").fetchall()
    (tmp_path / "text.duckdb").write_text("no database")
    for name, told in (
        ("empty", "is not a reference"),
        ("text", "is not a reference"),
        ("none", "there is no snapshot"),
    ):
        with pytest.raises(SnapshotError, match=told):
            Snapshot(tmp_path / f"{name}.duckdb", SCHEMA)
