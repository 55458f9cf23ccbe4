"""The embedded store and a Neo4j server that hold the same graph give the same findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgcheck.ledger.ledger import Ledger
from tests.support.audits import Audited, comparable, kgcheck, of_run
from tests.support.neo4j_fixtures import Neo4jTarget

ROOT = Path(__file__).resolve().parents[2]


def audit(store: object, reference: Path, ledger: Path) -> Audited:
    said = kgcheck("audit", "--type", "all", "--store", store, "--reference", reference, "--ledger", ledger)
    assert said.code == 1, said.err
    with Ledger(ledger) as kept:
        return of_run(kept, kept.run("latest"))


def load(folder: Path, store: object, quarantine: Path) -> None:
    said = kgcheck("load", folder, "--store", store, "--quarantine", quarantine)
    assert said.code == 0, said.err


def agree(folder: Path, references: Path, server: Neo4jTarget, tmp_path: Path) -> Audited:
    """Load a folder into both stores, audit both against one snapshot, and compare.

    Returns:
        The audit of the embedded store.
    """
    embedded, snapshot = tmp_path / "graph.lbdb", tmp_path / "reference.duckdb"
    assert kgcheck("reference", "build", references, "--out", snapshot).code == 0
    load(folder, embedded, tmp_path / "embedded.jsonl")
    load(folder, server.uri, tmp_path / "server.jsonl")

    here = audit(embedded, snapshot, tmp_path / "embedded.sqlite")
    there = audit(server.uri, snapshot, tmp_path / "server.sqlite")

    assert (here.run.nodes, here.run.edges) == (there.run.nodes, there.run.edges)
    assert comparable(here)[1] == comparable(there)[1]
    assert comparable(here)[0] == comparable(there)[0]
    return here


@pytest.fixture
def server(clean_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch) -> Neo4jTarget:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    return clean_neo4j


def test_demo_is_the_same_in_both(server: Neo4jTarget, tmp_path: Path) -> None:
    demo = ROOT / "loaders/ckg/demo"

    found = agree(demo / "import", demo / "reference", server, tmp_path)

    assert len(found.findings) == 93


@pytest.mark.slow
def test_demo_runs_on_a_server(server: Neo4jTarget, tmp_path: Path) -> None:
    said = kgcheck("demo", "--store", server.uri, "--out", tmp_path)

    assert said.code == 0, said.err
    assert "report: " in said.out
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        run = ledger.run("latest")
        assert run.store == server.uri
        assert len(list(ledger.findings(run))) == 93


def test_a_check_is_the_same_in_both(server: Neo4jTarget, tmp_path: Path) -> None:
    demo = ROOT / "loaders/ckg/demo"
    embedded, snapshot = tmp_path / "graph.lbdb", tmp_path / "reference.duckdb"
    assert kgcheck("reference", "build", demo / "reference", "--out", snapshot).code == 0
    for store in (embedded, server.uri):
        load(demo / "import", store, tmp_path / "quarantine.jsonl")

    for words in ("MGEA5 TRANSLATED_INTO O60502", "attribute Protein P15056 synonyms", "P15O56 ACTS_ON P04049"):
        here, there = (
            kgcheck("check", words, "--store", store, "--reference", snapshot, "--transcript", cwd=tmp_path)
            for store in (embedded, server.uri)
        )
        assert here.code == there.code
        assert here.err == there.err
        assert here.out.splitlines()[1:] == there.out.splitlines()[1:]


def test_questions_are_the_same_in_both(server: Neo4jTarget, tmp_path: Path) -> None:
    embedded = tmp_path / "graph.lbdb"
    for store in (embedded, server.uri):
        load(ROOT / "loaders/ckg/demo/import", store, tmp_path / "quarantine.jsonl")

    for question in (
        "Which protein does the gene MGEA5 code for?",
        "How many diseases is O60502 associated with?",
        "Which genes encode proteins that P15056 acts on?",
        "Which structures does A0A286YF18 have?",
    ):
        here, there = (
            kgcheck("ask", question, "--store", store, "--format", "json") for store in (embedded, server.uri)
        )
        assert here.code == there.code == 0
        assert by_id(here.out) == by_id(there.out)


def by_id(text: str) -> tuple[object, ...]:
    """An answer without its paths: of parallel edges, either may be shown."""
    answer = json.loads(text)
    return answer["status"], answer["understood"], answer.get("count"), [f["ref"] for f in answer["found"]]


@pytest.mark.slow
def test_a_whole_import_is_the_same_in_both(server: Neo4jTarget, shared_data: Path, tmp_path: Path) -> None:
    found = agree(shared_data / "ckg_import", shared_data, server, tmp_path)

    assert sum(found.run.nodes.values()) == 92_257
    assert sum(found.run.edges.values()) == 331_765
    assert len(found.findings) > 10_000
