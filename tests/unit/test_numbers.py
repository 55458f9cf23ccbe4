"""Pairs as numbers are the pairs of texts, whichever way they were read."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.audit.graph_copy import GraphCopy, printable
from kgcheck.audit.numbers import Pairs, are_in, in_order, pairs_of, repeated, stable_order
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import edge_schema, node_schema
from kgcheck.profile.schema import load_schema

SCHEMA = load_schema()
ACTS_ON = SCHEMA.pattern("Protein", "ACTS_ON", "Protein")
IDS = st.sampled_from(["", "a", "B", "é", "a b", "aa", "\U0001f9ec", "P10001"])


def texts(pairs: Pairs) -> list[tuple[str, str]]:
    heads, tails = pairs.ends()
    return list(zip(heads.to_pylist(), tails.to_pylist(), strict=True))


def made(rows: list[tuple[str, str]]) -> Pairs:
    columns = list(map(list, zip(*rows, strict=True))) if rows else [[], []]
    return pairs_of(pa.table(columns, pa.schema([("head", pa.string()), ("tail", pa.string())])))


@given(st.lists(st.tuples(IDS, IDS)))
def test_pairs_are_each_once_and_in_the_order_of_a_database(rows: list[tuple[str, str]]) -> None:
    assert texts(made(rows)) == sorted(set(rows), key=lambda pair: (pair[0].encode(), pair[1].encode()))


@given(st.lists(IDS))
def test_every_text_has_the_number_of_its_id(ids: list[str]) -> None:
    found, numbers = in_order(pa.array(ids, pa.string()))
    assert [found.texts[int(number)].as_py() for number in numbers] == ids
    assert len(found.texts) == len(set(ids))


@given(st.lists(st.tuples(IDS, IDS)), st.lists(st.tuples(IDS, IDS)))
def test_other_pairs_have_another_digest(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> None:
    pairs, others = made(one), made(other)
    none = np.zeros(0, np.uint64)
    assert (pairs.digest(none) == others.digest(none)) is (set(one) == set(other))
    assert (pairs.digest(none) == 0) is (not one)
    if one:
        assert pairs.digest(none) != pairs.digest(pairs.numbers)


@given(st.lists(st.integers(0, 9)))
def test_the_same_numbers_stay_as_they_stand(some: list[int]) -> None:
    numbers = np.array(some, np.uint64)
    order = stable_order(numbers)
    assert order.tolist() == sorted(range(len(some)), key=some.__getitem__)
    assert repeated(numbers[order]).tolist() == [some.count(number) > 1 for number in sorted(some)]


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_numbers_are_found_among_others(some: list[int], others: list[int]) -> None:
    found = are_in(np.array(some, np.uint64), np.sort(np.array(others, np.uint64)))
    assert found.tolist() == [number in others for number in some]


@pytest.mark.parametrize("odd", ["a\tb", "b" * 513, "é" * 300, "Z"])
def test_a_store_that_numbers_its_nodes_gives_the_pairs_that_its_texts_give(tmp_path: Path, odd: str) -> None:
    ids = ["P10003", odd, "P10001", "x", "P10002"]
    edges = [(0, 1), (0, 1), (1, 0), (4, 2), (2, 4), (0, 0)]
    with EmbeddedStore(tmp_path / "graph.lbdb", SCHEMA, create=True) as store:
        store.prepare()
        label = SCHEMA.label("Protein")
        store.add_nodes(label, pa.Table.from_pylist([{"id": i} for i in ids], schema=node_schema(label)))
        # A place that no node has any more.
        store.remove_nodes(label, pa.Table.from_pylist([{"id": "x"}], schema=node_schema(label)))
        rows = [{"head": ids[h], "tail": ids[t]} for h, t in edges]
        store.add_edges(ACTS_ON, pa.Table.from_pylist(rows, schema=edge_schema(ACTS_ON)))
    with (
        EmbeddedStore(tmp_path / "graph.lbdb", SCHEMA) as store,
        duckdb.connect() as db,
        # Fewer than there are edges.
        patch("kgcheck.graph.embedded._TOGETHER", 2),
    ):
        copy = GraphCopy(db, store, whole=False)
        numbered = copy.numbered(ACTS_ON)
        scanned: Any = SimpleNamespace(scan_edges=store.scan_edges)
        as_texts = [
            db.execute(f"SELECT head, tail FROM {each.pairs(ACTS_ON)} ORDER BY ALL").fetchall()
            for each in (copy, GraphCopy(db, scanned, whole=False), GraphCopy(db, store))
        ]
        assert [texts(numbered)] * 3 == as_texts
        assert texts(numbered) == sorted({(printable(r["head"]), printable(r["tail"])) for r in rows})
        assert not len(copy.numbered(SCHEMA.pattern("Gene", "TRANSLATED_INTO", "Protein")).numbers)
