"""The import directory of real data, against its manifest, into both stores."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import SecretStr

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.store import Counts, GraphStore
from kgcheck.loading.load import LoadSummary, load_directory
from kgcheck.model import Ref
from kgcheck.profile.schema import Label
from kgcheck.quoting import identifier
from kgcheck.settings import Settings
from tests.integration.import_directory import CKG, check_sums, read_quarantine
from tests.support.neo4j_fixtures import Neo4jTarget

pytestmark = pytest.mark.slow

NODES, EDGES, UNKNOWN_ENDS = 92_257, 331_765, 24_218


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "ckg_import"


@pytest.fixture(scope="module")
def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


@pytest.fixture(scope="module")
def path(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedded store with the real graph."""
    made = tmp_path_factory.mktemp("real") / "graph.lbdb"
    with EmbeddedStore(made, CKG, create=True) as store:
        load_directory(folder, store, Settings(), quarantine=made.with_name("q.jsonl"))
    return made


@pytest.fixture
def server(clean_neo4j: Neo4jTarget) -> Iterator[Neo4jTarget]:
    """A server that is left without edges: nodes with all theirs do not fit the small heap of a test server."""
    yield clean_neo4j
    with clean_neo4j.driver() as driver:
        while driver.execute_query("MATCH ()-[r]->() WITH r LIMIT 20000 DELETE r RETURN count(r) AS n")[0][0]["n"]:
            pass


def digest(store: GraphStore) -> dict[str, tuple[int, int]]:
    """The number of facts of each label and pattern, and a sum of their hashes: to list them all takes long."""
    found = {}
    with duckdb.connect() as db:
        for holder in CKG.holders:
            scanned = store.scan_nodes(holder) if isinstance(holder, Label) else store.scan_edges(holder)
            count, total = 0, 0
            for table in scanned:
                columns = ", ".join(identifier(name) for name in sorted(table.column_names))
                rows = db.from_arrow(table).aggregate(f"count(*), coalesce(sum(hash({columns})), 0)").fetchall()
                count, total = count + rows[0][0], total + int(rows[0][1])
            found[str(holder)] = (count, total)
    return found


def check_against(manifest: dict[str, Any], counts: Counts) -> None:
    assert counts.nodes == manifest["nodes"]
    edges = {name: n for name, n in counts.edges.items() if n}
    assert edges == {name: edge["loadable"] for name, edge in manifest["edges"].items()}
    assert (counts.total_nodes, counts.total_edges) == (NODES, EDGES)


def check_files(manifest: dict[str, Any], summary: LoadSummary) -> None:
    assert {f.file: f.read for f in summary.files} == {name: file["rows"] for name, file in manifest["files"].items()}
    dangling = {name: n for name, f in manifest["files"].items() if (n := f.get("rows_with_an_unknown_end"))}
    assert {f.file: sum(f.quarantined.values()) for f in summary.files if f.quarantined} == dangling
    # Diseases of ICD10 are of a namespace that the profile does not load.
    assert summary.causes == {"foreign_tail": 24_155, "unknown_tail": 63}
    assert summary.quarantined == UNKNOWN_ENDS
    check_sums(summary, read_quarantine(summary))


def test_the_embedded_store_holds_what_the_manifest_says(path: Path, folder: Path, manifest: dict[str, Any]) -> None:
    with EmbeddedStore(path, CKG) as store:
        check_against(manifest, store.counts())
        loaded = json.loads(store.meta()["loaded"])
        assert {n: f["sha256"] for n, f in loaded["files"].items()} == {
            n: f["sha256"] for n, f in manifest["files"].items()
        }
        p53 = store.node(Ref(label="Protein", id="P04637"))
        assert p53
        assert p53["name"] == "TP53"


def test_a_second_load_changes_nothing(path: Path, folder: Path, manifest: dict[str, Any], tmp_path: Path) -> None:
    with EmbeddedStore(path, CKG, create=True) as store:
        before = digest(store)
        summary = load_directory(folder, store, Settings(), quarantine=tmp_path / "q.jsonl")
        assert digest(store) == before
    check_files(manifest, summary)
    assert (summary.total("loaded"), summary.total("changed"), summary.total("unchanged")) == (0, 0, NODES + EDGES)


@pytest.mark.nightly
def test_neo4j_holds_the_same_graph(
    path: Path, folder: Path, manifest: dict[str, Any], server: Neo4jTarget, tmp_path: Path
) -> None:
    settings = Settings(neo4j_password=SecretStr(server.password))
    quarantine = tmp_path / "q.jsonl"
    with Neo4jStore(server.uri, CKG, settings, create=True) as store, EmbeddedStore(path, CKG) as embedded:
        first = load_directory(folder, store, settings, quarantine=quarantine)
        check_files(manifest, first)
        check_against(manifest, store.counts())
        second = load_directory(folder, store, settings, quarantine=quarantine)
        assert (second.total("loaded"), second.total("changed"), second.total("unchanged")) == (0, 0, NODES + EDGES)
        assert digest(store) == digest(embedded)
