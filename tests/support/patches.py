"""Patches for tests: operations by hand, and a graph in which everything that they may meet stands."""

import atexit
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgcheck.curation.operations import AddEdge, Merge, Operation, Patch, Repoint, Retire, SetValue
from kgcheck.curation.patch_maker import fitting, patch_of
from kgcheck.curation.steps import DraftGraph
from kgcheck.graph.changes import NodeState, StoreChanges
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.open import OpenedStore
from kgcheck.graph.store import LoadTarget, edge_schema, node_schema
from kgcheck.model import Reason, Ref, Triple
from kgcheck.profile.schema import load_schema
from kgcheck.visible import visible

CKG = load_schema()
FINDING = "0123456789abcdef"
HOSTILE = "'; MATCH (n) DETACH DELETE n // \"`\\ <script>alert(1)</script> | \u202e\x1b[31m {{ x }} ü"
"""A value that would be obeyed if anybody took it for anything but text."""

WRITABLE = visible(HOSTILE)
"""The like as a patch may write it: all of it is seen."""

HOSTILE_ID = HOSTILE.replace("\x1b", "")
"""The like as an id, which has no control characters."""

Rows = Sequence[tuple[str, str, dict[str, Any]]]


def ref(identifier: str, label: str = "Protein") -> Ref:
    return Ref(label=label, id=identifier)


def edge(head: str, tail: str, relation: str = "ACTS_ON", labels: tuple[str, str] = ("Protein", "Protein")) -> Triple:
    return Triple(head=ref(head, labels[0]), relation=relation, tail=ref(tail, labels[1]))


def in_disease(head: str, tail: str) -> Triple:
    return edge(head, tail, "ASSOCIATED_WITH", ("Protein", "Disease"))


def of_gene(head: str, tail: str) -> Triple:
    return edge(head, tail, "TRANSLATED_INTO", ("Gene", "Protein"))


def _common(finding: str) -> dict[str, Any]:
    return {"finding": finding, "basis": "b", "reason": Reason.ID_MERGED}


def set_value(what: Ref | Triple, attribute: str, to: Any, was: Any = None, finding: str = FINDING) -> SetValue:
    return SetValue(what=what, attribute=attribute, to=to, was=was, **_common(finding))


def repoint(what: Ref | Triple, to: str, end: Any = None, finding: str = FINDING) -> Repoint:
    return Repoint(what=what, to=to, end=end, **_common(finding))


def merge(what: Ref, into: Ref, finding: str = FINDING) -> Merge:
    return Merge(what=what, into=into, **_common(finding))


def retire(what: Ref | Triple, *, but_one: bool = False, finding: str = FINDING) -> Retire:
    return Retire(what=what, but_one=but_one, **_common(finding))


def add_edge(what: Triple, finding: str = FINDING, **properties: Any) -> AddEdge:
    return AddEdge(what=what, properties=properties, **_common(finding))


def prepared(store: LoadTarget) -> None:
    """An empty store as a load leaves it."""
    store.prepare()
    store.set_meta("profile_version", str(CKG.profile.version))
    store.set_meta("profile", CKG.profile.name)


def put_nodes(store: LoadTarget, label: str, *rows: dict[str, Any]) -> None:
    described = CKG.label(label)
    store.add_nodes(described, pa.Table.from_pylist(list(rows), schema=node_schema(described)))


def put_edges(store: LoadTarget, *edges: tuple[Triple, dict[str, Any]]) -> None:
    rows: dict[str, list[dict[str, Any]]] = {}
    patterns = {str(pattern): pattern for pattern in CKG.relations}
    for triple, properties in edges:
        name = f"{triple.head.label} {triple.relation} {triple.tail.label}"
        rows.setdefault(name, []).append({"head": triple.head.id, "tail": triple.tail.id, **properties})
    for name, some in rows.items():
        store.add_edges(patterns[name], pa.Table.from_pylist(some, schema=edge_schema(patterns[name])))


def put_graph(store: LoadTarget) -> None:
    """Proteins A and B, which are one; what is at them; parallel edges, loops, lists, hostile texts, nothing at all."""
    prepared(store)
    proteins = [{"id": i, "name": f"name of {i}", "synonyms": [i, "; "], "taxid": "9606"} for i in ("A", "B", "C")]
    put_nodes(store, "Protein", *proteins, {"id": "D"}, {"id": HOSTILE_ID, "name": HOSTILE, "synonyms": [HOSTILE, ""]})
    put_nodes(store, "Disease", {"id": "DOID:1", "name": "x"}, {"id": "DOID:2"})
    put_nodes(store, "Gene", {"id": "G1"}, {"id": "G2"})
    put_edges(
        store,
        (edge("A", "C"), {"score": 0.5, "source": "STRING", "action": "binding"}),
        (edge("A", "C"), {"score": 0.25, "source": "other"}),
        (edge("B", "C"), {"score": 0.75, "source": "STRING", "action": "activation", "directionality": "yes"}),
        (edge("A", "D"), {"score": 0.1, "source": "STRING"}),
        (edge("A", "D"), {"score": 0.1, "source": "STRING"}),
        (edge("A", "D"), {"score": 0.1, "source": "STRING"}),
        (edge("A", "B"), {"source": "STRING"}),
        (edge("A", "A"), {"score": 1e-300}),
        (edge("C", "A"), {}),
        (edge("C", HOSTILE_ID), {"source": HOSTILE}),
        (in_disease("A", "DOID:1"), {"score": 4.5, "source": "s", "evidence_type": "TEXT", "number_publications": 3}),
        (in_disease("B", "DOID:1"), {"score": 0.1, "source": "s", "evidence_type": "CURATED"}),
        (in_disease("A", "DOID:2"), {"score": 1.0}),
        (of_gene("G1", "A"), {"source": "HGNC"}),
        (of_gene("G2", "B"), {"source": "HGNC"}),
    )


@cache
def graph_file() -> Path:
    """The graph in an embedded store, made once for all tests of a process; to be copied."""
    folder = tempfile.TemporaryDirectory(prefix="kgcheck-test-patches-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "graph.lbdb"
    with EmbeddedStore(path, CKG, create=True) as store:
        put_graph(store)
    return path


def made(store: OpenedStore, *operations: Operation) -> Patch:
    """A patch of operations, all of which fit the store as it is."""
    with store.statements(write=False) as run:
        drafted, misfits = fitting(operations, DraftGraph(StoreChanges(store, run)))
    assert misfits == []
    return patch_of([d.operation for d in drafted], store, "run", by="tester")


def node_of(store: OpenedStore, what: Ref) -> NodeState | None:
    """All that a store has of a node, retired or not."""
    with store.statements(write=False) as run:
        return StoreChanges(store, run).node(what)


def properties_of(store: OpenedStore, what: Triple, *, retired: bool = False) -> list[dict[str, Any]]:
    """Those of the edges that state a triple, without the marks, in an order that does not change."""
    with store.statements(write=False) as run:
        found = [e for e in StoreChanges(store, run).edges(what) if e.retired is retired]
    plain = [{k: v for k, v in e.properties.items() if not k.startswith("kgcheck_")} for e in found]
    return sorted(plain, key=lambda row: repr(sorted(row.items())))


def why(conflicts: Iterable[Any]) -> list[str]:
    return [conflict.why for conflict in conflicts]
