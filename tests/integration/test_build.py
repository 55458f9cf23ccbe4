"""A graph that is built from its sources: what becomes a node, a property and an edge, and what an audit says of it."""

import csv
import fcntl
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.audit.run import Audit
from kgcheck.errors import InputError, SnapshotError, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger
from kgcheck.loading.load import load_directory
from kgcheck.loading.manifest import read_manifest
from kgcheck.model import CheckType, Outcome, Reason
from kgcheck.options import AuditOptions
from kgcheck.profile.import_files import NodeFile, holder_of, load_recipe
from kgcheck.profile.schema import load_schema
from kgcheck.profile.toml_files import WrongFile
from kgcheck.progress import NoProgress
from kgcheck.reference import import_directory
from kgcheck.reference.import_directory import BuiltDirectory, build_import
from kgcheck.settings import Settings
from tests.support import ROOT, examples
from tests.support.audits import MemoryStore, audited, kgcheck
from tests.support.facts import SCHEMA, SETTINGS, Facts
from tests.support.snapshots import crowded_snapshots, snapshots

RECIPE = load_recipe(SCHEMA)
FACTS_OF_DEMO = ROOT / "loaders/ckg/demo/reference"
JUDGED = (CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE)

Table = list[dict[str, str]]


def built(sources: Path, out: Path) -> BuiltDirectory:
    """Build the import directory of a snapshot, or of a folder of files."""
    return build_import(sources, out, SCHEMA, RECIPE, SETTINGS, NoProgress())


def read(out: Path, file: str) -> Table:
    """The rows of a file."""
    with (out / file).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def edges(out: Path, file: str) -> set[tuple[str, str]]:
    """The pairs of a file of edges."""
    return {(row["START_ID"], row["END_ID"]) for row in read(out, file)}


def loaded(out: Path) -> MemoryStore:
    """The graph of an import directory, read without the loader."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    stated: dict[str, list[dict[str, Any]]] = {}
    for entry in RECIPE.files:
        for row in read(out, entry.file):
            values: dict[str, Any] = {name: row[column] or None for name, column in entry.properties.items()}
            for name, spec in holder_of(entry, SCHEMA).properties.items():
                if name in values and spec.type == "strings":
                    values[name] = [part for part in (values[name] or "").split(",") if part]
            if isinstance(entry, NodeFile):
                nodes.setdefault(entry.label, []).append({"id": row[entry.id], **values})
            else:
                score = {"score": float(values["score"])} if values.get("score") else {}
                ends = {"head": row[entry.from_column], "tail": row[entry.to_column]}
                stated.setdefault(entry.target, []).append(ends | values | score)
    return MemoryStore(nodes, stated)


@pytest.fixture(scope="module")
def demo_built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The import directory of the demo's facts, by the command, with the graph loaded."""
    folder = tmp_path_factory.mktemp("built")
    done = kgcheck("build", FACTS_OF_DEMO, "--out", folder / "import", "--store", folder / "graph.lbdb")
    assert done.code == 0, done.err
    return folder


def test_a_graph_that_was_built_is_supported_and_lacks_nothing(demo_built: Path, tmp_path: Path) -> None:
    snapshot = demo_built / "import/reference.duckdb"
    with EmbeddedStore(demo_built / "graph.lbdb", SCHEMA) as store:
        counts = store.counts()
        judged = audited(store, tmp_path / "l.sqlite", snapshot, types=JUDGED)
        lacking = audited(store, tmp_path / "p.sqlite", snapshot, types=(CheckType.POTENTIAL,), threshold=0.4)

    assert counts.total_nodes > 500
    assert counts.total_edges > 1_000
    assert judged.findings == []
    supported = sum(tally.count for tally in judged.tallies if tally.outcome is Outcome.SUPPORTED)
    assert supported > 2_000
    # STRING's physical network beside IntAct is a check of these edges, and no source of the file.
    assert {str(f.task.relation) for f in lacking.findings} <= {"CURATED_INTERACTS_WITH"}
    (warning,) = (text for text in judged.run.warnings if "built from the same files" in text)
    assert "uniprot" in warning
    assert f"{supported:,} of {supported:,} supported are so by construction" in warning


@pytest.mark.slow
def test_another_release_than_that_of_the_graph_supports_on_its_own(tmp_path: Path) -> None:
    def release(name: str, *ids: str) -> Path:
        facts = Facts()
        facts.release("go", name).entities("Biological_process", *ids)
        return facts.build(tmp_path / name)

    first, second = release("one", "GO:0000011"), release("two", "GO:0000011", "GO:0000012")
    built(first, tmp_path / "import")
    with EmbeddedStore(tmp_path / "graph.lbdb", SCHEMA, create=True) as store:
        load_directory(tmp_path / "import", store, Settings(), quarantine=tmp_path / "rejected.jsonl")
        warnings = []
        for snapshot in (first, second):
            with Ledger(tmp_path / f"{snapshot.parent.name}.sqlite") as ledger:
                options = AuditOptions(types=(CheckType.EXISTENCE,))
                warnings.append(Audit(store, snapshot, ledger, Settings()).start(options).warnings)

    assert ["built from" in " ".join(told) for told in warnings] == [True, False]


PROTEINS = ("P10001", "P10002", "P10003", "P10004")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuiltDirectory]:
    """Facts of each kind that a build must tell apart."""
    facts = Facts()
    uniprot = facts.release("uniprot", "2026_01").entities("Protein", *PROTEINS)
    uniprot.entity("P10009", "Protein", "merged", now=["P10001"]).entity("P10008", "Protein", "deleted")
    for number, accession in enumerate(PROTEINS):
        uniprot.value(accession, "gene_name", f"GEN{number}").value(accession, "protein_name", f'a\tname\n"{number}"')
    uniprot.value("P10001", "gene_name", "AKA", "synonym").value("P10001", "gene_name", "A,B", "synonym")
    uniprot.value("P10001", "gene_name", "OLD", "former").value("P10001", "sequence", "MSTAYK")
    uniprot.value("P10001", "length", "6")
    uniprot.link("HAS_SEQUENCE", "P10001", "P10001").link("HAS_STRUCTURE", "P10009", "1TUP")
    uniprot.link("HAS_MODIFIED_SITE", "P10001", "P10001_S2-p")
    uniprot.link("ASSOCIATED_WITH", "P10001", "GO:0000011").link("ASSOCIATED_WITH", "P10002", "GO:0000099")
    uniprot.link("ASSOCIATED_WITH", "P10008", "GO:0000011")
    # One without a date does not speak where one with a date does.
    facts.release("uniprot", "undated", "").value("P10002", "gene_name", "AAA")
    goa = facts.release("goa").link("ASSOCIATED_WITH", "P10001", "GO:0000011")
    goa.link("ASSOCIATED_WITH", "P10003", "GO:0000011").link("ASSOCIATED_WITH", "P10004", "GO:0000011", negated=True)
    goa.link("ASSOCIATED_WITH", "P10004", "GO:0000011", record="another")
    # A denial counts whoever states the edge, and in either order where order means nothing; not a retracted one.
    uniprot.link("ASSOCIATED_WITH", "P10003", "GO:0000012")
    goa.link("ASSOCIATED_WITH", "P10003", "GO:0000012", negated=True)
    goa.link("ASSOCIATED_WITH", "P10002", "GO:0000011", record="PMID:2")
    goa.link("ASSOCIATED_WITH", "P10002", "GO:0000011", record="PMID:1", negated=True)
    uniprot.link("CURATED_INTERACTS_WITH", "P10001", "P10002").link("CURATED_INTERACTS_WITH", "P10001", "P10003")
    uniprot.link("CURATED_INTERACTS_WITH", "P10002", "P10001", negated=True)
    # Sites of what is gone are gone.
    facts.release("psimod").entities("Modification", "MOD:00046")
    for site in ("P10001_S2-p", "P10008_S2-p", "P10009_S3-p"):
        uniprot.link("HAS_MODIFICATION", site, "MOD:00046")
    go = facts.release("go", complete=True).entities("Biological_process", "GO:0000011", "GO:0000012")
    go.entity("GO:0000013", "Biological_process", "obsolete").entity("GO:0000021", "Molecular_function")
    go.entity("GO:0000031", state="obsolete")
    goa.link("ASSOCIATED_WITH", "P10001", "GO:0000031")
    go.value("GO:0000011", "name", "a process").value("GO:0000011", "definition", "It goes on. [GOC:x]")
    facts.release("string", "11", "2019").link("ACTS_ON", "P10001", "P10002", 0.99)
    early = facts.release("string", "10", "2015").link("ACTS_ON", "P10003", "P10004", 0.9, record="old")
    string = facts.release("string", "12", "2023").link("ACTS_ON", "P10002", "P10001", 0.7)
    string.link("ACTS_ON", "P10003", "P10004", 0.2, record="new")
    # Of one record, the newest release speaks.
    early.link("ACTS_ON", "P10001", "P10004", 0.9, record="same")
    string.link("ACTS_ON", "P10001", "P10004", 0.2, record="same")
    early.link("ACTS_ON", "P10009", "P10004", 0.9, record="moved").link("ACTS_ON", "P10002", "P10004", 0.9)
    string.link("ACTS_ON", "P10004", "P10001", 0.2, record="moved").link("ACTS_ON", "P10004", "P10002", 0.2)
    string.link("ACTS_ON", "P10001", "P10003", 0.39).link("ACTS_ON", "P10002", "P10002", 0.9)
    facts.release("bto", complete=True).entities("Tissue", "BTO:0000001", "BTO:0000002")
    tissues = facts.release("tissues").link(
        "ASSOCIATED_WITH", "P10001", "BTO:0000001", 4.0, record="E1 knowledge (GHR)"
    )
    tissues.link("ASSOCIATED_WITH", "P10001", "BTO:0000001", 3.5, record="E1 knowledge (HPA)")
    tissues.link("ASSOCIATED_WITH", "P10001", "FMA:7163", 3.5)
    tissues.link("ASSOCIATED_WITH", "P10001", "BTO:0000009", 3.5)
    reactome = facts.release("reactome").entities("Pathway", "R-HSA-1", "R-MMU-1", "R-HSA-2")
    reactome.value("R-HSA-1", "name", "Signalling")
    reactome.link("ANNOTATED_IN_PATHWAY", "P10001", "R-HSA-1").link("ANNOTATED_IN_PATHWAY", "P10001", "R-MMU-1")
    reactome.link("ANNOTATED_IN_PATHWAY", "P10001", "SMP00001").link("ANNOTATED_IN_PATHWAY", "P10001", "SMP00003")
    facts.release("smpdb").entity("SMP00001", "Pathway", "deleted")
    facts.release("pubmed").entity("PMID:1", state="withdrawn")
    hgnc = facts.release("hgnc").entities("Gene", "GEN1", "GEN2")
    hgnc.link("TRANSLATED_INTO", "GEN1", "P10002", record="PMID:1").link("TRANSLATED_INTO", "GEN2", "P10001")
    hgnc.link("TRANSLATED_INTO", "GEN2", "P10006")
    uniprot.entities("Protein", "P10006")
    goa.link("ASSOCIATED_WITH", "P10005", "GO:0000012")
    folder = tmp_path_factory.mktemp("crowded")
    return folder / "import", built(facts.build(folder), folder / "import")


def test_edges_are_what_sources_state_today(crowded: tuple[Path, BuiltDirectory]) -> None:
    out, _ = crowded
    # Under the id that replaced the merged one.
    assert edges(out, "databases/Protein_has_structure.tsv") == {("P10001", "1TUP")}
    # Without the obsolete term, the deleted protein, and what a source also denies; each once, of the first source.
    processes = read(out, "databases/Biological_process_associated_with.tsv")
    assert [(row["START_ID"], row["END_ID"], row["source"], row["score"]) for row in processes] == [
        ("P10001", "GO:0000011", "UniProt", "5"),
        ("P10002", "GO:0000011", "GOA", "5"),
        ("P10003", "GO:0000011", "GOA", "5"),
        ("P10005", "GO:0000012", "GOA", "5"),
    ]
    assert edges(out, "databases/intact_interacts_with.tsv") == {("P10001", "P10003")}
    assert edges(out, "databases/signor_modified_protein_has_modification.tsv") == {("P10001_S2-p", "MOD:00046")}
    # Once, with the newer score; none below the cut-off, and none from a node to itself.
    acts_on, of_a_record = read(out, "databases/string_protein_acts_on_protein.tsv")
    assert (acts_on["START_ID"], acts_on["END_ID"], acts_on["score"]) == ("P10001", "P10002", "0.7")
    # Another record of a pair counts by itself; the score is that of the newest release.
    assert (of_a_record["START_ID"], of_a_record["END_ID"], of_a_record["score"]) == ("P10003", "P10004", "0.2")
    assert (acts_on["source"], acts_on["action"], acts_on["TYPE"]) == ("STRING", "association", "COMPILED_ACTS_ON")
    # One for each channel, cited by its name.
    tissues = read(out, "databases/Protein_Tissue_associated_with_integrated.tsv")
    assert [(row["source"], row["score"]) for row in tissues] == [("TISSUES (GHR)", "4"), ("TISSUES (HPA)", "3.5")]
    # Nothing that rests on a retracted paper alone.
    assert edges(out, "databases/Protein_gene_translated_into.tsv") == {("GEN2", "P10001"), ("GEN2", "P10006")}


def test_nodes_are_what_authorities_list_or_edges_name(crowded: tuple[Path, BuiltDirectory]) -> None:
    out, made = crowded
    # One that no release lists, and nobody says to be gone, is a node where a link names it.
    assert {row["ID"] for row in read(out, "databases/Protein.tsv")} == {*PROTEINS, "P10005", "P10006"}
    assert [row["ID"] for row in read(out, "ontologies/Biological_process.tsv")] == ["GO:0000011", "GO:0000012"]
    assert [row["ID"] for row in read(out, "ontologies/Molecular_function.tsv")] == ["GO:0000021"]
    # Only with an edge: a pathway without proteins, and a sequence that no protein has, are nobody's.
    assert [row["ID"] for row in read(out, "databases/reactome_Pathway.tsv")] == ["R-HSA-1", "R-MMU-1"]
    (small,) = read(out, "databases/smpdb_Pathway.tsv")
    assert (small["ID"], small["source"], small["linkout"]) == ("SMP00003", "SMPDB", "https://smpdb.ca/view/SMP00003")
    assert [row["ID"] for row in read(out, "databases/Amino_acid_sequence.tsv")] == ["P10001"]
    assert [row["ID"] for row in read(out, "databases/signor_Modified_protein.tsv")] == ["P10001_S2-p"]
    assert made.nodes == sum(len(read(out, f.file)) for f in RECIPE.nodes)
    assert made.edges == sum(len(read(out, f.file)) for f in RECIPE.edges)


def test_properties_are_what_sources_state(crowded: tuple[Path, BuiltDirectory]) -> None:
    out, made = crowded
    protein = read(out, "databases/Protein.tsv")[0]
    # A name with the separator of lists in it, and one of before, are none of its names; and a row is a line.
    assert (protein["name"], protein["synonyms"], protein["description"]) == ("GEN0", "AKA,GEN0", 'a name "0"')
    assert read(out, "databases/Protein.tsv")[1]["name"] == "GEN1"
    (sequence,) = read(out, "databases/Amino_acid_sequence.tsv")
    assert (sequence["sequence"], sequence["size"], sequence["source"]) == ("MSTAYK", "6", "UniProt")
    (site,) = read(out, "databases/signor_Modified_protein.tsv")
    assert (site["protein"], site["residue"], site["position"]) == ("P10001", "S", "2")
    human, mouse = read(out, "databases/reactome_Pathway.tsv")
    assert (human["name"], human["description"], human["organism"]) == ("Signalling", "Signalling", "9606")
    assert human["linkout"] == "https://reactome.org/PathwayBrowser/#/R-HSA-1"
    assert (mouse["name"], mouse["organism"], mouse["source"]) == ("", "10090", "Reactome")
    process = read(out, "ontologies/Biological_process.tsv")[0]
    assert (process["description"], process["type"]) == ("It goes on. [GOC:x]", "-21")
    (proteins,) = (f for f in made.files if f.file == "databases/Protein.tsv")
    assert proteins.unfilled == ("accession", "taxid")
    # From a link, where the authority states none: who says so is a source of the file.
    assert [row["name"] for row in read(out, "databases/Protein.tsv")[4:]] == ["", "GEN2"]
    assert proteins.sources == ("goa", "hgnc", "uniprot")
    assert {f.file: f.unfilled for f in made.files}["databases/Gene.tsv"] == ("name", "family", "synonyms")


def test_what_is_left_out_is_counted_by_why(crowded: tuple[Path, BuiltDirectory]) -> None:
    _, made = crowded
    assert made.left_out == {
        "databases/Biological_process_associated_with.tsv": {"a denial": 2, "an id that is not current": 3},
        "databases/Protein_Tissue_associated_with_integrated.tsv": {
            "an id of another form": 1,
            "an id that is not current": 1,
        },
        "databases/intact_interacts_with.tsv": {"a denial": 1},
        "databases/reactome_protein_annotated_to_pathway.tsv": {"an id that is not current": 1},
        "databases/signor_modified_protein_has_modification.tsv": {"an id that is not current": 2},
    }


def test_the_manifest_names_the_source_of_each_file(crowded: tuple[Path, BuiltDirectory]) -> None:
    out, _ = crowded
    files = json.loads((out / "manifest.json").read_text())["files"]
    assert set(files) == set(RECIPE.by_file)
    (string,) = {s["source"] for s in files["databases/string_protein_acts_on_protein.tsv"]["sources"]}
    assert string == "string"
    assert files["databases/Protein_disgenet_associated_with.tsv"]["sources"] == []
    versions = {s["version"] for s in files["databases/Protein.tsv"]["sources"] if s["source"] == "uniprot"}
    assert versions == {"2026_01 (2026-01-01)", "undated"}
    assert all(entry["rows"] == len(read(out, name)) for name, entry in files.items())


@settings(max_examples=examples(4))
@given(st.one_of(snapshots(), crowded_snapshots().map(lambda drawn: drawn[1])))
def test_nothing_that_is_built_is_refuted(tmp_path_factory: pytest.TempPathFactory, facts: Facts) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    try:
        snapshot = facts.build(folder)
        made = built(snapshot, folder / "import")
    except (SnapshotError, InputError):
        # Of nothing, there is no snapshot.
        return
    store = loaded(folder / "import")
    nodes = {(entry.label, row["ID"]) for entry in RECIPE.nodes for row in read(folder / "import", entry.file)}
    for entry in RECIPE.edges:
        for head, tail in edges(folder / "import", entry.file):
            assert {(entry.head, head), (entry.tail, tail)} <= nodes
    if made.nodes:
        found = audited(store, folder / "l.sqlite", snapshot, types=JUDGED).findings
        # Where sources contradict each other, the edge of the one that states it stands.
        assert {f.verdict.reason for f in found} <= {Reason.CONFLICTING_EVIDENCE}


SIGNS = "\"'\\,;|\t\r\n #:{}\ufeff\u2028\x85\x0b\x1c\x00"
TEXTS = st.text(st.one_of(st.sampled_from(SIGNS), st.characters(exclude_categories=["Cs"])), min_size=1, max_size=12)


@settings(max_examples=examples(9))
@given(st.lists(TEXTS, min_size=60, max_size=60))
def test_any_text_of_a_snapshot_is_loaded_as_it_stands(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    stated = {f"P{10001 + number}": text for number, text in enumerate(texts)}
    facts = Facts()
    release = facts.release("uniprot").entities("Protein", *stated)
    for accession in stated:
        release.value(accession, "protein_name", "to be replaced")
    snapshot = facts.build(folder)
    # A table of facts could not hold some of them; a snapshot of somebody else can.
    with duckdb.connect(str(snapshot)) as db:
        for accession, text in stated.items():
            db.execute("UPDATE value SET value = ? WHERE id = ?", [text, accession]).fetchall()
    built(snapshot, folder / "import")

    with EmbeddedStore(folder / "graph.lbdb", SCHEMA, create=True) as store:
        done = load_directory(folder / "import", store, Settings(), quarantine=folder / "rejected.jsonl")
        rows = [row for table in store.scan_nodes(SCHEMA.label("Protein")) for row in table.to_pylist()]

    assert done.quarantined == 0
    # What ends a line or a field is a space.
    expected = {accession: re.sub(r"[\t\r\n\x00]+", " ", text) for accession, text in stated.items()}
    assert {row["id"]: row["description"] for row in rows} == expected


# --- the command


@pytest.mark.slow
def test_the_command_shows_files_and_what_is_left_out(demo_built: Path) -> None:
    again = kgcheck("build", demo_built / "import/reference.duckdb", "--out", demo_built / "import")
    assert again.code == 0, again.err
    assert "databases/Protein.tsv" in again.out
    assert "not filled" in again.out
    assert "1 with an id that is not current left out" in again.err
    assert "no source states anything for 5 files: databases/smpdb_Pathway.tsv" in again.err
    assert "next: kgcheck load" in again.err
    whole = json.loads(kgcheck("build", FACTS_OF_DEMO, "--out", demo_built / "json", "--format", "json").out)
    counted: Mapping[str, int] = {f["file"]: f["rows"] for f in whole["files"]}
    assert counted["databases/Protein.tsv"] > 100
    # The same facts are the same bytes.
    for name in RECIPE.by_file:
        assert (demo_built / "json" / name).read_bytes() == (demo_built / "import" / name).read_bytes()


def test_what_cannot_be_built_is_one_clear_line(demo_built: Path, tmp_path: Path) -> None:
    snapshot = demo_built / "import/reference.duckdb"
    (tmp_path / "others/databases").mkdir(parents=True)
    for name in ("databases/Protein.tsv", "reference.duckdb"):
        (tmp_path / "others" / name).write_text("mine\n")
    # Somebody else's manifest says nothing of a build.
    (tmp_path / "others/manifest.json").write_text('{"files": {}}')
    (tmp_path / "file").write_text("")
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest/manifest.json").write_text("[]")
    refused = kgcheck("build", snapshot, "--out", tmp_path / "manifest")
    assert refused.refuses(f"{tmp_path / 'manifest'} has a manifest.json that kgcheck build did not make")

    for sources in (snapshot, FACTS_OF_DEMO):
        refused = kgcheck("build", sources, "--out", tmp_path / "others")
        assert refused.refuses(f"{tmp_path / 'others'} has a databases/Protein.tsv that kgcheck build did not make")
    for name in ("databases/Protein.tsv", "reference.duckdb"):
        assert (tmp_path / "others" / name).read_text() == "mine\n"
    assert kgcheck("build", snapshot, "--out", tmp_path / "file" / "x").refuses("cannot write")
    assert kgcheck("build", tmp_path / "nothing", "--out", tmp_path / "new").refuses("there is no folder")
    assert kgcheck("build", tmp_path / "file", "--out", tmp_path / "new").refuses(f"{tmp_path / 'file'} is not a")
    named = kgcheck("build", snapshot, "--out", tmp_path / "new", "--release", "go=1")
    assert named.refuses("releases are of files, and a snapshot names its own")


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_that_fails_leaves_the_files_as_they_were(
    demo_built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = demo_built / "import/reference.duckdb"
    built(snapshot, tmp_path / "import")
    before = files_in(tmp_path / "import")

    def full(*_: object) -> dict[str, str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(import_directory, "_constants", full)
    with pytest.raises(InputError, match="No space left"):
        built(snapshot, tmp_path / "import")

    assert files_in(tmp_path / "import") == before


def test_a_build_cut_off_between_two_files_is_not_loaded_and_is_done_again(
    demo_built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, out = demo_built / "import/reference.duckdb", tmp_path / "import"
    real, put = os.replace, list[Path]()

    def cut_off(source: Path, target: Path) -> None:
        if Path(target).suffix == ".tsv":
            put.append(Path(target))
        if len(put) == 3:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr("kgcheck.reference.import_directory.os.replace", cut_off)
    with pytest.raises(KeyboardInterrupt):
        built(snapshot, out)
    monkeypatch.undo()

    assert kgcheck("load", out, "--store", tmp_path / "g.lbdb").refuses(f"the build of {out} was cut off")
    built(snapshot, out)
    assert {f.relative_to(out) for f in files_in(out)} == {Path("manifest.json"), *map(Path, RECIPE.by_file)}
    assert kgcheck("load", out, "--store", tmp_path / "g.lbdb", "--dry-run").code == 0


def test_a_build_cut_off_before_its_files_is_done_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> dict[str, str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_directory, "_constants", cut_off)
    with pytest.raises(KeyboardInterrupt):
        built(FACTS_OF_DEMO, tmp_path)
    assert files_in(tmp_path) == {}
    monkeypatch.undo()
    built(FACTS_OF_DEMO, tmp_path)
    assert (tmp_path / "reference.duckdb").is_file()


def test_a_snapshot_that_no_build_made_is_not_replaced(demo_built: Path, tmp_path: Path) -> None:
    mine = tmp_path / "reference.duckdb"
    shutil.copy(demo_built / "import/reference.duckdb", mine)
    built(mine, tmp_path)
    with pytest.raises(UsageError, match=r"has a reference\.duckdb that kgcheck build did not make"):
        built(FACTS_OF_DEMO, tmp_path)


def test_two_builds_do_not_mix(demo_built: Path, tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(UsageError, match="another build writes in"):
            built(demo_built / "import/reference.duckdb", tmp_path)
    finally:
        os.close(descriptor)


@pytest.mark.slow
def test_what_was_not_read_again_has_the_sources_of_the_newer_build(tmp_path: Path) -> None:
    versions = []
    # The second has one file of the first, and the third all of the second.
    for release, gene in (("one", "AA1"), ("two", "BB1"), ("three", "BB1")):
        facts = Facts()
        facts.release("go", release).entities("Biological_process", "GO:0000011")
        facts.release("hgnc", release).entities("Gene", gene)
        built(facts.build(tmp_path / release), tmp_path / "import")
        with EmbeddedStore(tmp_path / "graph.lbdb", SCHEMA, create=True) as store:
            load_directory(tmp_path / "import", store, Settings(), quarantine=tmp_path / "rejected.jsonl")
            manifest = read_manifest(store.meta())
        assert manifest
        versions.append({manifest.files[f"{n}.tsv"].origins[0].version for n in FILES_OF_TWO})

    assert versions == [{f"{release} (2026-01-01)"} for release in ("one", "two", "three")]


FILES_OF_TWO = ("ontologies/Biological_process", "databases/Gene")


@pytest.mark.slow
def test_a_load_by_build_says_what_the_store_had_before(demo_built: Path, tmp_path: Path) -> None:
    facts = Facts()
    facts.release("hgnc").entities("Gene", "AA1")
    store = tmp_path / "graph.lbdb"
    shutil.copy(demo_built / "graph.lbdb", store)
    done = kgcheck("build", facts.build(tmp_path), "--out", tmp_path / "import", "--store", store)
    assert done.code == 0, done.err
    assert "Disease: 43 that no file states stay; --prune takes them away" in done.err


@pytest.mark.parametrize(
    ("constants", "mistake"),
    [
        ('{ type = "{nothing}" }', "{nothing} stands for nothing; what does: {id}"),
        ('{ ID = "x" }', "'ID' is a column of ids, and no constant"),
    ],
)
def test_a_constant_that_means_nothing_is_a_mistake_of_the_profile(
    constants: str, mistake: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "loaders/ckg", tmp_path / "mine")
    files = tmp_path / "mine/files.toml"
    text = files.read_text().replace('{ ":LABEL" = "Disease", type = "-26" }', constants)
    files.write_text(text)
    with pytest.raises(WrongFile) as caught:
        load_recipe(load_schema(str(tmp_path / "mine")))
    assert mistake in str(caught.value)
