"""Graphs on a server that somebody else filled: keys of other names, keys that are numbers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import neo4j
import pytest

from kgcheck import Settings
from kgcheck.curation.operations import read_patch
from kgcheck.errors import StoreError
from kgcheck.graph.changes import content_digest
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.reading import read_statement
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.schema import Schema, load_schema
from tests.integration.test_profiles import Wrong, audited, build, copied, drafted, load
from tests.support.audits import kgcheck
from tests.support.neo4j_fixtures import Neo4jTarget

pytestmark = pytest.mark.slow

_AS_HETIONET_HAS_IT = """
MATCH (n) WHERE n.id IS NOT NULL
SET n.identifier = CASE WHEN n:Gene THEN toInteger(n.id) ELSE n.id END REMOVE n.id
"""


@pytest.fixture
def server(clean_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch) -> Neo4jTarget:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    return clean_neo4j


def foreign(driver: neo4j.Driver, statement: str) -> None:
    """Make of what kgcheck loaded a graph that it did not: no constraint, no record of a load."""
    names, _, _ = driver.execute_query("SHOW CONSTRAINTS YIELD name RETURN name")
    for (name,) in names:
        driver.execute_query(f"DROP CONSTRAINT `{name}`")
    driver.execute_query("MATCH (n:KgcheckStore) DELETE n")
    driver.execute_query(statement)


def test_keys_that_are_numbers_or_have_another_name(server: Neo4jTarget, tmp_path: Path) -> None:
    snapshot = build(profile_dir("hetionet") / "demo" / "reference", tmp_path / "r.duckdb", "hetionet")
    load(copied("hetionet", tmp_path), server.uri, "hetionet")
    as_shipped = audited(server.uri, snapshot, "hetionet", tmp_path / "l.sqlite")
    with server.driver() as driver:
        foreign(driver, _AS_HETIONET_HAS_IT)

    # As it is drafted, so it audits: the same findings as with keys of kgcheck's own.
    mine = tmp_path / "mine"
    assert drafted(server.uri, mine, snapshot, tmp_path / "d.sqlite") == as_shipped
    labels = {label["name"]: label for label in tomllib.loads((mine / "graph.toml").read_text())["labels"]}
    assert {label["key"] for label in labels.values()} == {"identifier"}
    assert {name for name, label in labels.items() if label.get("key_type") == "integer"} == {"Gene"}

    schema = load_schema(str(mine))
    asked = ("--store", server.uri, "--profile", str(mine), "--ledger", tmp_path / "d.sqlite")
    said = kgcheck("findings", *asked[4:])
    assert said.code == 0, said.err
    said = kgcheck("check", "existence", "Gene", "1080", *asked, "--reference", snapshot)
    assert said.code == 0, said.err
    assert "supported" in said.out
    with Neo4jStore(server.uri, schema, Settings()) as store:
        gene = schema.label("Gene")
        assert set(store.nodes(gene, ["1080", "01080", "x", "9" * 30])) == {"1080"}
        assert store.unknown() == {}
        _reads_of_a_model(store, schema)
        before = content_digest(store)

    # Findings become changes of this graph, and go away again.
    patch = tmp_path / "p"
    said = kgcheck("decide", "--outcome", "refuted", "accept", "--yes", "--by", "me", "--ledger", tmp_path / "d.sqlite")
    assert said.code == 0, said.err
    said = kgcheck("patch", "make", "--accepted", "--out", patch, *asked)
    assert said.code == 0, said.err + said.out
    said = kgcheck("patch", "apply", read_patch(patch).id, *asked)
    assert said.code == 0, said.err + said.out
    repaired = audited(server.uri, snapshot, str(mine), tmp_path / "d.sqlite")
    assert len(repaired[0]) < len(as_shipped[0])
    said = kgcheck("patch", "undo", read_patch(patch).id, *asked)
    assert said.code == 0, said.err + said.out
    with Neo4jStore(server.uri, schema, Settings()) as store:
        assert content_digest(store) == before
        # A load writes texts.
        with pytest.raises(StoreError, match="numbers for keys"):
            store.prepare()


def _reads_of_a_model(store: Neo4jStore, schema: Schema) -> None:
    def rows(text: str) -> list[dict[str, object]]:
        return store.query(read_statement(text, schema, store.backend), 10, 30)

    assert rows("MATCH (g:Gene {id: '1080'}) RETURN g.id AS id") == [{"id": "1080"}]
    assert rows("MATCH (g:Gene) WHERE g.id = '1080' RETURN count(*) AS n") == [{"n": 1}]
    (found,) = rows("MATCH (g:Gene {id: '1080'})-[:PARTICIPATES]->(m:Molecular_function) RETURN m.id AS id LIMIT 1")
    assert str(found["id"]).startswith("GO:")


def as_kgx_writes_it(driver: neo4j.Driver) -> None:
    labels, _, _ = driver.execute_query("MATCH (n) UNWIND labels(n) AS label RETURN DISTINCT label")
    for (label,) in labels:
        driver.execute_query(f"MATCH (n:`{label}`) SET n:`biolink:{label}` REMOVE n:`{label}`")
    types, _, _ = driver.execute_query("MATCH ()-[r]->() RETURN DISTINCT type(r) AS type")
    for (name,) in types:
        driver.execute_query(
            f"MATCH (a)-[r:`{name}`]->(b) CREATE (a)-[s:`biolink:{name}`]->(b) SET s = properties(r) DELETE r"
        )


def plainly(wrong: Wrong) -> Wrong:
    return {(reason, subject.replace("biolink:", "")) for reason, subject in wrong}


@pytest.mark.nightly
def test_names_with_a_prefix_as_kgx_writes_them(server: Neo4jTarget, tmp_path: Path) -> None:
    snapshot = build(profile_dir("kgx") / "demo" / "reference", tmp_path / "r.duckdb", "kgx")
    load(copied("kgx", tmp_path), server.uri, "kgx")
    with server.driver() as driver:
        foreign(driver, "RETURN 1")
        plain, counts = drafted(server.uri, tmp_path / "plain", snapshot, tmp_path / "l.sqlite")
        as_kgx_writes_it(driver)

    mine = tmp_path / "mine"
    wrong, counted = drafted(server.uri, mine, snapshot, tmp_path / "d.sqlite")
    # Of names that are Biolink's own, its domains are asked for, too: enables is of no gene.
    assert plainly(wrong) == plain
    assert counted == {**counts, "insufficient": counts["insufficient"] + 1}
    assert counts["supported"] > 200
    schema = load_schema(str(mine))
    assert all(name.startswith("biolink:") for name in (*schema.label_names, *schema.relation_types))
    text = "MATCH (g:`biolink:Gene`)-[:`biolink:located_in`]->(c:`biolink:CellularComponent`) RETURN count(*) AS n"
    with Neo4jStore(server.uri, schema, Settings()) as store:
        asked = store.query(read_statement(text, schema, "neo4j"), 10, 30)
        # The same in an embedded store.
        with EmbeddedStore(tmp_path / "g.lbdb", schema, create=True) as copy:
            copy.prepare()
            for label in schema.labels:
                for table in store.scan_nodes(label):
                    copy.add_nodes(label, table)
            for pattern in schema.relations:
                for table in store.scan_edges(pattern):
                    copy.add_edges(pattern, table)
    with EmbeddedStore(tmp_path / "g.lbdb", schema) as copy:
        assert copy.query(read_statement(text, schema, "embedded"), 10, 30) == asked
    assert asked[0]["n"] > 0
    assert drafted(tmp_path / "g.lbdb", tmp_path / "again", snapshot, tmp_path / "e.sqlite") == (wrong, counted)
