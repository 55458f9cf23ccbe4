"""Loads that are killed, or whose disk is full, or that may not write where they were told to."""

import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from kgcheck.errors import InputError, StoreError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.open import open_store
from kgcheck.graph.store import DONE, LOAD
from kgcheck.loading.load import LoadSummary, load_directory
from kgcheck.settings import Settings
from tests.integration import load_child
from tests.integration.import_directory import ACTS_ON, CKG, CROWD, DEMO, PROTEINS, ImportDirectory, content
from tests.support.forked import Forked
from tests.support.neo4j_fixtures import SLOWLY_ON_NEO4J
from tests.support.neo4j_server import WITHOUT_HTTP, Neo4jServer
from tests.support.ports import free_port


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a kill falls between two of them."""
    monkeypatch.setenv("KGCHECK_LOAD_BATCH_ROWS", "100")


def load_again(store: str, quarantine: Path, folder: Path = DEMO) -> LoadSummary:
    with open_store(store, CKG, Settings(), create=True) as opened:
        return load_directory(folder, opened, Settings(), quarantine=quarantine)


@pytest.mark.parametrize(
    ("writes", "delay_s"),
    [
        (1, 0.0),
        pytest.param(1, 0.03, marks=[pytest.mark.slow, pytest.mark.nightly]),
        pytest.param(12, 0.01, marks=pytest.mark.slow),
    ],
)
@SLOWLY_ON_NEO4J
def test_a_killed_load_is_finished_by_the_same_command(
    store: str, tmp_path: Path, whole: dict[str, list[str]], writes: int, delay_s: float
) -> None:
    child = Forked(load_child.main, store, DEMO, tmp_path / "q.jsonl")
    for _ in range(writes):
        assert child.out.readline()
    time.sleep(delay_s)
    child.kill()
    assert child.ended().returncode == -9
    with pytest.raises(StoreError, match=r"the last load into .* is not finished"):
        open_store(store, CKG, Settings()).close()
    again = load_again(store, tmp_path / "q.jsonl")
    with open_store(store, CKG, Settings()) as opened:
        assert content(opened) == whole
    for file in again.files:
        assert file.changed == 0


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 5))])
def test_a_load_killed_anywhere_is_finished_by_the_same_command(
    store: str, tmp_path: Path, whole: dict[str, list[str]], seed: int
) -> None:
    choice = random.Random(seed)  # noqa: S311 - where to kill, not a secret
    # Each time, what those before have left is there to begin with, and fewer of the about 30 writes are left.
    for _ in range(4):
        child = Forked(load_child.main, store, DEMO, tmp_path / "q.jsonl")
        for _ in range(choice.randrange(9)):
            child.out.readline()
        time.sleep(choice.random() * choice.choice((0.01, 0.1, 0.3)))
        child.kill()
        child.ended()
    load_again(store, tmp_path / "q.jsonl")
    with open_store(store, CKG, Settings()) as opened:
        assert content(opened) == whole
        assert opened.meta()[LOAD] == DONE


@pytest.mark.slow
@SLOWLY_ON_NEO4J
def test_every_store_takes_in_the_same_graph_and_takes_it_once(
    store: str, tmp_path: Path, whole: dict[str, list[str]]
) -> None:
    first = load_again(store, tmp_path / "q.jsonl")
    with open_store(store, CKG, Settings()) as opened:
        assert content(opened) == whole
        assert set(opened.meta()) == {"format", "profile", "profile_version", "load", "loaded"}
    second = load_again(store, tmp_path / "q.jsonl")
    assert (second.nodes, second.edges) == (first.nodes, first.edges)
    assert second.total("unchanged") == first.total("loaded") == first.nodes + first.edges


@pytest.mark.nightly
@pytest.mark.slow
def test_a_load_lives_through_a_restart_of_the_server(
    tmp_path: Path, neo4j_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGCHECK_LOAD_BATCH_ROWS", "10")
    # Many batches of few statements: a server that has just been started plans each anew.
    made = ImportDirectory(tmp_path / "import")
    made.write(PROTEINS, *(made.row(PROTEINS, ID=f"P{i}") for i in range(300)))
    edges = (made.row(ACTS_ON, start=f"P{i % 300}", end=f"P{i * 7 % 300}", source=f"s{i}") for i in range(3000))
    made.write(ACTS_ON, *edges)
    # On the same port again.
    server = Neo4jServer(tmp_path / "home", None, bolt_port=free_port(), short_lived=True, settings=WITHOUT_HTTP)
    server.start()
    try:
        child = Forked(load_child.main, server.uri, made.folder, tmp_path / "q.jsonl")
        # The nodes are written, and the edges are on their way.
        for _ in range(2):
            assert child.out.readline()
        server.stop()
        server.start()
        done = child.ended()
        # A transaction whose end nobody saw is not sent again: it may have been committed.
        assert done.returncode == 0 or "StoreUnavailable: " in done.stderr
        found = []
        for store in (server.uri, str(tmp_path / "graph.lbdb")):
            load_again(store, tmp_path / "q.jsonl", made.folder)
            with open_store(store, CKG, Settings()) as opened:
                found.append(content(opened))
        assert found[0] == found[1]
    finally:
        server.stop()


# --- places that cannot be written to --------------------------------------------------------------


@pytest.mark.parametrize("place", ["file/q.jsonl", "folder", "/proc/kgcheck/q.jsonl"])
def test_a_quarantine_that_cannot_be_written_leaves_the_store_untouched(
    crowd: ImportDirectory, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    path = tmp_path / "graph.lbdb"
    with EmbeddedStore(path, CKG, create=True) as store:
        with pytest.raises(InputError, match="cannot write the quarantine file") as caught:
            load_directory(crowd.folder, store, Settings(), quarantine=tmp_path / place)
        assert "--quarantine" in caught.value.hint
    assert not path.exists()
    assert list(tmp_path.rglob("*.partial")) == []


def run_child(*arguments: object, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """A load in a process of its own, to its end."""
    return Forked(load_child.main, *arguments, limit=limit).ended()


@pytest.mark.slow
@pytest.mark.parametrize(
    "limit", [1 << 18, 0, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1 << 12, 3 << 20))]
)
def test_a_full_disk_before_the_writing_is_one_clear_error(
    demo_graph: Path, whole: dict[str, list[str]], crowd: ImportDirectory, tmp_path: Path, limit: int
) -> None:
    store, quarantine = tmp_path / "graph.lbdb", tmp_path / "q.jsonl"
    shutil.copy(demo_graph, store)
    done = run_child(store, crowd.folder, quarantine, limit=limit)
    assert_one_error(done)
    # Opened for writing: LadybugDB may have failed in a checkpoint, which it then does again.
    with EmbeddedStore(store, CKG, create=True) as opened:
        assert content(opened) == whole
    assert list(tmp_path.rglob("*.partial")) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1 << 18, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1 << 12))])
def test_a_full_disk_during_the_writing_is_one_clear_error_and_can_be_made_good(
    crowd: ImportDirectory, tmp_path: Path, limit: int
) -> None:
    store, quarantine = tmp_path / "graph.lbdb", tmp_path / "q.jsonl"
    done = run_child(store, crowd.folder, quarantine, limit)
    assert_one_error(done)
    assert run_child(store, crowd.folder, quarantine).returncode == 0
    with EmbeddedStore(store, CKG) as opened:
        assert (opened.counts().total_nodes, opened.counts().total_edges) == (CROWD, 0)


def assert_one_error(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode in (2, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert re.match(r"(Kgcheck|Input|Store)(Error|Unavailable|Locked|Missing): .+ \(.+\)\n", done.stderr), done.stderr
