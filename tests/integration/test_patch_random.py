"""Random graphs and random operations: what fits is done, and undoing gives the same graph back, whatever it was."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.curation.operations import Operation, read_patch, write_patch
from kgcheck.curation.patch_maker import fitting, in_order, patch_of
from kgcheck.curation.patches import apply_patch, check_patch, patches_in, undo_patch
from kgcheck.curation.steps import DraftGraph
from kgcheck.graph.changes import StoreChanges
from kgcheck.graph.embedded import EmbeddedStore
from tests.support import examples
from tests.support.contents import content_digest
from tests.support.patches import (
    CKG,
    HOSTILE,
    WRITABLE,
    add_edge,
    edge,
    in_disease,
    merge,
    of_gene,
    prepared,
    put_edges,
    put_nodes,
    ref,
    repoint,
    retire,
    set_value,
)

PROTEINS = ("P1", "P2", "P3", "it's `P4`")
TEXTS = st.sampled_from([None, "", "x", "y; x", HOSTILE])
NODES = st.builds(
    lambda name, names: {"name": name, "synonyms": names}, TEXTS, st.none() | st.lists(st.text("a;", max_size=2))
)
SCORES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
EDGES = st.one_of(
    st.tuples(
        st.builds(edge, st.sampled_from(PROTEINS), st.sampled_from(PROTEINS)),
        st.builds(lambda *v: dict(zip(("source", "action", "score"), v, strict=True)), TEXTS, TEXTS, SCORES),
    ),
    st.tuples(
        st.builds(in_disease, st.sampled_from(PROTEINS), st.just("DOID:1")),
        st.builds(lambda s, n: {"source": s, "number_publications": n}, TEXTS, st.none() | st.integers(0, 2**62)),
    ),
    st.tuples(st.builds(of_gene, st.just("G1"), st.sampled_from(PROTEINS)), st.builds(lambda s: {"source": s}, TEXTS)),
)
IDS = st.sampled_from([*PROTEINS, "NEW"])
TRIPLES = st.builds(edge, IDS, IDS)
OPERATIONS = st.one_of(
    st.builds(set_value, st.builds(ref, IDS), st.just("name"), st.sampled_from(["x", "y; x", WRITABLE])),
    st.builds(set_value, st.builds(ref, IDS), st.just("synonyms"), st.lists(st.text("a;", max_size=2), min_size=1)),
    st.builds(set_value, TRIPLES, st.just("action"), st.just("new"), st.sampled_from([None, "x"])),
    st.builds(repoint, TRIPLES, IDS, st.sampled_from(["head", "tail"])),
    st.builds(repoint, st.builds(ref, IDS), IDS),
    st.builds(merge, st.builds(ref, IDS), st.builds(ref, IDS)),
    st.builds(retire, st.builds(ref, IDS)),
    st.builds(lambda what, but_one: retire(what, but_one=but_one), TRIPLES, st.booleans()),
    st.builds(lambda what: add_edge(what, source="x"), TRIPLES),
)


def holds(
    folder: Path, nodes: list[dict[str, Any]], edges: list[Any], operations: list[Operation], delete: bool
) -> None:
    path = folder / "graph.lbdb"
    with EmbeddedStore(path, CKG, create=True) as store:
        put_nodes(store, "Protein", *({"id": i, **row} for i, row in zip(PROTEINS, nodes, strict=True)))
        put_edges(store, *edges)
        before = content_digest(store)
        with store.statements(write=False) as run:
            drafted, _ = fitting(in_order(operations), DraftGraph(StoreChanges(store, run)))
        patch = patch_of([d.operation for d in drafted], store, "run", by="x")
        write_patch(folder, patch)
        assert read_patch(folder) == patch

        number = len(patch.operations)
        assert (check_patch(patch, store).done, check_patch(patch, store).conflicts) == (number, ())
        applied = apply_patch(patch, store, by="x", delete=delete)
        assert (applied.done, applied.conflicts) == (number, ())
        assert apply_patch(patch, store, by="x", delete=delete).done == 0
        if number:
            assert undo_patch(patch, store, by="x").done == number
            assert patches_in(store)[patch.id].state == "undone"
        assert content_digest(store) == before


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("patch-random") / "empty.lbdb"
    with EmbeddedStore(path, CKG, create=True) as store:
        prepared(store)
        put_nodes(store, "Disease", {"id": "DOID:1"})
        put_nodes(store, "Gene", {"id": "G1"})
    return path


GRAPHS = {
    "nodes": st.lists(NODES, min_size=len(PROTEINS), max_size=len(PROTEINS)),
    "edges": st.lists(EDGES, max_size=12),
    "operations": st.lists(OPERATIONS, min_size=1, max_size=8),
    "delete": st.booleans(),
}


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(**GRAPHS)
def test_undo_gives_back_any_graph(
    empty: Path, nodes: list[dict[str, Any]], edges: list[Any], operations: list[Operation], delete: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(empty, Path(folder) / "graph.lbdb")
        holds(Path(folder), nodes, edges, operations, delete)
