"""A newer import directory into a store that holds an older one: only what differs is written, taken away or read."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.open import open_store
from kgcheck.graph.store import GraphStore
from kgcheck.loading import staging
from kgcheck.loading.lines import Records
from kgcheck.loading.load import LoadSummary, load_directory
from kgcheck.loading.manifest import LOADED, LoadManifest
from kgcheck.options import LoadOptions
from kgcheck.settings import Settings
from tests.integration.import_directory import (
    ACTS_ON,
    CKG,
    PROTEINS,
    ImportDirectory,
    check_sums,
    content,
    read_quarantine,
)
from tests.support.neo4j_fixtures import SLOWLY_ON_NEO4J

PROTEIN, INTERACTION = CKG.label("Protein"), CKG.pattern("Protein", "ACTS_ON", "Protein")
EDGES = str(INTERACTION)


@pytest.fixture
def directory(tmp_path: Path) -> ImportDirectory:
    return first_version(tmp_path)


def first_version(folder: Path) -> ImportDirectory:
    made = ImportDirectory(folder / "import")
    write_proteins(made, P1="A", P2="B", P3="C")
    write_edges(made, ("P1", "P2", "string", "0.5"), ("P1", "P3", "string", "0.9"), ("P1", "P3", "intact", "0.9"))
    return made


def write_proteins(directory: ImportDirectory, **names: str) -> None:
    directory.write(PROTEINS, *(directory.row(PROTEINS, ID=i, name=n) for i, n in names.items()))


def write_edges(directory: ImportDirectory, *edges: tuple[str, str, str, str]) -> None:
    rows = [directory.row(ACTS_ON, start=h, end=t, source=source, score=score) for h, t, source, score in edges]
    directory.write(ACTS_ON, *rows)


def load(directory: ImportDirectory, store: str, tmp_path: Path, **options: bool) -> LoadSummary:
    with open_store(store, CKG, Settings(), create=True) as opened:
        quarantine = tmp_path / "q" / "quarantine.jsonl"
        summary = load_directory(
            directory.folder, opened, Settings(), quarantine=quarantine, options=LoadOptions(**options)
        )
        if not summary.dry_run:
            check_sums(summary, read_quarantine(summary))
        return summary


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedded store that holds the directory of every test; to be copied."""
    folder = tmp_path_factory.mktemp("loaded")
    load(first_version(folder), str(folder / "graph.lbdb"), folder)
    return folder / "graph.lbdb"


@pytest.fixture
def held(directory: ImportDirectory, store: str, loaded: Path, tmp_path: Path) -> str:
    """The name of a store into which the directory was loaded."""
    if "://" in store:
        load(directory, store, tmp_path)
    else:
        shutil.copy(loaded, store)
    return store


def counts(summary: LoadSummary) -> tuple[int, int, int, int]:
    return summary.total("loaded"), summary.total("changed"), summary.total("unchanged"), summary.quarantined


def edges(store: str) -> set[tuple[Any, ...]]:
    with open_store(store, CKG, Settings()) as opened:
        rows = [row for table in opened.scan_edges(INTERACTION) for row in table.to_pylist()]
    return {(r["head"], r["tail"], r["source"], r["score"]) for r in rows}


def test_an_edge_with_a_new_score_takes_the_place_of_the_old_one(
    directory: ImportDirectory, held: str, tmp_path: Path
) -> None:
    write_edges(directory, ("P1", "P2", "string", "0.7"), ("P1", "P3", "intact", ""), ("P1", "P3", "string", "0.9"))
    summary = load(directory, held, tmp_path)
    assert counts(summary) == (0, 2, 4, 0)
    assert (summary.removed, summary.left, summary.edges) == ({}, {}, 3)
    assert edges(held) == {("P1", "P2", "string", 0.7), ("P1", "P3", "intact", None), ("P1", "P3", "string", 0.9)}


@pytest.mark.slow
@SLOWLY_ON_NEO4J
def test_what_no_file_states_stays_and_is_told_until_it_is_pruned(
    directory: ImportDirectory, held: str, tmp_path: Path
) -> None:
    write_proteins(directory, P1="A", P2="B")
    write_edges(directory, ("P1", "P2", "string", "0.5"))
    for _ in range(2):
        summary = load(directory, held, tmp_path)
        assert (summary.left, summary.removed, summary.nodes, summary.edges) == ({"Protein": 1, EDGES: 2}, {}, 3, 3)
    summary = load(directory, held, tmp_path, prune=True)
    assert (summary.left, summary.removed) == ({}, {"Protein": 1, EDGES: 2})
    assert (summary.nodes, summary.edges) == (2, 1)
    assert edges(held) == {("P1", "P2", "string", 0.5)}
    again = load(directory, held, tmp_path, prune=True)
    assert (again.removed, counts(again)) == ({}, (0, 0, 3, 0))


@pytest.mark.slow
@SLOWLY_ON_NEO4J
def test_a_dry_run_tells_what_the_load_then_does_and_writes_nothing(
    directory: ImportDirectory, store: str, tmp_path: Path
) -> None:
    dry = load(directory, store, tmp_path, dry_run=True)
    assert (counts(dry), dry.nodes, dry.edges, dry.quarantine) == ((6, 0, 0, 0), 0, 0, None)
    if "://" not in store:
        assert not Path(store).exists()
    load(directory, store, tmp_path)
    write_proteins(directory, P1="A2", P2="B", P4="D")
    write_edges(directory, ("P1", "P2", "string", "0.6"), ("P4", "P9", "string", "0.1"))
    before = edges(store)
    for prune in (False, True):
        dry = load(directory, store, tmp_path, dry_run=True, prune=prune)
        assert edges(store) == before
        assert dry.dry_run
        assert not (tmp_path / "q" / "quarantine.jsonl").exists()
    done = load(directory, store, tmp_path, prune=True)
    assert (dry.removed, dry.left, counts(dry)) == (done.removed, done.left, counts(done))
    assert counts(done) == (1, 2, 1, 1)


@pytest.mark.slow
@SLOWLY_ON_NEO4J
def test_the_manifest_says_what_was_loaded_from_where_and_when(
    directory: ImportDirectory, store: str, tmp_path: Path
) -> None:
    origin = '{"name": "STRING", "version": "11.0", "licence": "CC BY 4.0", "key": "x"}'
    directory.raw("manifest.json", f'{{"files": {{"{ACTS_ON}": {{"sources": [{origin}]}}}}}}'.encode())
    load(directory, store, tmp_path)
    first = manifest(store)
    entry = first.files[ACTS_ON]
    assert (entry.read, entry.loaded, entry.target) == (3, 3, EDGES)
    assert [(o.name, o.version, o.licence) for o in entry.origins] == [("STRING", "11.0", "CC BY 4.0")]
    assert len(entry.sha256) == 64
    assert first.counts.edges[EDGES] == 3
    write_edges(directory, ("P1", "P2", "string", "0.5"))
    load(directory, store, tmp_path)
    second = manifest(store)
    assert second.left == {EDGES: 2}
    assert second.files[PROTEINS].sha256 == first.files[PROTEINS].sha256
    assert second.files[ACTS_ON].sha256 != entry.sha256


def manifest(store: str) -> LoadManifest:
    with open_store(store, CKG, Settings()) as opened:
        return LoadManifest.model_validate_json(opened.meta()[LOADED])


# --- what is read again ----------------------------------------------------------------------------


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files whose rows are read."""
    seen: list[str] = []

    class Watched(Records):
        def __init__(self, path: Path) -> None:
            seen.append(path.name)
            super().__init__(path)

    monkeypatch.setattr(staging, "Records", Watched)
    return seen


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "graph.lbdb")


@pytest.mark.slow
def test_files_that_did_not_change_are_not_read_again(
    directory: ImportDirectory, path: str, tmp_path: Path, read: list[str]
) -> None:
    write_edges(directory, ("P1", "P2", "string", "0.5"), ("P1", "P9", "string", "0.5"))
    first = load(directory, path, tmp_path)
    assert len(read) > len(first.files)
    read.clear()
    again = load(directory, path, tmp_path)
    assert read == []
    assert (counts(again), again.quarantine) == ((0, 0, 4, 1), first.quarantine)
    load(directory, path, tmp_path, full=True)
    assert len(read) == len(first.files) + 1


@pytest.mark.slow
def test_rejected_rows_that_were_lost_are_found_again(directory: ImportDirectory, path: str, tmp_path: Path) -> None:
    write_edges(directory, ("P1", "P2", "string", "0.5"), ("P1", "P9", "string", "0.5"))
    quarantine = load(directory, path, tmp_path).quarantine
    assert quarantine
    told = quarantine.read_text()
    for lost in ("", "no json\n", told + told):
        quarantine.write_text(lost)
        load(directory, path, tmp_path)
        assert quarantine.read_text() == told


@SLOWLY_ON_NEO4J
def test_a_store_that_has_lost_facts_gets_them_back(directory: ImportDirectory, held: str, tmp_path: Path) -> None:
    with open_store(held, CKG, Settings(), create=True) as opened:
        rows = next(iter(opened.scan_edges(INTERACTION)))
        opened.remove_edges(INTERACTION, rows.slice(0, 2))
    assert counts(load(directory, held, tmp_path)) == (2, 0, 4, 0)


@pytest.mark.slow
def test_a_load_of_an_older_kgcheck_is_compared_as_a_whole(
    directory: ImportDirectory, path: str, tmp_path: Path, read: list[str]
) -> None:
    for told in ('{"at": "then", "kgcheck": "0.0.1", "files": {}}', "no json"):
        summary = load(directory, path, tmp_path)
        with EmbeddedStore(Path(path), CKG, create=True) as opened:
            opened.set_meta(LOADED, told)
        read.clear()
        assert counts(load(directory, path, tmp_path)) == (0, 0, 6, 0)
        assert len(read) == len(summary.files)


# --- any two directories ---------------------------------------------------------------------------

IDS = st.sampled_from(["P1", "P2", "P3", "P4"])
GRAPHS = st.tuples(
    st.dictionaries(IDS, st.sampled_from(["", "A", "B"]), max_size=4),
    st.lists(
        st.tuples(IDS, IDS, st.sampled_from(["", "string", "intact"]), st.sampled_from(["", "0.1", "0.2"])), max_size=6
    ),
)


@pytest.mark.slow
def test_a_pruned_load_ends_as_a_first_load_would_have(tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(versions=st.lists(GRAPHS, min_size=2, max_size=3))
    def check(versions: list[tuple[dict[str, str], list[tuple[str, str, str, str]]]]) -> None:
        folder = tmp_path_factory.mktemp("again")
        made = ImportDirectory(folder / "import")
        for proteins, facts in versions:
            write_proteins(made, **proteins)
            write_edges(made, *facts)
            last = load(made, str(folder / "kept.lbdb"), folder, prune=True)
        fresh = load(made, str(folder / "fresh.lbdb"), folder)
        assert whole(folder / "kept.lbdb") == whole(folder / "fresh.lbdb")
        assert (last.nodes, last.edges, last.quarantined) == (fresh.nodes, fresh.edges, fresh.quarantined)

    check()


def whole(path: Path) -> dict[str, list[str]]:
    opened: GraphStore
    with EmbeddedStore(path, CKG) as opened:
        return content(opened)
