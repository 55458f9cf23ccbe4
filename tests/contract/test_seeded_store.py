"""A seeded store against a store that was really changed: every reading method of the protocol shows the same."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgcheck.bench.items import Seed, seeded
from kgcheck.errors import StoreError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import GraphStore, LoadTarget
from kgcheck.model import Ref
from kgcheck.profile.schema import Pattern
from tests.contract.stores import (
    ACTS_ON,
    CKG,
    DISEASE,
    IN_DISEASE,
    PROTEIN,
    all_edges,
    all_nodes,
    edges_table,
    in_order,
    nodes_table,
    triple,
)
from tests.support import quick_of

BINDS = CKG.pattern("Protein", "CURATED_INTERACTS_WITH", "Protein")
PROTEINS = [{"id": f"P{n}", "name": name, "synonyms": [f"S{n}"]} for n, name in enumerate("ABABC", 1)]
DISEASES = [{"id": "DOID:1", "name": "ague"}, {"id": "DOID:2", "name": "quinsy"}]
EDGES: dict[str, tuple[Pattern, list[dict[str, Any]]]] = {
    "acts": (ACTS_ON, [{"head": "P1", "tail": t, "source": "x", "score": 0.5} for t in ("P2", "P3", "P4")]),
    "binds": (BINDS, [{"head": "P1", "tail": "P1"}, {"head": "P1", "tail": "P2"}, {"head": "P2", "tail": "P1"}]),
    "ill": (
        IN_DISEASE,
        [
            {"head": "P1", "tail": "DOID:1", "score": 1.0, "source": "a"},
            {"head": "P1", "tail": "DOID:1", "score": 2.0, "source": "b"},
            {"head": "P2", "tail": "DOID:2", "score": 3.0, "source": "a"},
        ],
    ),
}
IDS = ["P0", "P1", "P2", "P3", "P4", "P5", "P9", "DOID:1", "DOID:2", "none"]


def built(path: Path, change: Callable[[dict[str, list[dict[str, Any]]]], None] | None = None) -> Path:
    """A store with the rows above, changed as they say."""
    rows: dict[str, list[dict[str, Any]]] = {"P": [dict(p) for p in PROTEINS], "D": [dict(d) for d in DISEASES]}
    rows |= {name: [dict(e) for e in edges] for name, (_, edges) in EDGES.items()}
    if change:
        change(rows)
    with EmbeddedStore(path, CKG, create=True) as store:
        store.prepare()
        store.add_nodes(PROTEIN, nodes_table(PROTEIN, *rows["P"]))
        store.add_nodes(DISEASE, nodes_table(DISEASE, *rows["D"]))
        for name, (pattern, _) in EDGES.items():
            if rows[name]:
                store.add_edges(pattern, edges_table(pattern, *rows[name]))
    return path


def without(name: str, *pairs: tuple[str, str]) -> Callable[[dict[str, list[dict[str, Any]]]], None]:
    def change(rows: dict[str, list[dict[str, Any]]]) -> None:
        rows[name] = [e for e in rows[name] if (e["head"], e["tail"]) not in pairs]

    return change


def with_edge(name: str, **edge: Any) -> Callable[[dict[str, list[dict[str, Any]]]], None]:
    return lambda rows: rows[name].append(edge)


def with_value(kind: str, id_: str, name: str, value: Any) -> Callable[[dict[str, list[dict[str, Any]]]], None]:
    def change(rows: dict[str, list[dict[str, Any]]]) -> None:
        for row in rows[kind]:
            if row["id"] == id_:
                row[name] = value

    return change


def moved(rows: dict[str, list[dict[str, Any]]]) -> None:
    for edge in rows["ill"]:
        if (edge["head"], edge["tail"]) == ("P1", "DOID:1"):
            edge["tail"] = "DOID:2"


def renamed(old: str, new: str) -> Callable[[dict[str, list[dict[str, Any]]]], None]:
    def change(rows: dict[str, list[dict[str, Any]]]) -> None:
        for kind in rows.values():
            for row in kind:
                for name in ("id", "head", "tail"):
                    if row.get(name) == old:
                        row[name] = new

    return change


def protein(id_: str) -> Ref:
    return Ref(label="Protein", id=id_)


CASES: dict[str, tuple[Seed, Callable[[dict[str, list[dict[str, Any]]]], None]]] = {
    "dropped": (Seed(kind="drop_edge", triple=triple("P1", IN_DISEASE, "DOID:1")), without("ill", ("P1", "DOID:1"))),
    "dropped in both orders": (
        Seed(kind="drop_edge", triple=triple("P2", BINDS, "P1")),
        without("binds", ("P1", "P2"), ("P2", "P1")),
    ),
    "dropped loop": (Seed(kind="drop_edge", triple=triple("P1", BINDS, "P1")), without("binds", ("P1", "P1"))),
    "dropped, stated the other way": (
        Seed(kind="drop_edge", triple=triple("P3", ACTS_ON, "P1")),
        without("acts", ("P1", "P3")),
    ),
    "added": (
        Seed(kind="add_edge", triple=triple("P5", ACTS_ON, "P2")),
        with_edge("acts", head="P5", tail="P2", source="seeded"),
    ),
    "moved": (Seed(kind="move_edge", triple=triple("P1", IN_DISEASE, "DOID:1"), to="DOID:2"), moved),
    "named otherwise": (
        Seed(kind="set_value", ref=protein("P2"), attribute="name", value="A"),
        with_value("P", "P2", "name", "A"),
    ),
    "another list": (
        Seed(kind="set_value", ref=protein("P2"), attribute="synonyms", value="Z"),
        with_value("P", "P2", "synonyms", ["Z"]),
    ),
    "another id, later": (Seed(kind="rename_node", ref=protein("P1"), to="P9"), renamed("P1", "P9")),
    "another id, earlier": (Seed(kind="rename_node", ref=protein("P4"), to="P0"), renamed("P4", "P0")),
    "another id of a tail": (
        Seed(kind="rename_node", ref=Ref(label="Disease", id="DOID:2"), to="DOID:0"),
        renamed("DOID:2", "DOID:0"),
    ),
}

READS: dict[str, Callable[[GraphStore], Any]] = {
    "node": lambda s: [s.node(Ref(label=label, id=i)) for label in ("Protein", "Disease") for i in IDS],
    "nodes": lambda s: [s.nodes(label, IDS) for label in (PROTEIN, DISEASE)],
    "edges": lambda s: [in_order(s.edges(triple(h, p, t))) for p, _ in EDGES.values() for h in IDS for t in IDS],
    "neighbours": lambda s: [
        s.neighbours(Ref(label=p.head if way == "out" else p.tail, id=i), p, way, n)
        for p, _ in EDGES.values()
        for i in IDS
        for way in ("out", "in")
        for n in (1, 2, 9)
    ],
    "hops": lambda s: [
        in_order(h._asdict() | {"properties": sorted(h.properties.items())} for h in s.hops(IDS[:n], p, way))
        for p, _ in EDGES.values()
        for way in ("out", "in")
        for n in (2, 10)
    ],
    "scan_nodes": lambda s: [all_nodes(s, label) for label in (PROTEIN, DISEASE)],
    "scan_edges": lambda s: [all_edges(s, p) for p, _ in EDGES.values()],
    "counts": lambda s: s.counts(),
    "stray_edges": lambda s: s.stray_edges(9),
    "unknown": lambda s: s.unknown(),
    "meta": lambda s: {k: v for k, v in s.meta().items() if k != "made"},
}
"""Every reading method of the protocol."""

REFUSED = {
    *("query", "set_meta", "prepare", "changing"),
    *("add_nodes", "update_nodes", "add_edges", "remove_edges", "remove_nodes"),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("seeded") / "plain.lbdb")


def test_no_method_of_the_protocol_is_left_out() -> None:
    methods = {n for c in (GraphStore, LoadTarget) for n, _ in inspect.getmembers(c, inspect.isfunction)}

    assert {n for n in methods if not n.startswith("_")} - {"close", "state", "store_id"} == set(READS) | REFUSED


@pytest.mark.slow
def test_nobody_can_know_whether_a_seeded_store_changed(plain: Path) -> None:
    with EmbeddedStore(plain, CKG) as store:
        assert store.state()
        assert seeded(store, next(iter(CASES.values()))[0]).state() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", quick_of(CASES, "dropped, stated the other way", "named otherwise", "another id, earlier")
)
def test_a_seeded_store_reads_as_one_that_was_really_changed(case: str, plain: Path, tmp_path: Path) -> None:
    seed, change = CASES[case]
    with EmbeddedStore(built(tmp_path / "real.lbdb", change), CKG) as real, EmbeddedStore(plain, CKG) as store:
        one = seeded(store, seed)
        found = {name: read(one) for name, read in READS.items()}
        for name, read in READS.items():
            assert found[name] == read(real), name
        # The change shows somewhere, and the store itself is as it was.
        assert any(found[name] != read(store) for name, read in READS.items())
        assert seeded(store, None) is store


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_would_show_or_change_the_graph_as_it_was_is_refused(name: str, plain: Path) -> None:
    with EmbeddedStore(plain, CKG) as store:
        one = seeded(store, CASES["dropped"][0])
        with pytest.raises(StoreError, match="changed for one item"):
            getattr(one, name)(*["x", 1, 1.0][: len(inspect.signature(getattr(GraphStore, name)).parameters) - 1])


@pytest.mark.parametrize(
    "seed",
    [{"kind": "drop_edge"}, {"kind": "set_value", "ref": {"label": "Protein", "id": "P1"}}, {"kind": "rename_node"}],
)
def test_a_seed_says_what_it_changes(seed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="does not say what it changes"):
        Seed.model_validate(seed)
