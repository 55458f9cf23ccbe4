"""Fixtures of several integration tests."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from kgcheck.graph.embedded import EmbeddedStore
from tests.integration.import_directory import ACTS_ON, CKG, CROWD, PROTEINS, ImportDirectory, content
from tests.support.audits import demo
from tests.support.neo4j_fixtures import Neo4jTarget


@pytest.fixture(params=["embedded", "neo4j"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an empty store; on a server, one that loads have prepared before."""
    if request.param == "embedded":
        return str(tmp_path / "graph.lbdb")
    target: Neo4jTarget = request.getfixturevalue("ready_neo4j")
    monkeypatch.setenv("KGCHECK_NEO4J_USER", target.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", target.password)
    return target.uri


@pytest.fixture
def within_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests of a test are counted in one minute, whenever it begins and however long it takes."""
    monkeypatch.setattr("limits.storage.memory.time", SimpleNamespace(time=lambda: 600.0))


@pytest.fixture(scope="session")
def demo_graph() -> Path:
    """The demo graph, loaded without a fault; to be read only."""
    return demo().store


@pytest.fixture(scope="session")
def whole(demo_graph: Path) -> dict[str, list[str]]:
    """What the demo graph holds."""
    with EmbeddedStore(demo_graph, CKG) as store:
        return content(store)


@pytest.fixture(scope="session")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> ImportDirectory:
    """Many proteins, and as many edges that end nowhere; to be read only."""
    made = ImportDirectory(tmp_path_factory.mktemp("crowd"))
    made.write(PROTEINS, *(made.row(PROTEINS, ID=f"P{i}", description=f"{i:x}" * 20) for i in range(CROWD)))
    made.write(ACTS_ON, *(made.row(ACTS_ON, start=f"P{i}", end="nowhere", source=f"{i}" * 9) for i in range(CROWD)))
    return made
