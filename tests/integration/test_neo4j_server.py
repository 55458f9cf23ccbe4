"""The Neo4j server that the other integration tests rely on does what they take for granted."""

from __future__ import annotations

import shutil
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import neo4j
import pytest
from neo4j.exceptions import AuthError

from tests.support import neo4j_jars
from tests.support import neo4j_server as support
from tests.support.neo4j_fixtures import Neo4jTarget, erase
from tests.support.neo4j_jars import Neo4jUnavailable
from tests.support.neo4j_server import Neo4jServer, Neo4jStartError
from tests.support.ports import free_port


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A loopback port that someone else listens on."""
    with socket.socket() as listener:
        listener.bind((support.HOST, 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_server_answers(neo4j_server: Neo4jTarget) -> None:
    with neo4j_server.driver() as driver:
        found, _, _ = driver.execute_query("CALL dbms.components() YIELD name, versions RETURN name, versions")

    assert found[0]["name"] == "Neo4j Kernel"


def test_server_answers_http(neo4j_server: Neo4jTarget) -> None:
    if neo4j_server.http is None:
        pytest.skip("the HTTP address of KGCHECK_TEST_NEO4J_URI is not known")

    with urllib.request.urlopen(neo4j_server.http, timeout=10) as response:
        assert response.status == 200


@pytest.mark.parametrize("password", ["neo4j", "wrong password"])
def test_wrong_password_is_refused(neo4j_server: Neo4jTarget, password: str) -> None:
    auth = (neo4j_server.user, password)
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=auth) as driver, pytest.raises(AuthError):
        driver.verify_connectivity()


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


@pytest.mark.slow
@pytest.mark.usefixtures("neo4j_jars")
def test_failed_start_shows_the_log(tmp_path: Path, taken_port: int) -> None:
    with pytest.raises(Neo4jStartError, match="already in use"):
        Neo4jServer(tmp_path, bolt_port=taken_port, short_lived=True).start()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("neo4j_jars")
def test_lost_port_is_replaced_and_the_home_keeps_its_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, taken_port: int
) -> None:
    find = free_port
    ports = iter([find(), taken_port, find(), find()])
    with monkeypatch.context() as patch:
        patch.setattr(support, "free_port", lambda: next(ports))
        with Neo4jServer(tmp_path, "first password", short_lived=True) as server:
            assert urlsplit(server.http).port != taken_port

    with pytest.raises(Neo4jStartError, match="made with another password"):
        Neo4jServer(tmp_path, "second password", short_lived=True).start()


@pytest.mark.slow
@pytest.mark.usefixtures("neo4j_jars")
def test_failed_admin_command_shows_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"no-such-database exited with 70:\nFailed to prepare"):
        Neo4jServer(tmp_path, short_lived=True).admin(["database", "check", "no-such-database"])


def test_short_password_is_refused_before_a_home_is_made_with_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 8"):
        Neo4jServer(tmp_path, "short")


def test_missing_java_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Neo4jUnavailable, match="java is not on PATH"):
        neo4j_jars.java()


def test_missing_maven_is_told_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("KGCHECK_NEO4J_CACHE", str(tmp_path / "cache"))

    with pytest.raises(Neo4jUnavailable, match="Maven"):
        neo4j_jars.jars()
    assert not list((tmp_path / "cache").iterdir())


def test_jars_are_fetched_once_and_replace_a_half_filled_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetched: list[Path] = []

    def fetch(target: Path) -> None:
        fetched.append(target)
        target.mkdir()
        (target / "new.jar").touch()

    monkeypatch.setenv("KGCHECK_NEO4J_CACHE", str(tmp_path))
    monkeypatch.setattr(neo4j_jars, "_download", fetch)
    half_filled = tmp_path / f"neo4j-{neo4j_jars.neo4j_version()}"
    half_filled.mkdir()
    (half_filled / "old.jar").touch()

    assert neo4j_jars.jars() == neo4j_jars.jars() == half_filled

    assert len(fetched) == 1
    assert [path.name for path in half_filled.glob("*.jar")] == ["new.jar"]
    assert list(tmp_path.iterdir()) == [half_filled]


def test_jars_of_a_faster_process_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lib = tmp_path / f"neo4j-{neo4j_jars.neo4j_version()}"

    def fetch_too_late(target: Path) -> None:
        target.mkdir()
        shutil.copytree(target, lib)
        (lib / ".complete").touch()
        (lib / "theirs.jar").touch()

    monkeypatch.setenv("KGCHECK_NEO4J_CACHE", str(tmp_path))
    monkeypatch.setattr(neo4j_jars, "_download", fetch_too_late)

    assert [path.name for path in neo4j_jars.jars().glob("*.jar")] == ["theirs.jar"]
