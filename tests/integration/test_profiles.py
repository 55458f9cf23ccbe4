"""Graphs that are not CKG's: the two other profiles from file to finding, drafts of profiles, folders of one's own."""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from kgcheck.errors import ConfigurationError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckTask
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.recognise import recognise
from kgcheck.profile.reference_files import load_reference_recipes
from kgcheck.profile.schema import load_schema
from kgcheck.profile.validate import validate_profile
from tests.support.audits import LEDGER, demo, demo_audit, kgcheck
from tests.support.neo4j_fixtures import Neo4jTarget

Wrong = set[tuple[str, str]]

OBSOLETE = {
    ("id_obsolete", "GO:0000188"),
    ("id_obsolete", "GO:0010942"),
    ("id_obsolete", "GO:0061428"),
    ("id_obsolete", "GO:1901215"),
}
"""Terms with which gene2go annotated genes in 2018, and which GO has dropped since."""


def build(references: Path, snapshot: Path, profile: str) -> Path:
    said = kgcheck("reference", "build", references, "--out", snapshot, "--profile", profile)
    assert said.code == 0, said.err
    return snapshot


def load(folder: Path, store: object, profile: str) -> None:
    quarantine = folder.parent / f"{profile_dir(profile).name}.jsonl"
    said = kgcheck("load", folder, "--store", store, "--profile", profile, "--quarantine", quarantine)
    assert said.code == 0, said.err
    assert not quarantine.exists()


def audited(store: object, snapshot: Path | None, profile: str, ledger: Path) -> tuple[Wrong, dict[str, int]]:
    """What is wrong in the graph, as reason and subject, and the number of tasks by outcome."""
    reference = ("--reference", snapshot) if snapshot else ("--type", "structure")
    said = kgcheck("audit", "--store", store, "--profile", profile, "--ledger", ledger, *reference)
    assert said.code in (0, 1, 3), said.err
    return found_in(ledger, profile)


def found_in(ledger: Path, profile: str) -> tuple[Wrong, dict[str, int]]:
    """What the last audit in a ledger came to, see `audited`."""
    with Ledger(ledger) as kept:
        run = kept.run("latest")
        findings = list(kept.findings(run))
        counts: dict[str, int] = {}
        for tally in kept.tallies(run):
            counts[tally.outcome.value] = counts.get(tally.outcome.value, 0) + tally.count
        assert run.profile == load_schema(profile).address
    wrong = {
        (f.verdict.reason.value if f.verdict.reason else "", _subject(f.task))
        for f in findings
        if f.mark.graph in ("lacks_it", "has_it_wrongly")
    }
    return wrong, counts


def _subject(task: CheckTask) -> str:
    return f"{task.subject.id} {task.relation} {task.object.id}" if task.object else task.subject.id


def copied(profile: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(profile_dir(profile) / "demo" / "import", tmp_path / "import"))


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


Snapshots = Callable[[str], Path]


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Snapshots:
    """Builds the snapshot of the demo of a profile, once; to be read only."""

    @cache
    def built(profile: str) -> Path:
        return build(profile_dir(profile) / "demo/reference", tmp_path_factory.mktemp(profile) / "r.duckdb", profile)

    return built


class Loaded(NamedTuple):
    """The store of a demo, and what an audit with the profile that is shipped finds."""

    store: Path
    wrong: Wrong
    counts: dict[str, int]


@pytest.fixture(scope="module")
def hetionet(tmp_path_factory: pytest.TempPathFactory, snapshots: Snapshots) -> Loaded:
    """The demo of Hetionet; to be read only."""
    made = tmp_path_factory.mktemp("hetionet")
    store = made / "g.lbdb"
    load(copied("hetionet", made), store, "hetionet")
    return Loaded(store, *audited(store, snapshots("hetionet"), "hetionet", made / "l.sqlite"))


def test_the_kgx_demo_from_file_to_finding(tmp_path: Path, snapshots: Snapshots) -> None:
    snapshot = snapshots("kgx")
    load(copied("kgx", tmp_path), tmp_path / "g.lbdb", "kgx")
    wrong, counts = audited(tmp_path / "g.lbdb", snapshot, "kgx", tmp_path / "l.sqlite")
    nodes = {w for w in wrong if w[0] != "endpoint_deleted"}
    # A gene that HGNC has merged, and terms that GO has dropped: the graph's own history, nothing seeded.
    assert nodes == OBSOLETE | {("id_withdrawn", "HGNC:6")}
    assert {subject.split()[-1] for reason, subject in wrong if reason == "endpoint_deleted"} == {
        term for _, term in OBSOLETE
    }
    assert counts["supported"] > 200


@pytest.mark.slow
def test_faults_that_are_put_into_the_kgx_demo_are_found(tmp_path: Path, snapshots: Snapshots) -> None:
    folder, snapshot = copied("kgx", tmp_path), snapshots("kgx")
    # An edge between labels that its predicate does not join, a name that is misspelt, a parent that is none.
    change(folder / "edges.tsv", "HGNC:7127\tbiolink:gene_associated_with_condition", "HGNC:6\tbiolink:regulates")
    change(folder / "nodes.tsv", "\tcystic fibrosis\t\t", "\tcystic fibrosus\t\t")
    change(folder / "edges.tsv", "DOID:893\tbiolink:subclass_of\tDOID:896", "DOID:893\tbiolink:subclass_of\tDOID:65")
    said = kgcheck("load", folder, "--store", tmp_path / "g.lbdb", "--profile", "kgx", "--format", "json")
    assert said.code == 0, said.err
    # A gene regulates no disease: that row has an end of another label, and is told.
    assert '"unknown_tail": 1' in said.out
    wrong, _ = audited(tmp_path / "g.lbdb", snapshot, "kgx", tmp_path / "l.sqlite")
    # Wilson disease is a metal metabolism disorder, and no connective tissue disease.
    assert ("edge_unsupported", "DOID:893 subclass_of DOID:65") in wrong
    assert ("edge_missing", "DOID:893 subclass_of DOID:896") in wrong
    assert ("value_mismatch", "DOID:1485") in wrong


@pytest.mark.slow
def test_rows_of_kgx_that_end_early_and_quotes_within_are_read(tmp_path: Path) -> None:
    rows = ["id\tcategory\tname\tdescription\txref", 'HGNC:5\tbiolink:Gene\tA1BG\t""odd"" text ""\tx|y']
    rows += [
        'HGNC:6\tbiolink:Gene\tA "5" B',
        'HGNC:7\tbiolink:Gene\t"quoted\twhole"\t\t',
        "HGNC:8\tbiolink:Gene" + "\t" * 9,
    ]
    rows += ['HGNC:9\tbiolink:Gene\t"eps\tlong"\tx']
    (tmp_path / "import").mkdir()
    (tmp_path / "import/nodes.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    (tmp_path / "import/edges.tsv").write_text(
        "subject\tpredicate\tobject\nHGNC:5\tbiolink:interacts_with\tHGNC:6\n", encoding="utf-8"
    )

    said = kgcheck("load", tmp_path / "import", "--store", tmp_path / "g.lbdb", "--profile", "kgx")

    assert "1 row cannot be loaded (1 field_count)" in said.err
    schema = load_schema("kgx")
    with EmbeddedStore(tmp_path / "g.lbdb", schema) as store:
        found = store.nodes(schema.label("Gene"), ["HGNC:5", "HGNC:6", "HGNC:7", "HGNC:9"])
    assert {id_: row.get("name") for id_, row in found.items()} == {
        "HGNC:5": "A1BG",
        "HGNC:6": 'A "5" B',
        "HGNC:7": "quoted\twhole",
        # With as many fields as columns, the quotes are characters.
        "HGNC:9": '"eps',
    }
    assert found["HGNC:5"]["description"] == '""odd"" text ""'


def test_the_hetionet_demo_from_file_to_finding(tmp_path: Path, snapshots: Snapshots, hetionet: Loaded) -> None:
    assert {w for w in hetionet.wrong if w[0] != "endpoint_deleted"} == OBSOLETE
    assert hetionet.counts["supported"] > 180
    # One annotation moves to a gene that gene2go annotates otherwise.
    folder = copied("hetionet", tmp_path)
    edges = folder / "hetionet-v1.0-edges.sif"
    first = next(line for line in edges.read_text().splitlines() if line.startswith("Gene::1080\tGpMF"))
    change(edges, first + "\n", first.replace("Gene::1080", "Gene::5053") + "\n")
    load(folder, tmp_path / "other.lbdb", "hetionet")
    wrong, changed = audited(tmp_path / "other.lbdb", snapshots("hetionet"), "hetionet", tmp_path / "l.sqlite")
    assert ("edge_missing", f"1080 PARTICIPATES {first.split('::')[-1]}") in wrong
    # The tables hold no whole hierarchy of GO, so that the new edge might rest on a term below: that cannot be told.
    assert (hetionet.counts.get("insufficient", 0), changed["insufficient"]) == (0, 1)


@pytest.mark.nightly
@pytest.mark.slow
def test_one_snapshot_of_real_files_serves_both(shared_data: Path, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for name in (
        *("ckg_sources/hgnc_entries_2017.tsv", "ckg_sources/GO_9606_direct_expev.tsv"),
        *("ckg_sources/go_terms_unipept_2024-06.tsv", "ckg_sources/human_disease_knowledge_full.tsv.gz"),
        *("ontologies/HumanDO_2026.tsv", "ontologies/HumanDO_2016.obo", "ontologies/goslim_generic.obo"),
    ):
        shutil.copy(shared_data / name, files)
    (files / "HumanDO_2016.obo").rename(files / "HumanDO_2015.obo")
    # The recipes of Hetionet are those of KGX and one more.
    snapshot = build(files, tmp_path / "r.duckdb", "hetionet")
    # The whole table of terms gives this id the name of GO:0008104, which the demo's few terms lack.
    secondary = ("id_secondary", "GO:0034613")
    for profile, withdrawn in (("kgx", {("id_withdrawn", "HGNC:6"), secondary}), ("hetionet", {secondary})):
        folder = tmp_path / profile
        shutil.copytree(profile_dir(profile) / "demo" / "import", folder / "import")
        load(folder / "import", tmp_path / f"{profile}.lbdb", profile)
        wrong, counts = audited(tmp_path / f"{profile}.lbdb", snapshot, profile, tmp_path / f"{profile}.sqlite")
        assert {w for w in wrong if w[0].startswith("id_")} == OBSOLETE | withdrawn
        assert counts["supported"] > 150


def drafted(store: object, out: Path, snapshot: Path | None, ledger: Path) -> tuple[Wrong, dict[str, int]]:
    """Draft a profile of a store, and audit with it as it is."""
    said = kgcheck("profile", "init", "--store", store, "--out", out)
    assert said.code == 0, said.err
    said = kgcheck("profile", "validate", out)
    assert said.code == 0, said.out
    return audited(store, snapshot, str(out), ledger)


@pytest.mark.slow
def test_a_draft_of_the_hetionet_demo_audits_without_an_edit(
    tmp_path: Path, snapshots: Snapshots, hetionet: Loaded
) -> None:
    found = drafted(hetionet.store, tmp_path / "draft", snapshots("hetionet"), tmp_path / "d.sqlite")
    assert found == (hetionet.wrong, hetionet.counts)
    draft = tomllib.loads((tmp_path / "draft" / "graph.toml").read_text())
    assert [label["name"] for label in draft["labels"]] == [
        *("Biological_process", "Cellular_component", "Disease", "Gene", "Molecular_function")
    ]
    assert all("authority" in label for label in draft["labels"])


@pytest.mark.slow
def test_a_draft_of_the_ckg_demo_on_a_server_audits_without_an_edit(
    clean_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    snapshot, store = demo().reference, clean_neo4j.uri
    said = kgcheck("load", profile_dir("ckg") / "demo/import", "--store", store, "--quarantine", tmp_path / "q.jsonl")
    assert said.code == 0, said.err
    # Of the embedded store: that an audit finds the same on both is shown elsewhere.
    shipped, counts = found_in(demo_audit() / LEDGER, "ckg")
    wrong, drafted_counts = drafted(store, tmp_path / "draft", snapshot, tmp_path / "d.sqlite")
    # What the draft cannot know: which relations mean the same either way, which properties must be there.
    assert {w for w in wrong if w[0].startswith(("id_", "value_", "edge_unsupported"))} == {
        w for w in shipped if w[0].startswith(("id_", "value_", "edge_unsupported"))
    }
    assert drafted_counts["supported"] >= 0.9 * counts["supported"]


@pytest.mark.slow
def test_nodes_of_several_labels_are_read_by_the_one_that_says_most(
    clean_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, snapshots: Snapshots
) -> None:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    snapshot = snapshots("kgx")
    load(copied("kgx", tmp_path), clean_neo4j.uri, "kgx")
    with clean_neo4j.driver() as driver:
        rows, _, _ = driver.execute_query("MATCH (n:Gene:NamedThing) RETURN count(n) AS n")
        assert rows[0]["n"] == 14
        # A graph that somebody else made: nothing says which profile it is of, and one label has an odd name.
        driver.execute_query("MATCH (n:KgcheckStore) DELETE n")
        driver.execute_query("CREATE (:`odd name` {id: 'x'}), (:Nameless {size: 1}), (:Other {identifier: 'o'})")
    wrong, _ = drafted(clean_neo4j.uri, tmp_path / "draft", snapshot, tmp_path / "d.sqlite")
    assert OBSOLETE | {("id_withdrawn", "HGNC:6")} <= wrong
    text = (tmp_path / "draft" / "graph.toml").read_text()
    draft = tomllib.loads(text)
    own = [label for label in draft["labels"] if label["name"] != "Other"]
    assert {label["name"] for label in own} == set(load_schema("kgx").label_names)
    assert all(label["also"] == ["NamedThing"] for label in own)
    assert [label["key"] for label in draft["labels"] if label["name"] == "Other"] == ["identifier"]
    assert "label 'odd name', 1 nodes: not a plain name" in text
    assert "label Nameless, 1 nodes: no property called like an id" in text
    assert text.count("hierarchy = true  # a guess") == 2


def test_ids_are_recognised_by_their_form_and_their_label() -> None:
    def of(name: str, *ids: str) -> tuple[str, str | None, bool] | None:
        found = recognise(name, ids)
        return found and (found.label.authority.source, found.label.authority.namespace, found.sure)

    assert of("Protein", "P04637", "Q9H0H5") == ("uniprot", None, True)
    assert of("Illness", "DOID:1485") == ("do", None, True)
    assert of("Process", "GO:0006915") == ("go", None, True)
    assert of("biological process", "GO:0006915") == ("go", "biological_process", True)
    # Any word has the form of a symbol: only the name of the label makes it one.
    assert of("Gene", "TP53", "BRCA1") == ("hgnc", None, True)
    assert of("City", "Paris") == ("hgnc", None, False)
    assert of("Gene", "7157", "672") == ("ncbigene", None, True)
    assert of("Gene", "HGNC:11998") == ("hgnc_id", None, True)
    assert recognise("Note", ["two words and more"]) is None


@pytest.mark.slow
def test_a_folder_anywhere_is_a_profile_and_a_run_finds_it_again(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(profile_dir("hetionet"), mine)
    load(copied("hetionet", tmp_path), tmp_path / "g.lbdb", str(mine))
    ledger = tmp_path / "l.sqlite"
    assert audited(tmp_path / "g.lbdb", None, str(mine), ledger) == (set(), {})
    with Ledger(ledger) as kept:
        assert kept.run("latest").profile == str(mine)
    said = kgcheck("load", tmp_path / "import", "--profile", "mine", cwd=tmp_path)
    assert said.code == 2
    assert "a folder of yours is named by a path: --profile ./mine" in said.err


def test_a_profile_of_somebody_else_leads_nowhere_and_hangs_nothing(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(profile_dir("hetionet"), mine)
    graph = (mine / "graph.toml").read_text()
    (mine / "graph.toml").write_text(graph.replace("id_pattern = '[0-9]+'", "id_pattern = '(([0-9]+)+)+x'", 1))
    schema, began = load_schema(str(mine)), time.monotonic()
    assert not schema.label("Gene").matches("1" * 512)
    assert time.monotonic() - began < 5
    for pattern in ("(?<!a)b", "(a", "a)|(b", "(" * 2000):
        (mine / "graph.toml").write_text(graph.replace("id_pattern = '[0-9]+'", f"id_pattern = '{pattern}'", 1))
        with pytest.raises(ConfigurationError, match="id_pattern"):
            load_schema(str(mine))
    (mine / "graph.toml").write_text(graph.replace('"ckg/reference/go.toml"', '"../../etc/passwd"', 1))
    with pytest.raises(ConfigurationError, match="must name files inside"):
        load_schema(str(mine))
    (mine / "graph.toml").write_text(graph)
    (tmp_path / "elsewhere.toml").write_text("source = 'x'")
    (mine / "reference").mkdir()
    (mine / "reference" / "x.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(ConfigurationError, match="leads out of"):
        load_reference_recipes(load_schema(str(mine)))


@pytest.mark.slow
def test_validate_tells_every_mistake_at_once(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(profile_dir("hetionet"), mine)
    graph = (mine / "graph.toml").read_text()
    wrong = graph.replace('name = "Gene"', 'name = "Ge ne"', 1).replace('tail = "Symptom"', 'tail = "Symptoms"')
    (mine / "graph.toml").write_text(wrong.replace('type = "INTERACTS"\n', 'type = "INTERACTS"\nsymetric = 1\n'))
    said = kgcheck("profile", "validate", mine)
    assert said.code == 2
    assert "relations[Gene INTERACTS Gene].symetric: there is no such key" in said.out
    (mine / "graph.toml").write_text(wrong)
    said = kgcheck("profile", "validate", mine)
    assert "labels[Ge ne]: 'Ge ne' is not a plain name" in said.out
    assert "relations[Disease PRESENTS Symptoms].tail: Disease PRESENTS Symptoms names the label 'Symptoms'" in said.out
    (mine / "graph.toml").write_text(graph.replace('id_example = "9021"', 'id_example = "x"'))
    files = (mine / "files.toml").read_text()
    (mine / "files.toml").write_text(files.replace('label = "Gene"', 'label = "Gen"'))
    (mine / "reference").mkdir()
    (mine / "reference" / "x.toml").write_text("source = 1\nnmae = 'x'\n")
    (mine / "lexicon.toml").write_text("[words")
    found = validate_profile(str(mine))
    told = "\n".join(map(str, found.mistakes))
    assert "labels[Gene].id_example: 'x' does not have the form of id_pattern" in told
    assert "files.toml: nodes[hetionet-v1.0-nodes.tsv Gen]: there is no label 'Gen'" in told
    assert "did you mean Gene" in told
    assert "x.toml: nmae: there is no such key" in told
    assert "lexicon.toml: " in told
    assert kgcheck("profile", "validate", mine).code == 2
    assert kgcheck("profile", "validate", "ckg").code == 0
    said = kgcheck("profile", "list")
    assert {line.split()[0] for line in said.out.splitlines()} == {"ckg", "hetionet", "kgx"}


def test_a_graph_without_a_key_is_no_profile(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    assert kgcheck("profile", "init", "--store", tmp_path / "none.lbdb", "--out", nothing).code == 2
    assert not nothing.exists()
    with EmbeddedStore(tmp_path / "g.lbdb", load_schema("hetionet"), create=True) as store:
        store.prepare()
    said = kgcheck("profile", "init", "--store", tmp_path / "g.lbdb", "--out", nothing)
    assert said.code == 2
    assert "has a key" in said.err
