"""Statements of a model over both stores: honest ones answer alike, and a server is never sent an attack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.reading import read_statement
from kgcheck.graph.store import GraphStore
from kgcheck.loading.load import load_directory
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support import examples
from tests.support.attacks import HONEST, Canaries, attacks
from tests.support.audits import demo
from tests.support.neo4j_fixtures import Neo4jTarget, erase
from tests.unit.test_llm_brain import Source

CKG = load_schema()


@pytest.fixture(scope="module")
def server(neo4j_server: Neo4jTarget, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jStore]:
    """The demo graph on a server."""
    if not neo4j_server.erasable:
        pytest.fail(f"{neo4j_server.uri} was not empty when the tests began: not erasing it")
    user: dict[str, Any] = {"neo4j_user": neo4j_server.user, "neo4j_password": neo4j_server.password}
    asked = Settings(**user)
    with neo4j_server.driver() as driver:
        erase(driver)
        folder = profile_dir("ckg") / "demo" / "import"
        quarantine = tmp_path_factory.mktemp("demo") / "quarantine.jsonl"
        with Neo4jStore(neo4j_server.uri, CKG, asked, create=True) as store:
            load_directory(folder, store, asked, quarantine=quarantine)
        with Neo4jStore(neo4j_server.uri, CKG, asked) as store:
            yield store
        erase(driver)


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedStore]:
    """The demo graph in a file."""
    with EmbeddedStore(demo().store, CKG) as store:
        yield store


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canaries]:
    with Canaries(tmp_path_factory.mktemp("canaries")) as made:
        yield made


def rows(store: GraphStore, text: str) -> Any:
    return plain(store.query(read_statement(text, CKG, store.backend), 100, 30.0))


def plain(value: Any) -> Any:
    """Without what one store leaves out and the other states as null, and to nine digits."""
    match value:
        case float():
            return round(value, 9)
        case dict():
            return {k: plain(v) for k, v in value.items() if v is not None}
        case list() | tuple():
            return [plain(v) for v in value]
        case _:
            return value


@pytest.mark.parametrize("text", [text for text, _ in HONEST])
def test_both_stores_answer_alike(server: Neo4jStore, embedded: EmbeddedStore, text: str) -> None:
    assert rows(server, text) == rows(embedded, text)


@given(attack=attacks())
@settings(max_examples=examples(100))
def test_no_attack_does_harm_on_a_server(server: Neo4jStore, canaries: Canaries, attack: str) -> None:
    try:
        found = Toolbox(server, Source()).call(AgentRole.KG, "cypher", {"query": canaries.aim(attack)})
        shown = found.model_dump_json()
    except UsageError:
        # What is refused before anything is sent cannot have changed anything.
        shown = ""
    assert canaries.harm(shown) == []


def test_no_attack_changed_the_server(server: Neo4jStore, embedded: EmbeddedStore) -> None:
    assert server.counts() == embedded.counts()


def test_without_the_guard_a_server_would_fetch(server: Neo4jStore, tmp_path: Path) -> None:
    """Why the guard is the layer that counts there: to the server, LOAD CSV reads."""
    with Canaries(tmp_path) as canaries, server._driver.session(default_access_mode="READ") as session:
        with pytest.raises(Exception, match=r"[Ll]oad|[Cc]ouldn't|resource"):
            session.run(canaries.aim("LOAD CSV FROM '{URL}' AS line RETURN line")).consume()
        assert canaries.calls
