"""What an audit of files tells of a graph, and what it leaves alone, where no case of a rule can say it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.audits import kgcheck

OBO = """format-version: 1.4
ontology: x

[Term]
id: GO:0005634
name: nucleus
is_a: GO:0005575 ! cellular_component

[Term]
id: GO:0005575
name: cellular_component

[Term]
id: GO:0044464
name: obsolete cell part
is_obsolete: true

[Term]
id: GO:0000003
name: alone

[Typedef]
id: part_of
name: part of
"""
SSSOM = """#mapping_set_id: https://example.org/set
subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\tmapping_justification
doid:1\tasthma\tskos:exactMatch\tmesh:D1\tasthma\tsemapv:ManualMappingCuration
doid:2\tgout\tskos:exactMatch\tmesh:D2\tgouty arthritis\tsemapv:ManualMappingCuration
doid:3\tplague\tskos:exactMatch\tmesh:D3\tplague\tsemapv:ManualMappingCuration
umls:C4\tgout\tskos:exactMatch\tmesh:D4\tpodagra\tsemapv:ManualMappingCuration
"""
TURTLE = """@prefix GO: <http://purl.obolibrary.org/obo/GO_> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/x.owl> a owl:Ontology .
GO:0000001 a owl:Class ; rdfs:subClassOf GO:0000002 .
GO:0000002 a owl:Class ; owl:disjointWith GO:0000003 .
GO:0000003 a owl:Class .
GO:0000004 a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:unionOf ( GO:0000001 GO:0000005 ) ] .
GO:0000005 a owl:Class .
GO:0000009 a owl:Class ; rdfs:label "alone" .
"""
NODES = """id\tcategory\tname\ttaxon
HGNC:10848\tbiolink:NamedThing|biolink:Gene\tSHH\tNCBITaxon:9606
NCBIGene:100512749\tbiolink:Gene|biolink:Genes\tSHH\tNCBITaxon:9823
NCBIGene:6469\tbiolink:Gene\tSHH\tNCBITaxon:9606
"""
EDGES = "subject\tpredicate\tobject\nHGNC:10848\tbiolink:homologous_to\tNCBIGene:100512749\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_HOME", str(tmp_path / "home"))


def found(reason: str, files: Mapping[str, str], folder: Path) -> list[tuple[str, str | None, str | None]]:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    said = kgcheck("audit", *files, "--unfold", "--format", "json", cwd=folder)
    findings = json.loads(said.out)["findings"]
    return [(f["subject"]["id"], (f["object"] or {}).get("id"), f["value"]) for f in findings if f["reason"] == reason]


def test_an_ontology_has_relations_and_obsolete_terms_without_edges(tmp_path: Path) -> None:
    assert [head for head, _, _ in found("orphan_node", {"x.obo": OBO}, tmp_path)] == ["GO:0000003"]


def test_nodes_of_which_files_state_more_than_edges_are_no_orphans(tmp_path: Path) -> None:
    assert [head for head, _, _ in found("orphan_node", {"x.ttl": TURTLE}, tmp_path)] == ["GO:0000009"]
    nodes = "id\tcategory\nHGNC:1\tbiolink:Gene\n"
    assert found("orphan_node", {"x_nodes.tsv": nodes}, tmp_path) == [], "no file has edges"


def test_each_thing_of_a_class_may_be_joined_to_another_of_it(tmp_path: Path) -> None:
    loops = "is_a: GO:0005634\nrelationship: part_of GO:0005634\n"
    text = OBO.replace("is_a: GO:0005575 ! cellular_component\n", loops)

    assert found("unexplained_loop", {"x.obo": text}, tmp_path) == [("GO:0005634", "GO:0005634", None)]


def test_each_two_terms_that_are_each_others_parents_are_told(tmp_path: Path) -> None:
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0), (3, 0)]
    text = "subject\tpredicate\tobject\n" + "".join(f"GO:{a}\tsubclass_of\tGO:{b}\n" for a, b in pairs)

    told = {(head, tail) for head, tail, _ in found("parent_cycle", {"x_edges.tsv": text}, tmp_path)}
    assert told == {("GO:0", "GO:1"), ("GO:0", "GO:2")}


def test_an_obsolete_term_has_its_edges_under_another_category_too(tmp_path: Path) -> None:
    nodes = "id\tcategory\tdeprecated\nMONDO:1\tbiolink:Disease\t\nMONDO:1\tbiolink:Procedure\ttrue\n"
    edges = "subject\tpredicate\tobject\nMONDO:1\tbiolink:related_to\tMONDO:2\n"

    files = {"x_nodes.tsv": nodes, "x_edges.tsv": edges}
    assert [head for head, _, _ in found("obsolete_with_edges", files, tmp_path)] == ["MONDO:1"]


def test_two_that_the_graph_calls_the_same_may_have_one_name(tmp_path: Path) -> None:
    others = "subject\tpredicate\tobject\n" + "".join(f"doid:2\trelated_to\tumls:C{n}\n" for n in range(10, 30))
    files = {"x.sssom.tsv": SSSOM, "x_edges.tsv": others}

    assert found("shared_name", files, tmp_path) == [("doid:2", "umls:C4", "gout")]
    # A set of mappings alone says of each pair whether it is one thing.
    assert found("shared_name", {"x.sssom.tsv": SSSOM}, tmp_path) == []


def test_genes_of_two_species_may_have_one_name(tmp_path: Path) -> None:
    shared = found("shared_name", {"x_nodes.tsv": NODES, "x_edges.tsv": EDGES}, tmp_path)

    assert shared == [("HGNC:10848", "NCBIGene:6469", "SHH")]


def test_all_categories_of_a_node_are_held_against_the_model(tmp_path: Path) -> None:
    ((head, _, value),) = found("unknown_category", {"x_nodes.tsv": NODES, "x_edges.tsv": EDGES}, tmp_path)

    assert head == "(all)"
    assert str(value).startswith("biolink:Genes is no class of Biolink 4.4.6")
