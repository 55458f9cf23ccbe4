"""Fixtures of several integration tests."""

from pathlib import Path

import pytest

from tests.support.neo4j_fixtures import Neo4jTarget


@pytest.fixture(params=["embedded", "neo4j"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an empty store."""
    if request.param == "embedded":
        return str(tmp_path / "graph.lbdb")
    target: Neo4jTarget = request.getfixturevalue("clean_neo4j")
    monkeypatch.setenv("KGCHECK_NEO4J_USER", target.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", target.password)
    return target.uri
