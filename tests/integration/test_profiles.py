"""Profiles of one's own: drafts, folders anywhere, and everything that is wrong in one."""

from __future__ import annotations

import shutil
import time
import tomllib
from pathlib import Path

import pytest

from kgcheck import Settings
from kgcheck.curation.operations import Patch, SetValue
from kgcheck.curation.patch_maker import fitting, patch_of
from kgcheck.curation.patches import apply_patch, undo_patch
from kgcheck.curation.steps import DraftGraph
from kgcheck.errors import ConfigurationError, StoreError
from kgcheck.graph.changes import StoreChanges
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.reading import read_statement
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import Reason, Ref
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.reference_files import load_reference_recipes
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.profile.validate import validate_profile
from tests.support.audits import demo, kgcheck
from tests.support.contents import content_digest
from tests.support.neo4j_fixtures import Neo4jTarget


@pytest.fixture
def server(clean_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch) -> Neo4jTarget:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    return clean_neo4j


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A copy of the profile `ckg`."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("graph.toml", "files.toml", "lexicon.toml", "claims.toml"):
        shutil.copy(profile_dir("ckg") / name, folder)
    return folder


FOREIGN = """
CREATE (a:Gene:Thing {identifier: 1080, name: 'CFTR', aliases: ['ABCC7', 'MRP7'], size: 1.5}),
       (b:Gene:Thing {identifier: 672, name: 'BRCA1', aliases: ['FANCS'], size: 2.0}),
       (d:`biolink:Disease` {id: 'DOID:1485', name: 'cystic fibrosis', `odd name`: 'x'}),
       (e:`biolink:Disease` {id: 'DOID:0050177', name: 'monogenic disease'}),
       (:`odd name` {id: 'x'}), (:Nameless {size: 1}), (:Nameless {size: 1}), (:Thing {identifier: 7}),
       (a)-[:`biolink:causes` {score: 3}]->(d), (b)-[:interacts_with]->(a), (d)-[:is_a]->(e), (a)-[:`to and fro`]->(b)
"""


@pytest.mark.slow
def test_the_draft_of_a_server_that_somebody_else_filled_is_used_without_an_edit(
    server: Neo4jTarget, tmp_path: Path
) -> None:
    with server.driver() as driver:
        driver.execute_query(FOREIGN)
    out = tmp_path / "draft"

    said = kgcheck("profile", "init", "--store", server.uri, "--out", out)

    assert said.code == 0, said.err
    for told in (
        "label Thing: nodes of Gene are such, too; left out, with its edges",
        "label Nameless: no property called like an id is filled on all nodes, different on each and of one type",
        "label odd_name: not a plain name; left out, with its edges",
        "'odd name': not a plain name; left out",
        "'to and fro': not a plain name; left out",
    ):
        assert told in said.err
    draft = tomllib.loads((out / "graph.toml").read_text())
    assert {label["name"]: label.get("key", "id") for label in draft["labels"]} == {
        "Gene": "identifier",
        "biolink:Disease": "id",
    }
    gene = next(label for label in draft["labels"] if label["name"] == "Gene")
    assert (gene["key_type"], gene["also"]) == ("integer", ["Thing"])
    assert {name: p["type"] for name, p in gene["properties"].items()} == {
        "name": "string",
        "aliases": "strings",
        "size": "number",
    }
    assert {r["type"]: r.get("hierarchy", False) for r in draft["relations"]} == {
        "biolink:causes": False,
        "interacts_with": False,
        "is_a": True,
    }
    assert kgcheck("profile", "validate", out).code == 0
    of_structure = ("--type", "structure", "--ledger", tmp_path / "l.sqlite")
    audit = kgcheck("audit", "--store", server.uri, "--profile", out, *of_structure)
    assert audit.code in (0, 1), audit.err
    _reads_and_changes(server, load_schema(str(out)))


def _reads_and_changes(server: Neo4jTarget, schema: Schema) -> None:
    """Keys that are numbers or have another name: reads, statements of a model, and patches."""
    with Neo4jStore(server.uri, schema, Settings()) as store:
        gene = schema.label("Gene")
        assert set(store.nodes(gene, ["1080", "01080", "x", "9" * 30])) == {"1080"}
        assert store.nodes(gene, ["672"])["672"]["aliases"] == ["FANCS"]
        text = "MATCH (g:Gene {id: '1080'})-[:`biolink:causes`]->(d:`biolink:Disease`) RETURN g.id AS g, d.id AS d"
        assert store.query(read_statement(text, schema, store.backend), 10, 30) == [{"g": "1080", "d": "DOID:1485"}]
        before = content_digest(store)
        name = SetValue(
            what=Ref(label="Gene", id="1080"),
            attribute="name",
            was="CFTR",
            to="MRP7",
            finding="0123456789abcdef",
            basis="b",
            reason=Reason.VALUE_MISMATCH,
        )
        store.prepare_records()
        with store.statements(write=False) as run:
            drafted, misfits = fitting((name,), DraftGraph(StoreChanges(store, run)))
        assert misfits == []
        patch: Patch = patch_of([d.operation for d in drafted], store, "run", by="tester")
        assert apply_patch(patch, store, by="tester").conflicts == ()
        assert store.nodes(gene, ["1080"])["1080"]["name"] == "MRP7"
        assert undo_patch(patch, store, by="tester").conflicts == ()
        assert content_digest(store) == before
        # A load writes texts.
        with pytest.raises(StoreError, match="numbers for keys"):
            store.prepare()


@pytest.mark.slow
def test_a_draft_of_the_ckg_demo_on_a_server_has_its_labels_and_relations(server: Neo4jTarget, tmp_path: Path) -> None:
    said = kgcheck(
        "load", profile_dir("ckg") / "demo/import", "--store", server.uri, "--quarantine", tmp_path / "q.jsonl"
    )
    assert said.code == 0, said.err
    said = kgcheck("profile", "init", "--store", server.uri, "--out", tmp_path / "draft")
    assert said.code == 0, said.err
    draft, shipped = load_schema(str(tmp_path / "draft")), load_schema("ckg")
    assert draft.profile.reads == ("ckg",)
    assert set(draft.label_names) <= set(shipped.label_names)
    assert {str(p) for p in draft.relations} <= {str(p) for p in shipped.relations}
    for store in (server.uri, demo().store):
        audit = kgcheck(
            *("audit", "--store", store, "--profile", tmp_path / "draft", "--type", "structure"),
            *("--ledger", tmp_path / "l.sqlite"),
        )
        assert audit.code in (0, 1), audit.err


def test_no_profile_is_drafted_of_a_file_of_kgchecks_own(tmp_path: Path) -> None:
    said = kgcheck("profile", "init", "--store", tmp_path / "g.lbdb", "--out", tmp_path / "nothing")
    assert said.refuses("no profile is drafted of ")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.slow
def test_a_folder_anywhere_is_a_profile_and_a_run_finds_it_again(tmp_path: Path, mine: Path) -> None:
    store, ledger = tmp_path / "g.lbdb", tmp_path / "l.sqlite"
    said = kgcheck("load", profile_dir("ckg") / "demo/import", "--store", store, "--profile", mine, cwd=tmp_path)
    assert said.code == 0, said.err
    said = kgcheck("audit", "--store", store, "--profile", mine, "--ledger", ledger, "--type", "structure")
    assert said.code in (0, 1), said.err
    with Ledger(ledger) as kept:
        assert kept.run("latest").profile == str(mine)
    said = kgcheck("load", profile_dir("ckg") / "demo/import", "--profile", "mine", cwd=tmp_path)
    assert said.refuses()
    assert "a folder of yours is named by a path: --profile ./mine" in said.err


def test_a_profile_of_somebody_else_leads_nowhere_and_hangs_nothing(tmp_path: Path, mine: Path) -> None:
    graph, form = (mine / "graph.toml").read_text(), "id_pattern = 'DOID:[0-9]+'"
    (mine / "graph.toml").write_text(graph.replace(form, "id_pattern = '(([0-9]+)+)+x'", 1))
    schema, began = load_schema(str(mine)), time.monotonic()
    assert not schema.label("Disease").matches("1" * 512)
    assert time.monotonic() - began < 5
    for pattern in ("(?<!a)b", "(a", "a)|(b", "(" * 2000):
        (mine / "graph.toml").write_text(graph.replace(form, f"id_pattern = '{pattern}'", 1))
        with pytest.raises(ConfigurationError, match="id_pattern"):
            load_schema(str(mine))
    (mine / "graph.toml").write_text(graph)
    (tmp_path / "elsewhere.toml").write_text("source = 'x'")
    (mine / "reference").mkdir()
    (mine / "reference" / "x.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(ConfigurationError, match="leads out of"):
        load_reference_recipes(load_schema(str(mine)))


@pytest.mark.slow
def test_validate_tells_every_mistake_at_once(mine: Path) -> None:
    graph = (mine / "graph.toml").read_text()
    wrong = graph.replace('name = "Gene"', 'name = "Ge ne"', 1).replace(
        'tail = "Modified_protein"', 'tail = "Modified_proteins"'
    )
    (mine / "graph.toml").write_text(wrong.replace('type = "ACTS_ON"\n', 'type = "ACTS_ON"\nsymetric = 1\n'))
    said = kgcheck("profile", "validate", mine)
    assert said.code == 2
    assert "relations[Protein ACTS_ON Protein].symetric: there is no such key" in said.out
    (mine / "graph.toml").write_text(wrong)
    said = kgcheck("profile", "validate", mine)
    assert "labels[Ge ne]: 'Ge ne' is not a plain name" in said.out
    assert (
        "relations[Protein HAS_MODIFIED_SITE Modified_proteins].tail: Protein HAS_MODIFIED_SITE Modified_proteins names"
        in said.out
    )
    (mine / "graph.toml").write_text(graph.replace('id_example = "DOID:4467"', 'id_example = "x"'))
    files = (mine / "files.toml").read_text()
    (mine / "files.toml").write_text(files.replace('label = "Gene"', 'label = "Gen"'))
    (mine / "reference").mkdir()
    (mine / "reference" / "x.toml").write_text("source = 1\nnmae = 'x'\n")
    (mine / "lexicon.toml").write_text("[words")
    found = validate_profile(str(mine))
    told = "\n".join(map(str, found.mistakes))
    assert "labels[Disease].id_example: 'x' does not have the form of id_pattern" in told
    assert "files.toml: nodes[databases/Gene.tsv Gen]: there is no label 'Gen'" in told
    assert "did you mean Gene" in told
    assert "x.toml: nmae: there is no such key" in told
    assert "lexicon.toml: " in told
    assert kgcheck("profile", "validate", mine).code == 2
    assert kgcheck("profile", "validate", "ckg").code == 0
    said = kgcheck("profile", "list")
    assert {line.split()[0] for line in said.out.splitlines()} == {"ckg"}
