"""Pairs of node ids as sorted NumPy integers, to compare millions of edges quickly."""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.uint64]

HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
_TOGETHER = 1 << 20


class Ids(NamedTuple):
    """Ids, each once and in order: the number of one is its place. What has the same name has the same ids."""

    texts: pa.Array
    name: str = ""


class Pairs(NamedTuple):
    """Pairs of head and tail, each once and in order: the upper half of a number is that of the head.

    Numbers are in the order of heads, and of tails under a head, as their texts are.
    """

    heads: Ids
    tails: Ids
    numbers: Numbers

    def some(self, chosen: npt.NDArray[np.bool_] | slice) -> "Pairs":
        return self._replace(numbers=self.numbers[chosen])

    def ends(self) -> tuple[pa.Array, pa.Array]:
        heads, tails = pa.array(self.numbers >> HALF), pa.array(self.numbers & LOW)
        return self.heads.texts.take(heads), self.tails.texts.take(tails)

    def pieces(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        for first in range(0, len(self.numbers), _TOGETHER):
            yield self.some(slice(first, first + _TOGETHER)).ends()

    def digest(self, more: Numbers) -> int:
        """A number that is another for other pairs, or for other numbers beside them; 0 of none."""
        if not len(self.numbers):
            return 0
        hashed = hashlib.blake2b(digest_size=8)
        for numbers in (self.numbers, more):
            hashed.update(len(numbers).to_bytes(8, "big"))
            hashed.update(np.ascontiguousarray(numbers).view(np.uint8).data)
        for ids in (self.heads, self.tails):
            for buffer in ids.texts.buffers():
                hashed.update(b"" if buffer is None else buffer)
        return int.from_bytes(hashed.digest(), "big") or 1


def in_order(texts: pa.Array, name: str = "") -> tuple[Ids, Places]:
    """Ids in order, each once."""
    order = pc.sort_indices(texts)
    sorted_ = texts.take(order)
    first = np.ones(len(texts), np.bool_)
    if len(texts) > 1:
        first[1:] = np.asarray(pc.not_equal(sorted_.slice(1), sorted_.slice(0, len(texts) - 1)))
    numbers = np.empty(len(texts), np.uint64)
    numbers[order.to_numpy()] = np.cumsum(first, dtype=np.uint64) - np.uint64(1)
    return Ids(sorted_ if first.all() else sorted_.filter(pa.array(first)), name), numbers


def paired(heads: Places, tails: Places) -> Numbers:
    """Numbers of pairs, in order and each once, from those of heads and tails."""
    numbers = heads << HALF
    numbers |= tails
    numbers.sort()
    again = numbers[1:] == numbers[:-1]
    return numbers[np.concatenate(([True], ~again))] if again.any() else numbers


def pairs_of(table: pa.Table) -> Pairs:
    """The pairs of a table of texts, with the columns head and tail."""
    ids, places = [], []
    for end in ("head", "tail"):
        encoded = table.column(end).combine_chunks().dictionary_encode()
        texts, numbers = in_order(encoded.dictionary)
        ids.append(texts)
        places.append(numbers[encoded.indices.to_numpy()])
    return Pairs(ids[0], ids[1], paired(*places))


def as_numbers(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """A column of numbers none of which is missing, chunk by chunk, which spares a look at each."""
    chunks = [chunk.to_numpy(zero_copy_only=True) for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.zeros(0, column.type.to_pandas_dtype())


def stable_order(numbers: Numbers) -> npt.NDArray[np.int64]:
    """The places of numbers in their order, those of the same number as they stand: NumPy's way, in half the time."""
    order = np.argsort(numbers)
    ordered = numbers[order]
    same = np.flatnonzero(repeated(ordered))
    those = order[same]
    order[same] = those[np.lexsort((those, ordered[same]))]
    return order


def repeated(numbers: Numbers) -> npt.NDArray[np.bool_]:
    """Mark the numbers, which are in order, that occur more than once."""
    those = np.zeros(len(numbers), np.bool_)
    again = numbers[1:] == numbers[:-1]
    those[1:] = again
    those[:-1] |= again
    return those


def are_in(numbers: Numbers, others: Numbers) -> npt.NDArray[np.bool_]:
    """Mark the numbers, in order best, that are among others, which are in order."""
    if not len(others):
        return np.zeros(len(numbers), np.bool_)
    places = np.searchsorted(others, numbers)
    places[places == len(others)] = 0
    found: npt.NDArray[np.bool_] = others[places] == numbers
    return found
