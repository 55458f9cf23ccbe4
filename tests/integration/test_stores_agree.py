"""The embedded store and a Neo4j server that hold the same graph give the same findings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgcheck.ledger.ledger import Ledger
from kgcheck.memory import collection_paused
from tests.support import ROOT
from tests.support.audits import LEDGER, Audited, comparable, demo, demo_audited, kgcheck, of_run
from tests.support.neo4j_fixtures import Neo4jTarget, erase


def audit(store: object, reference: Path, ledger: Path) -> Audited:
    said = kgcheck("audit", "--type", "all", "--store", store, "--reference", reference, "--ledger", ledger)
    assert said.code == 1, said.err
    with Ledger(ledger) as kept:
        return of_run(kept, kept.run("latest"))


def load(folder: Path, store: object, quarantine: Path) -> None:
    said = kgcheck("load", folder, "--store", store, "--quarantine", quarantine)
    assert said.code == 0, said.err


def agreeing(here: Audited, there: Audited) -> None:
    """Fail where two audits differ."""
    assert (here.run.nodes, here.run.edges) == (there.run.nodes, there.run.edges)
    assert comparable(here)[1] == comparable(there)[1]
    assert comparable(here)[0] == comparable(there)[0]


@pytest.fixture(scope="module")
def demo_server(neo4j_server: Neo4jTarget, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server, with the demo on it; the tests that read it come before those that empty it."""
    if not neo4j_server.erasable:
        pytest.fail(f"{neo4j_server.uri} was not empty when the tests began: not erasing it")
    with pytest.MonkeyPatch.context() as patch, neo4j_server.driver() as driver:
        erase(driver)
        patch.setenv("KGCHECK_NEO4J_USER", neo4j_server.user)
        patch.setenv("KGCHECK_NEO4J_PASSWORD", neo4j_server.password)
        load(ROOT / "loaders/ckg/demo/import", neo4j_server.uri, tmp_path_factory.mktemp("demo") / "quarantine.jsonl")
        yield neo4j_server.uri
        erase(driver)


@pytest.fixture(scope="module")
def server_ledger(demo_server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger of an audit of the demo on the server."""
    ledger = tmp_path_factory.mktemp("audited") / LEDGER
    audit(demo_server, demo().reference, ledger)
    return ledger


@pytest.fixture
def server(clean_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch) -> Neo4jTarget:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    return clean_neo4j


@pytest.mark.nightly
@pytest.mark.slow
def test_demo_is_the_same_in_both(server_ledger: Path) -> None:
    found = demo_audited()

    with Ledger(server_ledger) as kept:
        agreeing(found, of_run(kept, kept.run("latest")))
    assert len(found.findings) == 93


@pytest.mark.slow
def test_a_check_is_the_same_in_both(demo_server: str, tmp_path: Path) -> None:
    for words in ("MGEA5 TRANSLATED_INTO O60502", "attribute Protein P15056 synonyms", "P15O56 ACTS_ON P04049"):
        here, there = (
            kgcheck("check", words, "--store", store, "--reference", demo().reference, "--transcript", cwd=tmp_path)
            for store in (demo().store, demo_server)
        )
        assert here.code == there.code
        assert here.err == there.err
        assert here.out.splitlines()[1:] == there.out.splitlines()[1:]


@pytest.mark.slow
def test_questions_are_the_same_in_both(demo_server: str) -> None:
    for question in (
        "Which protein does the gene MGEA5 code for?",
        "How many diseases is O60502 associated with?",
        "Which genes encode proteins that P15056 acts on?",
        "Which structures does A0A286YF18 have?",
    ):
        here, there = (
            kgcheck("ask", question, "--store", store, "--format", "json") for store in (demo().store, demo_server)
        )
        assert here.code == there.code == 0
        assert by_id(here.out) == by_id(there.out)


def by_id(text: str) -> tuple[object, ...]:
    """An answer without its paths: of parallel edges, either may be shown."""
    answer = json.loads(text)
    return answer["status"], answer["read_as"], answer.get("count"), [f["ref"] for f in answer["found"]]


@pytest.mark.slow
def test_demo_runs_on_a_server(server: Neo4jTarget, tmp_path: Path) -> None:
    said = kgcheck("demo", "--store", server.uri, "--out", tmp_path)

    assert said.code == 0, said.err
    assert "report: " in said.out
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        run = ledger.run("latest")
        assert run.store == server.uri
        assert len(list(ledger.findings(run))) == 93


@collection_paused()
def agree(folder: Path, references: Path, server: Neo4jTarget, tmp_path: Path) -> Audited:
    """Load a folder into both stores, audit both against one snapshot, and compare."""
    embedded, snapshot = tmp_path / "graph.lbdb", tmp_path / "reference.duckdb"
    assert kgcheck("reference", "build", references, "--out", snapshot).code == 0
    load(folder, embedded, tmp_path / "embedded.jsonl")
    load(folder, server.uri, tmp_path / "server.jsonl")

    here = audit(embedded, snapshot, tmp_path / "embedded.sqlite")
    agreeing(here, audit(server.uri, snapshot, tmp_path / "server.sqlite"))
    return here


@pytest.mark.nightly
@pytest.mark.slow
def test_a_real_import_is_the_same_in_both(server: Neo4jTarget, shared_data: Path, tmp_path: Path) -> None:
    """All nodes, and of each large file of edges one in ten; that both hold all of them, test_load_real.py says."""
    folder = tmp_path / "import"
    shutil.copytree(shared_data / "ckg_import", folder, copy_function=shutil.copyfile)
    for file in folder.rglob("*.tsv"):
        with file.open("rb") as stream:
            header, *rows = stream
        if header.startswith(b"START_ID") and len(rows) > 10_000:
            file.write_bytes(header + b"".join(rows[::10]))

    found = agree(folder, shared_data, server, tmp_path)

    assert sum(found.run.nodes.values()) == 92_257
    assert sum(found.run.edges.values()) > 40_000
    assert len(found.findings) > 10_000
