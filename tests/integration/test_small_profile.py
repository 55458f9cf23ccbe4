"""A made-up graph of things in boxes, with recipes of its own: nothing of kgcheck knows the words of one graph."""

import json
from pathlib import Path

import duckdb
import pytest

from kgcheck import Workspace
from kgcheck.model import CheckTask
from kgcheck.profile.schema import load_schema
from kgcheck.reference.build import build_snapshot
from tests.support.facts import SETTINGS

GRAPH = """
[profile]
name = "shelf"
version = 1
title = "things in boxes"

[[labels]]
name = "thing"
meaning = "a thing, or one of its copies, ~2"
id_pattern = '(?P<entry>T[0-9]{3})(?:~(?P<isoform>[0-9]+))?'
id_example = "T001"
authority = { source = "catalogue" }
properties = { name = { type = "string" } }
attributes = { name = { source = "catalogue", reference = "name" } }

[[labels]]
name = "box"
meaning = "a box"
id_pattern = 'B[0-9]+'
id_example = "B1"
authority = { source = "store_room", namespace = "boxes" }

[[labels]]
name = "mark"
meaning = "a letter of the inscription of a thing"
id_pattern = '(?P<sequence>(?P<entry>T[0-9]{3}))@(?P<position>[0-9]+)(?P<residue>[a-z])'
id_example = "T001@1a"
authority = { source = "catalogue" }

[[relations]]
type = "part_of"
head = "thing"
tail = "thing"
hierarchy = true
checks = [{ source = "catalogue", world = "closed", tier = "owner" }]

[[relations]]
type = "stored_in"
head = "thing"
tail = "box"
checks = [{ source = "store_room", link = "content", world = "closed", tier = "owner" }]
"""

FILES = """
nodes = [
    { file = "things.tsv", label = "thing", id = "id", properties = { name = "name" } },
    { file = "boxes.tsv", label = "box", id = "id" },
    { file = "marks.tsv", label = "mark", id = "id" },
]
edges = [
    { file = "part_of.tsv", head = "thing", relation = "part_of", tail = "thing", from = "from", to = "to" },
    { file = "stored_in.tsv", head = "thing", relation = "stored_in", tail = "box", from = "from", to = "to" },
]
"""

CATALOGUE = """
source = "catalogue"
name = "the catalogue"
licence = "made up"

[[files]]
glob = "things.obo"
format = "obo"
topics = { entity = true, value = true, parent = true }

[[files]]
glob = "inscriptions.tsv"
format = "tsv"
release = "1"
released = "2026"
topics = { value = false }

[[files.rows]]
table = "value"
select = "SELECT id, 'sequence' AS attribute, letters AS value, 'current' AS status, id AS record FROM file"
"""

STORE_ROOM = """
source = "store_room"
name = "the list on the door"
licence = "made up"
namespaces = ["boxes", "shelves"]

[[files]]
glob = "places.tsv"
format = "tsv"
release = "1"
released = "2026"
topics = { entity = true }

[[files.rows]]
table = "entity"
select = "SELECT id, kind AS namespace, 'current' AS state, id AS record FROM file"

[[files]]
glob = "content.tsv"
format = "tsv"
release = "1"
released = "2026"
topics = { content = true }

[[files.rows]]
table = "link"
select = '''
SELECT 'content' AS relation, thing AS head, place AS tail, NULL::DOUBLE AS score, false AS negated, place AS record
FROM file
'''
"""

THINGS = """format-version: 1.2
ontology: things
date: 01:01:2026 10:00

[Term]
id: T001
name: lamp

[Term]
id: T002
name: shade
is_a: T001

[Term]
id: T003
name: frame
is_a: T002

[Term]
id: T009
name: old frame
is_obsolete: true
replaced_by: T003
"""

PROFILE = {
    "graph.toml": GRAPH,
    "files.toml": FILES,
    "reference/catalogue.toml": CATALOGUE,
    "reference/store_room.toml": STORE_ROOM,
}
SOURCES = {
    "things.obo": THINGS,
    "inscriptions.tsv": "id\tletters\nT001\tabc\n",
    "places.tsv": "id\tkind\nB1\tboxes\nB2\tboxes\nB3\tshelves\n",
    "content.tsv": "thing\tplace\nT001\tB1\nT002\tB2\n",
}
IMPORT = {
    "things.tsv": "id\tname\nT001\tlamp\nT002~7\tshade\nT002\tlampshade\nT003\tframe\nT009\told frame\n",
    "boxes.tsv": "id\nB1\nB2\nB3\n",
    "marks.tsv": "id\nT001@1a\nT001@2z\n",
    "part_of.tsv": "from\tto\nT002\tT001\nT003\tT001\nT002\tT003\nT009\tT002\nT001\tT002\n",
    "stored_in.tsv": "from\tto\nT001\tB1\nT002~7\tB2\nT003\tB2\n",
}
FOUND = {
    ("existence", "T009", "id_obsolete"),
    ("existence", "B3", "wrong_namespace"),
    ("existence", "T001@2z", "residue_mismatch"),
    ("attribute", "T002 name", "value_mismatch"),
    ("triple", "T003 part_of T001", "parent_indirect"),
    ("triple", "T002 part_of T003", "edge_unsupported"),
    ("triple", "T001 part_of T002", "edge_unsupported"),
    ("triple", "T009 part_of T002", "endpoint_merged"),
    ("triple", "T003 stored_in B2", "edge_unsupported"),
    ("potential", "T003 part_of T002", "edge_missing"),
    ("potential", "T002 stored_in B2", "edge_missing"),
    ("structure", "T001 part_of T002", "parent_cycle"),
}


def _written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def shelf(tmp_path: Path) -> Workspace:
    """The graph, loaded, and the snapshot of its sources, built."""
    workspace = Workspace(
        profile=str(_written(tmp_path / "profile", PROFILE)),
        store=tmp_path / "graph.lbdb",
        reference=tmp_path / "reference.duckdb",
        ledger=tmp_path / "ledger.sqlite",
        settings=SETTINGS,
    )
    assert workspace.load(_written(tmp_path / "import", IMPORT), quarantine=tmp_path / "q.jsonl").quarantined == 0
    workspace.build_reference(_written(tmp_path / "sources", SOURCES))
    return workspace


def test_a_graph_with_words_of_its_own_is_audited(shelf: Workspace) -> None:
    with shelf:
        findings = shelf.audit().findings
        found = {(f.task.type.value, _named(f.task), f.verdict.reason.value) for f in findings}

    assert {one for one in found if one[2] not in ("orphan_node", "shared_name", "missing_provenance")} == FOUND


def _named(task: CheckTask) -> str:
    other = task.object.id if task.object else None
    return " ".join(filter(None, (task.subject.id, task.relation, other, task.attribute)))


def test_a_recipe_says_what_its_links_are_called(tmp_path: Path) -> None:
    recipe = """
source = "catalogue"
name = "entries"
licence = "made up"
links = { structure = "shape" }

[[files]]
glob = "entries.jsonl"
format = "uniprot_jsonl"
topics = { entity = false, shape = false }
"""
    entry = {
        "entryType": "UniProtKB reviewed (Swiss-Prot)",
        "primaryAccession": "P10001",
        "uniProtkbId": "ONE_HUMAN",
        "sequence": {"value": "MA", "length": 2},
        "uniProtKBCrossReferences": [{"database": "PDB", "id": "1ABC"}, {"database": "GO", "id": "GO:0000001"}],
    }
    schema = load_schema(str(_written(tmp_path / "profile", PROFILE | {"reference/catalogue.toml": recipe})))
    sources = _written(tmp_path / "sources", {"entries.jsonl": json.dumps(entry) + "\n"})
    build_snapshot(sources, tmp_path / "reference.duckdb", schema, SETTINGS)

    with duckdb.connect(str(tmp_path / "reference.duckdb"), read_only=True) as db:
        assert db.execute("SELECT relation, head, tail FROM link").fetchall() == [("shape", "P10001", "1ABC")]
        assert db.execute("SELECT topic, id FROM covered").fetchall() == [("shape", "P10001")]


def test_parts_of_ids_are_read_from_their_form(tmp_path: Path) -> None:
    schema = load_schema(str(_written(tmp_path, PROFILE)))
    thing, mark, box = (schema.label(name) for name in ("thing", "mark", "box"))

    assert (thing.isoforms, thing.site, thing.isoform_sign) == (True, False, "~")
    assert (mark.isoforms, mark.site) == (False, True)
    assert (box.groups, box.base_id("B1")) == ((), "B1")
    assert [thing.base_id(i) for i in ("T001", "T001~2", "x~2")] == ["T001", "T001", "x~2"]
    assert mark.base_id("T001@1a") == "T001"
