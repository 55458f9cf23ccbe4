"""An audit that goes on from an earlier one reads the graph from its extract, and finds what any audit finds."""

import shutil
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import SecretStr

from kgcheck.audit.run import Audit, find_earlier
from kgcheck.errors import StoreError, UnknownName, UsageError
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.store import GraphStore, edge_schema, node_schema
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Label, Pattern
from kgcheck.settings import Settings
from tests.support.audits import Audited, MemoryStore, comparable, of_run
from tests.support.facts import SCHEMA, SETTINGS, Facts
from tests.support.neo4j_fixtures import Neo4jTarget
from tests.support.snapshots import CROWDS, GENES, MANY, PROTEINS, TERMS


class ScannedStore(MemoryStore):
    """Counts how often it is scanned; with `moves`, in another state after each scan of edges."""

    scans = 0
    moves = False

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        self.scans += 1
        yield from super().scan_nodes(label)

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        self.scans += 1
        yield from super().scan_edges(pattern)

    def state(self) -> str | None:
        return f"{super().state()} {self.scans}" if self.moves else super().state()


def crowded_graph(step: int = 3) -> ScannedStore:
    """Every third edge that `some_facts` may speak of, and nodes that are written in odd ways."""
    proteins = sorted({*MANY, *PROTEINS, " P10002", "P10003-2", "XX1", "with\na break"})
    ids = {"Protein": proteins, "Biological_process": TERMS, "Gene": (*GENES, "CC1")}
    nodes = {label: [{"id": i, "name": f"name of {i}"} for i in some] for label, some in ids.items()}
    edges: dict[str, list[dict[str, Any]]] = {}
    for pattern in SCHEMA.relations:
        if pattern.type in CROWDS and {pattern.head, pattern.tail} <= ids.keys():
            pairs = [pair for n, pair in enumerate(product(ids[pattern.head], ids[pattern.tail])) if n % step == 0]
            named = {
                name: "STRING" if name == "source" else 0.4
                for name in pattern.properties
                if name in ("source", "score")
            }
            edges[str(pattern)] = [{"head": head, "tail": tail, **named} for head, tail in pairs]
    return ScannedStore(nodes, edges, name="crowded")


def some_facts(*, moved: bool = False, release: str = "r1") -> Facts:
    """A few facts about the crowded graph; a little later, two of them are others."""
    facts = Facts()
    ids = facts.release("uniprot", release, "2026-01-01", complete=True)
    state = "merged" if moved else "current"
    ids.entities("Protein", *MANY[:4], *PROTEINS).entity(MANY[4], "Protein", state, now=MANY[:1])
    for number, protein in enumerate(MANY[:5]):
        ids.value(protein, "gene_name", GENES[number % 2])
        facts.release("string", f"{release} {protein}", "2026-01-01").link("ACTS_ON", protein, MANY[0], 0.9)
    last = facts.release("goa", release, "2026-01-01").link("ASSOCIATED_WITH", MANY[0], TERMS[0])
    last.covers("ASSOCIATED_WITH", *MANY[:5]).link("ASSOCIATED_WITH", MANY[1], TERMS[1 if moved else 2])
    return facts


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return some_facts().build(tmp_path_factory.mktemp("older"))


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return some_facts(moved=True, release="r2").build(tmp_path_factory.mktemp("newer"))


@pytest.fixture(scope="module")
def audited(older: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the ledger of an audit of the crowded graph, and what was kept of it; to be copied."""
    folder = tmp_path_factory.mktemp("audited")
    with Ledger(folder / "ledger.sqlite") as ledger:
        audit(ledger, crowded_graph(), older)
    return folder


@pytest.fixture
def ledger(audited: Path, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose only run is the audit of the crowded graph."""
    shutil.copytree(audited, tmp_path / "kept")
    with Ledger(tmp_path / "kept/ledger.sqlite") as opened:
        yield opened


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


EDGES: dict[str, Any] = {"types": ("triple",), "relations": ("ACTS_ON",)}


def audit(
    ledger: Ledger, store: GraphStore, snapshot: Path, since: str = "", settings: Settings = SETTINGS, **options: Any
) -> Audited:
    found = find_earlier(ledger, since, store) if since else None
    return of_run(ledger, Audit(store, snapshot, ledger, settings).start(AuditOptions(**(options or EDGES)), found))


def kept(ledger: Ledger) -> list[Path]:
    assert isinstance(ledger.place, Path)
    return sorted(ledger.place.with_name("ledger.sqlite.extracts").rglob("*.parquet"))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"types": tuple(CheckType)}, marks=pytest.mark.slow),
        {"types": ("triple", "potential"), "relations": ("ACTS_ON",)},
    ],
)
def test_the_graph_is_read_from_its_extract(empty: Ledger, older: Path, newer: Path, options: dict[str, Any]) -> None:
    ledger, store = empty, crowded_graph()
    former = audit(ledger, store, older, **options).run
    scans = store.scans
    whole = audit(ledger, store, newer, **options)
    # An audit that names no earlier one asks the store.
    assert store.scans == 2 * scans
    scans = store.scans
    part = audit(ledger, store, newer, former.id, **options)

    assert comparable(part) == comparable(whole)
    assert len(part.findings) > 10
    assert part.run.made_with["since"] == former.id
    assert part.run.warnings == whole.run.warnings
    assert store.scans == scans
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept(ledger))


def test_a_graph_that_changed_is_read_anew(ledger: Ledger, newer: Path) -> None:
    (former,) = ledger.runs()
    before = kept(ledger)
    other = crowded_graph(step=4)
    part = audit(ledger, other, newer, former.id)

    assert part.run.warnings[-1] == f"the graph was read anew: it has changed since run {former.id}"
    assert "since" not in part.run.made_with
    # What was kept of the graph as it was is of no more use.
    assert kept(ledger)
    assert not set(before) & set(kept(ledger))


def test_nothing_is_kept_of_a_graph_that_changes_while_it_is_read(empty: Ledger, older: Path) -> None:
    store = crowded_graph()
    store.moves = True
    audit(empty, store, older)

    assert kept(empty) == []


@pytest.mark.slow
def test_nothing_is_kept_where_nothing_shows_that_a_graph_is_the_same(empty: Ledger, older: Path) -> None:
    mute = crowded_graph()
    mute.state = lambda: None  # type: ignore[method-assign]
    former = audit(empty, mute, older).run
    audit(empty, crowded_graph(), older, settings=SETTINGS.model_copy(update={"keep_extract": False}))

    assert kept(empty) == []
    assert "nothing shows that it is as it was" in audit(empty, mute, older, former.id).run.warnings[-1]


def test_a_damaged_extract_is_told(ledger: Ledger, older: Path) -> None:
    assert kept(ledger)
    for path in kept(ledger):
        path.write_bytes(path.read_bytes()[:50])

    with pytest.raises(StoreError, match=r"parquet cannot be read"):
        audit(ledger, crowded_graph(), older, ledger.runs()[0].id)


@pytest.mark.slow
def test_a_run_that_is_cut_off_goes_on_from_the_extract(
    ledger: Ledger, newer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = crowded_graph()
    (former,) = ledger.runs()
    whole = audit(ledger, store, newer)
    scans, record, left = store.scans, Ledger.record, [1]

    def failing(self: Ledger, *about: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        record(self, *about)

    monkeypatch.setattr(Ledger, "record", failing)
    with pytest.raises(KeyboardInterrupt):
        audit(ledger, store, newer, former.id)
    part = of_run(ledger, Audit(store, newer, ledger, SETTINGS).resume(ledger.cut_off()))

    assert comparable(part) == comparable(whole)
    assert store.scans == scans


def test_a_run_that_is_no_finished_audit_of_the_store_is_refused(ledger: Ledger, newer: Path) -> None:
    store = crowded_graph()
    (former,) = ledger.runs()
    with pytest.raises(UnknownName, match="no run 'none'"):
        find_earlier(ledger, "none", store)
    with pytest.raises(UsageError, match="no finished run of crowded looked into"):
        find_earlier(ledger, str(newer), store)
    with pytest.raises(UsageError, match="is of the store that was at crowded"):
        find_earlier(ledger, former.id, MemoryStore({}, {}, name="elsewhere"))
    ledger.note(former.model_copy(update={"finished": None}))
    with pytest.raises(UsageError, match="is no finished audit"):
        find_earlier(ledger, former.id, store)


@pytest.mark.slow
def test_a_graph_in_neo4j_is_known_to_be_the_same(
    ready_neo4j: Neo4jTarget, empty: Ledger, older: Path, newer: Path
) -> None:
    ledger, graph = empty, crowded_graph(step=11)
    options: dict[str, Any] = {"types": ("triple", "existence")}
    opened = partial(Neo4jStore, ready_neo4j.uri, SCHEMA, Settings(neo4j_password=SecretStr(ready_neo4j.password)))
    with opened(create=True) as store:
        store.prepare()
        for label in SCHEMA.labels:
            for rows in graph.scan_nodes(label):
                store.add_nodes(label, rows.select(node_schema(label).names))
        for pattern in SCHEMA.relations:
            for rows in graph.scan_edges(pattern):
                store.add_edges(pattern, rows.select(edge_schema(pattern).names))
    with opened() as store:
        former = audit(ledger, store, older, **options).run
        whole = audit(ledger, store, newer, **options)
        files = kept(ledger)
        assert files
        part = audit(ledger, store, newer, former.id, **options)
        assert comparable(part) == comparable(whole)
        assert part.run.made_with["since"] == former.id
        with opened(create=True) as other:
            other.add_nodes(SCHEMA.labels[0], pa.Table.from_pylist([{"id": "X"}], node_schema(SCHEMA.labels[0])))
        again = audit(ledger, store, newer, former.id, **options).run
        assert "since" not in again.made_with
        assert f"it has changed since run {former.id}" in again.warnings[-1]
        assert not set(files) & set(kept(ledger))
