"""Statements of a model over both stores: honest ones answer alike, and a server is never sent an attack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import StoreError, StoreUnavailable, UsageError
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
from tests.support.audits import audited, comparable, demo
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


@pytest.mark.slow
def test_nodes_are_judged_alike_in_both(server: Neo4jStore, embedded: EmbeddedStore, tmp_path: Path) -> None:
    """Of the whole demo, tests/integration/test_stores_agree.py says the same."""
    here, there = (
        audited(store, tmp_path / f"{store.backend}.sqlite", demo().reference, ids=("MGEA5", "PARK2", "P15056"))
        for store in (embedded, server)
    )

    assert len(here.findings) > 2
    assert comparable(here) == comparable(there)


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


@pytest.fixture
def large(server: Neo4jStore) -> Iterator[None]:
    """A node with a name of 100,000 characters."""
    with server._driver.session() as session:
        session.run("CREATE (:Protein {id: 'large', name: $name})", name="x" * 100_000).consume()
        yield
        session.run("MATCH (p:Protein {id: 'large'}) DELETE p").consume()


@pytest.mark.usefixtures("large")
def test_a_server_gives_no_more_than_the_embedded_store(server: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def noted(value: Any) -> Any:
        seen.append(value)
        return value

    monkeypatch.setattr("kgcheck.graph.neo4j.shown", noted)
    many = "MATCH (p:Protein {id: 'large'}), (q:Protein) RETURN p.name + p.name AS x"
    with pytest.raises(StoreError, match="gave too much"):
        rows(server, many)
    # 21 rows of 200 kB are over 4 MiB: the others are never asked for.
    assert len(seen) == 21
    for listed in ("collect(p.id)", "collect(p.id) + collect(q.id)", "collect(DISTINCT toLower(p.id + q.id)) AS x"):
        with pytest.raises(StoreError, match="gave too much"):
            rows(server, f"MATCH (p:Protein), (q:Protein) RETURN {listed}")
    counted = "MATCH (p:Protein), (q:Protein) RETURN size(collect(p.id)) > 4000 AS many"
    assert rows(server, counted) == [{"many": True}]
    assert rows(server, "MATCH (p:Protein {id: 'O60502'}) RETURN collect(p.id) AS x") == [{"x": ["O60502"]}]


@pytest.mark.usefixtures("large")
def test_a_server_outlives_a_statement_that_takes_its_memory(server: Neo4jStore) -> None:
    hundred = "[" + ",".join(f"'{i}'" for i in range(100)) + "]"
    hungry = f"UNWIND {hundred} AS a UNWIND {hundred} AS b RETURN collect(p.name + a + b)"
    with pytest.raises(StoreError, match="took too much memory") as refused:
        rows(server, f"MATCH (p:Protein {{id: 'large'}}) {hungry}")
    assert not isinstance(refused.value, StoreUnavailable)
    assert rows(server, "MATCH (p:Protein {id: 'O60502'}) RETURN p.id AS x") == [{"x": "O60502"}]


def test_a_setting_of_the_server_is_read(server: Neo4jStore) -> None:
    assert server.setting("db.memory.transaction.max")
    assert server.setting("there.is.none") is None
