"""Edges in batches that can be written at the same time: none waits for a node that another has locked.

A transaction locks both ends of an edge that it creates, so two that meet at the same nodes in another order wait for
each other for ever. After Neo4j's "mix and batch" (https://neo4j.com/blog/developer/mix-and-batch-relationship-load/).
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgcheck.graph.schema import Pattern


def disjoint(pattern: Pattern, rows: pa.Table, parts: int) -> Iterator[list[pa.Table]]:
    """Split edges so that they can be written side by side.

    Args:
        pattern: Of the edges.
        rows: Columns head and tail, and others.
        parts: How many groups the nodes are split into.

    Yields:
        Rounds, one after the other. Each is a list of at most `parts` tables, sorted by head, of which no two share a
        node.
    """
    within = pattern.head == pattern.tail
    heads, tails = _groups(rows["head"], parts), _groups(rows["tail"], parts)
    # i + j is the same for all cells of a round, so each head group meets one tail group, and each tail group one head
    # group; where heads and tails are nodes of one label, (i, j) and (j, i) are one cell.
    rounds = (heads + tails) % parts
    cells = np.minimum(heads, tails) if within else heads
    for number in range(parts):
        found = [rows.filter(pa.array((rounds == number) & (cells == cell))) for cell in range(parts)]
        yield [table.sort_by("head") for table in found if table.num_rows]


def _groups(ids: pa.ChunkedArray, parts: int) -> NDArray[np.int64]:
    """The group of each id: the same for the same id, whatever column it stands in."""
    encoded = pc.dictionary_encode(ids).combine_chunks()
    groups = np.array([hash(i) % parts for i in encoded.dictionary.to_pylist()], np.int64)
    found: NDArray[np.int64] = groups[encoded.indices.to_numpy()]
    return found
