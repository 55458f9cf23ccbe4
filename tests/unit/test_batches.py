"""Edges that are written side by side share no node, and none is lost."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.graph.batches import disjoint
from kgcheck.graph.schema import Pattern, load_schema

CKG = load_schema()
WITHIN = CKG.pattern("Protein", "ACTS_ON", "Protein")
ACROSS = CKG.pattern("Protein", "ASSOCIATED_WITH", "Disease")
NODES = st.integers(0, 12).map(lambda i: f"n{i}")


@pytest.mark.parametrize("pattern", [WITHIN, ACROSS], ids=str)
@given(edges=st.lists(st.tuples(NODES, NODES), max_size=60), parts=st.integers(1, 7))
def test_no_two_tables_of_a_round_share_a_node(pattern: Pattern, edges: list[tuple[str, str]], parts: int) -> None:
    rows = pa.table(
        {
            "head": pa.array([h for h, _ in edges], pa.string()),
            "tail": pa.array([t for _, t in edges], pa.string()),
            "n": pa.array(range(len(edges)), pa.int64()),
        }
    )
    seen: list[int] = []
    rounds = list(disjoint(pattern, rows, parts))
    assert len(rounds) <= parts
    for tables in rounds:
        used: set[tuple[str, str]] = set()
        assert len(tables) <= parts
        for table in tables:
            assert table["head"].to_pylist() == sorted(table["head"].to_pylist())
            ends = {(pattern.head, h) for h in table["head"].to_pylist()}
            ends |= {(pattern.tail, t) for t in table["tail"].to_pylist()}
            assert not used & ends
            used |= ends
            seen += table["n"].to_pylist()
    assert sorted(seen) == list(range(len(edges)))
