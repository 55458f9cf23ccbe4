"""A Neo4j graph that kgcheck did not load: other types, nodes without ids, edges where none belong."""

import json
from pathlib import Path

import pytest

from kgcheck.errors import StoreError, StoreSchema
from kgcheck.graph.store import AS_TEXT, NO_ID, StrayEdge
from kgcheck.model import Ref
from tests.contract.stores import (
    ACTS_ON,
    IN_DISEASE,
    PROTEIN,
    SEQUENCE,
    Official,
    Py2neo,
    add_nodes,
    all_edges,
    all_nodes,
    edges_table,
    in_order,
    triple,
)
from tests.support.audits import kgcheck
from tests.support.facts import Facts
from tests.support.neo4j_fixtures import Neo4jTarget


def test_numbers_held_as_text_are_read_and_reported(server: Official | Py2neo) -> None:
    server.run(
        "CREATE (a:Protein {id: 'P1'}), (b:Disease {id: 'D1'}), (s:Amino_acid_sequence {id: 'P1', size: '393'})"
        " CREATE (a)-[:ASSOCIATED_WITH {score: '4.5', number_publications: 'many'}]->(b)"
        " CREATE (a)-[:ASSOCIATED_WITH {score: 2, number_publications: 3.0}]->(b)"
    )
    with server() as store:
        assert all_nodes(store, SEQUENCE) == [{"id": "P1", "size": 393, AS_TEXT: ["size"]}]
        assert all_edges(store, IN_DISEASE) == in_order(
            [
                {"head": "P1", "tail": "D1", "score": 4.5, AS_TEXT: ["score", "number_publications"]},
                {"head": "P1", "tail": "D1", "score": 2.0, "number_publications": 3},
            ]
        )
        assert store.node(Ref(label="Amino_acid_sequence", id="P1")) == {"id": "P1", "size": 393}
        assert in_order(store.edges(triple("P1", IN_DISEASE, "D1"))) == in_order(
            [{"score": 2.0, "number_publications": 3}, {"score": 4.5, "number_publications": "many"}]
        )


def test_values_of_other_types_are_brought_to_those_of_the_schema(server: Official | Py2neo) -> None:
    server.run("CREATE (:Protein {id: 'P1', name: 53, taxid: 9606, synonyms: 'one', extra: date('2026-01-01')})")
    with server() as store:
        wanted = {"id": "P1", "name": "53", "taxid": "9606", "synonyms": ["one"]}
        assert store.node(Ref(label="Protein", id="P1")) == wanted
        assert all_nodes(store, PROTEIN) == [wanted]


def test_a_node_without_an_id_is_scanned_but_has_no_key(server: Official | Py2neo) -> None:
    server.run("CREATE (a:Protein {name: 'x'}) CREATE (b:Disease {id: 'D1'}) CREATE (a)-[:ASSOCIATED_WITH]->(b)")
    with server() as store:
        assert all_nodes(store, PROTEIN) == [{"id": NO_ID, "name": "x"}]
        assert all_edges(store, IN_DISEASE) == [{"head": NO_ID, "tail": "D1"}]
        assert store.node(Ref(label="Protein", id=NO_ID)) is None
        assert store.counts().nodes["Protein"] == 1


@pytest.mark.slow
def test_edges_between_labels_that_no_pattern_joins(server: Official | Py2neo) -> None:
    server.run(
        "CREATE (p:Protein {id: 'P1'}), (q:Protein:Human {id: 'P2'}), (d:Disease {id: 'D1'}), (g:Gadget), (n)"
        " CREATE (p)-[:ACTS_ON]->(q), (q)-[:ASSOCIATED_WITH]->(d), (p)-[:OWNS]->(g)"
        " CREATE (d)-[:ASSOCIATED_WITH]->(q), (p)-[:ACTS_ON]->(g), (n)-[:ACTS_ON]->(p)"
    )
    wanted = [
        StrayEdge(head_label="Disease", head_id="D1", relation="ASSOCIATED_WITH", tail_label="Protein", tail_id="P2"),
        StrayEdge(head_label="Protein", head_id="P1", relation="ACTS_ON", tail_label="Gadget", tail_id=NO_ID),
        StrayEdge(head_label="", head_id=NO_ID, relation="ACTS_ON", tail_label="Protein", tail_id="P1"),
    ]
    with server() as store:
        assert store.stray_edges(10) == wanted
        assert store.stray_edges(2) == wanted[:2]
        assert store.stray_edges(0) == []


@pytest.mark.parametrize(
    ("more", "between_proteins", "to_diseases"),
    [
        ("", 2, 1),
        ("CREATE (p)-[:ACTS_ON]->(g)", 2, 1),
        ("CREATE (g)-[:ACTS_ON]->(p)", 2, 1),
        ("CREATE (p)-[:ACTS_ON]->(g), (g)-[:ACTS_ON]->(q), (g)-[:ACTS_ON]->(g)", 2, 1),
        ("SET g:Protein CREATE (g)-[:ACTS_ON]->(q)", 3, 1),
        ("CREATE (q)-[:ASSOCIATED_WITH]->(g), (d)-[:ASSOCIATED_WITH]->(p), (g)-[:ASSOCIATED_WITH]->(d)", 2, 1),
    ],
)
def test_edges_are_counted_by_both_ends(
    server: Official | Py2neo, more: str, between_proteins: int, to_diseases: int
) -> None:
    server.run(
        "CREATE (p:Protein {id: 'P1'}), (q:Protein {id: 'P2'}), (d:Disease {id: 'D1'}), (g:Gadget {id: 'G1'})"
        f" CREATE (p)-[:ACTS_ON]->(q), (p)-[:ACTS_ON]->(q), (p)-[:ASSOCIATED_WITH]->(d) {more}"
    )
    with server() as store:
        edges = store.counts().edges
    assert edges[str(ACTS_ON)] == between_proteins
    assert edges[str(IN_DISEASE)] == to_diseases
    assert sum(edges.values()) == between_proteins + to_diseases


def test_a_graph_of_other_labels_is_refused(server: Official | Py2neo) -> None:
    server.run("CREATE (:Movie {title: 'x'}), (:Person)")
    for create in (False, True):
        with pytest.raises(StoreSchema, match="its labels are Movie, Person"):
            server(create=create)


def test_nodes_that_share_an_id_are_named_when_a_load_prepares(server: Official | Py2neo) -> None:
    server.run("CREATE (:Protein {id: 'P1'}), (:Protein {id: 'P1'})")
    with server(create=True) as store, pytest.raises(StoreError, match="share an id") as caught:
        store.prepare()
    assert "remove the duplicates" in caught.value.hint


def test_an_index_in_the_way_of_a_constraint_is_named(server: Official | Py2neo) -> None:
    server.run("CREATE INDEX mine FOR (n:Protein) ON (n.id)")
    with server(create=True) as store, pytest.raises(StoreError, match="index where a load needs") as caught:
        store.prepare()
    assert caught.value.hint == "drop that index"


@pytest.mark.slow
def test_a_constraint_of_another_name_serves_as_well(server: Official | Py2neo) -> None:
    server.run("CREATE CONSTRAINT mine FOR (n:Protein) REQUIRE n.id IS UNIQUE")
    with server(create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "P1")
        assert store.counts().nodes["Protein"] == 1


@pytest.mark.slow
def test_reading_creates_nothing(server: Official | Py2neo) -> None:
    server.run("CREATE (:Protein {id: 'P1'})")
    with server() as store:
        store.counts(), store.meta(), store.stray_edges(3)
        all_nodes(store, PROTEIN), all_edges(store, ACTS_ON)
    with server.target.driver() as driver:
        assert driver.execute_query("MATCH (n) RETURN count(n) AS n")[0][0]["n"] == 1
        assert driver.execute_query("SHOW CONSTRAINTS")[0] == []


@pytest.mark.slow
def test_an_edge_whose_end_has_vanished_is_not_lost_in_silence(server: Official | Py2neo) -> None:
    with server(create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "P1")
        with pytest.raises(StoreError, match="wrote 0 of 1 rows"):
            store.add_edges(ACTS_ON, edges_table(ACTS_ON, {"head": "P1", "tail": "P2"}))


def test_what_the_profile_does_not_know_is_counted(server: Official | Py2neo) -> None:
    server.run(
        "CREATE (p:Protein {id: 'P1', name: 'x', extra: 1}) CREATE (:Protein:Old {id: 'P2', extra: 2})"
        " CREATE (d:Drug {id: 'D1', dose: 3}) CREATE (d)-[:TREATS {since: 1}]->(p)"
        " CREATE (p)-[:ACTS_ON {score: 0.5, weight: 2}]->(p)"
    )

    with server() as store:
        assert store.unknown() == {
            "label Drug": 1,
            "label Old": 1,
            "relation TREATS": 1,
            "property ACTS_ON.weight": 1,
            "property Protein.extra": 2,
        }


@pytest.mark.slow
def test_audit_check_and_ask_agree_on_nodes_that_share_an_id(
    clean_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only a load makes the constraint. One node, of the smallest stated value, is what all three see."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    with clean_neo4j.driver() as driver:
        driver.execute_query(
            "CREATE (g:Gene {id: 'TP53'})"
            " CREATE (a:Protein {id: 'P04637', name: 'zzz'}), (b:Protein {id: 'P04637', name: 'mdm'})"
            " CREATE (g)-[:TRANSLATED_INTO]->(a), (g)-[:TRANSLATED_INTO]->(b)"
        )
    facts = Facts()
    facts.release("uniprot").value("P04637", "gene_name", "TP53")
    sources = ("--store", clean_neo4j.uri, "--reference", facts.build(tmp_path))

    def found(*command: str) -> list[tuple[str, str, str]]:
        told = json.loads(kgcheck(*command, *sources, "--format", "json").out)
        rows = told.get("findings", [told])
        return [(r["fingerprint"], r["value"], r["reason"]) for r in rows if r["attribute"] in (None, "name")]

    names = found("audit", "--type", "attribute", "--label", "Protein")
    asked = kgcheck("ask", "How many proteins does the gene TP53 code for?", "--store", clean_neo4j.uri)

    assert [(value, reason) for _, value, reason in names] == [("mdm", "value_mismatch")]
    assert found("check", "attribute", "Protein", "P04637", "name") == names
    assert (asked.code, asked.out.splitlines()[-1]) == (0, "1")
    told = found("audit", "--type", "structure", "--label", "Protein")
    assert "shared_id" in {reason for _, _, reason in told}
