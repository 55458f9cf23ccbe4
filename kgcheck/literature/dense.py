"""FAISS index of document vectors: exact or IVF, updated in place, recall measured.

Documents come and go in place. The lists are made anew when those that came and went since they were trained are more
than a fifth of those they were trained for, or when the recall, measured after each change, falls below what is wanted.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kgcheck.errors import IndexFault, MissingExtra
from kgcheck.literature.embed import Vectors
from kgcheck.literature.weights import EXTRA
from kgcheck.model import Value

EXACT_BELOW = 50_000
RECALL_WANTED = 0.98  # recall of the ten nearest by which the number of probed lists is chosen
_TRAINING = 50  # vectors a list that FAISS is trained with; it asks for 39 at least
_SAMPLE = 200
_CHANGED_ENOUGH = 0.2
"""The share of vectors that may come or go, in all changes together, before the lists are trained anew."""

Numbers = NDArray[np.int64]
Half = NDArray[np.float16]


class Structure(Value):
    """Structure of a FAISS index."""

    kind: str
    lists: int = 0
    probes: int = 0
    recall: float = 1.0
    documents: int = 0
    trained: int = Field(default=0, description="documents that there were when it was made")
    moved: int = Field(default=0, description="documents that came and went since")


class Dense:
    """The nearest documents of a vector, by number of the document."""

    def __init__(self, engine: Any, structure: Structure) -> None:
        self._engine = engine
        self.structure = structure
        if structure.probes:
            _faiss().extract_index_ivf(engine).nprobe = structure.probes

    @classmethod
    def of(cls, numbers: Numbers, vectors: Half, *, exact_below: int = EXACT_BELOW) -> "Dense":
        """An index over vectors."""
        faiss = _faiss()
        count, dimension = vectors.shape
        kind = faiss.ScalarQuantizer.QT_fp16
        if count < exact_below:
            flat = faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)
            # It has nothing to learn, and FAISS wants to be told.
            flat.train(np.zeros((1, dimension), dtype=np.float32))
            engine = faiss.IndexIDMap2(flat)
            _add(engine, numbers, vectors)
            return cls(engine, Structure(kind="exact", documents=count, trained=count))
        lists = max(int(4 * count**0.5), 1)
        quantizer = faiss.IndexFlatIP(dimension)
        engine = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, kind, faiss.METRIC_INNER_PRODUCT)
        engine.cp.niter = 10
        random = np.random.default_rng(0)
        sample = np.sort(random.choice(count, size=min(count, _TRAINING * lists), replace=False))
        engine.train(vectors[sample].astype(np.float32))
        _add(engine, numbers, vectors)
        made = cls(engine, Structure(kind="ivf", lists=lists, documents=count, trained=count))
        return made._measured(numbers, vectors)

    def _measured(self, numbers: Numbers, vectors: Half) -> "Dense":
        """Itself with the fewest probes that find enough of the nearest, and the recall that was measured."""
        random = np.random.default_rng(1)
        queries = vectors[np.sort(random.choice(len(vectors), size=min(_SAMPLE, len(vectors)), replace=False))]
        # Between two documents, as a query is: a document itself would always find its own list.
        noise = random.normal(scale=0.5 / vectors.shape[1] ** 0.5, size=queries.shape)
        noisy = (queries.astype(np.float32) + noise).astype(np.float32)
        true = _exact(noisy, numbers, vectors)
        for probes in (8, 16, 32, 64, 128, 256):
            self._engine.nprobe = min(probes, self.structure.lists)
            _, found = self._engine.search(noisy, 10)
            recall = float(np.mean([len(set(f) & set(t)) / len(t) for f, t in zip(found, true, strict=True)]))
            if recall >= RECALL_WANTED:
                break
        structure = self.structure.model_copy(
            update={"probes": int(self._engine.nprobe), "recall": round(recall, 4), "documents": len(numbers)}
        )
        return Dense(self._engine, structure)

    def changed(
        self, numbers: Numbers, vectors: Half, before: Numbers, *, exact_below: int = EXACT_BELOW
    ) -> "Dense | None":
        """This index with the documents that came and without those that went."""
        structure = self.structure
        gone, new = np.setdiff1d(before, numbers), ~np.isin(numbers, before)
        moved = structure.moved + len(gone) + int(new.sum())
        if moved > _CHANGED_ENOUGH * max(structure.trained or len(before), 1):
            return None
        if (structure.kind == "exact") != (len(numbers) < exact_below):
            return None
        if len(gone):
            self._engine.remove_ids(gone)
        if new.any():
            _add(self._engine, numbers[new], vectors[new])
        counts = {"documents": len(numbers), "trained": structure.trained or len(before), "moved": moved}
        made = Dense(self._engine, structure.model_copy(update=counts))
        if structure.kind == "exact":
            return made
        made = made._measured(numbers, vectors)
        return made if made.structure.recall >= RECALL_WANTED else None

    def nearest(self, vector: Vectors, count: int) -> Numbers:
        """Numbers of the documents nearest to a vector, nearest first."""
        faiss = _faiss()
        threads = faiss.omp_get_max_threads()
        # To wake others for one vector takes longer than looking at all.
        faiss.omp_set_num_threads(1)
        try:
            _, found = self._engine.search(vector.reshape(1, -1).astype(np.float32), count)
        finally:
            faiss.omp_set_num_threads(threads)
        numbers: Numbers = found[0][found[0] >= 0]
        return numbers

    def save(self, path: Path) -> None:
        try:
            _faiss().write_index(self._engine, str(path))
        except RuntimeError as error:
            raise IndexFault(f"cannot write {path}: {error}", "free disk space") from error

    @classmethod
    def load(cls, path: Path, structure: Structure, *, writable: bool = False) -> "Dense":
        """Open an index that was saved."""
        faiss = _faiss()
        flags = 0 if writable else faiss.IO_FLAG_MMAP_IFC
        try:
            return cls(faiss.read_index(str(path), flags), structure)
        except RuntimeError as error:
            raise IndexFault(
                f"the vector index {path} is broken: {str(error)[:200]}",
                "kgcheck corpus build --index DIR --anew makes it again from the documents",
            ) from error


def _add(engine: Any, numbers: Numbers, vectors: Half) -> None:
    for at in range(0, len(numbers), 20_000):
        engine.add_with_ids(vectors[at : at + 20_000].astype(np.float32), numbers[at : at + 20_000])


def _exact(queries: Vectors, numbers: Numbers, vectors: Half) -> list[set[int]]:
    scores = np.concatenate(
        [queries @ vectors[at : at + 20_000].astype(np.float32).T for at in range(0, len(vectors), 20_000)], axis=1
    )
    best = np.argpartition(-scores, 10, axis=1)[:, :10]
    return [set(numbers[row].tolist()) for row in best]


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtra("searching by meaning", EXTRA) from error
    return faiss
