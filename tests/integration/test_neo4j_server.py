"""The Neo4j server that the other integration tests rely on does what they take for granted."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import neo4j
import pytest

from tests.support import neo4j_server as support
from tests.support.neo4j_fixtures import Neo4jTarget, erase
from tests.support.neo4j_server import Neo4jServer, Neo4jStartError


@pytest.mark.slow
def test_erase_leaves_only_the_lookup_indexes(clean_neo4j: Neo4jTarget) -> None:
    with clean_neo4j.driver() as driver:
        driver.execute_query("CREATE CONSTRAINT `it's ``odd``` FOR (n:Protein) REQUIRE n.id IS UNIQUE")
        driver.execute_query("CREATE INDEX FOR (n:Protein) ON (n.name)")
        driver.execute_query("UNWIND range(1, 25000) AS i CREATE (:Protein {id: i})-[:ACTS_ON]->(:Gene)")

        erase(driver)

        counts, _, _ = driver.execute_query("MATCH (n) RETURN count(n) AS nodes")
        constraints, _, _ = driver.execute_query("SHOW CONSTRAINTS YIELD name")
        indexes, _, _ = driver.execute_query("SHOW INDEXES YIELD type RETURN DISTINCT type")
    assert counts[0]["nodes"] == 0
    assert not constraints
    assert [record["type"] for record in indexes] == ["LOOKUP"]


@pytest.mark.slow
@pytest.mark.usefixtures("neo4j_jars")
def test_stop_frees_the_ports_and_keeps_what_admin_imported(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("id:ID,:LABEL\nP22303,Protein\nP05067,Protein\n", encoding="utf-8")
    server = Neo4jServer(tmp_path / "home", short_lived=True)
    server.admin(["database", "import", "full", "neo4j", f"--nodes={nodes}"])

    with server, neo4j.GraphDatabase.driver(server.uri) as driver:
        found, _, _ = driver.execute_query("MATCH (n:Protein) RETURN count(n) AS proteins")

    assert found[0]["proteins"] == 2
    for address in (server.uri, server.http):
        with socket.socket() as probe:
            assert probe.connect_ex((support.HOST, urlsplit(address).port or 0)) != 0
    server.stop()


@pytest.mark.usefixtures("neo4j_jars")
def test_failed_start_shows_the_console(tmp_path: Path) -> None:
    server = Neo4jServer(tmp_path, settings={"no.such.setting": "1"}, short_lived=True)

    with pytest.raises(Neo4jStartError, match=r"status 1 (?s:.*)no\.such\.setting"):
        server.start()
