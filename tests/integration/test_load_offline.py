"""A new Neo4j database made by neo4j-admin from the files of an offline load, with the real program and server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import neo4j
import pytest
from click.testing import CliRunner

from kgcheck.cli.main import cli
from kgcheck.errors import StoreError, StoreMissing
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.loading.admin_import import OfflineImport, shell
from kgcheck.loading.load import load_directory
from kgcheck.settings import Settings
from tests.integration.import_directory import ACTS_ON, CKG, DEMO, PROTEINS, ImportDirectory, content
from tests.support.neo4j_server import WITHOUT_HTTP, Neo4jServer


@contextmanager
def installed(folder: Path) -> Iterator[Neo4jServer]:
    """A Neo4j home that is not running, laid out as an installation is."""
    server = Neo4jServer(folder / "home", None, short_lived=True, settings=WITHOUT_HTTP)
    server.install()
    yield server
    server.stop()


@pytest.fixture
def stopped(tmp_path: Path, neo4j_jars: Path) -> Iterator[Neo4jServer]:
    """A home that holds nothing."""
    with installed(tmp_path) as server:
        yield server


class Imported(NamedTuple):
    """A home that holds the demo, and the files of which it was made."""

    server: Neo4jServer
    files: OfflineImport


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory, neo4j_jars: Path) -> Iterator[Imported]:
    folder = tmp_path_factory.mktemp("imported")
    with installed(folder) as server:
        files = offline(DEMO, folder)
        files.run(server.home)
        yield Imported(server, files)


def offline(directory: Path, folder: Path) -> OfflineImport:
    files = OfflineImport(folder / "files", CKG)
    load_directory(directory, files, Settings(), quarantine=folder / "q.jsonl")
    return files


@pytest.mark.slow
def test_a_second_import_into_a_database_is_refused_with_what_the_program_says(imported: Imported) -> None:
    with pytest.raises(StoreError, match="failed with status") as caught:
        imported.files.run(imported.server.home)
    assert "must be stopped" in caught.value.hint
    assert "already" in caught.value.message or "exist" in caught.value.message


# After the test above: what was refused has changed nothing, either.
@pytest.mark.slow
def test_the_database_is_what_an_online_load_makes(
    imported: Imported, whole: dict[str, list[str]], tmp_path: Path
) -> None:
    server = imported.server
    server.start()
    with Neo4jStore(server.uri, CKG, Settings(), create=True) as made:
        assert content(made) == whole
        again = load_directory(DEMO, made, Settings(), quarantine=tmp_path / "q.jsonl")
        assert (again.total("loaded"), again.total("changed"), again.left) == (0, 0, {})
        assert again.total("unchanged") == again.nodes + again.edges
    assert {f"kgcheck_{label}_id" for label in CKG.label_names} <= constraints(server)


def constraints(server: Neo4jServer) -> set[str]:
    with neo4j.GraphDatabase.driver(server.uri, auth=server.auth) as driver:
        return {r["name"] for r in driver.execute_query("SHOW CONSTRAINTS YIELD name RETURN name").records}


ODD = ["it's", 'say "yes"', "back\\slash", "a,b;c", " lead and trail ", "\u2028", "é\u00a0中😀", "'", "null", "\x0b"]


@pytest.mark.nightly
@pytest.mark.slow
def test_values_of_every_kind_arrive_as_they_are(stopped: Neo4jServer, tmp_path: Path) -> None:
    directory = ImportDirectory(tmp_path / "import")
    rows = []
    for i, value in enumerate(ODD):
        quoted = '"' + value.replace('"', '""') + '"' if '"' in value else value
        rows.append(directory.row(PROTEINS, ID=f"P{i}", name=quoted, synonyms="x y,z"))
    rows.append(directory.row(PROTEINS, ID="P'quote"))
    rows.append(directory.row(PROTEINS, ID="Plong", description="x" * 10_000_000))
    directory.write(PROTEINS, *rows)
    directory.write(ACTS_ON, directory.row(ACTS_ON, start="P0", end="P'quote", score="1e-300"))
    offline(directory.folder, tmp_path).run(stopped.home)
    stopped.start()
    with Neo4jStore(stopped.uri, CKG, Settings()) as made:
        held = {row["id"]: row for t in made.scan_nodes(CKG.label("Protein")) for row in t.to_pylist()}
        edges = [row for t in made.scan_edges(CKG.pattern("Protein", "ACTS_ON", "Protein")) for row in t.to_pylist()]
    assert [held[f"P{i}"]["name"] for i in range(len(ODD))] == ODD
    assert held["P1"]["synonyms"] == ["x y", "z"]
    assert held["P'quote"]["name"] is None
    assert len(held["Plong"]["description"]) == 10_000_000
    assert [(e["head"], e["tail"], e["score"], e["source"]) for e in edges] == [("P0", "P'quote", 1e-300, None)]


@pytest.mark.slow
def test_without_an_installation_the_command_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["load", str(DEMO), "--offline", "files here"])
    assert done.exit_code == 0
    assert "neo4j-admin \\\n  database \\\n  import \\\n  full \\\n  neo4j \\\n" in done.stdout
    header = tmp_path / "files here" / "Protein.header.csv"
    assert f"'--nodes=Protein={header},{header.with_name('Protein.data.csv')}'" in done.stdout
    assert header.read_text().startswith("id:ID(Protein),")
    # The same folder again is ours to replace.
    assert CliRunner().invoke(cli, ["load", str(DEMO), "--offline", "files here"]).exit_code == 0


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.csv").touch()
    with pytest.raises(StoreError, match=r"holds thesis\.csv"):
        OfflineImport(tmp_path / "mine", CKG)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot use the folder"):
        OfflineImport(tmp_path / "file", CKG)
    files = OfflineImport(tmp_path / "files", CKG)
    with pytest.raises(StoreMissing, match="cannot run"):
        files.run(tmp_path)
    for options in (["--neo4j-home", "x"], ["--offline", "x", "--prune"], ["--offline", "x", "--store", "y"]):
        done = CliRunner().invoke(cli, ["load", str(DEMO), *options])
        assert done.exit_code != 0
    assert shell(["a b", "c"]) == "'a b' \\\n  c"
