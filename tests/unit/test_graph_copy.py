"""The copy of a graph holds every id in a form that can be shown, whether or not any had to be changed."""

from collections.abc import Iterator
from typing import Any, cast

import duckdb
import pyarrow as pa
import pytest

from kgcheck.audit.graph_copy import GraphCopy, printable
from kgcheck.graph.store import GraphStore, edge_schema, with_as_text
from kgcheck.profile.schema import Pattern, load_schema

SCHEMA = load_schema()
PATTERN = SCHEMA.relations[0].ends_alone
CLEAN = ["P04637", "é", "a" * 512, "x y", "~"]


class Scanned:
    """A store whose edges are one table."""

    def __init__(self, heads: list[str | None], tails: list[str | None], first: int) -> None:
        columns = {"head": pa.array(heads, pa.string()), "tail": pa.array(tails, pa.string())}
        schema = with_as_text(edge_schema(PATTERN))
        columns |= {f.name: pa.nulls(len(heads), f.type) for f in schema if f.name not in columns}
        self._table = pa.table([columns[f.name] for f in schema], schema=schema).slice(first)

    def scan_edges(self, _pattern: Pattern) -> Iterator[pa.Table]:
        yield self._table


def copied(heads: list[str | None], tails: list[str | None], *, first: int = 0, whole: bool = False) -> set[Any]:
    with duckdb.connect() as db:
        copy = GraphCopy(db, cast(GraphStore, Scanned(heads, tails, first)), whole=whole)
        return set(db.execute(f"SELECT head, tail FROM {copy.pairs(PATTERN)}").fetchall())


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("odd", ["", None, "a\tb", "\x00", "b" * 513, "é" * 300, "\x1f"])
def test_every_id_of_the_copy_can_be_shown(odd: str | None, whole: bool) -> None:
    heads = [*CLEAN, odd]
    for sides in ((heads, [*CLEAN, "Q"]), ([*CLEAN, "Q"], heads), (heads, heads)):
        assert copied(*sides, whole=whole) == {(printable(h), printable(t)) for h, t in zip(*sides, strict=True)}


def test_an_id_that_no_ref_can_hold_is_shown_with_its_digest() -> None:
    assert [printable(id_) for id_ in ("", None, *CLEAN)] == ["(no id)", "(no id)", *CLEAN]
    assert printable("a\tb") == "a\ufffdb… 6f7f0b43"
    assert printable("b" * 513) == "b" * 472 + "… 6515a1ff"


def test_of_a_part_of_a_table_only_that_part_is_looked_at() -> None:
    heads: list[str | None] = ["a\tb", None, *CLEAN]
    assert copied(heads, heads, first=2) == {(i, i) for i in CLEAN}
    assert copied(heads, heads, first=1) == {(printable(i), printable(i)) for i in heads[1:]}
    assert copied([], []) == set()
