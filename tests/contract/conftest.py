"""The stores that the contract is held against: each test runs once on each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from py2neo import Graph

from kgcheck.graph.store import GraphStore
from tests.contract.stores import Embedded, Official, Opener, Py2neo
from tests.support.neo4j_fixtures import Neo4jTarget


@pytest.fixture(scope="module")
def graph(neo4j_server: Neo4jTarget) -> Iterator[Graph]:
    """A py2neo Graph, whose connections are its owner's to close."""
    opened = Graph(neo4j_server.uri, auth=neo4j_server.auth)
    yield opened
    opened.service.connector.close()


def on_server(request: pytest.FixtureRequest, backend: str, *, ready: bool = False) -> Official | Py2neo:
    """A store on the server."""
    target = request.getfixturevalue("ready_neo4j" if ready else "clean_neo4j")
    return Official(target) if backend == "neo4j" else Py2neo(target, request.getfixturevalue("graph"))


PY2NEO = pytest.param("py2neo", marks=pytest.mark.slow)
"""It sends what the official driver sends, and answers more slowly."""


@pytest.fixture(params=["embedded", "neo4j", PY2NEO])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param == "embedded":
        return Embedded(tmp_path / "graph.lbdb")
    return on_server(request, request.param, ready=not {"store", "ready"}.isdisjoint(request.fixturenames))


@pytest.fixture
def ready(opener: Opener) -> Opener:
    """Opens a store that the test prepares before anything else."""
    return opener


@pytest.fixture(params=["neo4j", PY2NEO])
def server(request: pytest.FixtureRequest) -> Official | Py2neo:
    return on_server(request, request.param)


@pytest.fixture
def store(opener: Opener) -> Iterator[GraphStore]:
    """An empty store, ready to be written to."""
    with opener(create=True) as opened:
        opened.prepare()
        yield opened
