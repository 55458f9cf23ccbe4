"""One digest of all that a store holds, by which two graphs are told to be the same."""

import hashlib
from collections.abc import Iterator

from kgcheck.graph.changes import ChangedStore, Run, digest
from kgcheck.graph.queries import is_name, quoted
from kgcheck.graph.store import META_LABEL

_OWN = ("_ID", "_LABEL", "_SRC", "_DST")
"""What the embedded store puts among the properties of a node or an edge."""


def content_digest(store: ChangedStore) -> str:
    """SHA-256 over all nodes and edges with all that they carry, in any order, but for kgcheck's records."""
    with store.statements(write=False) as run:
        lines = _of_embedded(run) if store.backend == "embedded" else _of_server(run)
        # A sum, so that neither the order counts nor two that are alike cancel each other.
        total = sum(int.from_bytes(hashlib.sha256(line.encode()).digest(), "big") for line in lines)
    return f"{total % (1 << 256):064x}"


def _of_server(run: Run) -> Iterator[str]:
    for labels, node in run("MATCH (n) WHERE NOT n:KgcheckStore RETURN labels(n), properties(n)", {}):
        yield f"node {sorted(labels)} {digest(node)}"
    edges = "MATCH (a)-[r]->(b) RETURN [labels(a), properties(a)], type(r), [labels(b), properties(b)], properties(r)"
    for start, relation, end, edge in run(edges, {}):
        ends = [f"{sorted(labels)} {digest(node)}" for labels, node in (start, end)]
        yield f"edge {ends[0]} {relation} {ends[1]} {digest(edge)}"


def _of_embedded(run: Run) -> Iterator[str]:
    for (label,) in list(run("MATCH (n) RETURN DISTINCT label(n)", {})):
        if _is_of_graph(label):
            for (node,) in run(f"MATCH (n:{quoted(label)}) RETURN n", {}):
                yield f"node {label} {digest(_plain(node))}"
    for head, relation, tail in list(run("MATCH (a)-[r]->(b) RETURN DISTINCT label(a), label(r), label(b)", {})):
        if all(map(_is_of_graph, (head, relation, tail))):
            pattern = f"(a:{quoted(head)})-[r:{quoted(relation)}]->(b:{quoted(tail)})"
            for start, end, edge in run(f"MATCH {pattern} RETURN a.id, b.id, r", {}):
                yield f"edge {head} {start!r} {relation} {tail} {end!r} {digest(_plain(edge))}"


def _plain(value: dict[str, object]) -> dict[str, object]:
    return {name: v for name, v in dict(value).items() if name not in _OWN}


def _is_of_graph(table: str) -> bool:
    return table != META_LABEL and is_name(table)
